-- What the server's client sessions are at: asked about twenty times a second, so it must be cheap. The function is
-- that behind pg_stat_activity, without the view's joins. A user sees what its own sessions are at; of others the state
-- is null. Names of wait events up to PostgreSQL 18.

-- name: sessions
SELECT pid,
       CASE
           WHEN state IS NULL OR state IN ('disabled', 'fastpath function call') THEN 'unknown'
           WHEN state <> 'active' THEN 'client'
           WHEN wait_event IS NULL THEN 'running'
           WHEN wait_event_type = 'Client' THEN 'client'
           WHEN wait_event ILIKE 'wal%' OR wait_event = 'SyncRep' THEN 'log'
           WHEN wait_event_type = 'Lock' AND wait_event IN ('transactionid', 'tuple') THEN 'row_lock'
           WHEN wait_event IN ('DataFileRead', 'DataFilePrefetch', 'BufferIO', 'BufferIo', 'AioIoCompletion')
               THEN 'page_read'
           WHEN wait_event_type IN ('Lock', 'LWLock', 'BufferPin') THEN 'other_lock'
           ELSE 'other'
       END AS wait
FROM pg_stat_get_activity(NULL)
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid();

-- Who holds up sessions that have waited for a lock for a fifth of a second and more, and waits for no lock itself:
-- asked about once a second. To find it out for one session takes the locks of the lock table for a moment, so it is
-- not asked for short waits.
-- name: blockers
SELECT b.pid,
       count(*)::integer AS waiting,
       extract(epoch FROM clock_timestamp() - max(h.xact_start))::double precision AS open_s,
       CASE WHEN b.pid = 0 THEN 'a prepared transaction' ELSE coalesce(max(h.state), '') END AS state,
       CASE WHEN max(h.state) IS NULL THEN '' ELSE coalesce(max(h.query), '') END AS statement
FROM pg_stat_get_activity(NULL) w
     CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS b(pid)
     LEFT JOIN pg_stat_get_activity(NULL) h ON h.pid = b.pid
WHERE w.wait_event_type = 'Lock'
  AND w.query_start < clock_timestamp() - interval '200 milliseconds'
  AND h.wait_event_type IS DISTINCT FROM 'Lock'
GROUP BY b.pid
ORDER BY 2 DESC, 3 DESC NULLS LAST
LIMIT 3;

-- name: background_work
SELECT 'vacuum of ' || coalesce(c.relname, p.relid::text) AS work
FROM pg_stat_progress_vacuum p LEFT JOIN pg_class c ON c.oid = p.relid
WHERE p.datname = current_database()
UNION
SELECT 'analysis of ' || coalesce(c.relname, p.relid::text)
FROM pg_stat_progress_analyze p LEFT JOIN pg_class c ON c.oid = p.relid
WHERE p.datname = current_database()
UNION
SELECT 'making of an index of ' || coalesce(c.relname, p.relid::text)
FROM pg_stat_progress_create_index p LEFT JOIN pg_class c ON c.oid = p.relid
WHERE p.datname = current_database();
