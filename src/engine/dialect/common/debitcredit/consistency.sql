-- What must hold in a DebitCredit database at any moment without open transactions. Each statement returns the rows
-- that violate it, with the values that should agree, and no row where it holds.
--
-- All balances are zero at the start, so that every balance is a sum over the history. Sides that should agree are
-- stacked (UNION ALL) and added up by their common key, so that a row with no partner on the other side counts as a
-- violation like a wrong value. Tables in FROM are named without AS, which Oracle does not take. The note "cost:
-- small" marks statements that read no large table: a restore checks these, too.

-- name: branch-tellers
-- title: Balance of a branch = sum of the balances of its tellers
-- cost: small
SELECT branch_id, sum(of_branch) AS branch_balance, sum(of_tellers) AS sum_teller_balance
FROM (
    SELECT branch_id, branch_balance AS of_branch, 0 AS of_tellers FROM branch
    UNION ALL
    SELECT branch_id, 0, teller_balance FROM teller
) sides
GROUP BY branch_id
HAVING sum(of_branch) <> sum(of_tellers);

-- name: totals
-- title: Sum of all accounts = sum of all tellers = sum of all branches = sum of the history
SELECT accounts, tellers, branches, history
FROM (SELECT coalesce(sum(account_balance), 0) AS accounts FROM account) of_accounts
CROSS JOIN (SELECT coalesce(sum(teller_balance), 0) AS tellers FROM teller) of_tellers
CROSS JOIN (SELECT coalesce(sum(branch_balance), 0) AS branches FROM branch) of_branches
CROSS JOIN (SELECT coalesce(sum(amount), 0) AS history FROM history) of_history
WHERE accounts <> tellers OR tellers <> branches OR branches <> history;

-- name: teller-history
-- title: Balance of a teller = sum of the amounts in his history
SELECT teller_id, sum(of_teller) AS teller_balance, sum(of_history) AS sum_amount
FROM (
    SELECT teller_id, teller_balance AS of_teller, 0 AS of_history FROM teller
    UNION ALL
    SELECT teller_id, 0, sum(amount) FROM history GROUP BY teller_id
) sides
GROUP BY teller_id
HAVING sum(of_teller) <> sum(of_history);

-- name: account-history
-- title: Balance of an account = sum of the amounts in its history
SELECT account_id, sum(of_account) AS account_balance, sum(of_history) AS sum_amount
FROM (
    SELECT account_id, account_balance AS of_account, 0 AS of_history FROM account WHERE account_balance <> 0
    UNION ALL
    SELECT account_id, 0, sum(amount) FROM history GROUP BY account_id
) sides
GROUP BY account_id
HAVING sum(of_account) <> sum(of_history);

-- name: history-tellers
-- title: A history row names a teller that there is, and his branch
SELECT history.teller_id, history.branch_id, count(*) AS history_rows
FROM history LEFT JOIN teller ON teller.teller_id = history.teller_id AND teller.branch_id = history.branch_id
WHERE teller.teller_id IS NULL
GROUP BY history.teller_id, history.branch_id;

-- name: history-accounts
-- title: A history row names an account that there is
SELECT history.account_id, count(*) AS history_rows
FROM history LEFT JOIN account ON account.account_id = history.account_id
WHERE account.account_id IS NULL
GROUP BY history.account_id;

-- name: tellers
-- title: Every branch has ten tellers, and every teller has a branch
-- cost: small
SELECT branch_id, sum(branches) AS branches, sum(tellers) AS tellers
FROM (
    SELECT branch_id, 1 AS branches, 0 AS tellers FROM branch
    UNION ALL
    SELECT branch_id, 0, count(*) FROM teller GROUP BY branch_id
) sides
GROUP BY branch_id
HAVING sum(branches) <> 1 OR sum(tellers) <> 10;

-- name: accounts
-- title: Every branch has as many accounts as the others, and every account has a branch
SELECT branch_id, sum(branches) AS branches, sum(accounts) AS accounts
FROM (
    SELECT branch_id, 1 AS branches, 0 AS accounts FROM branch
    UNION ALL
    SELECT branch_id, 0, count(*) FROM account GROUP BY branch_id
) sides
GROUP BY branch_id
HAVING sum(branches) <> 1
    OR sum(accounts) * (SELECT count(*) FROM branch) <> (SELECT count(*) FROM account);
