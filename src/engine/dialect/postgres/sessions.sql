-- What the server's client sessions are at: asked about twenty times a second, so it must be cheap. The function is that
-- behind pg_stat_activity, without the view's joins. A user sees what its own sessions are at; of others the state is
-- null. Names of wait events up to PostgreSQL 18.

-- name: sessions
SELECT pid,
       CASE
           WHEN state IS NULL OR state IN ('disabled', 'fastpath function call') THEN 'unknown'
           WHEN state <> 'active' THEN 'client'
           WHEN wait_event IS NULL THEN 'running'
           WHEN wait_event_type = 'Client' THEN 'client'
           WHEN wait_event ILIKE 'wal%' OR wait_event = 'SyncRep' THEN 'log'
           WHEN wait_event_type = 'Lock' AND wait_event IN ('transactionid', 'tuple') THEN 'row_lock'
           WHEN wait_event IN ('DataFileRead', 'DataFilePrefetch', 'BufferIO', 'BufferIo', 'AioIoCompletion') THEN 'page_read'
           WHEN wait_event_type IN ('Lock', 'LWLock', 'BufferPin') THEN 'other_lock'
           ELSE 'other'
       END AS wait
FROM pg_stat_get_activity(NULL)
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid();
