-- Requested pages and pages not found in shared buffers, by table, since the statistics' last reset. TOAST tables count
-- as data of their table, and their index as its index.
--
-- A busy backend reports its counts at most once a second, an idle one a little later. Up to PostgreSQL 15 a page by
-- which a table or an index grows counts as read.

-- name: sizes
SELECT current_setting('block_size') AS page_bytes,
       (SELECT setting::numeric * current_setting('block_size')::numeric FROM pg_settings
         WHERE name = 'shared_buffers') AS buffer_bytes;

-- name: tables
SELECT schemaname AS schema,
       relname AS "table",
       coalesce(heap_blks_hit, 0) + coalesce(heap_blks_read, 0) + coalesce(toast_blks_hit, 0)
           + coalesce(toast_blks_read, 0) AS data_logical,
       coalesce(heap_blks_read, 0) + coalesce(toast_blks_read, 0) AS data_physical,
       coalesce(idx_blks_hit, 0) + coalesce(idx_blks_read, 0) + coalesce(tidx_blks_hit, 0)
           + coalesce(tidx_blks_read, 0) AS index_logical,
       coalesce(idx_blks_read, 0) + coalesce(tidx_blks_read, 0) AS index_physical,
       pg_total_relation_size(relid) AS bytes
FROM pg_statio_user_tables
WHERE relname NOT LIKE 'graymark\_%';
