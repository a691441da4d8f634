-- The foreign keys that Gray and Levine declare. They are checked when a branch of a teller or an account changes,
-- which none does. InnoDB makes an index on the referring column for each.

-- name: account_branch
ALTER TABLE account ADD CONSTRAINT account_branch FOREIGN KEY (branch_id) REFERENCES branch (branch_id);

-- name: teller_branch
ALTER TABLE teller ADD CONSTRAINT teller_branch FOREIGN KEY (branch_id) REFERENCES branch (branch_id);
