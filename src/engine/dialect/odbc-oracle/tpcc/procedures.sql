-- The transactions that write on the server (--via procedures) in PL/SQL: one round trip each. SQL*Plus reads this file
-- as it is. Procedures and tables share their names in Oracle, hence the prefix.
--
-- They do what statements.sql does, in the same order of locks: customer, district, warehouse; new_order, orders,
-- order_line, customer. Their first statement begins the transaction, and they end it; an error rolls back all of it
-- and is passed on. READ COMMITTED is sufficient: a changed row is read after its UPDATE, under its lock.
--
-- Each returns one text, with tabs between its values and a line for each row. Dates and amounts in it have the formats
-- of the session (NLS_TIMESTAMP_FORMAT, NLS_NUMERIC_CHARACTERS), which Graymark sets.

-- name: tpcc_new_order
-- Clause 2.4. in_lines has number, supplying warehouse, item and quantity of each line, all separated by commas, in the
-- order in which stock is to be locked. The answer is a line of the order, in which o_entry_d is empty if an unused
-- item made it roll back; then a line for each of its lines.
CREATE OR REPLACE PROCEDURE tpcc_new_order (
    in_w_id      IN INTEGER,
    in_d_id      IN INTEGER,
    in_c_id      IN INTEGER,
    in_ol_cnt    IN INTEGER,
    in_all_local IN INTEGER,
    in_lines     IN VARCHAR2,
    out_answer   OUT VARCHAR2
)
AS
    v_c_last     customer.c_last%TYPE;
    v_c_credit   customer.c_credit%TYPE;
    v_c_discount customer.c_discount%TYPE;
    v_w_tax      warehouse.w_tax%TYPE;
    v_d_tax      district.d_tax%TYPE;
    v_o_id       orders.o_id%TYPE;
    v_entry_d    orders.o_entry_d%TYPE;
    v_i_price    item.i_price%TYPE;
    v_i_name     item.i_name%TYPE;
    v_i_data     item.i_data%TYPE;
    v_s_quantity stock.s_quantity%TYPE;
    v_s_data     stock.s_data%TYPE;
    v_dist_info  stock.s_dist_01%TYPE;
    v_number     INTEGER;
    v_supply     INTEGER;
    v_item       INTEGER;
    v_quantity   INTEGER;
    v_brand      VARCHAR2(1);
    v_rest       VARCHAR2(1000) := in_lines || ',';
    v_brought    VARCHAR2(2000);
    v_unused     INTEGER := 0;
BEGIN
    SELECT c_last, c_credit, c_discount, w_tax, LOCALTIMESTAMP(6)
      INTO v_c_last, v_c_credit, v_c_discount, v_w_tax, v_entry_d
      FROM warehouse, customer
     WHERE w_id = in_w_id AND c_w_id = in_w_id AND c_d_id = in_d_id AND c_id = in_c_id;

    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = in_w_id AND d_id = in_d_id;
    SELECT d_next_o_id - 1, d_tax INTO v_o_id, v_d_tax FROM district WHERE d_w_id = in_w_id AND d_id = in_d_id;

    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (in_w_id, in_d_id, v_o_id, in_c_id, v_entry_d, NULL, in_ol_cnt, in_all_local);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (in_w_id, in_d_id, v_o_id);

    FOR v_line IN 1 .. in_ol_cnt LOOP
        v_number := SUBSTR(v_rest, 1, INSTR(v_rest, ',') - 1);
        v_rest := SUBSTR(v_rest, INSTR(v_rest, ',') + 1);
        v_supply := SUBSTR(v_rest, 1, INSTR(v_rest, ',') - 1);
        v_rest := SUBSTR(v_rest, INSTR(v_rest, ',') + 1);
        v_item := SUBSTR(v_rest, 1, INSTR(v_rest, ',') - 1);
        v_rest := SUBSTR(v_rest, INSTR(v_rest, ',') + 1);
        v_quantity := SUBSTR(v_rest, 1, INSTR(v_rest, ',') - 1);
        v_rest := SUBSTR(v_rest, INSTR(v_rest, ',') + 1);
        -- A total has a row in any case, so that an unused item is no exception.
        SELECT MAX(i_price), MAX(i_name), MAX(i_data) INTO v_i_price, v_i_name, v_i_data
          FROM item
         WHERE i_id = v_item;
        IF v_i_name IS NULL THEN
            v_unused := 1;
        ELSE
            UPDATE stock
               SET s_quantity = CASE WHEN s_quantity >= v_quantity + 10 THEN s_quantity - v_quantity
                                     ELSE s_quantity - v_quantity + 91 END,
                   s_ytd = s_ytd + v_quantity,
                   s_order_cnt = s_order_cnt + 1,
                   s_remote_cnt = s_remote_cnt + CASE WHEN v_supply = in_w_id THEN 0 ELSE 1 END
             WHERE s_w_id = v_supply AND s_i_id = v_item;
            SELECT s_quantity, s_data,
                   CASE in_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                                WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                                WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                                ELSE s_dist_10 END
              INTO v_s_quantity, v_s_data, v_dist_info
              FROM stock
             WHERE s_w_id = v_supply AND s_i_id = v_item;
            INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                                    ol_quantity, ol_amount, ol_dist_info)
            VALUES (in_w_id, in_d_id, v_o_id, v_number, v_item, v_supply, NULL, v_quantity, v_quantity * v_i_price,
                    v_dist_info);
            IF v_i_data LIKE '%ORIGINAL%' AND v_s_data LIKE '%ORIGINAL%' THEN
                v_brand := 'B';
            ELSE
                v_brand := 'G';
            END IF;
            v_brought := v_brought || CHR(10) || v_number || CHR(9) || v_i_name || CHR(9) || v_i_price || CHR(9)
                         || v_s_quantity || CHR(9) || v_brand;
        END IF;
    END LOOP;

    IF v_unused = 1 THEN
        ROLLBACK;
        v_entry_d := NULL;
        v_brought := NULL;
    ELSE
        COMMIT;
    END IF;
    out_answer := v_o_id || CHR(9) || v_c_last || CHR(9) || v_c_credit || CHR(9) || v_entry_d || CHR(9)
                  || v_c_discount || CHR(9) || v_w_tax || CHR(9) || v_d_tax || v_brought;
EXCEPTION
    WHEN NO_DATA_FOUND THEN
        ROLLBACK;
        RAISE_APPLICATION_ERROR(-20001, 'New-Order: a customer, district or stock row is missing');
    WHEN OTHERS THEN
        ROLLBACK;
        RAISE;
END;
/

-- name: tpcc_payment
-- Clause 2.5, with the customer by number or, if that is null, by last name, the one at position ceil(n/2) of the n who
-- bear it. The hottest row, the warehouse's, comes last, as others wait for it until the commit.
CREATE OR REPLACE PROCEDURE tpcc_payment (
    in_w_id    IN INTEGER,
    in_d_id    IN INTEGER,
    in_c_w_id  IN INTEGER,
    in_c_d_id  IN INTEGER,
    in_c_id    IN INTEGER,
    in_c_last  IN VARCHAR2,
    in_amount  IN warehouse.w_ytd%TYPE,
    out_answer OUT VARCHAR2
)
AS
    v_c_id    INTEGER := in_c_id;
    v_changed INTEGER := 0;
    v_now     history.h_date%TYPE;
    v_amount  VARCHAR2(20);
BEGIN
    SELECT LOCALTIMESTAMP(6) INTO v_now FROM dual;
    IF v_c_id IS NULL THEN
        SELECT MAX(c_id)
          INTO v_c_id
          FROM (SELECT c_id, ROW_NUMBER() OVER (ORDER BY c_first, c_id) AS place, COUNT(*) OVER () AS total
                  FROM customer
                 WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_last = in_c_last) namesake
         WHERE place = FLOOR((total + 1) / 2);
    END IF;

    -- With two decimals, whatever they are.
    v_amount := FLOOR(in_amount) || '.' || LPAD(MOD(FLOOR(in_amount * 100), 100), 2, '0');
    UPDATE customer
       SET c_balance = c_balance - in_amount,
           c_ytd_payment = c_ytd_payment + in_amount,
           c_payment_cnt = c_payment_cnt + 1,
           c_data = CASE c_credit
               WHEN 'BC' THEN SUBSTR(LPAD(c_id, GREATEST(4, LENGTH(c_id)), ' ') || ' ' || LPAD(c_d_id, 2, ' ') || ' '
                                     || LPAD(c_w_id, GREATEST(4, LENGTH(c_w_id)), ' ') || ' ' || LPAD(in_d_id, 2, ' ')
                                     || ' ' || LPAD(in_w_id, GREATEST(4, LENGTH(in_w_id)), ' ') || ' $'
                                     || LPAD(v_amount, GREATEST(7, LENGTH(v_amount)), ' ') || ' ' || c_data, 1, 500)
               ELSE c_data END
     WHERE c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = v_c_id;
    v_changed := v_changed + SQL%ROWCOUNT;
    UPDATE district SET d_ytd = d_ytd + in_amount WHERE d_w_id = in_w_id AND d_id = in_d_id;
    v_changed := v_changed + SQL%ROWCOUNT;
    UPDATE warehouse SET w_ytd = w_ytd + in_amount WHERE w_id = in_w_id;
    v_changed := v_changed + SQL%ROWCOUNT;
    IF v_changed <> 3 THEN
        RAISE_APPLICATION_ERROR(-20002, 'Payment: there is no such customer, district or warehouse');
    END IF;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    SELECT v_c_id, in_c_d_id, in_c_w_id, in_d_id, in_w_id, v_now, in_amount, w_name || '    ' || d_name
      FROM warehouse, district
     WHERE w_id = in_w_id AND d_w_id = in_w_id AND d_id = in_d_id;

    SELECT v_now || CHR(9) || w_street_1 || CHR(9) || w_street_2 || CHR(9) || w_city || CHR(9) || w_state || CHR(9)
           || w_zip || CHR(9) || d_street_1 || CHR(9) || d_street_2 || CHR(9) || d_city || CHR(9) || d_state || CHR(9)
           || d_zip || CHR(9) || c_id || CHR(9) || c_first || CHR(9) || c_middle || CHR(9) || c_last || CHR(9)
           || c_street_1 || CHR(9) || c_street_2 || CHR(9) || c_city || CHR(9) || c_state || CHR(9) || c_zip || CHR(9)
           || c_phone || CHR(9) || c_since || CHR(9) || c_credit || CHR(9) || c_credit_lim || CHR(9) || c_discount
           || CHR(9) || c_balance || CHR(9) || CASE c_credit WHEN 'BC' THEN SUBSTR(c_data, 1, 200) END
      INTO out_answer
      FROM warehouse, district, customer
     WHERE w_id = in_w_id AND d_w_id = in_w_id AND d_id = in_d_id
       AND c_w_id = in_c_w_id AND c_d_id = in_c_d_id AND c_id = v_c_id;
    COMMIT;
EXCEPTION
    WHEN OTHERS THEN
        ROLLBACK;
        RAISE;
END;
/

-- name: tpcc_delivery
-- Clause 2.7. The oldest open order of each district of a warehouse, in one transaction. Who comes second waits for the
-- oldest order's row, finds it gone and takes the next one. The answer is one text, a number of a district and of an
-- order for each that was delivered.
CREATE OR REPLACE PROCEDURE tpcc_delivery (
    in_w_id       IN INTEGER,
    in_carrier_id IN INTEGER,
    out_answer    OUT VARCHAR2
)
AS
    v_o_id   orders.o_id%TYPE;
    v_c_id   orders.o_c_id%TYPE;
    v_amount customer.c_balance%TYPE;
    v_answer VARCHAR2(300);
BEGIN
    FOR v_d_id IN 1 .. 10 LOOP
        LOOP
            SELECT MIN(no_o_id) INTO v_o_id FROM new_order WHERE no_w_id = in_w_id AND no_d_id = v_d_id;
            EXIT WHEN v_o_id IS NULL;
            DELETE FROM new_order WHERE no_w_id = in_w_id AND no_d_id = v_d_id AND no_o_id = v_o_id;
            EXIT WHEN SQL%ROWCOUNT = 1;
        END LOOP;
        IF v_o_id IS NOT NULL THEN
            UPDATE orders SET o_carrier_id = in_carrier_id
             WHERE o_w_id = in_w_id AND o_d_id = v_d_id AND o_id = v_o_id;
            SELECT o_c_id INTO v_c_id FROM orders WHERE o_w_id = in_w_id AND o_d_id = v_d_id AND o_id = v_o_id;
            UPDATE order_line SET ol_delivery_d = LOCALTIMESTAMP(6)
             WHERE ol_w_id = in_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;
            SELECT SUM(ol_amount) INTO v_amount
              FROM order_line
             WHERE ol_w_id = in_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;
            UPDATE customer SET c_balance = c_balance + v_amount, c_delivery_cnt = c_delivery_cnt + 1
             WHERE c_w_id = in_w_id AND c_d_id = v_d_id AND c_id = v_c_id AND v_amount IS NOT NULL;
            IF SQL%ROWCOUNT <> 1 THEN
                RAISE_APPLICATION_ERROR(-20003, 'Delivery: an order, its lines or its customer are missing');
            END IF;
            v_answer := v_answer || v_d_id || ' ' || v_o_id || ' ';
        END IF;
    END LOOP;
    COMMIT;
    out_answer := v_answer;
EXCEPTION
    WHEN NO_DATA_FOUND THEN
        ROLLBACK;
        RAISE_APPLICATION_ERROR(-20004, 'Delivery: an order is missing');
    WHEN OTHERS THEN
        ROLLBACK;
        RAISE;
END;
/
