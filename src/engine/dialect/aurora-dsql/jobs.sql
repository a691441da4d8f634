-- Asynchronous jobs
-- (https://docs.aws.amazon.com/aurora-dsql/latest/userguide/working-with-create-index-async.html).

-- The newest job that builds an index, by the index's name with its schema: state (`submitted`, `processing`,
-- `completed`, `failed`), why it failed, and when it was last updated.
-- name: index
SELECT status::text, details::text, update_time::text
  FROM sys.jobs
 WHERE object_name = $1 AND job_type = 'INDEX_BUILD'
 ORDER BY start_time DESC
 LIMIT 1;
