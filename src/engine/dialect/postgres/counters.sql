-- PostgreSQL's own counters under Graymark's names. The name of a query is the first major version that it is for.
--
-- Bytes of log are positions in it, which are exact at any moment. All else comes from the statistics: a busy backend
-- hands in its own at most once a second, one that is idle a little later, so that a single second may hold a little of
-- its neighbour. Blocks read, and transactions, are those of this database; blocks written and the log are those of the
-- whole server. Looking adds a transaction each time.

-- name: facts
SELECT current_setting('server_version_num')::integer / 10000 AS version,
       current_setting('fsync') AS fsync,
       current_setting('wal_sync_method') AS wal_sync_method;

-- name: 14
SELECT d.xact_commit AS commits,
       d.blks_read AS block_reads,
       d.blks_read * current_setting('block_size')::numeric AS block_read_bytes,
       b.buffers_checkpoint + b.buffers_clean + b.buffers_backend AS block_writes,
       (b.buffers_checkpoint + b.buffers_clean + b.buffers_backend)
           * current_setting('block_size')::numeric AS block_write_bytes,
       w.wal_write AS log_writes,
       w.wal_sync AS log_flushes,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS log_bytes,
       b.checkpoints_timed + b.checkpoints_req AS checkpoints,
       b.buffers_checkpoint AS checkpoint_blocks
FROM pg_stat_database d, pg_stat_wal w, pg_stat_bgwriter b
WHERE d.datname = current_database();

-- name: 17
SELECT d.xact_commit AS commits,
       d.blks_read AS block_reads,
       d.blks_read * current_setting('block_size')::numeric AS block_read_bytes,
       i.writes AS block_writes,
       i.bytes AS block_write_bytes,
       w.wal_write AS log_writes,
       w.wal_sync AS log_flushes,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS log_bytes,
       c.num_timed + c.num_requested AS checkpoints,
       c.buffers_written AS checkpoint_blocks
FROM pg_stat_database d, pg_stat_wal w, pg_stat_checkpointer c,
     (SELECT sum(coalesce(writes, 0) + coalesce(extends, 0)) AS writes,
             sum((coalesce(writes, 0) + coalesce(extends, 0)) * op_bytes) AS bytes
      FROM pg_stat_io) i
WHERE d.datname = current_database();

-- name: 18
SELECT d.xact_commit AS commits,
       d.blks_read AS block_reads,
       d.blks_read * current_setting('block_size')::numeric AS block_read_bytes,
       i.writes AS block_writes,
       i.bytes AS block_write_bytes,
       l.writes AS log_writes,
       l.fsyncs AS log_flushes,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS log_bytes,
       c.num_done AS checkpoints,
       c.buffers_written AS checkpoint_blocks
FROM pg_stat_database d, pg_stat_checkpointer c,
     (SELECT sum(coalesce(writes, 0) + coalesce(extends, 0)) AS writes,
             sum(coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)) AS bytes
      FROM pg_stat_io WHERE object <> 'wal') i,
     (SELECT sum(writes) AS writes, sum(fsyncs) AS fsyncs FROM pg_stat_io WHERE object = 'wal') l
WHERE d.datname = current_database();
