-- Queries for MariaDB and MySQL in addition to those for any database.

-- name: claim
-- The lock of mysql:// in this database. It belongs to the session.
SELECT GET_LOCK(CONCAT('graymark ', SHA1(COALESCE(DATABASE(), ''))), 0);

-- name: settings
SELECT 'innodb_flush_log_at_trx_commit', CAST(@@innodb_flush_log_at_trx_commit AS CHAR)
UNION ALL SELECT 'innodb_doublewrite', CAST(@@innodb_doublewrite AS CHAR)
UNION ALL SELECT 'innodb_flush_method', CAST(@@innodb_flush_method AS CHAR)
UNION ALL SELECT 'log_bin', CAST(@@log_bin AS CHAR)
UNION ALL SELECT 'sync_binlog', CAST(@@sync_binlog AS CHAR)
UNION ALL SELECT 'innodb_rollback_on_timeout', CAST(@@innodb_rollback_on_timeout AS CHAR)
UNION ALL SELECT 'innodb_buffer_pool_size', CAST(@@innodb_buffer_pool_size AS CHAR)
UNION ALL
SELECT 'tables_of_other_engines', GROUP_CONCAT(CONCAT(table_name, ' (', engine, ')') ORDER BY table_name SEPARATOR ', ')
FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' AND engine <> 'InnoDB'
HAVING COUNT(*) > 0;

-- name: procedures
SELECT routine_name, routine_definition
  FROM information_schema.routines
 WHERE routine_schema = DATABASE() AND routine_type = 'PROCEDURE';

-- name: columns
-- SELECT * leaves out invisible columns.
SELECT table_name, column_name
  FROM information_schema.columns
 WHERE table_schema = DATABASE();

-- name: views
SELECT table_name
  FROM information_schema.tables
 WHERE table_schema = DATABASE() AND table_type <> 'BASE TABLE';
