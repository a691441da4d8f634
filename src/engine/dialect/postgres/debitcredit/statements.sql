-- The transaction as statements of the client. They go to the server in one message with BEGIN and COMMIT around them;
-- their order is the profile's.

-- name: teller
UPDATE debitcredit.teller SET teller_balance = teller_balance + $1::numeric WHERE teller_id = $2::integer;

-- name: account
UPDATE debitcredit.account SET account_balance = account_balance + $1::numeric WHERE account_id = $2::integer
RETURNING account_balance;

-- name: history
INSERT INTO debitcredit.history (branch_id, teller_id, account_id, amount)
VALUES ($1::integer, $2::integer, $3::integer, $4::numeric);

-- name: branch
UPDATE debitcredit.branch SET branch_balance = branch_balance + $1::numeric WHERE branch_id = $2::integer;
