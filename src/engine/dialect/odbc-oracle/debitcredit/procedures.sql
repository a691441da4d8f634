-- The transaction as one call in PL/SQL, in the two orders of the profiles. SQL*Plus reads this file as it is. A
-- missing row is an error, so that nothing is changed; any error rolls back the transaction and is passed on. The
-- answer is the balance of the account.

-- name: debit_credit
-- Gray and Levine (appendix 1). Teller, account, history, branch; the branch follows from the teller's number.
CREATE OR REPLACE PROCEDURE debit_credit (
    in_teller_id  IN INTEGER,
    in_account_id IN INTEGER,
    in_amount     IN account.account_balance%TYPE,
    out_balance   OUT VARCHAR2
)
AS
    v_branch_id INTEGER := FLOOR(in_teller_id / 1000000);
    v_balance   account.account_balance%TYPE;
    v_changed   INTEGER;
BEGIN
    UPDATE teller SET teller_balance = teller_balance + in_amount WHERE teller_id = in_teller_id;
    v_changed := SQL%ROWCOUNT;
    UPDATE account SET account_balance = account_balance + in_amount WHERE account_id = in_account_id;
    v_changed := v_changed + SQL%ROWCOUNT;
    SELECT MAX(account_balance) INTO v_balance FROM account WHERE account_id = in_account_id;
    INSERT INTO history (branch_id, teller_id, account_id, amount, time_stamp)
    VALUES (v_branch_id, in_teller_id, in_account_id, in_amount, LOCALTIMESTAMP(6));
    UPDATE branch SET branch_balance = branch_balance + in_amount WHERE branch_id = v_branch_id;
    v_changed := v_changed + SQL%ROWCOUNT;
    IF v_changed <> 3 THEN
        RAISE_APPLICATION_ERROR(-20001, 'there is no such teller, account or branch');
    END IF;
    COMMIT;
    out_balance := v_balance;
EXCEPTION
    WHEN OTHERS THEN
        ROLLBACK;
        RAISE;
END;
/

-- name: debit_credit_tpc
-- TPC-B (clause 1.2), TPC-A likewise. Account, history, teller, branch; the branch is given with the input.
CREATE OR REPLACE PROCEDURE debit_credit_tpc (
    in_branch_id  IN INTEGER,
    in_teller_id  IN INTEGER,
    in_account_id IN INTEGER,
    in_amount     IN account.account_balance%TYPE,
    out_balance   OUT VARCHAR2
)
AS
    v_balance account.account_balance%TYPE;
    v_changed INTEGER;
BEGIN
    UPDATE account SET account_balance = account_balance + in_amount WHERE account_id = in_account_id;
    v_changed := SQL%ROWCOUNT;
    SELECT MAX(account_balance) INTO v_balance FROM account WHERE account_id = in_account_id;
    INSERT INTO history (branch_id, teller_id, account_id, amount, time_stamp)
    VALUES (in_branch_id, in_teller_id, in_account_id, in_amount, LOCALTIMESTAMP(6));
    UPDATE teller SET teller_balance = teller_balance + in_amount WHERE teller_id = in_teller_id;
    v_changed := v_changed + SQL%ROWCOUNT;
    UPDATE branch SET branch_balance = branch_balance + in_amount WHERE branch_id = in_branch_id;
    v_changed := v_changed + SQL%ROWCOUNT;
    IF v_changed <> 3 THEN
        RAISE_APPLICATION_ERROR(-20002, 'there is no such account, teller or branch');
    END IF;
    COMMIT;
    out_balance := v_balance;
EXCEPTION
    WHEN OTHERS THEN
        ROLLBACK;
        RAISE;
END;
/
