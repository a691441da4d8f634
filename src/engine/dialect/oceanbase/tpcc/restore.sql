-- Undoes the effects of transactions on a loaded population (graymark restore): what MariaDB's restore.sql does in the
-- same way, with tables of Graymark's in the place of temporary ones, which OceanBase does not have in MySQL mode. They
-- are made before anything is changed, because that ends a transaction, and dropped in the end, which commits.

-- name: tables made ready
-- An interrupted restore left them behind.
DROP TABLE IF EXISTS graymark_delivered_order, graymark_touched_customer, graymark_initial_customer,
                     graymark_initial_stock, graymark_wanted;
CREATE TABLE graymark_delivered_order (o_w_id int, o_d_id int, o_id int, o_c_id int,
                                       PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE TABLE graymark_touched_customer (w_id int, d_id int, c_id int, PRIMARY KEY (w_id, d_id, c_id));
CREATE TABLE graymark_initial_customer (c_id int, c_d_id int, c_w_id int, c_data varchar(500),
                                        PRIMARY KEY (c_w_id, c_d_id, c_id)) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE graymark_initial_stock (s_i_id int, s_w_id int, s_quantity int, s_data varchar(50),
                                     PRIMARY KEY (s_w_id, s_i_id)) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE graymark_wanted (number bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, part int, unit int);

-- name: lock
LOCK TABLES warehouse WRITE, district WRITE, customer WRITE, history WRITE, new_order WRITE, orders WRITE,
            order_line WRITE, stock WRITE, graymark_manifest READ;

-- name: delivered orders
INSERT INTO graymark_delivered_order (o_w_id, o_d_id, o_id, o_c_id)
SELECT o_w_id, o_d_id, o_id, o_c_id
  FROM district STRAIGHT_JOIN orders ON o_w_id = d_w_id AND o_d_id = d_id AND o_id > 2100
 WHERE o_carrier_id IS NOT NULL;

-- name: touched customers
INSERT INTO graymark_touched_customer (w_id, d_id, c_id)
SELECT o_w_id AS w_id, o_d_id AS d_id, o_c_id AS c_id FROM graymark_delivered_order
 UNION
SELECT h_c_w_id, h_c_d_id, h_c_id FROM history WHERE h_data LIKE '%    %';

-- name: customer data
-- generates: customer (c_id, c_d_id, c_w_id, c_data)
-- Only Payments of customers with bad credit change C_DATA.
SELECT c_w_id, (c_d_id - 1) * 3000 + customer.c_id - 1
  FROM graymark_touched_customer AS touched
 STRAIGHT_JOIN customer ON c_w_id = w_id AND c_d_id = d_id AND customer.c_id = touched.c_id
 WHERE c_credit = 'BC';

-- name: stock quantities
-- generates: stock (s_i_id, s_w_id, s_quantity, s_data)
SELECT DISTINCT ol_supply_w_id, ol_i_id - 1
  FROM district STRAIGHT_JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id > 3000
 ORDER BY 1, 2;

-- name: new_order of new orders
-- undoes: new_order
DELETE new_order
  FROM district STRAIGHT_JOIN new_order ON no_w_id = d_w_id AND no_d_id = d_id AND no_o_id > 3000;

-- name: order_line of new orders
-- undoes: order_line
DELETE order_line
  FROM district STRAIGHT_JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id > 3000;

-- name: new orders
-- undoes: orders
DELETE orders
  FROM district STRAIGHT_JOIN orders ON o_w_id = d_w_id AND o_d_id = d_id AND o_id > 3000;

-- name: orders
-- undoes: orders
UPDATE graymark_delivered_order AS delivered STRAIGHT_JOIN orders
    ON orders.o_w_id = delivered.o_w_id AND orders.o_d_id = delivered.o_d_id AND orders.o_id = delivered.o_id
   SET orders.o_carrier_id = NULL;

-- name: order_line
-- undoes: order_line
UPDATE graymark_delivered_order STRAIGHT_JOIN order_line
    ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
   SET ol_delivery_d = NULL;

-- name: new_order
-- undoes: new_order
INSERT IGNORE INTO new_order (no_o_id, no_d_id, no_w_id)
SELECT o_id, o_d_id, o_w_id FROM graymark_delivered_order WHERE o_id <= 3000;

-- name: history
-- undoes: history
DELETE FROM history WHERE h_data LIKE '%    %';

-- name: customer
-- undoes: customer
UPDATE graymark_touched_customer AS touched
 STRAIGHT_JOIN customer ON customer.c_w_id = touched.w_id AND customer.c_d_id = touched.d_id
                       AND customer.c_id = touched.c_id
  LEFT JOIN graymark_initial_customer AS initial
         ON initial.c_w_id = touched.w_id AND initial.c_d_id = touched.d_id AND initial.c_id = touched.c_id
   SET customer.c_balance = -10.00,
       customer.c_ytd_payment = 10.00,
       customer.c_payment_cnt = 1,
       customer.c_delivery_cnt = 0,
       customer.c_data = COALESCE(initial.c_data, customer.c_data);

-- name: stock
-- undoes: stock
-- S_DATA never changes. Where it is not what the seed gives, someone else has written, and the row is left for the
-- conditions to find.
UPDATE graymark_initial_stock AS initial
 STRAIGHT_JOIN stock ON stock.s_w_id = initial.s_w_id AND stock.s_i_id = initial.s_i_id
                    AND stock.s_data = initial.s_data
   SET stock.s_quantity = initial.s_quantity,
       stock.s_ytd = 0,
       stock.s_order_cnt = 0,
       stock.s_remote_cnt = 0;

-- name: district
-- undoes: district
UPDATE district SET d_ytd = 30000.00, d_next_o_id = 3001 WHERE d_ytd <> 30000.00 OR d_next_o_id <> 3001;

-- name: warehouse
-- undoes: warehouse
UPDATE warehouse SET w_ytd = 300000.00 WHERE w_ytd <> 300000.00;

-- name: tables removed
DROP TABLE graymark_delivered_order, graymark_touched_customer, graymark_initial_customer, graymark_initial_stock,
           graymark_wanted;

-- name: initial warehouse
-- title: W_YTD = 300,000.00
SELECT w_id, w_ytd FROM warehouse WHERE w_ytd <> 300000.00;

-- name: initial district
-- title: D_YTD = 30,000.00 and D_NEXT_O_ID = 3001
SELECT d_w_id, d_id, d_ytd, d_next_o_id FROM district WHERE d_ytd <> 30000.00 OR d_next_o_id <> 3001;

-- name: initial customer
-- title: C_BALANCE = -10.00, C_YTD_PAYMENT = 10.00, C_PAYMENT_CNT = 1 and C_DELIVERY_CNT = 0
SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt
  FROM customer
 WHERE c_balance <> -10.00 OR c_ytd_payment <> 10.00 OR c_payment_cnt <> 1 OR c_delivery_cnt <> 0;

-- name: initial history
-- title: H_AMOUNT = 10.00, H_DATE is the population's date, and the customer paid at home
SELECT h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount
  FROM history
 WHERE h_amount <> 10.00 OR h_w_id <> h_c_w_id OR h_d_id <> h_c_d_id
    OR h_date <> (SELECT TIMESTAMPADD(MICROSECOND, JSON_EXTRACT(manifest, '$.date'), '1970-01-01 00:00:00.000000')
                  FROM graymark_manifest);

-- name: initial new_order
-- title: NO_O_ID is from 2101 to 3000
SELECT no_w_id, no_d_id, no_o_id FROM new_order WHERE no_o_id NOT BETWEEN 2101 AND 3000;

-- name: initial orders
-- title: O_ID is from 1 to 3000, O_CARRIER_ID is null from 2101 on, O_ALL_LOCAL = 1, O_ENTRY_D is the population's date
SELECT o_w_id, o_d_id, o_id, o_carrier_id, o_all_local, o_entry_d
  FROM orders
 WHERE o_id NOT BETWEEN 1 AND 3000 OR (o_carrier_id IS NULL) <> (o_id > 2100) OR o_all_local <> 1
    OR o_entry_d <> (SELECT TIMESTAMPADD(MICROSECOND, JSON_EXTRACT(manifest, '$.date'), '1970-01-01 00:00:00.000000')
                     FROM graymark_manifest);

-- name: initial order_line
-- title: OL_O_ID is from 1 to 3000, OL_DELIVERY_D is null from 2101 on, OL_QUANTITY = 5, the home warehouse supplies
SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_supply_w_id, ol_delivery_d, ol_quantity
  FROM order_line
 WHERE ol_o_id NOT BETWEEN 1 AND 3000 OR (ol_delivery_d IS NULL) <> (ol_o_id > 2100) OR ol_quantity <> 5
    OR ol_supply_w_id <> ol_w_id;

-- name: initial stock
-- title: S_YTD = S_ORDER_CNT = S_REMOTE_CNT = 0
SELECT s_w_id, s_i_id, s_ytd, s_order_cnt, s_remote_cnt FROM stock
 WHERE s_ytd <> 0 OR s_order_cnt <> 0 OR s_remote_cnt <> 0;
