-- Virtuoso's own counters, each under its name in records; the second name is the server's own spelling.

-- name: counters
SELECT sys_stat ('disk_reads') AS block_reads,
       sys_stat ('disk_writess') AS block_writes;

-- name: pages
-- A touch is a row that was looked at in an index, a read a page that was not in the buffers. A table is its primary
-- key, the main key.
SELECT lower (name_part (k.KEY_TABLE, 2)) AS table_name, s.TOUCHES AS touches, s.READS AS reads,
       k.KEY_IS_MAIN AS is_main
  FROM DB.DBA.SYS_D_STAT s, DB.DBA.SYS_KEYS k
 WHERE k.KEY_TABLE = s.KEY_TABLE
   AND name_part (k.KEY_NAME, 2, k.KEY_NAME) = s.INDEX_NAME
   AND lower (s.KEY_TABLE) LIKE 'tpcc.dba.%'
   AND lower (s.KEY_TABLE) NOT LIKE '%graymark%'
   AND k.KEY_MIGRATE_TO IS NULL;

-- name: buffers
-- As of the last call of status ().
SELECT sys_stat ('st_db_buffers') AS buffers;
