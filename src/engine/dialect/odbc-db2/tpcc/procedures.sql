-- The transactions that write on the server (--via procedures) in SQL PL: one round trip each. Db2's command line reads
-- this file as it is with -td@.
--
-- They do what statements.sql does, in the same order of locks: customer, district, warehouse; new_order, orders,
-- order_line, customer. Their first statement begins the transaction, and they end it; an error rolls back all of it
-- and is passed on. Cursor stability is sufficient: a changed row is read after its UPDATE, under its lock.
--
-- Each returns one text, with tabs between its values and a line for each row.

-- name: tpcc_new_order
-- Clause 2.4. in_lines has number, supplying warehouse, item and quantity of each line, all separated by commas, in the
-- order in which stock is to be locked. The answer is a line of the order, in which o_entry_d is empty if an unused
-- item made it roll back; then a line for each of its lines.
CREATE OR REPLACE PROCEDURE tpcc_new_order (
    IN in_w_id INTEGER,
    IN in_d_id INTEGER,
    IN in_c_id INTEGER,
    IN in_ol_cnt INTEGER,
    IN in_all_local INTEGER,
    IN in_lines VARCHAR(1000),
    OUT out_answer VARCHAR(2000)
)
LANGUAGE SQL
MODIFIES SQL DATA
BEGIN
    DECLARE v_c_last, v_now_text VARCHAR(40);
    DECLARE v_c_credit CHAR(2);
    DECLARE v_c_discount, v_w_tax, v_d_tax DECIMAL(4, 4);
    DECLARE v_o_id, v_number, v_supply, v_item, v_quantity, v_s_quantity INTEGER;
    DECLARE v_line INTEGER DEFAULT 1;
    DECLARE v_unused INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP(6);
    DECLARE v_i_price DECIMAL(5, 2);
    DECLARE v_i_name VARCHAR(24);
    DECLARE v_i_data, v_s_data VARCHAR(50);
    DECLARE v_dist_info CHAR(24);
    DECLARE v_brand CHAR(1);
    DECLARE v_rest VARCHAR(1002);
    DECLARE v_brought VARCHAR(1500) DEFAULT '';
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    -- One character stays behind the last comma: SUBSTR takes no place behind the end.
    SET v_rest = in_lines || ', ';
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SELECT c_last, c_credit, c_discount, w_tax
      INTO v_c_last, v_c_credit, v_c_discount, v_w_tax
      FROM warehouse, customer
     WHERE w_id = in_w_id AND c_w_id = in_w_id AND c_d_id = in_d_id AND c_id = in_c_id;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = in_w_id AND d_id = in_d_id;
    SELECT d_next_o_id - 1, d_tax INTO v_o_id, v_d_tax FROM district WHERE d_w_id = in_w_id AND d_id = in_d_id;
    IF v_c_last IS NULL OR v_o_id IS NULL THEN
        SIGNAL SQLSTATE '75001' SET MESSAGE_TEXT = 'New-Order: there is no such customer or district';
    END IF;
    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (in_w_id, in_d_id, v_o_id, in_c_id, v_now, NULL, in_ol_cnt, in_all_local);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (in_w_id, in_d_id, v_o_id);

    WHILE v_line <= in_ol_cnt DO
        SET v_number = CAST(SUBSTR(v_rest, 1, LOCATE(',', v_rest) - 1) AS INTEGER);
        SET v_rest = SUBSTR(v_rest, LOCATE(',', v_rest) + 1);
        SET v_supply = CAST(SUBSTR(v_rest, 1, LOCATE(',', v_rest) - 1) AS INTEGER);
        SET v_rest = SUBSTR(v_rest, LOCATE(',', v_rest) + 1);
        SET v_item = CAST(SUBSTR(v_rest, 1, LOCATE(',', v_rest) - 1) AS INTEGER);
        SET v_rest = SUBSTR(v_rest, LOCATE(',', v_rest) + 1);
        SET v_quantity = CAST(SUBSTR(v_rest, 1, LOCATE(',', v_rest) - 1) AS INTEGER);
        SET v_rest = SUBSTR(v_rest, LOCATE(',', v_rest) + 1);
        -- A total has a row in any case, so that an unused item leaves nulls.
        SELECT MAX(i_price), MAX(i_name), MAX(i_data) INTO v_i_price, v_i_name, v_i_data FROM item WHERE i_id = v_item;
        IF v_i_name IS NULL THEN
            SET v_unused = 1;
        ELSE
            UPDATE stock
               SET s_quantity = CASE WHEN s_quantity >= v_quantity + 10 THEN s_quantity - v_quantity
                                     ELSE s_quantity - v_quantity + 91 END,
                   s_ytd = s_ytd + v_quantity,
                   s_order_cnt = s_order_cnt + 1,
                   s_remote_cnt = s_remote_cnt + CASE WHEN v_supply = in_w_id THEN 0 ELSE 1 END
             WHERE s_w_id = v_supply AND s_i_id = v_item;
            SET v_s_quantity = NULL;
            SELECT s_quantity, s_data,
                   CASE in_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                                WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                                WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                                ELSE s_dist_10 END
              INTO v_s_quantity, v_s_data, v_dist_info
              FROM stock
             WHERE s_w_id = v_supply AND s_i_id = v_item;
            IF v_s_quantity IS NULL THEN
                SIGNAL SQLSTATE '75002' SET MESSAGE_TEXT = 'New-Order: stock rows are missing';
            END IF;
            INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                                    ol_quantity, ol_amount, ol_dist_info)
            VALUES (in_w_id, in_d_id, v_o_id, v_number, v_item, v_supply, NULL, v_quantity, v_quantity * v_i_price,
                    v_dist_info);
            IF v_i_data LIKE '%ORIGINAL%' AND v_s_data LIKE '%ORIGINAL%' THEN
                SET v_brand = 'B';
            ELSE
                SET v_brand = 'G';
            END IF;
            SET v_brought = v_brought || CHR(10) || v_number || CHR(9) || v_i_name || CHR(9) || v_i_price || CHR(9)
                            || v_s_quantity || CHR(9) || v_brand;
        END IF;
        SET v_line = v_line + 1;
    END WHILE;

    IF v_unused = 1 THEN
        ROLLBACK;
        SET v_now_text = '';
        SET v_brought = '';
    ELSE
        COMMIT;
        SET v_now_text = VARCHAR_FORMAT(v_now, 'YYYY-MM-DD HH24:MI:SS.FF6');
    END IF;
    SET out_answer = v_o_id || CHR(9) || v_c_last || CHR(9) || v_c_credit || CHR(9) || v_now_text || CHR(9)
                     || v_c_discount || CHR(9) || v_w_tax || CHR(9) || v_d_tax || v_brought;
END
@

-- name: tpcc_payment
-- Clause 2.5, with the customer by number or, if that is null, by last name, the one at position ceil(n/2) of the n who
-- bear it. The hottest row, the warehouse's, comes last, as others wait for it until the commit.
CREATE OR REPLACE PROCEDURE tpcc_payment (
    IN in_w_id INTEGER,
    IN in_d_id INTEGER,
    IN in_c_w_id INTEGER,
    IN in_c_d_id INTEGER,
    IN in_c_id INTEGER,
    IN in_c_last VARCHAR(16),
    IN in_amount DECIMAL(12, 2),
    OUT out_answer VARCHAR(2000)
)
LANGUAGE SQL
MODIFIES SQL DATA
BEGIN
    DECLARE v_c_id, v_changed, v_rows INTEGER;
    DECLARE v_now TIMESTAMP(6);
    DECLARE v_amount VARCHAR(20);
    DECLARE v_answer VARCHAR(2000);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SET v_c_id = in_c_id;
    IF v_c_id IS NULL THEN
        SELECT MAX(c_id)
          INTO v_c_id
          FROM (SELECT c_id, ROW_NUMBER() OVER (ORDER BY c_first, c_id) AS place, COUNT(*) OVER () AS total
                  FROM customer
                 WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_last = in_c_last) namesake
         WHERE place = FLOOR((total + 1) / 2);
    END IF;

    -- The customer's amounts have two decimals in any text.
    SET v_amount = TRIM(CAST(in_amount AS VARCHAR(20)));
    UPDATE customer
       SET c_balance = c_balance - in_amount,
           c_ytd_payment = c_ytd_payment + in_amount,
           c_payment_cnt = c_payment_cnt + 1,
           c_data = CASE c_credit
               WHEN 'BC' THEN SUBSTRING(LPAD(c_id, GREATEST(4, LENGTH(TRIM(CAST(c_id AS CHAR(11))))), ' ') || ' '
                                        || LPAD(c_d_id, 2, ' ') || ' '
                                        || LPAD(c_w_id, GREATEST(4, LENGTH(TRIM(CAST(c_w_id AS CHAR(11))))), ' ') || ' '
                                        || LPAD(in_d_id, 2, ' ') || ' '
                                        || LPAD(in_w_id, GREATEST(4, LENGTH(TRIM(CAST(in_w_id AS CHAR(11))))), ' ')
                                        || ' $' || LPAD(v_amount, GREATEST(7, LENGTH(v_amount)), ' ') || ' ' || c_data,
                                        1, 500, OCTETS)
               ELSE c_data END
     WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = v_c_id;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    SET v_changed = v_rows;
    UPDATE district SET d_ytd = d_ytd + in_amount WHERE d_w_id = in_w_id AND d_id = in_d_id;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    SET v_changed = v_changed + v_rows;
    UPDATE warehouse SET w_ytd = w_ytd + in_amount WHERE w_id = in_w_id;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    SET v_changed = v_changed + v_rows;
    IF v_changed <> 3 THEN
        SIGNAL SQLSTATE '75003' SET MESSAGE_TEXT = 'Payment: there is no such customer, district or warehouse';
    END IF;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    SELECT v_c_id, in_c_d_id, in_c_w_id, in_d_id, in_w_id, v_now, in_amount, w_name || '    ' || d_name
      FROM warehouse, district
     WHERE w_id = in_w_id AND d_w_id = in_w_id AND d_id = in_d_id;

    SELECT VARCHAR_FORMAT(v_now, 'YYYY-MM-DD HH24:MI:SS.FF6') || CHR(9) || w_street_1 || CHR(9) || w_street_2 || CHR(9)
           || w_city || CHR(9) || w_state || CHR(9) || w_zip || CHR(9) || d_street_1 || CHR(9) || d_street_2 || CHR(9)
           || d_city || CHR(9) || d_state || CHR(9) || d_zip || CHR(9) || c_id || CHR(9) || c_first || CHR(9)
           || c_middle || CHR(9) || c_last || CHR(9) || c_street_1 || CHR(9) || c_street_2 || CHR(9) || c_city || CHR(9)
           || c_state || CHR(9) || c_zip || CHR(9) || c_phone || CHR(9)
           || VARCHAR_FORMAT(c_since, 'YYYY-MM-DD HH24:MI:SS.FF6') || CHR(9) || c_credit || CHR(9) || c_credit_lim
           || CHR(9) || c_discount || CHR(9) || c_balance || CHR(9)
           || CASE c_credit WHEN 'BC' THEN SUBSTRING(c_data, 1, 200, OCTETS) ELSE '' END
      INTO v_answer
      FROM warehouse, district, customer
     WHERE w_id = in_w_id AND d_w_id = in_w_id AND d_id = in_d_id
       AND c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = v_c_id;
    COMMIT;
    SET out_answer = v_answer;
END
@

-- name: tpcc_delivery
-- Clause 2.7. The oldest open order of each district of a warehouse, in one transaction. Who comes second waits for the
-- oldest order's row, finds it gone and takes the next one. The answer is one text, a number of a district and of an
-- order for each that was delivered.
CREATE OR REPLACE PROCEDURE tpcc_delivery (
    IN in_w_id INTEGER,
    IN in_carrier_id INTEGER,
    OUT out_answer VARCHAR(2000)
)
LANGUAGE SQL
MODIFIES SQL DATA
BEGIN
    DECLARE v_d_id INTEGER DEFAULT 1;
    DECLARE v_o_id, v_c_id, v_rows INTEGER;
    DECLARE v_amount DECIMAL(12, 2);
    DECLARE v_now TIMESTAMP(6);
    DECLARE v_answer VARCHAR(2000) DEFAULT '';
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    WHILE v_d_id <= 10 DO
        SET v_rows = 0;
        REPEAT
            SELECT MIN(no_o_id) INTO v_o_id FROM new_order WHERE no_w_id = in_w_id AND no_d_id = v_d_id;
            IF v_o_id IS NOT NULL THEN
                DELETE FROM new_order WHERE no_w_id = in_w_id AND no_d_id = v_d_id AND no_o_id = v_o_id;
                GET DIAGNOSTICS v_rows = ROW_COUNT;
            END IF;
        UNTIL v_o_id IS NULL OR v_rows = 1
        END REPEAT;
        IF v_o_id IS NOT NULL THEN
            UPDATE orders SET o_carrier_id = in_carrier_id
             WHERE o_w_id = in_w_id AND o_d_id = v_d_id AND o_id = v_o_id;
            SET v_c_id = NULL;
            SELECT o_c_id INTO v_c_id FROM orders WHERE o_w_id = in_w_id AND o_d_id = v_d_id AND o_id = v_o_id;
            UPDATE order_line SET ol_delivery_d = v_now
             WHERE ol_w_id = in_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;
            SELECT SUM(ol_amount) INTO v_amount
              FROM order_line
             WHERE ol_w_id = in_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;
            UPDATE customer SET c_balance = c_balance + v_amount, c_delivery_cnt = c_delivery_cnt + 1
             WHERE c_w_id = in_w_id AND c_d_id = v_d_id AND c_id = v_c_id AND v_amount IS NOT NULL;
            GET DIAGNOSTICS v_rows = ROW_COUNT;
            IF v_rows <> 1 THEN
                SIGNAL SQLSTATE '75004'
                    SET MESSAGE_TEXT = 'Delivery: an order, its lines or its customer are missing';
            END IF;
            SET v_answer = v_answer || v_d_id || ' ' || v_o_id || ' ';
        END IF;
        SET v_d_id = v_d_id + 1;
    END WHILE;
    COMMIT;
    SET out_answer = v_answer;
END
@
