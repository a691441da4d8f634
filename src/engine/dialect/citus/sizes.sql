-- Bytes on disk, of all nodes. Graymark's own tables are on one node, the workload's on all.

-- All tables and indexes of the schema $1.
-- name: schema
SELECT sum(CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_dist_partition WHERE logicalrelid = pg_class.oid)
                THEN citus_total_relation_size(pg_class.oid) ELSE pg_total_relation_size(pg_class.oid) END)::bigint
  FROM pg_catalog.pg_class
  JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
 WHERE nspname = $1 AND relkind = 'r';

-- The table $2 of the schema $1, without its indexes.
-- name: table
SELECT citus_table_size(format('%I.%I', $1, $2)::regclass);
