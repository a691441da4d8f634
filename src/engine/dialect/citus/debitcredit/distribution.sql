-- Distributes the tables over the nodes by branch. All are co-located: the rows of a branch are on one node. Tellers
-- and accounts have their branch's number, and the history that of the branch where the money was paid.

SELECT create_distributed_table('debitcredit.branch', 'branch_id', colocate_with => 'none');
SELECT create_distributed_table('debitcredit.teller', 'branch_id', colocate_with => 'debitcredit.branch');
SELECT create_distributed_table('debitcredit.account', 'branch_id', colocate_with => 'debitcredit.branch');
SELECT create_distributed_table('debitcredit.history', 'branch_id', colocate_with => 'debitcredit.branch');
