-- Graymark's own tables next to a workload's, in the same schema.

-- One row: the parameters of the population, as JSON, and the state of the load (`loading`, `complete`).
CREATE TABLE graymark_manifest (
    manifest text NOT NULL,
    state    text NOT NULL CHECK (state IN ('loading', 'complete'))
);

-- The loaded parts of the population; each row was written in the transaction that loaded the part's rows.
CREATE TABLE graymark_parts (
    table_name text    NOT NULL,
    number     integer NOT NULL,
    rows       bigint  NOT NULL,
    PRIMARY KEY (table_name, number)
);
