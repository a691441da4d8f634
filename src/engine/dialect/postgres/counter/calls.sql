-- name: step
SELECT counter.step($1::integer);

-- name: look
-- access: read
SELECT value FROM counter.counter WHERE id = $1::integer;
