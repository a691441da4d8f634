-- Graymark's own tables next to a workload's, and its queries, in SQL that nearly every database supports.

-- name: create manifest
-- One row: how the population was made, as JSON, and whether all of it is there. The key refuses a second load at the
-- same time.
CREATE TABLE graymark_manifest (workload VARCHAR(40) NOT NULL PRIMARY KEY, manifest VARCHAR(2000) NOT NULL,
                                complete INTEGER NOT NULL) {options};

-- name: create parts
-- The parts of the population that are loaded; each row is written in the transaction that brings the part's rows.
CREATE TABLE graymark_parts (
    table_name VARCHAR(40) NOT NULL, part INTEGER NOT NULL, loaded_rows BIGINT NOT NULL, loaded_bytes BIGINT NOT NULL,
    PRIMARY KEY (table_name, part)) {options};

-- name: write manifest
INSERT INTO graymark_manifest (workload, manifest, complete) VALUES (?1, ?2, 0);

-- name: read manifest
SELECT workload, manifest, complete FROM graymark_manifest;

-- name: change manifest
UPDATE graymark_manifest SET manifest = ?1;

-- name: complete
UPDATE graymark_manifest SET complete = 1;

-- name: write part
INSERT INTO graymark_parts (table_name, part, loaded_rows, loaded_bytes) VALUES (?1, ?2, ?3, ?4);

-- name: read parts
SELECT table_name, part, loaded_rows, loaded_bytes FROM graymark_parts;
