-- The five transactions on the server (--via procedures) in Transact-SQL: one round trip each. sqlcmd reads this file
-- as it is; it needs SQL Server 2017 or later. Procedures and tables share their names in SQL Server, hence the prefix.
--
-- They do what statements.sql does, in the same order of locks: customer, district, warehouse; new_order, orders,
-- order_line, customer. Each that writes begins its transaction and ends it. XACT_ABORT makes any error roll back all
-- of it. READ COMMITTED is sufficient: what is read of a changed row comes from the statement that changes it.
--
-- Those that write return one text, with tabs between its values and a line for each row.

-- name: tpcc_new_order
-- Clause 2.4. @lines is a JSON array of [number, supply_w_id, i_id, quantity, …], in the order in which stock is to be
-- locked. The answer is a line of the order, in which o_entry_d is empty if an unused item made it roll back; then a
-- line for each of its lines.
CREATE OR ALTER PROCEDURE tpcc_new_order
    @w_id int, @d_id int, @c_id int, @ol_cnt int, @all_local int, @lines varchar(1000)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @line TABLE (place int PRIMARY KEY, number int, supply_w_id int, i_id int, quantity int);
    DECLARE @c_last varchar(16), @c_credit char(2), @c_discount decimal(4, 4), @w_tax decimal(4, 4);
    DECLARE @d_tax decimal(4, 4), @o_id int, @i_price decimal(5, 2), @i_name varchar(24), @i_data varchar(50);
    DECLARE @number int, @supply_w_id int, @i_id int, @quantity int, @s_quantity int, @s_data varchar(50);
    DECLARE @dist_info char(24), @place int = 0, @unused int = 0, @brought varchar(2000) = '';
    DECLARE @answer varchar(2000), @now datetime2(6) = SYSUTCDATETIME();

    INSERT INTO @line (place, number, supply_w_id, i_id, quantity)
    SELECT CAST([key] AS int), JSON_VALUE(value, '$[0]'), JSON_VALUE(value, '$[1]'), JSON_VALUE(value, '$[2]'),
           JSON_VALUE(value, '$[3]')
    FROM OPENJSON(@lines);

    BEGIN TRANSACTION;
    SELECT @c_last = c_last, @c_credit = c_credit, @c_discount = c_discount, @w_tax = w_tax
    FROM warehouse CROSS JOIN customer
    WHERE w_id = @w_id AND c_w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id;
    UPDATE district
    SET @o_id = d_next_o_id, @d_tax = d_tax, d_next_o_id = d_next_o_id + 1
    WHERE d_w_id = @w_id AND d_id = @d_id;
    IF @c_last IS NULL OR @o_id IS NULL
        THROW 50001, 'New-Order: there is no such customer or district', 1;

    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (@w_id, @d_id, @o_id, @c_id, @now, NULL, @ol_cnt, @all_local);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (@w_id, @d_id, @o_id);

    WHILE @place < @ol_cnt
    BEGIN
        SELECT @number = number, @supply_w_id = supply_w_id, @i_id = i_id, @quantity = quantity
        FROM @line
        WHERE place = @place;
        SET @i_name = NULL;
        SELECT @i_price = i_price, @i_name = i_name, @i_data = i_data FROM item WHERE i_id = @i_id;
        IF @i_name IS NULL
            SET @unused = 1;
        ELSE
        BEGIN
            SET @s_quantity = NULL;
            UPDATE stock
            SET @s_quantity = s_quantity = CASE WHEN s_quantity >= @quantity + 10 THEN s_quantity - @quantity
                                                ELSE s_quantity - @quantity + 91 END,
                s_ytd = s_ytd + @quantity,
                s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + CASE WHEN @supply_w_id = @w_id THEN 0 ELSE 1 END,
                @s_data = s_data,
                @dist_info = CASE @d_id
                    WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                    WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                    WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
            WHERE s_w_id = @supply_w_id AND s_i_id = @i_id;
            IF @s_quantity IS NULL
                THROW 50002, 'New-Order: stock rows are missing', 1;
            INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                                    ol_quantity, ol_amount, ol_dist_info)
            VALUES (@w_id, @d_id, @o_id, @number, @i_id, @supply_w_id, NULL, @quantity, @quantity * @i_price,
                    @dist_info);
            SET @brought = CONCAT(@brought, CHAR(10), @number, CHAR(9), @i_name, CHAR(9), @i_price, CHAR(9),
                                  @s_quantity, CHAR(9),
                                  CASE WHEN @i_data LIKE '%ORIGINAL%' AND @s_data LIKE '%ORIGINAL%' THEN 'B'
                                       ELSE 'G' END);
        END;
        SET @place = @place + 1;
    END;

    IF @unused = 1
    BEGIN
        ROLLBACK TRANSACTION;
        SET @now = NULL;
        SET @brought = '';
    END
    ELSE
        COMMIT TRANSACTION;
    SET @answer = CONCAT(@o_id, CHAR(9), @c_last, CHAR(9), @c_credit, CHAR(9), CONVERT(varchar(30), @now, 121), CHAR(9),
                         @c_discount, CHAR(9), @w_tax, CHAR(9), @d_tax, @brought);
    SELECT @answer AS answer;
END
GO

-- name: tpcc_payment
-- Clause 2.5, with the customer by number or, if that is null, by last name, the one at position ceil(n/2) of the n who
-- bear it. The hottest row, the warehouse's, comes last, as others wait for it until the commit.
CREATE OR ALTER PROCEDURE tpcc_payment
    @w_id int, @d_id int, @c_w_id int, @c_d_id int, @c_id int, @c_last varchar(16), @amount decimal(12, 2)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @changed int = 0, @now datetime2(6) = SYSUTCDATETIME(), @answer varchar(2000), @tab char(1) = CHAR(9);

    BEGIN TRANSACTION;
    IF @c_id IS NULL
        SELECT @c_id = namesake.c_id
        FROM (SELECT c_id, ROW_NUMBER() OVER (ORDER BY c_first, c_id) AS place, COUNT(*) OVER () AS total
              FROM customer
              WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_last = @c_last) namesake
        WHERE namesake.place = (namesake.total + 1) / 2;

    UPDATE customer
    SET c_balance = c_balance - @amount,
        c_ytd_payment = c_ytd_payment + @amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE c_credit
            WHEN 'BC' THEN LEFT(CONCAT(REPLICATE(' ', 4 - LEN(c_id)), c_id, ' ',
                                       REPLICATE(' ', 2 - LEN(c_d_id)), c_d_id, ' ',
                                       REPLICATE(' ', 4 - LEN(c_w_id)), c_w_id, ' ',
                                       REPLICATE(' ', 2 - LEN(@d_id)), @d_id, ' ',
                                       REPLICATE(' ', 4 - LEN(@w_id)), @w_id, ' $',
                                       REPLICATE(' ', 7 - LEN(@amount)), @amount, ' ', c_data), 500)
            ELSE c_data END
    WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_id = @c_id;
    SET @changed = @changed + @@ROWCOUNT;
    UPDATE district SET d_ytd = d_ytd + @amount WHERE d_w_id = @w_id AND d_id = @d_id;
    SET @changed = @changed + @@ROWCOUNT;
    UPDATE warehouse SET w_ytd = w_ytd + @amount WHERE w_id = @w_id;
    SET @changed = @changed + @@ROWCOUNT;
    IF @changed <> 3
        THROW 50003, 'Payment: there is no such customer, district or warehouse', 1;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    SELECT @c_id, @c_d_id, @c_w_id, @d_id, @w_id, @now, @amount, CONCAT(w_name, '    ', d_name)
    FROM warehouse CROSS JOIN district
    WHERE w_id = @w_id AND d_w_id = @w_id AND d_id = @d_id;

    SELECT @answer = CONCAT(CONVERT(varchar(30), @now, 121), @tab, w_street_1, @tab, w_street_2, @tab, w_city, @tab,
                            w_state, @tab, w_zip, @tab, d_street_1, @tab, d_street_2, @tab, d_city, @tab, d_state, @tab,
                            d_zip, @tab, c_id, @tab, c_first, @tab, c_middle, @tab, c_last, @tab, c_street_1, @tab,
                            c_street_2, @tab, c_city, @tab, c_state, @tab, c_zip, @tab, c_phone, @tab,
                            CONVERT(varchar(30), c_since, 121), @tab, c_credit, @tab, c_credit_lim, @tab, c_discount,
                            @tab, c_balance, @tab, CASE c_credit WHEN 'BC' THEN LEFT(c_data, 200) ELSE '' END)
    FROM warehouse CROSS JOIN district CROSS JOIN customer
    WHERE w_id = @w_id AND d_w_id = @w_id AND d_id = @d_id
      AND c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_id = @c_id;
    COMMIT TRANSACTION;
    SELECT @answer AS answer;
END
GO

-- name: tpcc_order_status
-- Clause 2.6. A row a line of the newest order of the customer, by number or, if that is null, by last name. Names
-- never change, so that the answer is of one statement.
CREATE OR ALTER PROCEDURE tpcc_order_status
    @w_id int, @d_id int, @c_id int, @c_last varchar(16)
AS
BEGIN
    SET NOCOUNT ON;
    IF @c_id IS NULL
        SELECT @c_id = namesake.c_id
        FROM (SELECT c_id, ROW_NUMBER() OVER (ORDER BY c_first, c_id) AS place, COUNT(*) OVER () AS total
              FROM customer
              WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_last = @c_last) namesake
        WHERE namesake.place = (namesake.total + 1) / 2;
    SELECT c_id, c_balance, c_first, c_middle, c_last, o_id, o_entry_d, o_carrier_id, ol_supply_w_id, ol_i_id,
           ol_quantity, ol_amount, ol_delivery_d
    FROM customer
    JOIN orders ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
    JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id
      AND o_id = (SELECT MAX(newest.o_id) FROM orders newest
                  WHERE newest.o_w_id = @w_id AND newest.o_d_id = @d_id AND newest.o_c_id = @c_id)
    ORDER BY ol_number;
END
GO

-- name: tpcc_delivery
-- Clause 2.7. The oldest open order of each district of a warehouse, in one transaction. Who comes second waits for the
-- oldest order's row, finds it gone and goes on to the next. The answer is one text, a number of a district and of an
-- order for each that was delivered.
CREATE OR ALTER PROCEDURE tpcc_delivery
    @w_id int, @o_carrier_id int
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @d_id int = 1, @o_id int, @c_id int, @amount decimal(12, 2), @answer varchar(300) = '';
    DECLARE @now datetime2(6) = SYSUTCDATETIME();

    BEGIN TRANSACTION;
    WHILE @d_id <= 10
    BEGIN
        SET @o_id = NULL;
        SELECT TOP (1) @o_id = no_o_id
        FROM new_order WITH (ROWLOCK, UPDLOCK)
        WHERE no_w_id = @w_id AND no_d_id = @d_id
        ORDER BY no_o_id;
        IF @o_id IS NOT NULL
        BEGIN
            DELETE FROM new_order WHERE no_w_id = @w_id AND no_d_id = @d_id AND no_o_id = @o_id;
            SET @c_id = NULL;
            UPDATE orders
            SET @c_id = o_c_id, o_carrier_id = @o_carrier_id
            WHERE o_w_id = @w_id AND o_d_id = @d_id AND o_id = @o_id;
            UPDATE order_line
            SET ol_delivery_d = @now
            WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @o_id;
            SELECT @amount = SUM(ol_amount)
            FROM order_line
            WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @o_id;
            UPDATE customer
            SET c_balance = c_balance + @amount, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id AND @amount IS NOT NULL;
            IF @@ROWCOUNT <> 1
                THROW 50004, 'Delivery: an order, its lines or its customer are missing', 1;
            SET @answer = CONCAT(@answer, @d_id, ' ', @o_id, ' ');
        END;
        SET @d_id = @d_id + 1;
    END;
    COMMIT TRANSACTION;
    SELECT @answer AS answer;
END
GO

-- name: tpcc_stock_level
-- Clause 2.8. Stock has one row an item, so that an item sold several times counts once.
CREATE OR ALTER PROCEDURE tpcc_stock_level
    @w_id int, @d_id int, @threshold int
AS
BEGIN
    SET NOCOUNT ON;
    SELECT COUNT(DISTINCT s_i_id) AS low_stock
    FROM district
    JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
    JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
    WHERE d_w_id = @w_id AND d_id = @d_id AND s_quantity < @threshold;
END
GO
