-- Graymark's own tables next to a workload's, in the same database.

-- One row: of which workload the tables are, how the population was made, as JSON, and whether the load has ended
-- (loading, complete).
-- name: graymark_manifest
CREATE TABLE IF NOT EXISTS graymark_manifest (
    workload varchar(40)   NOT NULL,
    manifest varchar(4000) NOT NULL,
    state    varchar(10)   NOT NULL,
    PRIMARY KEY (workload)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The parts of the population that are loaded; each row was written in the transaction that brought the part's rows.
-- name: graymark_parts
CREATE TABLE IF NOT EXISTS graymark_parts (
    table_name varchar(40) NOT NULL,
    number     int         NOT NULL,
    row_count  bigint      NOT NULL,
    PRIMARY KEY (table_name, number)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
