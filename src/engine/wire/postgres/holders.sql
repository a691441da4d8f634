-- Other sessions that hold locks on tables of the schema $1, each in a line. The states of other users' sessions are
-- NULL to a user without the role pg_read_all_stats. graymark_parts is left out: in some dialects this command holds
-- its lock.
SELECT DISTINCT 'process ' || a.pid || ' ('
    || concat_ws(', ', a.usename, nullif(a.application_name, ''), a.client_addr, a.state) || ')'
FROM pg_catalog.pg_locks l
JOIN pg_catalog.pg_database d ON d.oid = l.database AND d.datname = current_database()
JOIN pg_catalog.pg_class c ON c.oid = l.relation
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
WHERE l.granted AND n.nspname = $1 AND c.relname <> 'graymark_parts' AND a.pid <> pg_backend_pid()
ORDER BY 1
