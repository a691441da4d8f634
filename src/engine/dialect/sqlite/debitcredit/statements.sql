-- The transaction as statements, in an order that is the profile's.

-- name: teller
UPDATE teller SET teller_balance = teller_balance + ?1 WHERE teller_id = ?2;

-- name: account
UPDATE account SET account_balance = account_balance + ?1 WHERE account_id = ?2 RETURNING account_balance;

-- name: history
INSERT INTO history (branch_id, teller_id, account_id, amount) VALUES (?1, ?2, ?3, ?4);

-- name: branch
UPDATE branch SET branch_balance = branch_balance + ?1 WHERE branch_id = ?2;
