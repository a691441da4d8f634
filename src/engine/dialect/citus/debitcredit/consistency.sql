-- Accounts are distributed by their own branch, and the history by that of the teller: accounts in the history are
-- searched on all nodes.

-- name: history-accounts
-- title: A history row names an account that there is
WITH used AS MATERIALIZED (
    SELECT account_id, count(*) AS history_rows FROM history GROUP BY account_id
)
SELECT account_id, history_rows FROM used
EXCEPT
SELECT used.account_id, used.history_rows FROM used JOIN account ON account.account_id = used.account_id;
