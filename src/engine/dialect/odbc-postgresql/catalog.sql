-- Graymark's own tables next to a workload's, and its queries, in PostgreSQL. The tables are those of postgres://, so
-- that what is loaded by one can be used by the other. The bytes of a part are not stored there.

-- name: claim
-- The lock of postgres:// for this schema. It belongs to the transaction, which the server must not end as idle.
SELECT CASE WHEN pg_try_advisory_xact_lock(hashtext('graymark load'), hashtext('{schema}')) THEN 1 ELSE 0 END
FROM set_config('idle_in_transaction_session_timeout', '0', true);

-- name: create manifest
CREATE TABLE graymark_manifest (
    manifest text NOT NULL,
    state    text NOT NULL CHECK (state IN ('loading', 'complete'))
);

-- name: create parts
CREATE TABLE graymark_parts (
    table_name text    NOT NULL,
    number     integer NOT NULL,
    rows       bigint  NOT NULL,
    PRIMARY KEY (table_name, number)
);

-- name: write manifest
-- The workload is the name of the schema.
INSERT INTO graymark_manifest (manifest, state) SELECT ?2::text, 'loading' WHERE ?1::text = current_schema();

-- name: read manifest
SELECT current_schema(), manifest, CASE state WHEN 'complete' THEN 1 ELSE 0 END FROM graymark_manifest;

-- name: complete
UPDATE graymark_manifest SET state = 'complete';

-- name: write part
INSERT INTO graymark_parts (table_name, number, rows) SELECT ?1::text, ?2::integer, ?3::bigint WHERE ?4::bigint >= 0;

-- name: read parts
SELECT table_name, number, rows, 0 FROM graymark_parts;

-- name: settings
SELECT name, current_setting(name)
FROM pg_catalog.pg_settings
WHERE name IN ('shared_buffers', 'fsync', 'synchronous_commit', 'full_page_writes', 'wal_level', 'max_wal_size',
               'checkpoint_timeout', 'effective_cache_size', 'max_connections', 'autovacuum', 'data_checksums',
               'block_size', 'jit')
UNION ALL
SELECT 'unlogged_tables', string_agg(relname::text, ', ' ORDER BY relname)
FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = current_schema() AND relkind IN ('r', 'p') AND relpersistence <> 'p'
HAVING count(*) > 0;

-- name: procedures
SELECT proname::text, prosrc
FROM pg_catalog.pg_proc JOIN pg_catalog.pg_namespace ON pg_namespace.oid = pronamespace
WHERE nspname = current_setting('search_path');

-- name: hidden
-- To a user without a right to the schema, its tables look as if they were not there.
SELECT nspname::text
FROM pg_catalog.pg_namespace
WHERE nspname = current_setting('search_path') AND NOT has_schema_privilege(oid, 'USAGE');
