-- What the file of the same name in `common` asks, in YQL: the sides of a UNION ALL name all columns, joined columns
-- are named with their tables, and sums are filtered outside of their query.

-- name: branch-tellers
-- title: Balance of a branch = sum of the balances of its tellers
-- cost: small
SELECT branch_id, branch_balance, sum_teller_balance
FROM (
    SELECT branch_id, SUM(of_branch) AS branch_balance, SUM(of_tellers) AS sum_teller_balance
    FROM (
        SELECT branch_id, branch_balance AS of_branch, 0l AS of_tellers FROM branch
        UNION ALL
        SELECT branch_id, 0l AS of_branch, teller_balance AS of_tellers FROM teller
    )
    GROUP BY branch_id
)
WHERE branch_balance != sum_teller_balance;

-- name: totals
-- title: Sum of all accounts = sum of all tellers = sum of all branches = sum of the history
SELECT accounts, tellers, branches, history
FROM (
    SELECT SUM(accounts) AS accounts, SUM(tellers) AS tellers, SUM(branches) AS branches, SUM(history) AS history
    FROM (
        SELECT account_balance AS accounts, 0l AS tellers, 0l AS branches, 0l AS history FROM account
        UNION ALL
        SELECT 0l AS accounts, teller_balance AS tellers, 0l AS branches, 0l AS history FROM teller
        UNION ALL
        SELECT 0l AS accounts, 0l AS tellers, branch_balance AS branches, 0l AS history FROM branch
        UNION ALL
        SELECT 0l AS accounts, 0l AS tellers, 0l AS branches, amount AS history FROM history
    )
)
WHERE accounts != tellers OR tellers != branches OR branches != history;

-- name: teller-history
-- title: Balance of a teller = sum of the amounts in his history
SELECT teller_id, teller_balance, sum_amount
FROM (
    SELECT teller_id, SUM(of_teller) AS teller_balance, SUM(of_history) AS sum_amount
    FROM (
        SELECT teller_id, teller_balance AS of_teller, 0l AS of_history FROM teller
        UNION ALL
        SELECT teller_id, 0l AS of_teller, amount AS of_history FROM history
    )
    GROUP BY teller_id
)
WHERE teller_balance != sum_amount;

-- name: account-history
-- title: Balance of an account = sum of the amounts in its history
SELECT account_id, account_balance, sum_amount
FROM (
    SELECT account_id, SUM(of_account) AS account_balance, SUM(of_history) AS sum_amount
    FROM (
        SELECT account_id, account_balance AS of_account, 0l AS of_history FROM account WHERE account_balance != 0
        UNION ALL
        SELECT account_id, 0l AS of_account, amount AS of_history FROM history
    )
    GROUP BY account_id
)
WHERE account_balance != sum_amount;

-- name: history-tellers
-- title: A history row names a teller that there is, and his branch
SELECT h.teller_id AS teller_id, h.branch_id AS branch_id
FROM history AS h
LEFT ONLY JOIN teller AS t ON t.teller_id = h.teller_id AND t.branch_id = h.branch_id;

-- name: history-accounts
-- title: A history row names an account that there is
SELECT h.account_id AS account_id
FROM history AS h
LEFT ONLY JOIN account AS a ON a.account_id = h.account_id;

-- name: tellers
-- title: Every branch has ten tellers, and every teller has a branch
-- cost: small
SELECT branch_id, branches, tellers
FROM (
    SELECT branch_id, SUM(branches) AS branches, SUM(tellers) AS tellers
    FROM (
        SELECT branch_id, 1 AS branches, 0 AS tellers FROM branch
        UNION ALL
        SELECT branch_id, 0 AS branches, 1 AS tellers FROM teller
    )
    GROUP BY branch_id
)
WHERE branches != 1 OR tellers != 10;

-- name: accounts
-- title: Every branch has as many accounts as the others, and every account has a branch
$by_branch = (
    SELECT branch_id, SUM(branches) AS branches, SUM(accounts) AS accounts
    FROM (
        SELECT branch_id, 1 AS branches, 0 AS accounts FROM branch
        UNION ALL
        SELECT branch_id, 0 AS branches, 1 AS accounts FROM account
    )
    GROUP BY branch_id
);
$most = (SELECT MAX(accounts) FROM $by_branch);
SELECT branch_id, branches, accounts FROM $by_branch WHERE branches != 1 OR accounts != $most;
