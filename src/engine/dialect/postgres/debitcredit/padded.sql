-- The four tables of TPC-A and TPC-B: rows of at least 100 bytes of content, 50 in the history. The fillers really take
-- their space: the loader writes letters into them, and the history has them by default.
--
-- A balance is updated in place, on its page and with no new index entries (a HOT update), only if the page has room
-- for the new version. Branches and tellers are few and hot, so that their pages are nearly empty; accounts are many,
-- and a page has room for a few versions.

CREATE TABLE debitcredit.branch (
    branch_id      integer        NOT NULL,
    branch_balance numeric(14, 2) NOT NULL,
    filler         char(99)       COLLATE "C" NOT NULL
) WITH (fillfactor = 10);

CREATE TABLE debitcredit.teller (
    branch_id      integer        NOT NULL,
    teller_id      integer        NOT NULL,
    teller_balance numeric(14, 2) NOT NULL,
    filler         char(99)       COLLATE "C" NOT NULL
) WITH (fillfactor = 10);

CREATE TABLE debitcredit.account (
    branch_id       integer        NOT NULL,
    account_id      integer        NOT NULL,
    account_balance numeric(14, 2) NOT NULL,
    filler          char(99)       COLLATE "C" NOT NULL
) WITH (fillfactor = 95);

CREATE TABLE debitcredit.history (
    branch_id  integer        NOT NULL,
    teller_id  integer        NOT NULL,
    account_id integer        NOT NULL,
    amount     numeric(14, 2) NOT NULL,
    time_stamp timestamptz    NOT NULL DEFAULT now(),
    filler     char(27)       COLLATE "C" NOT NULL DEFAULT 'abcdefghijklmnopqrstuvwxyz0'
);
