-- The five transactions on the server (--via procedures): one round trip each. A client that reads this file itself
-- needs DELIMITER around each of them.
--
-- They do what statements.sql does, in the same order of locks: customer, district, warehouse; new_order, orders,
-- order_line, customer. Each begins its transaction and ends it. An error of the server or of SIGNAL rolls back all of
-- it and is passed on to the client unchanged: otherwise a lock timeout would leave the
-- transaction open.
--
-- Isolation: READ COMMITTED is sufficient, as for statements.sql. A changed row is read after its UPDATE, under its
-- lock.
--
-- Those that write return one text, with tabs between its values: the protocol describes each column of each answer
-- again, which cost client and server more than the values themselves. A text of the population contains no tab and no
-- line end (clause 4.3.2.2).

-- name: new_order
-- Clause 2.4. in_lines is a JSON array of [number, supply_w_id, i_id, quantity, pass], in ascending order of pass,
-- supply_w_id and i_id; stock is locked in this order. Lines of a repeated stock row have passes 0, 1, and so on, for
-- each has to see the quantity that the one before it left. The answer is a line of the order, in which o_entry_d is
-- empty if an unused item made it roll back; then a line for each of its lines.
CREATE PROCEDURE new_order(
    IN in_w_id      int,
    IN in_d_id      int,
    IN in_c_id      int,
    IN in_ol_cnt    int,
    IN in_all_local int,
    IN in_passes    int,
    IN in_lines     text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
MODIFIES SQL DATA
BEGIN
    DECLARE v_w_tax, v_d_tax, v_c_discount decimal(4, 4);
    DECLARE v_c_last varchar(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_c_credit char(2) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_o_id, v_valid int;
    DECLARE v_pass, v_found int DEFAULT 0;
    DECLARE v_brought, v_lines varchar(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_now datetime(6) DEFAULT CURRENT_TIMESTAMP(6);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    SELECT w_tax, c_discount, c_last, c_credit
      INTO v_w_tax, v_c_discount, v_c_last, v_c_credit
      FROM warehouse CROSS JOIN customer
     WHERE w_id = in_w_id AND c_w_id = in_w_id AND c_d_id = in_d_id AND c_id = in_c_id;

    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = in_w_id AND d_id = in_d_id;
    SELECT d_next_o_id - 1, d_tax INTO v_o_id, v_d_tax FROM district WHERE d_w_id = in_w_id AND d_id = in_d_id;
    IF v_c_last IS NULL OR v_o_id IS NULL THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'New-Order: there is no such customer or district';
    END IF;

    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (in_w_id, in_d_id, v_o_id, in_c_id, v_now, NULL, in_ol_cnt, in_all_local);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (in_w_id, in_d_id, v_o_id);

    WHILE v_pass < in_passes DO
        UPDATE JSON_TABLE(in_lines, '$[*]' COLUMNS (supply_w_id int PATH '$[1]', i_id int PATH '$[2]',
                                                    quantity int PATH '$[3]', pass int PATH '$[4]')) AS line
         STRAIGHT_JOIN stock ON s_w_id = line.supply_w_id AND s_i_id = line.i_id
           SET s_quantity = CASE WHEN s_quantity >= line.quantity + 10 THEN s_quantity - line.quantity
                                 ELSE s_quantity - line.quantity + 91 END,
               s_ytd = s_ytd + line.quantity,
               s_order_cnt = s_order_cnt + 1,
               s_remote_cnt = s_remote_cnt + CASE WHEN line.supply_w_id = in_w_id THEN 0 ELSE 1 END
         WHERE line.pass = v_pass;

        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                                ol_quantity, ol_amount, ol_dist_info)
        SELECT in_w_id, in_d_id, v_o_id, line.number, line.i_id, line.supply_w_id, NULL, line.quantity,
               line.quantity * i_price,
               CASE in_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                            WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                            WHEN 9 THEN s_dist_09 WHEN 10 THEN s_dist_10 END
          FROM JSON_TABLE(in_lines, '$[*]' COLUMNS (number int PATH '$[0]', supply_w_id int PATH '$[1]',
                                                    i_id int PATH '$[2]', quantity int PATH '$[3]',
                                                    pass int PATH '$[4]')) AS line
         STRAIGHT_JOIN item ON item.i_id = line.i_id
         STRAIGHT_JOIN stock ON s_w_id = line.supply_w_id AND s_i_id = line.i_id
         WHERE line.pass = v_pass;
        SET v_found = v_found + ROW_COUNT();

        SELECT GROUP_CONCAT('\n', CONCAT_WS('\t', line.number, i_name, i_price, s_quantity,
                                           CASE WHEN i_data LIKE '%ORIGINAL%' AND s_data LIKE '%ORIGINAL%'
                                                THEN 'B' ELSE 'G' END)
                            SEPARATOR '')
          INTO v_brought
          FROM JSON_TABLE(in_lines, '$[*]' COLUMNS (number int PATH '$[0]', supply_w_id int PATH '$[1]',
                                                    i_id int PATH '$[2]', pass int PATH '$[4]')) AS line
         STRAIGHT_JOIN item ON item.i_id = line.i_id
         STRAIGHT_JOIN stock ON s_w_id = line.supply_w_id AND s_i_id = line.i_id
         WHERE line.pass = v_pass;
        SET v_lines = CONCAT(v_lines, COALESCE(v_brought, ''));
        SET v_pass = v_pass + 1;
    END WHILE;

    IF v_found < in_ol_cnt THEN
        SELECT COUNT(*) INTO v_valid
          FROM JSON_TABLE(in_lines, '$[*]' COLUMNS (i_id int PATH '$[2]')) AS line
         STRAIGHT_JOIN item ON item.i_id = line.i_id;
        IF v_found < v_valid THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'New-Order: stock rows are missing';
        END IF;
        SET v_now = NULL, v_lines = '';
        ROLLBACK;
    ELSE
        COMMIT;
    END IF;
    SELECT CONCAT(CONCAT_WS('\t', v_o_id, v_c_last, v_c_credit, COALESCE(v_now, ''), v_c_discount, v_w_tax, v_d_tax),
                  v_lines) AS answer;
END;

-- name: payment
-- Clause 2.5, with the customer by number or, if that is null, by last name, the one at position ceil(n/2) of the n who
-- bear it. The hottest row, the warehouse's, comes last, as others wait for it until the commit.
CREATE PROCEDURE payment(
    IN in_w_id   int,
    IN in_d_id   int,
    IN in_c_w_id int,
    IN in_c_d_id int,
    IN in_c_id   int,
    IN in_c_last varchar(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN in_amount decimal(12, 2)
)
MODIFIES SQL DATA
BEGIN
    DECLARE v_before int;
    DECLARE v_changed int DEFAULT 0;
    DECLARE v_now datetime(6) DEFAULT CURRENT_TIMESTAMP(6);
    DECLARE v_answer varchar(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    IF in_c_id IS NULL THEN
        SELECT (COUNT(*) - 1) DIV 2 INTO v_before
          FROM customer
         WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_last = in_c_last
        HAVING COUNT(*) > 0;
        IF v_before IS NOT NULL THEN
            SELECT c_id INTO in_c_id
              FROM customer
             WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_last = in_c_last
             ORDER BY c_first, c_id
             LIMIT v_before, 1;
        END IF;
    END IF;

    UPDATE customer
       SET c_balance = c_balance - in_amount,
           c_ytd_payment = c_ytd_payment + in_amount,
           c_payment_cnt = c_payment_cnt + 1,
           c_data = CASE c_credit
               WHEN 'BC' THEN LEFT(CONCAT(LPAD(c_id, GREATEST(4, LENGTH(c_id)), ' '), ' ', LPAD(c_d_id, 2, ' '), ' ',
                                          LPAD(c_w_id, GREATEST(4, LENGTH(c_w_id)), ' '), ' ', LPAD(in_d_id, 2, ' '),
                                          ' ', LPAD(in_w_id, GREATEST(4, LENGTH(in_w_id)), ' '), ' $',
                                          LPAD(in_amount, 7, ' '), ' ', c_data), 500)
               ELSE c_data END
     WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = in_c_id;
    SET v_changed = v_changed + ROW_COUNT();
    UPDATE district SET d_ytd = d_ytd + in_amount WHERE d_w_id = in_w_id AND d_id = in_d_id;
    SET v_changed = v_changed + ROW_COUNT();
    UPDATE warehouse SET w_ytd = w_ytd + in_amount WHERE w_id = in_w_id;
    SET v_changed = v_changed + ROW_COUNT();
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    SELECT in_c_id, in_c_d_id, in_c_w_id, in_d_id, in_w_id, v_now, in_amount, CONCAT(w_name, '    ', d_name)
      FROM warehouse CROSS JOIN district
     WHERE w_id = in_w_id AND d_w_id = in_w_id AND d_id = in_d_id;
    IF v_changed <> 3 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'Payment: there is no such customer, district or warehouse';
    END IF;

    SELECT CONCAT_WS('\t', v_now, w_street_1, w_street_2, w_city, w_state, w_zip, d_street_1, d_street_2, d_city,
           d_state, d_zip, c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
           c_since, c_credit, c_credit_lim, c_discount, c_balance,
           CASE c_credit WHEN 'BC' THEN LEFT(c_data, 200) ELSE '' END)
      INTO v_answer
      FROM warehouse CROSS JOIN district CROSS JOIN customer
     WHERE w_id = in_w_id AND d_w_id = in_w_id AND d_id = in_d_id
       AND c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = in_c_id;
    COMMIT;
    -- Behind the commit: an answer in front of it is sent on its own, and wakes the client twice.
    SELECT v_answer AS answer;
END;

-- name: order_status
-- Clause 2.6. A row a line of the newest order of the customer, by number or, if that is null, by last name. Names
-- never change, so that the answer is of one statement and one snapshot.
CREATE PROCEDURE order_status(
    IN in_w_id   int,
    IN in_d_id   int,
    IN in_c_id   int,
    IN in_c_last varchar(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
READS SQL DATA
BEGIN
    DECLARE v_before int;
    IF in_c_id IS NULL THEN
        SELECT (COUNT(*) - 1) DIV 2 INTO v_before
          FROM customer
         WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_last = in_c_last
        HAVING COUNT(*) > 0;
        IF v_before IS NOT NULL THEN
            SELECT c_id INTO in_c_id
              FROM customer
             WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_last = in_c_last
             ORDER BY c_first, c_id
             LIMIT v_before, 1;
        END IF;
    END IF;

    SELECT c_id, c_balance, c_first, c_middle, c_last, o_id, o_entry_d, o_carrier_id, ol_supply_w_id, ol_i_id,
           ol_quantity, ol_amount, ol_delivery_d
      FROM customer
     STRAIGHT_JOIN orders ON o_w_id = in_w_id AND o_d_id = in_d_id
                         AND o_id = (SELECT MAX(o_id) FROM orders
                                     WHERE o_w_id = in_w_id AND o_d_id = in_d_id AND o_c_id = in_c_id)
     STRAIGHT_JOIN order_line ON ol_w_id = in_w_id AND ol_d_id = in_d_id AND ol_o_id = o_id
     WHERE c_w_id = in_w_id AND c_d_id = in_d_id AND c_id = in_c_id
     ORDER BY ol_number;
END;

-- name: delivery
-- Clause 2.7. The oldest open order of each district of a warehouse, in one transaction. Who comes second waits for the
-- oldest order's row, finds it gone and goes on to the next, so that two deliveries never take the same order. The
-- answer is one text, a number of a district and of an order for each that was delivered.
CREATE PROCEDURE delivery(IN in_w_id int, IN in_o_carrier_id int)
MODIFIES SQL DATA
BEGIN
    DECLARE v_d_id int DEFAULT 1;
    DECLARE v_o_id, v_c_id, v_changed int;
    DECLARE v_amount decimal(12, 2);
    DECLARE v_delivered varchar(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    WHILE v_d_id <= 10 DO
        SET v_o_id = NULL, v_c_id = NULL;
        SELECT no_o_id INTO v_o_id
          FROM new_order
         WHERE no_w_id = in_w_id AND no_d_id = v_d_id
         ORDER BY no_o_id
         LIMIT 1
           FOR UPDATE;
        IF v_o_id IS NOT NULL THEN
            DELETE FROM new_order WHERE no_w_id = in_w_id AND no_d_id = v_d_id AND no_o_id = v_o_id;
            UPDATE orders SET o_carrier_id = in_o_carrier_id
             WHERE o_w_id = in_w_id AND o_d_id = v_d_id AND o_id = v_o_id;
            SELECT o_c_id INTO v_c_id FROM orders WHERE o_w_id = in_w_id AND o_d_id = v_d_id AND o_id = v_o_id;
            UPDATE order_line
               SET ol_delivery_d = CURRENT_TIMESTAMP(6)
             WHERE ol_w_id = in_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;
            SELECT SUM(ol_amount) INTO v_amount
              FROM order_line
             WHERE ol_w_id = in_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;
            UPDATE customer
               SET c_balance = c_balance + v_amount,
                   c_delivery_cnt = c_delivery_cnt + 1
             WHERE c_w_id = in_w_id AND c_d_id = v_d_id AND c_id = v_c_id AND v_amount IS NOT NULL;
            SET v_changed = ROW_COUNT();
            IF v_changed <> 1 THEN
                SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'Delivery: an order, its lines or its customer are missing';
            END IF;
            SET v_delivered = CONCAT(v_delivered, v_d_id, ' ', v_o_id, ' ');
        END IF;
        SET v_d_id = v_d_id + 1;
    END WHILE;
    COMMIT;
    SELECT v_delivered;
END;

-- name: stock_level
-- Clause 2.8. Stock has one row an item, so that an item sold several times counts once.
CREATE PROCEDURE stock_level(IN in_w_id int, IN in_d_id int, IN in_threshold int)
READS SQL DATA
SELECT COUNT(DISTINCT s_i_id)
  FROM district
 STRAIGHT_JOIN order_line ON ol_w_id = in_w_id AND ol_d_id = in_d_id
                          AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
 STRAIGHT_JOIN stock ON s_w_id = in_w_id AND s_i_id = ol_i_id
 WHERE d_w_id = in_w_id AND d_id = in_d_id AND s_quantity < in_threshold;
