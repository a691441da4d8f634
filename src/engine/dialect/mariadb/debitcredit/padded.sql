-- The four tables of TPC-A and TPC-B: rows of at least 100 bytes of content, 50 in the history. The fillers really take
-- their space: the loader writes letters into them, and the history has them by default. InnoDB keeps a table in the
-- order of its primary key.

-- name: branch
CREATE TABLE IF NOT EXISTS branch (
    branch_id      int            NOT NULL,
    branch_balance decimal(14, 2) NOT NULL,
    filler         char(99)       NOT NULL,
    PRIMARY KEY (branch_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: teller
CREATE TABLE IF NOT EXISTS teller (
    branch_id      int            NOT NULL,
    teller_id      int            NOT NULL,
    teller_balance decimal(14, 2) NOT NULL,
    filler         char(99)       NOT NULL,
    PRIMARY KEY (teller_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: account
CREATE TABLE IF NOT EXISTS account (
    branch_id       int            NOT NULL,
    account_id      int            NOT NULL,
    account_balance decimal(14, 2) NOT NULL,
    filler         char(99)       NOT NULL,
    PRIMARY KEY (account_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: history
CREATE TABLE IF NOT EXISTS history (
    branch_id  int            NOT NULL,
    teller_id  int            NOT NULL,
    account_id int            NOT NULL,
    amount     decimal(14, 2) NOT NULL,
    time_stamp datetime(6)    NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    filler     char(27)       NOT NULL DEFAULT 'abcdefghijklmnopqrstuvwxyz0'
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
