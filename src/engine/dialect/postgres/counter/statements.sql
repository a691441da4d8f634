-- name: up
UPDATE counter.counter SET value = value + 1 WHERE id = $1::integer RETURNING value;

-- name: note
INSERT INTO counter.step (counter_id, value) SELECT id, value FROM counter.counter WHERE id = $1::integer;

-- name: look
-- access: read
SELECT value FROM counter.counter WHERE id = $1::integer;
