-- name: counter
CREATE TABLE counter (
    id    INTEGER PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;

-- name: step
CREATE TABLE step (
    counter_id INTEGER NOT NULL,
    value      INTEGER NOT NULL
) STRICT;
