-- Undoes the effects of transactions on a loaded population (graymark restore), in one transaction: every balance is
-- zero again, and the history is empty. The statements with a title run after the commit: each returns the rows that do
-- not match the load.

-- name: lock
-- Nobody else reads or writes meanwhile. With autocommit off, the locks do not end the transaction, nor it them.
-- The manifest is read again when the tables are locked.
LOCK TABLES branch WRITE, teller WRITE, account WRITE, history WRITE, graymark_manifest READ;

-- name: accounts
-- undoes: account
UPDATE account SET account_balance = 0 WHERE account_balance <> 0;

-- name: tellers
-- undoes: teller
UPDATE teller SET teller_balance = 0 WHERE teller_balance <> 0;

-- name: branches
-- undoes: branch
UPDATE branch SET branch_balance = 0 WHERE branch_balance <> 0;

-- name: history
-- undoes: history
DELETE FROM history;

-- name: balances
-- title: Every balance is zero
SELECT 'account' AS kind, account_id AS id, account_balance AS balance FROM account WHERE account_balance <> 0
UNION ALL
SELECT 'teller', teller_id, teller_balance FROM teller WHERE teller_balance <> 0
UNION ALL
SELECT 'branch', branch_id, branch_balance FROM branch WHERE branch_balance <> 0;
