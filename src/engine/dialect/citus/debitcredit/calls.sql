-- How a client calls the functions of procedures.sql. The arguments are branch, teller, account and amount.

-- name: debit_credit
SELECT debitcredit.debit_credit($1::integer, $2::integer, $3::integer, $4::numeric);
