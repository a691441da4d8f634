-- Whether a session waits for a lock: the number under which the server knows a session, and what it says of one.

-- name: session
-- access: read
SELECT CONNECTION_ID();

-- name: waits
-- access: read
-- takes: session
-- gives: waits
SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = ?1 AND trx_state = 'LOCK WAIT';
