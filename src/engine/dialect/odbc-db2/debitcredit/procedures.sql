-- The transaction as one call in SQL PL, in the two orders of the profiles. Db2's command line reads this file as it is
-- with -td@. A missing row is an error, so that nothing is changed; any error rolls back the transaction and is passed
-- on. The answer is the balance of the account.

-- name: debit_credit
-- Gray and Levine (appendix 1). Teller, account, history, branch; the branch follows from the teller's number.
CREATE OR REPLACE PROCEDURE debit_credit (
    IN in_teller_id INTEGER,
    IN in_account_id INTEGER,
    IN in_amount DECIMAL(14, 2),
    OUT out_balance VARCHAR(2000)
)
LANGUAGE SQL
MODIFIES SQL DATA
BEGIN
    DECLARE v_branch_id, v_changed, v_rows INTEGER;
    DECLARE v_balance DECIMAL(14, 2);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    SET v_branch_id = FLOOR(in_teller_id / 1000000);
    UPDATE teller SET teller_balance = teller_balance + in_amount WHERE teller_id = in_teller_id;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    SET v_changed = v_rows;
    UPDATE account SET account_balance = account_balance + in_amount WHERE account_id = in_account_id;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    SET v_changed = v_changed + v_rows;
    SELECT MAX(account_balance) INTO v_balance FROM account WHERE account_id = in_account_id;
    INSERT INTO history (branch_id, teller_id, account_id, amount, time_stamp)
    VALUES (v_branch_id, in_teller_id, in_account_id, in_amount, CURRENT TIMESTAMP - CURRENT TIMEZONE);
    UPDATE branch SET branch_balance = branch_balance + in_amount WHERE branch_id = v_branch_id;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    SET v_changed = v_changed + v_rows;
    IF v_changed <> 3 THEN
        SIGNAL SQLSTATE '75001' SET MESSAGE_TEXT = 'there is no such teller, account or branch';
    END IF;
    COMMIT;
    SET out_balance = TRIM(CAST(v_balance AS VARCHAR(20)));
END
@

-- name: debit_credit_tpc
-- TPC-B (clause 1.2), TPC-A likewise. Account, history, teller, branch; the branch is given with the input.
CREATE OR REPLACE PROCEDURE debit_credit_tpc (
    IN in_branch_id INTEGER,
    IN in_teller_id INTEGER,
    IN in_account_id INTEGER,
    IN in_amount DECIMAL(14, 2),
    OUT out_balance VARCHAR(2000)
)
LANGUAGE SQL
MODIFIES SQL DATA
BEGIN
    DECLARE v_changed, v_rows INTEGER;
    DECLARE v_balance DECIMAL(14, 2);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    UPDATE account SET account_balance = account_balance + in_amount WHERE account_id = in_account_id;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    SET v_changed = v_rows;
    SELECT MAX(account_balance) INTO v_balance FROM account WHERE account_id = in_account_id;
    INSERT INTO history (branch_id, teller_id, account_id, amount, time_stamp)
    VALUES (in_branch_id, in_teller_id, in_account_id, in_amount, CURRENT TIMESTAMP - CURRENT TIMEZONE);
    UPDATE teller SET teller_balance = teller_balance + in_amount WHERE teller_id = in_teller_id;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    SET v_changed = v_changed + v_rows;
    UPDATE branch SET branch_balance = branch_balance + in_amount WHERE branch_id = in_branch_id;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    SET v_changed = v_changed + v_rows;
    IF v_changed <> 3 THEN
        SIGNAL SQLSTATE '75002' SET MESSAGE_TEXT = 'there is no such account, teller or branch';
    END IF;
    COMMIT;
    SET out_balance = TRIM(CAST(v_balance AS VARCHAR(20)));
END
@
