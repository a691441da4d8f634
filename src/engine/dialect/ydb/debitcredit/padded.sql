-- The four tables of DebitCredit with rows of 100 bytes, as TPC-B has them, in the directory `debitcredit`.
--
-- Money is Int64 in cents. All keys begin with the branch, by which {partitions} splits the tables. HISTORY has no key
-- in the paper, and every table of YDB has one: a number that nothing else uses makes it unique.
--
-- https://ydb.tech/docs/en/concepts/datamodel/table

-- name: branch
CREATE TABLE IF NOT EXISTS branch (
    branch_id      Int32 NOT NULL,
    branch_balance Int64 NOT NULL,
    filler         Utf8  NOT NULL,
    PRIMARY KEY (branch_id)
) WITH ({partitions});

-- name: teller
CREATE TABLE IF NOT EXISTS teller (
    branch_id      Int32 NOT NULL,
    teller_id      Int32 NOT NULL,
    teller_balance Int64 NOT NULL,
    filler         Utf8  NOT NULL,
    PRIMARY KEY (branch_id, teller_id)
) WITH ({partitions});

-- name: account
CREATE TABLE IF NOT EXISTS account (
    branch_id       Int32 NOT NULL,
    account_id      Int32 NOT NULL,
    account_balance Int64 NOT NULL,
    filler          Utf8  NOT NULL,
    PRIMARY KEY (branch_id, account_id)
) WITH ({partitions});

-- name: history
CREATE TABLE IF NOT EXISTS history (
    branch_id  Int32     NOT NULL,
    teller_id  Int32     NOT NULL,
    account_id Int32     NOT NULL,
    amount     Int64     NOT NULL,
    time_stamp Timestamp NOT NULL,
    h_number   Uint64    NOT NULL,
    filler     Utf8      NOT NULL DEFAULT "abcdefghijklmnopqrstuvwxyz0"u,
    PRIMARY KEY (branch_id, time_stamp, h_number)
) WITH ({partitions});
