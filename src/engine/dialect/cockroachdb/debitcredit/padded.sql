-- The four tables of TPC-A and TPC-B: rows of at least 100 bytes of content, 50 in the history. The fillers really take
-- their space: the loader writes letters into them, and the history has them by default.

CREATE TABLE debitcredit.branch (
    branch_id      integer        NOT NULL,
    branch_balance numeric(14, 2) NOT NULL,
    filler         char(99)       NOT NULL,
    PRIMARY KEY (branch_id)
);

CREATE TABLE debitcredit.teller (
    branch_id      integer        NOT NULL,
    teller_id      integer        NOT NULL,
    teller_balance numeric(14, 2) NOT NULL,
    filler         char(99)       NOT NULL,
    PRIMARY KEY (teller_id)
);

CREATE TABLE debitcredit.account (
    branch_id       integer        NOT NULL,
    account_id      integer        NOT NULL,
    account_balance numeric(14, 2) NOT NULL,
    filler          char(99)       NOT NULL,
    PRIMARY KEY (account_id)
);

CREATE TABLE debitcredit.history (
    branch_id  integer        NOT NULL,
    teller_id  integer        NOT NULL,
    account_id integer        NOT NULL,
    amount     numeric(14, 2) NOT NULL,
    time_stamp timestamptz    NOT NULL DEFAULT now(),
    filler     char(27)       NOT NULL DEFAULT 'abcdefghijklmnopqrstuvwxyz0'
);
