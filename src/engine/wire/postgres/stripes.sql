-- Table spaces of a private server, over which the workload's tables and indexes are distributed.

-- name: table_spaces
SELECT spcname::text AS name FROM pg_catalog.pg_tablespace;

-- The workload's tables and indexes, the largest first, each with the table space that it is in; the default one has no
-- name here.
-- name: relations
SELECT pg_class.relname::text AS name, pg_class.relkind = 'i' AS is_index,
       pg_catalog.pg_table_size(pg_class.oid) AS bytes, coalesce(spcname::text, '') AS table_space
FROM pg_catalog.pg_class
JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
LEFT JOIN pg_catalog.pg_index ON indexrelid = pg_class.oid
LEFT JOIN pg_catalog.pg_class AS of_table ON of_table.oid = indrelid
LEFT JOIN pg_catalog.pg_tablespace ON pg_tablespace.oid = pg_class.reltablespace
WHERE nspname::text = $1::text AND pg_class.relkind IN ('r', 'i')
  AND coalesce(of_table.relname, pg_class.relname) NOT LIKE 'graymark%'
ORDER BY pg_catalog.pg_table_size(pg_class.oid) DESC, pg_class.relname;
