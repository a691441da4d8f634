-- The transaction as statements in YQL, in an order that is the profile's: all of it, with its begin and its commit, is
-- one query. The head of `tpcc/statements.sql` says what holds of statements.

-- name: teller
DECLARE $amount AS Int64;
DECLARE $teller_id AS Int32;
DECLARE $branch_id AS Int32;
SELECT COUNT(*) AS affected FROM teller WHERE branch_id = $branch_id AND teller_id = $teller_id;
UPDATE teller SET teller_balance = teller_balance + $amount WHERE branch_id = $branch_id AND teller_id = $teller_id;

-- name: account
DECLARE $amount AS Int64;
DECLARE $account_id AS Int32;
DECLARE $branch_id AS Int32;
SELECT account_balance + $amount AS account_balance
FROM account
WHERE branch_id = $branch_id AND account_id = $account_id;
UPDATE account SET account_balance = account_balance + $amount
WHERE branch_id = $branch_id AND account_id = $account_id;

-- name: history
DECLARE $branch_id AS Int32;
DECLARE $teller_id AS Int32;
DECLARE $account_id AS Int32;
DECLARE $amount AS Int64;
SELECT 1 AS affected;
INSERT INTO history (branch_id, teller_id, account_id, amount, time_stamp, h_number)
VALUES ($branch_id, $teller_id, $account_id, $amount, CurrentUtcTimestamp(), RandomNumber($account_id));

-- name: branch
DECLARE $amount AS Int64;
DECLARE $branch_id AS Int32;
SELECT COUNT(*) AS affected FROM branch WHERE branch_id = $branch_id;
UPDATE branch SET branch_balance = branch_balance + $amount WHERE branch_id = $branch_id;
