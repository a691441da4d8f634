-- The transaction of DebitCredit in SQL that nearly every database speaks, in an order that is the profile's. The
-- conventions are those of TPC-C's statements.sql.

-- name: teller
UPDATE teller SET teller_balance = teller_balance + ?1 WHERE teller_id = ?2;

-- name: account
UPDATE account SET account_balance = account_balance + ?1 WHERE account_id = ?2;
SELECT account_balance FROM account WHERE account_id = ?2;

-- name: history
INSERT INTO history (branch_id, teller_id, account_id, amount, time_stamp) VALUES (?1, ?2, ?3, ?4, {now});

-- name: branch
UPDATE branch SET branch_balance = branch_balance + ?1 WHERE branch_id = ?2;
