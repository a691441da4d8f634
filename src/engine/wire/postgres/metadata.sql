-- What Graymark itself keeps beside a workload's tables, in the same schema.

-- One row: how the population was made, as JSON, and whether the load has ended (`loading`, `complete`).
CREATE TABLE graymark_manifest (
    manifest text NOT NULL,
    state    text NOT NULL CHECK (state IN ('loading', 'complete'))
);

-- The parts of the population that are loaded; each row was written in the transaction that brought the part's rows.
CREATE TABLE graymark_parts (
    table_name text    NOT NULL,
    number     integer NOT NULL,
    rows       bigint  NOT NULL,
    PRIMARY KEY (table_name, number)
);
