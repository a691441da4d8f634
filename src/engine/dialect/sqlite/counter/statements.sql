-- name: up
UPDATE counter SET value = value + 1 WHERE id = ?1 RETURNING value;

-- name: note
INSERT INTO step (counter_id, value) SELECT id, value FROM counter WHERE id = ?1;

-- name: look
-- access: read
SELECT value FROM counter WHERE id = ?1;
