-- Bytes on disk are not known.

-- name: schema
SELECT NULL::bigint FROM pg_catalog.pg_namespace WHERE nspname = $1;

-- name: table
SELECT NULL::bigint FROM pg_catalog.pg_namespace WHERE nspname = $1 AND $2 <> '';
