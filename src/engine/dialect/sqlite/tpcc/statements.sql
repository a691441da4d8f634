-- The statements of the five transactions of TPC-C in SQLite. A statement is executed once for each row of its array
-- parameters. Money is cents, rates are 1/10000, dates are microseconds since 1970-01-01 UTC; SQLite's clock gives
-- milliseconds. CROSS JOIN in SQLite sets the join order: from the given key to the tables joined to it.

-- name: new_order_customer
-- ?1 w_id, ?2 d_id, ?3 c_id
SELECT w_tax, c_discount, c_last, c_credit
FROM warehouse CROSS JOIN customer
WHERE w_id = ?1 AND c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3;

-- name: new_order_district
-- ?1 w_id, ?2 d_id
UPDATE district SET d_next_o_id = d_next_o_id + 1
WHERE d_w_id = ?1 AND d_id = ?2
RETURNING d_next_o_id - 1, d_tax;

-- name: new_order_item
-- ?1 place, ?2 i_id
SELECT ?1, i_price, i_name, i_data FROM item WHERE i_id = ?2;

-- name: new_order_stock
-- ?1 d_id, ?2 place, ?3 supply_w_id, ?4 i_id, ?5 quantity, ?6 remote
UPDATE stock SET
    s_quantity = CASE WHEN s_quantity >= ?5 + 10 THEN s_quantity - ?5 ELSE s_quantity - ?5 + 91 END,
    s_ytd = s_ytd + ?5,
    s_order_cnt = s_order_cnt + 1,
    s_remote_cnt = s_remote_cnt + ?6
WHERE s_w_id = ?3 AND s_i_id = ?4
RETURNING ?2, s_quantity,
    CASE ?1
        WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05
        WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 WHEN 10 THEN s_dist_10
    END,
    s_data;

-- name: new_order_order
-- ?1 w_id, ?2 d_id, ?3 o_id, ?4 c_id, ?5 ol_cnt, ?6 all_local
INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
VALUES (?1, ?2, ?3, ?4, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000, NULL, ?5, ?6)
RETURNING o_entry_d;

-- name: new_order_open
-- ?1 w_id, ?2 d_id, ?3 o_id
INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?1, ?2, ?3);

-- name: new_order_line
-- ?1 w_id, ?2 d_id, ?3 o_id, ?4 number, ?5 i_id, ?6 supply_w_id, ?7 quantity, ?8 amount, ?9 dist_info
INSERT INTO order_line
    (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, ?7, ?8, ?9);

-- name: payment_warehouse
-- ?1 w_id, ?2 amount
UPDATE warehouse SET w_ytd = w_ytd + ?2
WHERE w_id = ?1
RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip;

-- name: payment_district
-- ?1 w_id, ?2 d_id, ?3 amount
UPDATE district SET d_ytd = d_ytd + ?3
WHERE d_w_id = ?1 AND d_id = ?2
RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip;

-- name: payment_customer_by_id
-- ?1 w_id, ?2 d_id, ?3 c_w_id, ?4 c_d_id, ?5 c_id, ?6 amount
UPDATE customer SET
    c_balance = c_balance - ?6,
    c_ytd_payment = c_ytd_payment + ?6,
    c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit
        WHEN 'BC' THEN substr(
            format('%4d %2d %4d %2d %4d $%4d.%02d ', c_id, c_d_id, c_w_id, ?2, ?1, ?6 / 100, ?6 % 100)
            || c_data, 1, 500)
        ELSE c_data
    END
WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_id = ?5
RETURNING c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
    c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN substr(c_data, 1, 200) ELSE '' END;

-- name: payment_customer_by_name
-- ?1 w_id, ?2 d_id, ?3 c_w_id, ?4 c_d_id, ?5 c_last, ?6 amount
UPDATE customer SET
    c_balance = c_balance - ?6,
    c_ytd_payment = c_ytd_payment + ?6,
    c_payment_cnt = c_payment_cnt + 1,
    c_data = CASE c_credit
        WHEN 'BC' THEN substr(
            format('%4d %2d %4d %2d %4d $%4d.%02d ', c_id, c_d_id, c_w_id, ?2, ?1, ?6 / 100, ?6 % 100)
            || c_data, 1, 500)
        ELSE c_data
    END
WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_id = (
    SELECT c_id FROM customer
    WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_last = ?5
    ORDER BY c_first, c_id
    LIMIT 1 OFFSET (SELECT (count(*) - 1) / 2 FROM customer WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_last = ?5))
RETURNING c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
    c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN substr(c_data, 1, 200) ELSE '' END;

-- name: payment_history
-- ?1 c_id, ?2 c_d_id, ?3 c_w_id, ?4 d_id, ?5 w_id, ?6 amount, ?7 data
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
VALUES (?1, ?2, ?3, ?4, ?5, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000, ?6, ?7)
RETURNING h_date;

-- name: order_status_by_id
-- ?1 w_id, ?2 d_id, ?3 c_id
SELECT c_id, c_balance, c_first, c_middle, c_last, o_id, o_entry_d, o_carrier_id,
    ol_supply_w_id, ol_i_id, ol_quantity, ol_amount, ol_delivery_d
FROM customer CROSS JOIN orders CROSS JOIN order_line
WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3
    AND o_w_id = ?1 AND o_d_id = ?2
    AND o_id = (SELECT max(o_id) FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_c_id = ?3)
    AND ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = o_id
ORDER BY ol_number;

-- name: order_status_by_name
-- ?1 w_id, ?2 d_id, ?3 c_last
WITH chosen (id) AS MATERIALIZED (
    SELECT c_id FROM customer
    WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_last = ?3
    ORDER BY c_first, c_id
    LIMIT 1 OFFSET (SELECT (count(*) - 1) / 2 FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_last = ?3))
SELECT c_id, c_balance, c_first, c_middle, c_last, o_id, o_entry_d, o_carrier_id,
    ol_supply_w_id, ol_i_id, ol_quantity, ol_amount, ol_delivery_d
FROM chosen CROSS JOIN customer CROSS JOIN orders CROSS JOIN order_line
WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = id
    AND o_w_id = ?1 AND o_d_id = ?2
    AND o_id = (SELECT max(o_id) FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_c_id = id)
    AND ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = o_id
ORDER BY ol_number;

-- name: delivery_take
-- ?1 w_id, ?2 d_id
DELETE FROM new_order
WHERE no_w_id = ?1 AND no_d_id = ?2
    AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2)
RETURNING no_d_id, no_o_id;

-- name: delivery_order
-- ?1 w_id, ?2 carrier_id, ?3 d_id, ?4 o_id
UPDATE orders SET o_carrier_id = ?2
WHERE o_w_id = ?1 AND o_d_id = ?3 AND o_id = ?4
RETURNING o_d_id, o_c_id;

-- name: delivery_lines
-- ?1 w_id, ?2 d_id, ?3 o_id
UPDATE order_line SET ol_delivery_d = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3
RETURNING ol_d_id, ol_amount;

-- name: delivery_customer
-- ?1 w_id, ?2 d_id, ?3 c_id, ?4 amount
UPDATE customer SET c_balance = c_balance + ?4, c_delivery_cnt = c_delivery_cnt + 1
WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3;

-- name: stock_level
-- ?1 w_id, ?2 d_id, ?3 threshold
SELECT count(DISTINCT s_i_id)
FROM district CROSS JOIN order_line CROSS JOIN stock
WHERE d_w_id = ?1 AND d_id = ?2
    AND ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
    AND s_w_id = ?1 AND s_i_id = ol_i_id AND s_quantity < ?3;
