-- A difference of MariaDB and MySQL: MySQL's casts know whole numbers as SIGNED only.

-- name: history
-- access: read
-- takes: b, t, a, amount money
-- gives: rows
SELECT CAST(count(*) AS SIGNED) FROM history
 WHERE branch_id = ?1 AND teller_id = ?2 AND account_id = ?3 AND amount = ?4;
