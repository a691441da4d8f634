-- Whether a session waits for a lock: the number under which the server knows a session, and what it says of one.

-- name: session
-- access: read
SELECT pg_backend_pid();

-- name: waits
-- access: read
-- takes: session
-- gives: waits
SELECT count(*)::integer FROM pg_catalog.pg_stat_activity WHERE pid = $1::integer AND wait_event_type = 'Lock';
