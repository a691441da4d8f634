-- The four tables of DebitCredit as Gray and Levine have them (MSR-TR-2005-39, appendix 1), but for money, which is
-- exact here: with floating point no sum could be compared with another. InnoDB keeps a table in the order of its
-- primary key.

-- name: branch
CREATE TABLE IF NOT EXISTS branch (
    branch_id      int            NOT NULL,
    branch_balance decimal(14, 2) NOT NULL,
    PRIMARY KEY (branch_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: teller
CREATE TABLE IF NOT EXISTS teller (
    branch_id      int            NOT NULL,
    teller_id      int            NOT NULL,
    teller_balance decimal(14, 2) NOT NULL,
    PRIMARY KEY (teller_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: account
CREATE TABLE IF NOT EXISTS account (
    branch_id       int            NOT NULL,
    account_id      int            NOT NULL,
    account_balance decimal(14, 2) NOT NULL,
    PRIMARY KEY (account_id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: history
CREATE TABLE IF NOT EXISTS history (
    branch_id  int            NOT NULL,
    teller_id  int            NOT NULL,
    account_id int            NOT NULL,
    amount     decimal(14, 2) NOT NULL,
    time_stamp datetime(6)    NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
