-- Statements of the tests of `graymark acid tpcc`: what they look at beside the transactions, and what they change.
-- What each takes and gives stands in its notes; `money` is an amount.
-- name: warehouse
-- access: read
-- takes: w
-- gives: w_ytd money
SELECT w_ytd FROM warehouse WHERE w_id = ?1;

-- name: district
-- access: read
-- takes: w, d
-- gives: next, d_ytd money
SELECT d_next_o_id, d_ytd FROM district WHERE d_w_id = ?1 AND d_id = ?2;

-- name: customer
-- access: read
-- takes: w, d, c
-- gives: balance money, ytd_payment money, payment_cnt, delivery_cnt
SELECT c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt
  FROM customer
 WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3;

-- name: history
-- access: read
-- takes: w, d, c
-- gives: payments
SELECT CAST(count(*) AS INTEGER) FROM history WHERE h_c_w_id = ?1 AND h_c_d_id = ?2 AND h_c_id = ?3;

-- name: stock
-- access: read
-- takes: w, i
-- gives: order_cnt, sold
SELECT s_order_cnt, CAST(s_ytd AS INTEGER) FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2;

-- Rows of an order in all three tables.
-- name: order
-- access: read
-- takes: w, d, o
-- gives: rows
SELECT CAST((SELECT count(*) FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_id = ?3)
          + (SELECT count(*) FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 AND no_o_id = ?3)
          + (SELECT count(*) FROM order_line WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3) AS INTEGER);

-- The open order that the next Delivery takes, whose it is, and what it comes to.
-- name: oldest_open
-- access: read
-- takes: w, d
-- gives: o, owner, due money
SELECT o_id, o_c_id, (SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = o_id)
  FROM orders
 WHERE o_w_id = ?1 AND o_d_id = ?2
   AND o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2);

-- name: prices
-- access: read
-- takes: x, y
-- gives: price_x money, price_y money
SELECT (SELECT i_price FROM item WHERE i_id = ?1), (SELECT i_price FROM item WHERE i_id = ?2);

-- name: set_prices
-- access: write
-- takes: x, y, price_x money, price_y money
UPDATE item SET i_price = CASE WHEN i_id = ?1 THEN CAST(?3 AS DECIMAL(7, 2)) ELSE CAST(?4 AS DECIMAL(7, 2)) END
 WHERE i_id IN (?1, ?2);

-- The next four, in one transaction, deliver all open orders of a district.
-- name: pay_for_open_orders
-- access: write
-- takes: w, d
UPDATE customer
   SET c_balance = c_balance + (SELECT sum(ol_amount)
                                  FROM orders
                                  JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
                                  JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
                                 WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_c_id = c_id),
       c_delivery_cnt = c_delivery_cnt + (SELECT count(*)
                                            FROM orders
                                            JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
                                           WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_c_id = c_id)
 WHERE c_w_id = ?1 AND c_d_id = ?2
   AND c_id IN (SELECT o_c_id
                  FROM orders
                  JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
                 WHERE o_w_id = ?1 AND o_d_id = ?2);

-- name: date_open_lines
-- access: write
-- takes: w, d
UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP
 WHERE ol_w_id = ?1 AND ol_d_id = ?2
   AND ol_o_id IN (SELECT no_o_id FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2);

-- name: send_open_orders
-- access: write
-- takes: w, d
UPDATE orders SET o_carrier_id = 1
 WHERE o_w_id = ?1 AND o_d_id = ?2
   AND o_id IN (SELECT no_o_id FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2);

-- name: close_open_orders
-- access: write
-- takes: w, d
DELETE FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2;
