-- The transaction as one call in Transact-SQL, in the two orders of the profiles. sqlcmd reads this file as it is. A
-- missing row is an error, so that nothing is changed: XACT_ABORT makes any error roll back the transaction.

-- name: debit_credit
-- Gray and Levine (appendix 1). Teller, account, history, branch; the branch follows from the teller's number.
CREATE OR ALTER PROCEDURE debit_credit
    @teller_id int, @account_id int, @amount decimal(14, 2)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @branch_id int = @teller_id / 1000000, @balance decimal(14, 2), @changed int;

    BEGIN TRANSACTION;
    UPDATE teller SET teller_balance = teller_balance + @amount WHERE teller_id = @teller_id;
    SET @changed = @@ROWCOUNT;
    UPDATE account
    SET @balance = account_balance = account_balance + @amount
    WHERE account_id = @account_id;
    SET @changed = @changed + @@ROWCOUNT;
    INSERT INTO history (branch_id, teller_id, account_id, amount, time_stamp)
    VALUES (@branch_id, @teller_id, @account_id, @amount, SYSUTCDATETIME());
    UPDATE branch SET branch_balance = branch_balance + @amount WHERE branch_id = @branch_id;
    SET @changed = @changed + @@ROWCOUNT;
    IF @changed <> 3
        THROW 50001, 'there is no such teller, account or branch', 1;
    COMMIT TRANSACTION;
    SELECT @balance AS balance;
END
GO

-- name: debit_credit_tpc
-- TPC-B (clause 1.2), TPC-A likewise. Account, history, teller, branch; the branch is given with the input.
CREATE OR ALTER PROCEDURE debit_credit_tpc
    @branch_id int, @teller_id int, @account_id int, @amount decimal(14, 2)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @balance decimal(14, 2), @changed int;

    BEGIN TRANSACTION;
    UPDATE account
    SET @balance = account_balance = account_balance + @amount
    WHERE account_id = @account_id;
    SET @changed = @@ROWCOUNT;
    INSERT INTO history (branch_id, teller_id, account_id, amount, time_stamp)
    VALUES (@branch_id, @teller_id, @account_id, @amount, SYSUTCDATETIME());
    UPDATE teller SET teller_balance = teller_balance + @amount WHERE teller_id = @teller_id;
    SET @changed = @changed + @@ROWCOUNT;
    UPDATE branch SET branch_balance = branch_balance + @amount WHERE branch_id = @branch_id;
    SET @changed = @changed + @@ROWCOUNT;
    IF @changed <> 3
        THROW 50002, 'there is no such account, teller or branch', 1;
    COMMIT TRANSACTION;
    SELECT @balance AS balance;
END
GO
