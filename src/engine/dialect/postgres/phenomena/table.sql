-- The table in which `graymark acid` tests for phenomena: created before, and dropped after them. A row has a key, a
-- group and a value. `{schema}` is the schema of the workload's tables.

-- name: create
-- access: write
CREATE TABLE {schema}.graymark_phenomena (k INTEGER NOT NULL PRIMARY KEY, g INTEGER NOT NULL, v INTEGER NOT NULL);

-- name: drop
-- access: write
DROP TABLE {schema}.graymark_phenomena;
