-- The foreign keys that Gray and Levine declare. They are checked when a branch of a teller or an account changes,
-- which none does.

-- name: account_branch
ALTER TABLE debitcredit.account ADD CONSTRAINT account_branch FOREIGN KEY (branch_id)
    REFERENCES debitcredit.branch (branch_id);

-- name: teller_branch
ALTER TABLE debitcredit.teller ADD CONSTRAINT teller_branch FOREIGN KEY (branch_id)
    REFERENCES debitcredit.branch (branch_id);
