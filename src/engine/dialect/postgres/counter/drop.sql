DROP FUNCTION IF EXISTS counter.step(integer);
