-- What graymark doctor asks a server on MySQL's wire, in a database of its own. `needed` names the dialects that cannot
-- do without: `all`, `none`, or their names. Lines `-- then` part the statements of a question; the first row of the
-- last must be `expect`, with bars between its columns, where that is given.

-- name: version
-- title: the server tells its version and where it is
-- needed: all
SELECT VERSION(), @@datadir, @@pid_file;

-- name: types
-- title: integers, exact amounts, texts and points in time come back as they were
-- needed: all
-- expect: -32768|2147483647|9999999999.99|0.1999|ab|2026-01-31 12:00:00.000001
CREATE TABLE types (s smallint, i integer, m decimal(12, 2), r decimal(4, 4), c char(2), v varchar(500), t datetime(6))
    ENGINE = InnoDB
-- then
INSERT INTO types VALUES (-32768, 2147483647, 9999999999.99, 0.1999, 'ab', repeat('x', 500),
                          '2026-01-31 12:00:00.000001')
-- then
SELECT s, i, m, r, c, t FROM types WHERE length(v) = 500;

-- name: strict
-- title: a value that does not fit is an error
-- needed: all
-- expect: 1
SELECT @@sql_mode LIKE '%STRICT_TRANS_TABLES%';

-- name: row locks
-- title: SELECT … FOR UPDATE
-- needed: all
-- expect: 1
CREATE TABLE locked_rows (id integer PRIMARY KEY)
-- then
INSERT INTO locked_rows VALUES (1), (2)
-- then
SELECT id FROM locked_rows ORDER BY id LIMIT 1 FOR UPDATE;

-- name: variables
-- title: a SELECT … FOR UPDATE keeps a value in a variable of the session
-- needed: all
-- expect: 7
CREATE TABLE kept (id integer PRIMARY KEY)
-- then
INSERT INTO kept VALUES (7)
-- then
SET @kept = (SELECT id FROM kept ORDER BY id LIMIT 1 FOR UPDATE)
-- then
SELECT @kept;

-- name: foreign keys
-- title: foreign keys are kept
-- needed: none
CREATE TABLE parents (id integer PRIMARY KEY)
-- then
CREATE TABLE children (id integer, FOREIGN KEY (id) REFERENCES parents (id));

-- name: returning
-- title: INSERT … RETURNING tells the new row, for --via statements
-- needed: none
-- expect: 2
CREATE TABLE returning_rows (id integer PRIMARY KEY)
-- then
INSERT INTO returning_rows VALUES (2) RETURNING id;

-- name: json tables
-- title: JSON_TABLE makes rows of a document, for --via statements
-- needed: none
-- expect: 2
SELECT n FROM JSON_TABLE('[[1], [2]]', '$[*]' COLUMNS (n int PATH '$[0]')) AS t WHERE n = 2;

-- name: procedures
-- title: procedures with answers
-- needed: mariadb, oceanbase
-- expect: 42
CREATE PROCEDURE answer(q integer) BEGIN DECLARE a integer DEFAULT 0; SET a = q + 1; SELECT a; END
-- then
CALL answer(41);

-- name: named locks
-- title: locks by a name, which keep two loads apart
-- needed: all
-- expect: 1
SELECT GET_LOCK(CONCAT('graymark ', SHA1('graymark doctor')), 2);

-- name: catalog
-- title: the catalog tells databases, tables, columns, indexes and constraints
-- needed: all
SELECT count(*) FROM information_schema.tables t
  LEFT JOIN information_schema.columns c ON c.table_schema = t.table_schema AND c.table_name = t.table_name
  LEFT JOIN information_schema.statistics s ON s.table_schema = t.table_schema AND s.table_name = t.table_name
  LEFT JOIN information_schema.table_constraints k
         ON k.constraint_schema = t.table_schema AND k.table_name = t.table_name
 WHERE t.table_schema = DATABASE();

-- name: settings
-- title: settings can be read, for the record of a run
-- needed: all
SHOW SESSION VARIABLES WHERE variable_name IN ('version_comment', 'max_connections');

-- name: statistics
-- title: the planner's statistics can be asked for
-- needed: all
CREATE TABLE analyzed (id integer PRIMARY KEY)
-- then
ANALYZE TABLE analyzed;

-- name: counters
-- title: the server's counters: transactions, pages, log
-- needed: none
-- expect: Com_commit
SHOW GLOBAL STATUS WHERE variable_name = 'Com_commit';

-- name: pages
-- title: pages read and asked for (hit rate)
-- needed: none
SELECT @@innodb_page_size, @@innodb_buffer_pool_size;

-- name: waits
-- title: which transactions wait for a lock (innodb_trx), for graymark acid
-- needed: none
SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT';
