-- The transaction as one call, in the two orders of the profiles. It runs on the node of its branch, which is the first
-- argument. Each update names the branch of its row, so that it goes to one shard. A row that is missing is an error,
-- so that nothing is done.

-- Gray and Levine (appendix 1): teller, account, history, branch; accounts have numbers of a million a branch.
CREATE OR REPLACE FUNCTION debitcredit.debit_credit(p_branch_id integer, p_teller_id integer, p_account_id integer,
                                                    p_amount numeric)
    RETURNS numeric
LANGUAGE plpgsql AS $$
DECLARE
    branch_radix CONSTANT integer := 1000000;
    v_of_account CONSTANT integer := p_account_id / branch_radix;
    v_balance    numeric;
BEGIN
    UPDATE debitcredit.teller SET teller_balance = teller_balance + p_amount
     WHERE branch_id = p_branch_id AND teller_id = p_teller_id;
    IF NOT FOUND THEN
        RAISE 'there is no teller %', p_teller_id;
    END IF;
    UPDATE debitcredit.account SET account_balance = account_balance + p_amount
     WHERE branch_id = v_of_account AND account_id = p_account_id
    RETURNING account_balance INTO v_balance;
    IF NOT FOUND THEN
        RAISE 'there is no account %', p_account_id;
    END IF;
    INSERT INTO debitcredit.history (branch_id, teller_id, account_id, amount)
    VALUES (p_branch_id, p_teller_id, p_account_id, p_amount);
    UPDATE debitcredit.branch SET branch_balance = branch_balance + p_amount WHERE branch_id = p_branch_id;
    IF NOT FOUND THEN
        RAISE 'there is no branch %', p_branch_id;
    END IF;
    RETURN v_balance;
END
$$;

-- TPC-B (clause 1.2), TPC-A likewise: account, history, teller, branch; accounts have numbers of 100,000 a branch.
CREATE OR REPLACE FUNCTION debitcredit.tpc(p_branch_id integer, p_teller_id integer, p_account_id integer,
                                           p_amount numeric)
RETURNS numeric
LANGUAGE plpgsql AS $$
DECLARE
    branch_radix CONSTANT integer := 100000;
    v_of_account CONSTANT integer := p_account_id / branch_radix;
    v_balance    numeric;
BEGIN
    UPDATE debitcredit.account SET account_balance = account_balance + p_amount
     WHERE branch_id = v_of_account AND account_id = p_account_id
    RETURNING account_balance INTO v_balance;
    IF NOT FOUND THEN
        RAISE 'there is no account %', p_account_id;
    END IF;
    INSERT INTO debitcredit.history (branch_id, teller_id, account_id, amount)
    VALUES (p_branch_id, p_teller_id, p_account_id, p_amount);
    UPDATE debitcredit.teller SET teller_balance = teller_balance + p_amount
     WHERE branch_id = p_branch_id AND teller_id = p_teller_id;
    IF NOT FOUND THEN
        RAISE 'there is no teller %', p_teller_id;
    END IF;
    UPDATE debitcredit.branch SET branch_balance = branch_balance + p_amount WHERE branch_id = p_branch_id;
    IF NOT FOUND THEN
        RAISE 'there is no branch %', p_branch_id;
    END IF;
    RETURN v_balance;
END
$$;

SELECT create_distributed_function(
    'debitcredit.debit_credit(integer, integer, integer, numeric)', 'p_branch_id',
    colocate_with => 'debitcredit.branch');
SELECT create_distributed_function(
    'debitcredit.tpc(integer, integer, integer, numeric)', 'p_branch_id', colocate_with => 'debitcredit.branch');
