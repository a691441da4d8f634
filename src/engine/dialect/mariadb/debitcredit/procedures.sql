-- The transaction as one call, in the two orders of the profiles. A missing row is an error, so that nothing is
-- changed; any error rolls back the transaction and is passed on to the client unchanged. A client that reads this file
-- itself needs DELIMITER around each of them.

-- name: debit_credit
-- Gray and Levine (appendix 1). Teller, account, history, branch; the branch follows from the teller's number.
CREATE PROCEDURE debit_credit(IN in_teller_id int, IN in_account_id int, IN in_amount decimal(14, 2))
MODIFIES SQL DATA
BEGIN
    DECLARE v_branch_id int DEFAULT in_teller_id DIV 1000000;
    DECLARE v_changed int DEFAULT 0;
    DECLARE v_balance decimal(14, 2);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    UPDATE teller SET teller_balance = teller_balance + in_amount WHERE teller_id = in_teller_id;
    SET v_changed = v_changed + ROW_COUNT();
    UPDATE account SET account_balance = account_balance + in_amount WHERE account_id = in_account_id;
    SET v_changed = v_changed + ROW_COUNT();
    SELECT account_balance INTO v_balance FROM account WHERE account_id = in_account_id;
    INSERT INTO history (branch_id, teller_id, account_id, amount, time_stamp)
    VALUES (v_branch_id, in_teller_id, in_account_id, in_amount, CURRENT_TIMESTAMP(6));
    UPDATE branch SET branch_balance = branch_balance + in_amount WHERE branch_id = v_branch_id;
    SET v_changed = v_changed + ROW_COUNT();
    IF v_changed <> 3 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'there is no such teller, account or branch';
    END IF;
    COMMIT;
    SELECT v_balance;
END;

-- name: tpc
-- TPC-B (clause 1.2), TPC-A likewise. Account, history, teller, branch; the branch is given with the input.
CREATE PROCEDURE tpc(IN in_branch_id int, IN in_teller_id int, IN in_account_id int, IN in_amount decimal(14, 2))
MODIFIES SQL DATA
BEGIN
    DECLARE v_changed int DEFAULT 0;
    DECLARE v_balance decimal(14, 2);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    UPDATE account SET account_balance = account_balance + in_amount WHERE account_id = in_account_id;
    SET v_changed = v_changed + ROW_COUNT();
    SELECT account_balance INTO v_balance FROM account WHERE account_id = in_account_id;
    INSERT INTO history (branch_id, teller_id, account_id, amount, time_stamp)
    VALUES (in_branch_id, in_teller_id, in_account_id, in_amount, CURRENT_TIMESTAMP(6));
    UPDATE teller SET teller_balance = teller_balance + in_amount WHERE teller_id = in_teller_id;
    SET v_changed = v_changed + ROW_COUNT();
    UPDATE branch SET branch_balance = branch_balance + in_amount WHERE branch_id = in_branch_id;
    SET v_changed = v_changed + ROW_COUNT();
    IF v_changed <> 3 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'there is no such account, teller or branch';
    END IF;
    COMMIT;
    SELECT v_balance;
END;
