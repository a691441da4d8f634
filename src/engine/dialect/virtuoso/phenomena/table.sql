-- The table on which `graymark acid` looks for phenomena: made before, and dropped behind them. A row has a key, a
-- group and a value. `{schema}` is the catalog of the workload's tables.

-- name: create
-- access: write
CREATE TABLE {schema}.DBA.graymark_phenomena (k INTEGER NOT NULL PRIMARY KEY, g INTEGER NOT NULL, v INTEGER NOT NULL);

-- name: drop
-- access: write
DROP TABLE {schema}.DBA.graymark_phenomena;
