-- Graymark's own tables next to a workload's, and its queries, in SQLite. The tables are those of sqlite:, so that what
-- is loaded by one can be used by the other.

-- name: create manifest
CREATE TABLE graymark_manifest (workload TEXT PRIMARY KEY, manifest TEXT NOT NULL, complete INTEGER NOT NULL) STRICT;

-- name: create parts
CREATE TABLE graymark_parts (
    table_name TEXT NOT NULL, number INTEGER NOT NULL, rows INTEGER NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY (table_name, number)) STRICT, WITHOUT ROWID;

-- name: write manifest
INSERT INTO graymark_manifest (workload, manifest, complete) VALUES (?1, ?2, 0);

-- name: read manifest
SELECT workload, manifest, complete FROM graymark_manifest;

-- name: complete
UPDATE graymark_manifest SET complete = 1;

-- name: write part
INSERT INTO graymark_parts (table_name, number, rows, bytes) VALUES (?1, ?2, ?3, ?4);

-- name: read parts
SELECT table_name, number, rows, bytes FROM graymark_parts;

-- name: settings
SELECT 'journal_mode', journal_mode FROM pragma_journal_mode
UNION ALL SELECT 'synchronous', synchronous FROM pragma_synchronous
UNION ALL SELECT 'page_size', page_size FROM pragma_page_size
UNION ALL SELECT 'cache_size', cache_size FROM pragma_cache_size
UNION ALL SELECT 'foreign_keys', foreign_keys FROM pragma_foreign_keys;
