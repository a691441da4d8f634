-- What graymark doctor asks a server on PostgreSQL's wire, in a schema of its own. `needed` names the dialects that
-- cannot do without: `all`, `none`, or their names. Lines `-- then` part the statements of a question; the first row of
-- the last must be `expect`, with bars between its columns, where that is given.

-- name: version
-- title: the server tells its version and the process of a session
-- needed: all
SELECT current_setting('server_version'), pg_backend_pid(), version();

-- name: extensions
-- title: the extensions of the database, which may ask for another dialect
-- needed: none
SELECT string_agg('extension ' || extname || ' ' || extversion, '; ' ORDER BY extname) FROM pg_catalog.pg_extension;

-- name: types
-- title: integers, exact amounts, texts and points in time come back as they were
-- needed: all
-- expect: -32768|2147483647|9999999999.99|0.1999|ab|2026-01-31 12:00:00+00
CREATE TABLE types (s smallint, i integer, m numeric(12, 2), r numeric(4, 4), c char(2), v varchar(500), t timestamptz)
-- then
INSERT INTO types VALUES (-32768, 2147483647, 9999999999.99, 0.1999, 'ab', repeat('x', 500), '2026-01-31 12:00:00+00')
-- then
SELECT s, i, m, r, c, t FROM types WHERE length(v) = 500;

-- name: returning
-- title: UPDATE … RETURNING tells the changed row
-- needed: all
-- expect: 2
CREATE TABLE returning_rows (id integer PRIMARY KEY, v integer)
-- then
INSERT INTO returning_rows VALUES (1, 1)
-- then
UPDATE returning_rows SET v = v + 1 WHERE id = 1 RETURNING v;

-- name: arrays
-- title: arrays become rows by unnest, side by side
-- needed: all
-- expect: 2|b
SELECT n, w FROM unnest(ARRAY[1, 2], ARRAY['a', 'b']) AS t (n, w) WHERE n = 2;

-- name: row locks
-- title: SELECT … FOR UPDATE
-- needed: all
-- expect: 1
CREATE TABLE locked_rows (id integer PRIMARY KEY)
-- then
INSERT INTO locked_rows VALUES (1), (2)
-- then
SELECT id FROM locked_rows ORDER BY id LIMIT 1 FOR UPDATE;

-- name: foreign keys
-- title: foreign keys are kept
-- needed: none
CREATE TABLE parents (id integer PRIMARY KEY)
-- then
CREATE TABLE children (id integer REFERENCES parents);

-- name: fill factor
-- title: tables can have a fill factor
-- needed: postgres, citus
CREATE TABLE filled (id integer PRIMARY KEY) WITH (fillfactor = 90);

-- name: procedures
-- title: procedures in PL/pgSQL with answers
-- needed: postgres, citus, yugabytedb
-- expect: 42
CREATE FUNCTION answer(q integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN q + 1; END $$
-- then
SELECT answer(41);

-- name: advisory locks
-- title: locks by a number, which keep two loads apart
-- needed: postgres, citus
BEGIN
-- then
SELECT pg_advisory_xact_lock(hashtext('graymark doctor'), 1)
-- then
COMMIT;

-- name: catalog
-- title: the catalog tells schemas, tables, columns, indexes and routines
-- needed: all
SELECT count(*) FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
  LEFT JOIN pg_catalog.pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
  LEFT JOIN pg_catalog.pg_proc ON pronamespace = pg_namespace.oid
  LEFT JOIN pg_catalog.pg_indexes ON schemaname = nspname
 WHERE nspname = current_schema();

-- name: settings
-- title: settings can be read, for the record of a run
-- needed: all
SELECT count(*) FROM pg_catalog.pg_settings;

-- name: lock timeout
-- title: a session waits for a lock no longer than it says
-- needed: all
-- expect: 1min
SHOW lock_timeout;

-- name: statistics
-- title: the planner's statistics can be asked for
-- needed: all
CREATE TABLE analyzed (id integer PRIMARY KEY)
-- then
ANALYZE analyzed;

-- name: vacuum
-- title: dead rows can be removed on request
-- needed: postgres, citus
CREATE TABLE vacuumed (id integer PRIMARY KEY)
-- then
VACUUM (ANALYZE) vacuumed;

-- name: checkpoint
-- title: this user may ask for a checkpoint
-- needed: none
CHECKPOINT;

-- name: counters
-- title: the server's counters: transactions, blocks, log
-- needed: none
SELECT xact_commit, blks_read, wal_bytes FROM pg_stat_database, pg_stat_wal WHERE datname = current_database();

-- name: waits
-- title: what sessions wait for (pg_stat_activity)
-- needed: none
SELECT count(wait_event_type) FROM pg_stat_activity;
