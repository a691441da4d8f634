-- The updates name the branch of their row, so that each goes to one shard. The branch of a transaction is its
-- teller's; accounts are of another one in 15 of 100.

-- name: teller
UPDATE debitcredit.teller SET teller_balance = teller_balance + $1::numeric
 WHERE branch_id = $3::integer AND teller_id = $2::integer;

-- name: account
UPDATE debitcredit.account SET account_balance = account_balance + $1::numeric
 WHERE branch_id = $3::integer AND account_id = $2::integer
RETURNING account_balance;
