-- The four tables of DebitCredit as Gray and Levine have them (MSR-TR-2005-39, appendix 1), but for money, which is
-- exact here. {time} and {options} are the dialect's.

-- name: branch
CREATE TABLE branch (
    branch_id      INTEGER        NOT NULL,
    branch_balance DECIMAL(14, 2) NOT NULL,
    PRIMARY KEY (branch_id)
) {options};

-- name: teller
CREATE TABLE teller (
    branch_id      INTEGER        NOT NULL,
    teller_id      INTEGER        NOT NULL,
    teller_balance DECIMAL(14, 2) NOT NULL,
    PRIMARY KEY (teller_id)
) {options};

-- name: account
CREATE TABLE account (
    branch_id       INTEGER        NOT NULL,
    account_id      INTEGER        NOT NULL,
    account_balance DECIMAL(14, 2) NOT NULL,
    PRIMARY KEY (account_id)
) {options};

-- name: history
CREATE TABLE history (
    branch_id  INTEGER        NOT NULL,
    teller_id  INTEGER        NOT NULL,
    account_id INTEGER        NOT NULL,
    amount     DECIMAL(14, 2) NOT NULL,
    time_stamp {time}         NOT NULL
) {options};
