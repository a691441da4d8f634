-- Primary keys, created after the rows are loaded. Each begins with the branch, by which rows are distributed: Citus
-- supports no other unique keys.

-- name: account_pkey
ALTER TABLE debitcredit.account ADD CONSTRAINT account_pkey PRIMARY KEY (branch_id, account_id);

-- name: teller_pkey
ALTER TABLE debitcredit.teller ADD CONSTRAINT teller_pkey PRIMARY KEY (branch_id, teller_id);

-- name: branch_pkey
ALTER TABLE debitcredit.branch ADD CONSTRAINT branch_pkey PRIMARY KEY (branch_id);
