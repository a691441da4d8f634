-- The four tables of DebitCredit as Gray and Levine have them (MSR-TR-2005-39, appendix 1), but for money, which is
-- exact here: with floating point no sum could be compared with another.

CREATE TABLE debitcredit.branch (
    branch_id      integer        NOT NULL,
    branch_balance numeric(14, 2) NOT NULL,
    PRIMARY KEY (branch_id)
);

CREATE TABLE debitcredit.teller (
    branch_id      integer        NOT NULL,
    teller_id      integer        NOT NULL,
    teller_balance numeric(14, 2) NOT NULL,
    PRIMARY KEY (teller_id)
);

CREATE TABLE debitcredit.account (
    branch_id       integer        NOT NULL,
    account_id      integer        NOT NULL,
    account_balance numeric(14, 2) NOT NULL,
    PRIMARY KEY (account_id)
);

CREATE TABLE debitcredit.history (
    branch_id  integer        NOT NULL,
    teller_id  integer        NOT NULL,
    account_id integer        NOT NULL,
    amount     numeric(14, 2) NOT NULL,
    time_stamp timestamptz    NOT NULL DEFAULT now()
);
