-- What the server's client sessions are at: asked about eight times a second, for InnoDB renews its list of
-- transactions only after a tenth of a second in which nobody has read it. Names of states are those of MariaDB 10.6
-- and later.
--
-- A commit whose log is flushed waits in "Commit", or, where the flush goes on while the statement is cleaned up, in
-- "Starting cleanup". What a session waits for within a statement InnoDB only tells of row locks: the rest counts as
-- running, and what the clocks of its thread do not account for stays unexplained.

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
SELECT p.id,
       CASE
           WHEN p.command IN ('Sleep', 'Connect') OR p.state IN ('Writing to net', 'Reading from net') THEN 'client'
           WHEN t.trx_state = 'LOCK WAIT' THEN 'row_lock'
           WHEN p.state IN ('Commit', 'Starting cleanup') THEN 'log'
           WHEN p.state LIKE 'Waiting for%lock%' THEN 'other_lock'
           WHEN p.state = 'User sleep' OR p.state LIKE 'Waiting for%' THEN 'other'
           ELSE 'running'
       END AS wait,
       p.tid
FROM information_schema.processlist p
     LEFT JOIN information_schema.innodb_trx t ON t.trx_mysql_thread_id = p.id
WHERE p.id <> CONNECTION_ID() AND p.command <> 'Daemon';

-- The same where the performance schema tells each wait of a thread: one that has not ended has no end event.
-- name: waits
SELECT p.id,
       CASE
           WHEN p.command IN ('Sleep', 'Connect') OR p.state IN ('Writing to net', 'Reading from net') THEN 'client'
           WHEN t.trx_state = 'LOCK WAIT' THEN 'row_lock'
           WHEN p.state IN ('Commit', 'Starting cleanup') THEN 'log'
           WHEN e.event_name = 'wait/io/file/innodb/innodb_log_file' THEN 'log'
           WHEN e.event_name LIKE 'wait/io/file/%' THEN 'page_read'
           WHEN p.state = 'User sleep' THEN 'other'
           WHEN e.event_name LIKE 'wait/synch/%' OR p.state LIKE 'Waiting for%lock%' THEN 'other_lock'
           WHEN p.state LIKE 'Waiting for%' THEN 'other'
           ELSE 'running'
       END AS wait,
       p.tid
FROM information_schema.processlist p
     LEFT JOIN information_schema.innodb_trx t ON t.trx_mysql_thread_id = p.id
     LEFT JOIN performance_schema.threads h ON h.processlist_id = p.id
     LEFT JOIN performance_schema.events_waits_current e
       ON e.thread_id = h.thread_id
      AND e.end_event_id IS NULL
      AND (e.event_name LIKE 'wait/io/file/%' OR e.event_name LIKE 'wait/synch/%')
WHERE p.id <> CONNECTION_ID() AND p.command <> 'Daemon';

-- Who holds up sessions that have waited for a row for a second and more, and waits for none itself: asked about once a
-- second. The server does not tell what a session has sent that does nothing now.
-- name: blockers
SELECT b.trx_mysql_thread_id AS id,
       COUNT(DISTINCT w.requesting_trx_id) AS waiting,
       CAST(TIMESTAMPDIFF(SECOND, b.trx_started, NOW()) AS SIGNED) AS open_s,
       COALESCE(LOWER(MAX(p.command)), '') AS state,
       COALESCE(MAX(p.info), '') AS statement
FROM information_schema.innodb_lock_waits w
     JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id
     JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id
     LEFT JOIN information_schema.processlist p ON p.id = b.trx_mysql_thread_id
WHERE b.trx_state <> 'LOCK WAIT'
  AND r.trx_wait_started <= NOW() - INTERVAL 1 SECOND
GROUP BY b.trx_mysql_thread_id, b.trx_started
ORDER BY waiting DESC, open_s DESC
LIMIT 3;
