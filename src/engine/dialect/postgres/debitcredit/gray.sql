-- The four tables of DebitCredit as Gray and Levine have them (MSR-TR-2005-39, appendix 1), but for money, which is
-- exact here: with floating point no sum could be compared with another.
--
-- A balance is updated in place, on its page and with no new index entries (a HOT update), only if the page has room
-- for the new version. Branches and tellers are few and hot, so that their pages are nearly empty; accounts are many,
-- and a page has room for a few versions.

CREATE TABLE debitcredit.branch (
    branch_id      integer        NOT NULL,
    branch_balance numeric(14, 2) NOT NULL
) WITH (fillfactor = 10);

CREATE TABLE debitcredit.teller (
    branch_id      integer        NOT NULL,
    teller_id      integer        NOT NULL,
    teller_balance numeric(14, 2) NOT NULL
) WITH (fillfactor = 10);

CREATE TABLE debitcredit.account (
    branch_id       integer        NOT NULL,
    account_id      integer        NOT NULL,
    account_balance numeric(14, 2) NOT NULL
) WITH (fillfactor = 95);

CREATE TABLE debitcredit.history (
    branch_id  integer        NOT NULL,
    teller_id  integer        NOT NULL,
    account_id integer        NOT NULL,
    amount     numeric(14, 2) NOT NULL,
    time_stamp timestamptz    NOT NULL DEFAULT now()
);
