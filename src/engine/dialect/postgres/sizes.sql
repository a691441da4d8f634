-- Bytes on disk.

-- All tables and indexes of the schema $1.
-- name: schema
SELECT sum(pg_total_relation_size(pg_class.oid))::bigint
  FROM pg_catalog.pg_class
  JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
 WHERE nspname = $1 AND relkind = 'r';

-- The table $2 of the schema $1, without its indexes.
-- name: table
SELECT pg_table_size(format('%I.%I', $1, $2)::regclass);
