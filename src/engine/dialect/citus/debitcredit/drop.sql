-- Removes the routines of procedures.sql, by what they take: those of the same name that take something else are not
-- Graymark's. The tables are removed by their names.
DROP FUNCTION IF EXISTS debitcredit.debit_credit(integer, integer, integer, numeric);
DROP FUNCTION IF EXISTS debitcredit.tpc(integer, integer, integer, numeric);
