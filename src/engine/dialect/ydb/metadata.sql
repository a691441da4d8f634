-- Graymark's own tables in a workload's directory: how the population was made, and which parts of it are loaded.

-- name: graymark_manifest
CREATE TABLE IF NOT EXISTS graymark_manifest (
    workload Utf8 NOT NULL,
    manifest Utf8 NOT NULL,
    state    Utf8 NOT NULL,
    PRIMARY KEY (workload)
);

-- name: graymark_parts
CREATE TABLE IF NOT EXISTS graymark_parts (
    table_name Utf8  NOT NULL,
    number     Int32 NOT NULL,
    row_count  Int64 NOT NULL,
    PRIMARY KEY (table_name, number)
);
