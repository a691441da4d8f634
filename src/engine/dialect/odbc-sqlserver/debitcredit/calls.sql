-- How a client calls the procedures of procedures.sql. The arguments are branch, teller, account and amount.

-- name: debit_credit
{call debit_credit (?2, ?3, ?4)};

-- name: tpc
{call debit_credit_tpc (?1, ?2, ?3, ?4)};
