-- What Virtuoso counts of itself, each figure under its name in records; the second name is the server's own spelling.

-- name: counters
SELECT sys_stat ('disk_reads') AS block_reads,
       sys_stat ('disk_writess') AS block_writes;
