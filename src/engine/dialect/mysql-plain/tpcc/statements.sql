-- Differences between the dialects mysql-plain and mariadb: no RETURNING and no JSON_TABLE. A statement with column
-- arguments is sent once for each of their rows. Of several SQL statements under one name, those that return rows give
-- the answer.
--
-- Dates are set by the server: if one cannot be read back by a key, it is stored in a variable of the session.

-- name: new_order_item
-- access: read
-- ?1 place, ?2 i_id
SELECT ?1, i_price, i_name, i_data FROM item WHERE i_id = ?2;

-- name: new_order_stock
-- access: write
-- ?1 d_id, ?2 place, ?3 supply_w_id, ?4 i_id, ?5 quantity, ?6 remote
UPDATE stock
   SET s_quantity = CASE WHEN s_quantity >= ?5 + 10 THEN s_quantity - ?5 ELSE s_quantity - ?5 + 91 END,
       s_ytd = s_ytd + ?5,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + ?6
 WHERE s_w_id = ?3 AND s_i_id = ?4;
SELECT ?2, s_quantity,
       CASE ?1 WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
               WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
               WHEN 9 THEN s_dist_09 WHEN 10 THEN s_dist_10 END,
       s_data
  FROM stock
 WHERE s_w_id = ?3 AND s_i_id = ?4;

-- name: new_order_order
-- access: write
-- ?1 w_id, ?2 d_id, ?3 o_id, ?4 c_id, ?5 ol_cnt, ?6 all_local
INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
VALUES (?1, ?2, ?3, ?4, CURRENT_TIMESTAMP(6), NULL, ?5, ?6);
SELECT o_entry_d FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_id = ?3;

-- name: new_order_line
-- access: write
-- ?1 w_id, ?2 d_id, ?3 o_id, ?4 number, ?5 i_id, ?6 supply_w_id, ?7 quantity, ?8 amount, ?9 dist_info
INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
                        ol_amount, ol_dist_info)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, ?7, ?8, ?9);

-- The customer at position ceil(n/2) of the n who bear the name, in the order of C_FIRST (clause 2.5.2.2). Names never
-- change.
-- name: payment_customer_by_name
-- access: write
-- ?1 w_id, ?2 d_id, ?3 c_w_id, ?4 c_d_id, ?5 c_last, ?6 amount
SET @payer = (SELECT c_id
                FROM (SELECT c_id, ROW_NUMBER() OVER (ORDER BY c_first, c_id) AS place, COUNT(*) OVER () AS total
                        FROM customer
                       WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_last = ?5) AS named
               WHERE named.place = FLOOR((named.total + 1) / 2));
UPDATE customer
   SET c_balance = c_balance - CAST(?6 AS DECIMAL(12, 2)),
       c_ytd_payment = c_ytd_payment + CAST(?6 AS DECIMAL(12, 2)),
       c_payment_cnt = c_payment_cnt + 1,
       c_data = CASE c_credit
           WHEN 'BC' THEN LEFT(CONCAT(LPAD(c_id, GREATEST(4, LENGTH(c_id)), ' '), ' ', LPAD(c_d_id, 2, ' '), ' ',
                                      LPAD(c_w_id, GREATEST(4, LENGTH(c_w_id)), ' '), ' ', LPAD(?2, 2, ' '), ' ',
                                      LPAD(?1, GREATEST(4, LENGTH(?1)), ' '), ' $',
                                      LPAD(CAST(?6 AS DECIMAL(12, 2)), 7, ' '), ' ', c_data), 500)
           ELSE c_data END
 WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_id = @payer;
SELECT c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
       c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN LEFT(c_data, 200) ELSE '' END
  FROM customer
 WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_id = @payer;

-- name: payment_history
-- access: write
-- ?1 c_id, ?2 c_d_id, ?3 c_w_id, ?4 d_id, ?5 w_id, ?6 amount, ?7 data
SET @paid = CURRENT_TIMESTAMP(6);
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
VALUES (?1, ?2, ?3, ?4, ?5, @paid, ?6, ?7);
SELECT @paid;

-- Takes the oldest open order of a district out of the queue. Who comes second waits for the row, finds it gone and
-- goes on to the next, so that two deliveries never take the same order.
-- name: delivery_take
-- access: write
-- ?1 w_id, ?2 d_id
SET @taken = (SELECT no_o_id FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 ORDER BY no_o_id LIMIT 1 FOR UPDATE);
DELETE FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 AND no_o_id = @taken;
SELECT ?2, @taken FROM DUAL WHERE ROW_COUNT() = 1;

-- name: delivery_order
-- access: write
-- ?1 w_id, ?2 carrier_id, ?3 d_id, ?4 o_id
UPDATE orders SET o_carrier_id = ?2 WHERE o_w_id = ?1 AND o_d_id = ?3 AND o_id = ?4;
SELECT o_d_id, o_c_id FROM orders WHERE o_w_id = ?1 AND o_d_id = ?3 AND o_id = ?4;

-- name: delivery_lines
-- access: write
-- ?1 w_id, ?2 d_id, ?3 o_id
UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP(6) WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3;
SELECT ol_d_id, SUM(ol_amount) FROM order_line WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3 GROUP BY ol_d_id;

-- name: delivery_customer
-- access: write
-- ?1 w_id, ?2 d_id, ?3 c_id, ?4 amount
UPDATE customer
   SET c_balance = c_balance + CAST(?4 AS DECIMAL(12, 2)),
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3;
