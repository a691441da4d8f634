-- What the client sessions of a MySQL 8 are at: the questions of sessions.sql, asked of the performance schema, whose
-- list of threads takes no lock that all sessions need, unlike information_schema.processlist.
--
-- A commit whose log is flushed is in the state "waiting for handler commit". Of all else that a statement waits for,
-- InnoDB only tells row locks, unless the performance schema tells each wait.

-- name: facts
SELECT @@performance_schema AND EXISTS (
           SELECT 1 FROM performance_schema.setup_consumers
           WHERE name = 'events_waits_current' AND enabled = 'YES'
       ) AND EXISTS (
           SELECT 1 FROM performance_schema.setup_instruments
           WHERE name LIKE 'wait/io/file/innodb/%' AND enabled = 'YES'
       ) AS waits,
       @@thread_handling = 'one-thread-per-connection' AS threads;

-- name: sessions
SELECT p.processlist_id,
       CASE
           WHEN p.processlist_command IN ('Sleep', 'Connect')
                OR p.processlist_state IN ('Sending to client', 'Receiving from client') THEN 'client'
           WHEN t.trx_state = 'LOCK WAIT' THEN 'row_lock'
           WHEN p.processlist_state = 'waiting for handler commit' THEN 'log'
           WHEN p.processlist_state LIKE 'Waiting for%lock%' THEN 'other_lock'
           WHEN p.processlist_state = 'User sleep' OR p.processlist_state LIKE 'Waiting for%' THEN 'other'
           ELSE 'running'
       END AS wait,
       p.thread_os_id
FROM performance_schema.threads p
     LEFT JOIN information_schema.innodb_trx t ON t.trx_mysql_thread_id = p.processlist_id
WHERE p.processlist_id <> CONNECTION_ID() AND p.type = 'FOREGROUND' AND p.processlist_command <> 'Daemon';

-- The same where the performance schema tells each wait of a thread: one that has not ended has no end event.
-- name: waits
SELECT p.processlist_id,
       CASE
           WHEN p.processlist_command IN ('Sleep', 'Connect')
                OR p.processlist_state IN ('Sending to client', 'Receiving from client') THEN 'client'
           WHEN t.trx_state = 'LOCK WAIT' THEN 'row_lock'
           WHEN p.processlist_state = 'waiting for handler commit' THEN 'log'
           WHEN e.event_name IN ('wait/io/file/innodb/innodb_log_file', 'wait/io/file/sql/binlog') THEN 'log'
           WHEN e.event_name LIKE 'wait/io/file/%' THEN 'page_read'
           WHEN p.processlist_state = 'User sleep' THEN 'other'
           WHEN e.event_name LIKE 'wait/synch/%' OR p.processlist_state LIKE 'Waiting for%lock%' THEN 'other_lock'
           WHEN p.processlist_state LIKE 'Waiting for%' THEN 'other'
           ELSE 'running'
       END AS wait,
       p.thread_os_id
FROM performance_schema.threads p
     LEFT JOIN information_schema.innodb_trx t ON t.trx_mysql_thread_id = p.processlist_id
     LEFT JOIN (SELECT thread_id, MAX(event_name) AS event_name
                  FROM performance_schema.events_waits_current
                 WHERE end_event_id IS NULL
                   AND (event_name LIKE 'wait/io/file/%' OR event_name LIKE 'wait/synch/%')
                 GROUP BY thread_id) e ON e.thread_id = p.thread_id
WHERE p.processlist_id <> CONNECTION_ID() AND p.type = 'FOREGROUND' AND p.processlist_command <> 'Daemon';

-- Who holds up sessions that have waited for a row for a second and more, and waits for none itself: asked about once a
-- second. The server does not tell what a session has sent that does nothing now.
-- name: blockers
SELECT b.trx_mysql_thread_id AS id,
       CAST(COUNT(DISTINCT w.requesting_engine_transaction_id) AS SIGNED) AS waiting,
       CAST(TIMESTAMPDIFF(SECOND, b.trx_started, NOW()) AS SIGNED) AS open_s,
       COALESCE(LOWER(MAX(p.processlist_command)), '') AS state,
       COALESCE(MAX(p.processlist_info), '') AS statement
FROM performance_schema.data_lock_waits w
     JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_engine_transaction_id
     JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_engine_transaction_id
     LEFT JOIN performance_schema.threads p ON p.processlist_id = b.trx_mysql_thread_id
WHERE b.trx_state <> 'LOCK WAIT'
  AND r.trx_wait_started <= NOW() - INTERVAL 1 SECOND
GROUP BY b.trx_mysql_thread_id, b.trx_started
ORDER BY waiting DESC, open_s DESC
LIMIT 3;
