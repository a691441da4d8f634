-- Statements of the tests of `graymark acid debitcredit`: queries besides the transaction. Their notes list arguments
-- and results; `money` is an amount.

-- name: account
-- access: read
-- takes: a
-- gives: balance money
SELECT account_balance FROM account WHERE account_id = ?1;

-- name: teller
-- access: read
-- takes: t
-- gives: balance money
SELECT teller_balance FROM teller WHERE teller_id = ?1;

-- name: branch
-- access: read
-- takes: b
-- gives: balance money
SELECT branch_balance FROM branch WHERE branch_id = ?1;

-- name: history
-- access: read
-- takes: b, t, a, amount money
-- gives: rows
SELECT CAST(count(*) AS INTEGER) FROM history
 WHERE branch_id = ?1 AND teller_id = ?2 AND account_id = ?3 AND amount = ?4;
