-- The transaction as statements of the client, a round trip each, with START TRANSACTION and COMMIT around them; their
-- order is the profile's. ?1 is the first argument, and so on. Of several SQL statements under one name, the rows of
-- the last are the answer.

-- name: teller
UPDATE teller SET teller_balance = teller_balance + CAST(?1 AS DECIMAL(14, 2)) WHERE teller_id = ?2;

-- name: account
UPDATE account SET account_balance = account_balance + CAST(?1 AS DECIMAL(14, 2)) WHERE account_id = ?2;
SELECT account_balance FROM account WHERE account_id = ?2;

-- name: history
INSERT INTO history (branch_id, teller_id, account_id, amount) VALUES (?1, ?2, ?3, ?4);

-- name: branch
UPDATE branch SET branch_balance = branch_balance + CAST(?1 AS DECIMAL(14, 2)) WHERE branch_id = ?2;
