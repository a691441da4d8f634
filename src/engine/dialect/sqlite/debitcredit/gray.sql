-- The four tables of DebitCredit as Gray and Levine have them (MSR-TR-2005-39, appendix 1), in SQLite.
--
-- Money is an INTEGER of cents and a time an INTEGER of microseconds since 1970-01-01 UTC, for SQLite has no exact
-- decimal and no date type. To read them: SELECT branch_balance / 100.0 FROM branch; SELECT datetime(time_stamp /
-- 1000000, 'unixepoch') FROM history;
--
-- A line that ends in "only with foreign keys" is left out unless they are asked for.

-- name: branch
CREATE TABLE branch (
    branch_id      INTEGER PRIMARY KEY,
    branch_balance INTEGER NOT NULL
) STRICT;

-- name: teller
CREATE TABLE teller (
    branch_id      INTEGER NOT NULL
        REFERENCES branch -- only with foreign keys
        ,
    teller_id      INTEGER PRIMARY KEY,
    teller_balance INTEGER NOT NULL
) STRICT;

-- name: account
CREATE TABLE account (
    branch_id       INTEGER NOT NULL
        REFERENCES branch -- only with foreign keys
        ,
    account_id      INTEGER PRIMARY KEY,
    account_balance INTEGER NOT NULL
) STRICT;

-- name: history
CREATE TABLE history (
    branch_id  INTEGER NOT NULL,
    teller_id  INTEGER NOT NULL,
    account_id INTEGER NOT NULL,
    amount     INTEGER NOT NULL,
    time_stamp INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER))
) STRICT;
