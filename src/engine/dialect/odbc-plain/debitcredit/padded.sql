-- The four tables of TPC-A and TPC-B: rows of at least 100 bytes of content, 50 in the history. The fillers really take
-- their space: the loader writes letters into them, and the history has them by default. {time} and {options} are the
-- dialect's.

-- name: branch
CREATE TABLE branch (
    branch_id      INTEGER        NOT NULL,
    branch_balance DECIMAL(14, 2) NOT NULL,
    filler         CHAR(99)       NOT NULL,
    PRIMARY KEY (branch_id)
) {options};

-- name: teller
CREATE TABLE teller (
    branch_id      INTEGER        NOT NULL,
    teller_id      INTEGER        NOT NULL,
    teller_balance DECIMAL(14, 2) NOT NULL,
    filler         CHAR(99)       NOT NULL,
    PRIMARY KEY (teller_id)
) {options};

-- name: account
CREATE TABLE account (
    branch_id       INTEGER        NOT NULL,
    account_id      INTEGER        NOT NULL,
    account_balance DECIMAL(14, 2) NOT NULL,
    filler          CHAR(99)       NOT NULL,
    PRIMARY KEY (account_id)
) {options};

-- name: history
CREATE TABLE history (
    branch_id  INTEGER        NOT NULL,
    teller_id  INTEGER        NOT NULL,
    account_id INTEGER        NOT NULL,
    amount     DECIMAL(14, 2) NOT NULL,
    time_stamp {time}         NOT NULL,
    filler     CHAR(27)       DEFAULT 'abcdefghijklmnopqrstuvwxyz0' NOT NULL
) {options};
