-- How a client calls the procedures of procedures.sql. The arguments are branch, teller, account and amount; ?> is the
-- text that the procedure returns.

-- name: debit_credit
-- reply: lines
{call debit_credit (?2, ?3, ?4, ?>)};

-- name: tpc
-- reply: lines
{call debit_credit_tpc (?1, ?2, ?3, ?4, ?>)};
