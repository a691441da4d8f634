-- Primary keys, made after the rows are loaded. The largest table comes first. History has none.

-- name: account_pkey
ALTER TABLE debitcredit.account ADD CONSTRAINT account_pkey PRIMARY KEY (account_id);

-- name: teller_pkey
ALTER TABLE debitcredit.teller ADD CONSTRAINT teller_pkey PRIMARY KEY (teller_id);

-- name: branch_pkey
ALTER TABLE debitcredit.branch ADD CONSTRAINT branch_pkey PRIMARY KEY (branch_id);
