-- The statements of the five transactions, sent by the client (--via statements): prepared once a session, a round trip
-- each.
--
-- ?1 stands for the first argument, and so on. ?* stands for the arguments that have several places, as a JSON array of
-- rows: JSON_TABLE makes a table of them, and STRAIGHT_JOIN has them looked up one by one by primary key, in their
-- order, so that rows are locked in the order in which the client sorted them. A statement with such arguments but
-- without ?* is sent once for each place. Of several SQL statements under one name, those that return rows give the
-- answer.
--
-- RETURNING is MariaDB's. What an UPDATE has changed is read by a SELECT behind it: the row is locked until the commit.
--
-- Isolation: READ COMMITTED is enough, as each row that a transaction reads in order to write it is changed first and
-- read under its lock, and each transaction that only reads is one statement, that is one snapshot. Rows read without a
-- lock (customer's discount, name and credit, taxes, items) are read once in a transaction.

-- name: new_order_customer
-- access: read
-- ?1 w_id, ?2 d_id, ?3 c_id
SELECT w_tax, c_discount, c_last, c_credit
  FROM warehouse CROSS JOIN customer
 WHERE w_id = ?1 AND c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3;

-- name: new_order_district
-- access: write
-- ?1 w_id, ?2 d_id
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ?1 AND d_id = ?2;
SELECT d_next_o_id - 1, d_tax FROM district WHERE d_w_id = ?1 AND d_id = ?2;

-- name: new_order_item
-- access: read
-- ?* place, i_id
SELECT line.place, i_price, i_name, i_data
  FROM JSON_TABLE(?*, '$[*]' COLUMNS (place int PATH '$[0]', i_id int PATH '$[1]')) AS line
 STRAIGHT_JOIN item ON item.i_id = line.i_id;

-- A call never names one stock row twice.
-- name: new_order_stock
-- access: write
-- ?1 d_id; ?* place, supply_w_id, i_id, quantity, remote
UPDATE JSON_TABLE(?*, '$[*]' COLUMNS (supply_w_id int PATH '$[1]', i_id int PATH '$[2]', quantity int PATH '$[3]',
                                      remote int PATH '$[4]')) AS line
 STRAIGHT_JOIN stock ON s_w_id = line.supply_w_id AND s_i_id = line.i_id
   SET s_quantity = CASE WHEN s_quantity >= line.quantity + 10 THEN s_quantity - line.quantity
                         ELSE s_quantity - line.quantity + 91 END,
       s_ytd = s_ytd + line.quantity,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + line.remote;
SELECT line.place, s_quantity,
       CASE ?1 WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
               WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
               WHEN 9 THEN s_dist_09 WHEN 10 THEN s_dist_10 END,
       s_data
  FROM JSON_TABLE(?*, '$[*]' COLUMNS (place int PATH '$[0]', supply_w_id int PATH '$[1]', i_id int PATH '$[2]')) AS line
 STRAIGHT_JOIN stock ON s_w_id = line.supply_w_id AND s_i_id = line.i_id;

-- name: new_order_order
-- access: write
-- ?1 w_id, ?2 d_id, ?3 o_id, ?4 c_id, ?5 ol_cnt, ?6 all_local
INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
VALUES (?1, ?2, ?3, ?4, CURRENT_TIMESTAMP(6), NULL, ?5, ?6)
RETURNING o_entry_d;

-- name: new_order_open
-- access: write
-- ?1 w_id, ?2 d_id, ?3 o_id
INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?1, ?2, ?3);

-- name: new_order_line
-- access: write
-- ?1 w_id, ?2 d_id, ?3 o_id; ?* number, i_id, supply_w_id, quantity, amount, dist_info
INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity,
                        ol_amount, ol_dist_info)
SELECT ?1, ?2, ?3, line.number, line.i_id, line.supply_w_id, NULL, line.quantity, line.amount, line.dist_info
  FROM JSON_TABLE(?*, '$[*]' COLUMNS (number int PATH '$[0]', i_id int PATH '$[1]', supply_w_id int PATH '$[2]',
                                      quantity int PATH '$[3]', amount decimal(6, 2) PATH '$[4]',
                                      dist_info char(24) PATH '$[5]')) AS line;

-- name: payment_warehouse
-- access: write
-- ?1 w_id, ?2 amount
UPDATE warehouse SET w_ytd = w_ytd + CAST(?2 AS DECIMAL(12, 2)) WHERE w_id = ?1;
SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?1;

-- name: payment_district
-- access: write
-- ?1 w_id, ?2 d_id, ?3 amount
UPDATE district SET d_ytd = d_ytd + CAST(?3 AS DECIMAL(12, 2)) WHERE d_w_id = ?1 AND d_id = ?2;
SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = ?1 AND d_id = ?2;

-- name: payment_customer_by_id
-- access: write
-- ?1 w_id, ?2 d_id, ?3 c_w_id, ?4 c_d_id, ?5 c_id, ?6 amount
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
 WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_id = ?5;
SELECT c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
       c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN LEFT(c_data, 200) ELSE '' END
  FROM customer
 WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_id = ?5;

-- The customer at position ceil(n/2) of the n who bear the name, in the order of C_FIRST (clause 2.5.2.2). Names never
-- change.
-- name: payment_customer_by_name
-- access: write
-- ?1 w_id, ?2 d_id, ?3 c_w_id, ?4 c_d_id, ?5 c_last, ?6 amount
UPDATE (SELECT named.c_id AS chosen
          FROM (SELECT c_id, ROW_NUMBER() OVER (ORDER BY c_first, c_id) AS place, COUNT(*) OVER () AS total
                  FROM customer
                 WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_last = ?5) AS named
         WHERE named.place = FLOOR((named.total + 1) / 2)) AS namesake
 STRAIGHT_JOIN customer ON c_w_id = ?3 AND c_d_id = ?4 AND c_id = namesake.chosen
   SET c_balance = c_balance - CAST(?6 AS DECIMAL(12, 2)),
       c_ytd_payment = c_ytd_payment + CAST(?6 AS DECIMAL(12, 2)),
       c_payment_cnt = c_payment_cnt + 1,
       c_data = CASE c_credit
           WHEN 'BC' THEN LEFT(CONCAT(LPAD(c_id, GREATEST(4, LENGTH(c_id)), ' '), ' ', LPAD(c_d_id, 2, ' '), ' ',
                                      LPAD(c_w_id, GREATEST(4, LENGTH(c_w_id)), ' '), ' ', LPAD(?2, 2, ' '), ' ',
                                      LPAD(?1, GREATEST(4, LENGTH(?1)), ' '), ' $',
                                      LPAD(CAST(?6 AS DECIMAL(12, 2)), 7, ' '), ' ', c_data), 500)
           ELSE c_data END;
SELECT c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
       c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN LEFT(c_data, 200) ELSE '' END
  FROM (SELECT named.c_id AS chosen
          FROM (SELECT c_id, ROW_NUMBER() OVER (ORDER BY c_first, c_id) AS place, COUNT(*) OVER () AS total
                  FROM customer
                 WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_last = ?5) AS named
         WHERE named.place = FLOOR((named.total + 1) / 2)) AS namesake
 STRAIGHT_JOIN customer ON c_w_id = ?3 AND c_d_id = ?4 AND c_id = namesake.chosen;

-- name: payment_history
-- access: write
-- ?1 c_id, ?2 c_d_id, ?3 c_w_id, ?4 d_id, ?5 w_id, ?6 amount, ?7 data
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
VALUES (?1, ?2, ?3, ?4, ?5, CURRENT_TIMESTAMP(6), ?6, ?7)
RETURNING h_date;

-- name: order_status_by_id
-- access: read
-- ?1 w_id, ?2 d_id, ?3 c_id
SELECT c_id, c_balance, c_first, c_middle, c_last, o_id, o_entry_d, o_carrier_id, ol_supply_w_id, ol_i_id, ol_quantity,
       ol_amount, ol_delivery_d
  FROM customer
 STRAIGHT_JOIN orders ON o_w_id = ?1 AND o_d_id = ?2
                     AND o_id = (SELECT MAX(o_id) FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_c_id = ?3)
 STRAIGHT_JOIN order_line ON ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = o_id
 WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3
 ORDER BY ol_number;

-- name: order_status_by_name
-- access: read
-- ?1 w_id, ?2 d_id, ?3 c_last
SELECT c_id, c_balance, c_first, c_middle, c_last, o_id, o_entry_d, o_carrier_id, ol_supply_w_id, ol_i_id, ol_quantity,
       ol_amount, ol_delivery_d
  FROM (SELECT named.c_id AS chosen
          FROM (SELECT c_id, ROW_NUMBER() OVER (ORDER BY c_first, c_id) AS place, COUNT(*) OVER () AS total
                  FROM customer
                 WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_last = ?3) AS named
         WHERE named.place = FLOOR((named.total + 1) / 2)) AS namesake
 STRAIGHT_JOIN customer ON c_w_id = ?1 AND c_d_id = ?2 AND c_id = namesake.chosen
 STRAIGHT_JOIN orders ON orders.o_w_id = ?1 AND orders.o_d_id = ?2
                     AND orders.o_id = (SELECT MAX(latest.o_id) FROM orders AS latest
                                         WHERE latest.o_w_id = ?1 AND latest.o_d_id = ?2
                                           AND latest.o_c_id = customer.c_id)
 STRAIGHT_JOIN order_line ON ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = o_id
 ORDER BY ol_number;

-- Takes the oldest open order of a district out of the queue. Who comes second waits for the row, finds it gone and
-- goes on to the next, so that two deliveries never take the same order.
-- name: delivery_take
-- access: write
-- ?1 w_id, ?2 d_id, once for each district
DELETE FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 ORDER BY no_o_id LIMIT 1
RETURNING no_d_id, no_o_id;

-- name: delivery_order
-- access: write
-- ?1 w_id, ?2 carrier_id; ?* d_id, o_id
UPDATE JSON_TABLE(?*, '$[*]' COLUMNS (d_id int PATH '$[0]', o_id int PATH '$[1]')) AS taken
 STRAIGHT_JOIN orders ON o_w_id = ?1 AND o_d_id = taken.d_id AND orders.o_id = taken.o_id
   SET o_carrier_id = ?2;
SELECT taken.d_id, o_c_id
  FROM JSON_TABLE(?*, '$[*]' COLUMNS (d_id int PATH '$[0]', o_id int PATH '$[1]')) AS taken
 STRAIGHT_JOIN orders ON o_w_id = ?1 AND o_d_id = taken.d_id AND orders.o_id = taken.o_id;

-- name: delivery_lines
-- access: write
-- ?1 w_id; ?* d_id, o_id
UPDATE JSON_TABLE(?*, '$[*]' COLUMNS (d_id int PATH '$[0]', o_id int PATH '$[1]')) AS taken
 STRAIGHT_JOIN order_line ON ol_w_id = ?1 AND ol_d_id = taken.d_id AND ol_o_id = taken.o_id
   SET ol_delivery_d = CURRENT_TIMESTAMP(6);
SELECT taken.d_id, SUM(ol_amount)
  FROM JSON_TABLE(?*, '$[*]' COLUMNS (d_id int PATH '$[0]', o_id int PATH '$[1]')) AS taken
 STRAIGHT_JOIN order_line ON ol_w_id = ?1 AND ol_d_id = taken.d_id AND ol_o_id = taken.o_id
 GROUP BY taken.d_id;

-- name: delivery_customer
-- access: write
-- ?1 w_id; ?* d_id, c_id, amount
UPDATE JSON_TABLE(?*, '$[*]' COLUMNS (d_id int PATH '$[0]', c_id int PATH '$[1]',
                                      amount decimal(12, 2) PATH '$[2]')) AS taken
 STRAIGHT_JOIN customer ON c_w_id = ?1 AND c_d_id = taken.d_id AND customer.c_id = taken.c_id
   SET c_balance = c_balance + taken.amount,
       c_delivery_cnt = c_delivery_cnt + 1;

-- Stock has one row an item, so that an item sold several times counts once.
-- name: stock_level
-- access: read
-- ?1 w_id, ?2 d_id, ?3 threshold
SELECT COUNT(DISTINCT s_i_id)
  FROM district
 STRAIGHT_JOIN order_line ON ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
 STRAIGHT_JOIN stock ON s_w_id = ?1 AND s_i_id = ol_i_id
 WHERE d_w_id = ?1 AND d_id = ?2 AND s_quantity < ?3;
