-- Costs of statements within stored procedures, from the extension pg_stat_statements if it is loaded. The word
-- EXTENSION_SCHEMA is a placeholder for the schema of the extension. Its column toplevel exists from PostgreSQL 14 on.

-- name: facts
SELECT current_setting('pg_stat_statements.track', true) AS track,
       (SELECT quote_ident(nspname) FROM pg_catalog.pg_extension
          JOIN pg_catalog.pg_namespace ON pg_namespace.oid = extnamespace
         WHERE extname = 'pg_stat_statements') AS place;

-- name: make
CREATE EXTENSION IF NOT EXISTS pg_stat_statements;

-- name: read
SELECT query, calls, total_exec_time, shared_blks_hit + shared_blks_read AS blocks
  FROM EXTENSION_SCHEMA.pg_stat_statements
 WHERE NOT toplevel AND dbid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database());
