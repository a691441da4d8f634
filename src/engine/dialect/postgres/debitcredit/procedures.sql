-- The transaction as one call, in the two orders of the profiles. A call is a transaction of its own. A row that is
-- missing is an error, so that nothing is done.

-- Gray and Levine (appendix 1): teller, account, history, branch; the branch follows from the teller's number.
CREATE OR REPLACE FUNCTION debitcredit.debit_credit(p_teller_id integer, p_account_id integer, p_amount numeric)
    RETURNS numeric
LANGUAGE plpgsql AS $$
DECLARE
    branch_radix CONSTANT integer := 1000000;
    v_branch_id  CONSTANT integer := p_teller_id / branch_radix;
    v_balance    numeric;
BEGIN
    UPDATE debitcredit.teller SET teller_balance = teller_balance + p_amount WHERE teller_id = p_teller_id;
    IF NOT FOUND THEN
        RAISE 'there is no teller %', p_teller_id;
    END IF;
    UPDATE debitcredit.account SET account_balance = account_balance + p_amount WHERE account_id = p_account_id
    RETURNING account_balance INTO v_balance;
    IF NOT FOUND THEN
        RAISE 'there is no account %', p_account_id;
    END IF;
    INSERT INTO debitcredit.history (branch_id, teller_id, account_id, amount)
    VALUES (v_branch_id, p_teller_id, p_account_id, p_amount);
    UPDATE debitcredit.branch SET branch_balance = branch_balance + p_amount WHERE branch_id = v_branch_id;
    IF NOT FOUND THEN
        RAISE 'there is no branch %', v_branch_id;
    END IF;
    RETURN v_balance;
END
$$;

-- TPC-B (clause 1.2), TPC-A likewise: account, history, teller, branch; the branch is given with the input.
CREATE OR REPLACE FUNCTION debitcredit.tpc(p_branch_id integer, p_teller_id integer, p_account_id integer,
                                           p_amount numeric)
RETURNS numeric
LANGUAGE plpgsql AS $$
DECLARE
    v_balance numeric;
BEGIN
    UPDATE debitcredit.account SET account_balance = account_balance + p_amount WHERE account_id = p_account_id
    RETURNING account_balance INTO v_balance;
    IF NOT FOUND THEN
        RAISE 'there is no account %', p_account_id;
    END IF;
    INSERT INTO debitcredit.history (branch_id, teller_id, account_id, amount)
    VALUES (p_branch_id, p_teller_id, p_account_id, p_amount);
    UPDATE debitcredit.teller SET teller_balance = teller_balance + p_amount WHERE teller_id = p_teller_id;
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
