-- Undoes the effects of transactions on a loaded population (graymark restore), in one transaction. The statements with
-- a
-- title run after the commit: each returns the rows that do not match what every row of the population has (clause
-- 4.3.3.1).
--
-- Changed rows are found by index from what the transactions themselves left behind, so that the work is in
-- proportion to theirs: orders above 3000 are placed by New-Order, and their lines name the stock rows that it changed;
-- orders above 2100 with a carrier are delivered since the load, and name their customers; history rows of Payment name
-- theirs. Payment puts four blanks between the names of warehouse and district into H_DATA (clause 2.5.2.2), and the
-- texts of the population have no blanks (4.3.2.2), so its rows differ from loaded ones whatever the clock was.
--
-- What cannot be computed from constants (S_QUANTITY, C_DATA of bad credit) is generated anew from the seed for the
-- keys that are needed: a statement with the note "generates" names them as warehouse and place within the warehouse's
-- rows, counted from 0.
--
-- Money is cents. CROSS JOIN in SQLite sets the join order: from the given keys to the tables joined to them.

-- name: delivered orders
CREATE TEMPORARY TABLE delivered_order AS
SELECT o_w_id, o_d_id, o_id, o_c_id
FROM district CROSS JOIN orders
WHERE o_w_id = d_w_id AND o_d_id = d_id AND o_id > 2100 AND o_carrier_id IS NOT NULL;

-- name: touched customers
CREATE TEMPORARY TABLE touched_customer AS
SELECT o_w_id AS w_id, o_d_id AS d_id, o_c_id AS c_id FROM delivered_order
UNION
SELECT h_c_w_id, h_c_d_id, h_c_id FROM history WHERE instr(h_data, '    ') > 0;
CREATE TEMPORARY TABLE initial_customer (
    c_id INTEGER, c_d_id INTEGER, c_w_id INTEGER, c_data TEXT, PRIMARY KEY (c_w_id, c_d_id, c_id)) WITHOUT ROWID;

-- name: customer data
-- generates: customer (c_id, c_d_id, c_w_id, c_data)
-- Only Payments of customers with bad credit change C_DATA.
SELECT c_w_id, (c_d_id - 1) * 3000 + customer.c_id - 1
FROM touched_customer CROSS JOIN customer
WHERE c_w_id = w_id AND c_d_id = d_id AND customer.c_id = touched_customer.c_id AND c_credit = 'BC';

-- name: stock made ready
CREATE TEMPORARY TABLE initial_stock (
    s_i_id INTEGER, s_w_id INTEGER, s_quantity INTEGER, s_data TEXT, PRIMARY KEY (s_w_id, s_i_id)) WITHOUT ROWID;

-- name: stock quantities
-- generates: stock (s_i_id, s_w_id, s_quantity, s_data)
SELECT DISTINCT ol_supply_w_id, ol_i_id - 1
FROM district CROSS JOIN order_line
WHERE ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id > 3000
ORDER BY 1, 2;

-- name: new_order of new orders
-- undoes: new_order
DELETE FROM new_order
WHERE (no_w_id, no_d_id, no_o_id) IN (
    SELECT taken.no_w_id, taken.no_d_id, taken.no_o_id
    FROM district CROSS JOIN new_order AS taken
    WHERE taken.no_w_id = d_w_id AND taken.no_d_id = d_id AND taken.no_o_id > 3000);

-- name: order_line of new orders
-- undoes: order_line
DELETE FROM order_line
WHERE (ol_w_id, ol_d_id, ol_o_id) IN (
    SELECT o_w_id, o_d_id, o_id
    FROM district CROSS JOIN orders
    WHERE o_w_id = d_w_id AND o_d_id = d_id AND o_id > 3000);

-- name: new orders
-- undoes: orders
DELETE FROM orders
WHERE (o_w_id, o_d_id, o_id) IN (
    SELECT placed.o_w_id, placed.o_d_id, placed.o_id
    FROM district CROSS JOIN orders AS placed
    WHERE placed.o_w_id = d_w_id AND placed.o_d_id = d_id AND placed.o_id > 3000);

-- name: orders
-- undoes: orders
UPDATE orders SET o_carrier_id = NULL
WHERE (o_w_id, o_d_id, o_id) IN (SELECT o_w_id, o_d_id, o_id FROM delivered_order);

-- name: order_line
-- undoes: order_line
UPDATE order_line SET ol_delivery_d = NULL
WHERE (ol_w_id, ol_d_id, ol_o_id) IN (SELECT o_w_id, o_d_id, o_id FROM delivered_order);

-- name: new_order
-- undoes: new_order
INSERT OR IGNORE INTO new_order (no_o_id, no_d_id, no_w_id)
SELECT o_id, o_d_id, o_w_id FROM delivered_order WHERE o_id <= 3000;

-- name: history
-- undoes: history
DELETE FROM history WHERE instr(h_data, '    ') > 0;

-- name: customer
-- undoes: customer
UPDATE customer SET
    c_balance = -1000,
    c_ytd_payment = 1000,
    c_payment_cnt = 1,
    c_delivery_cnt = 0,
    c_data = coalesce(
        (SELECT initial.c_data FROM initial_customer AS initial
         WHERE initial.c_w_id = customer.c_w_id AND initial.c_d_id = customer.c_d_id AND initial.c_id = customer.c_id),
        c_data)
WHERE (c_w_id, c_d_id, c_id) IN (SELECT w_id, d_id, c_id FROM touched_customer);

-- name: stock
-- undoes: stock
-- S_DATA never changes. Where it is not what the seed gives, someone else has written, and the row is left for the
-- conditions to find.
UPDATE stock SET
    s_quantity = (
        SELECT initial.s_quantity FROM initial_stock AS initial
        WHERE initial.s_w_id = stock.s_w_id AND initial.s_i_id = stock.s_i_id),
    s_ytd = 0,
    s_order_cnt = 0,
    s_remote_cnt = 0
WHERE (s_w_id, s_i_id) IN (SELECT s_w_id, s_i_id FROM initial_stock)
    AND s_data = (
        SELECT initial.s_data FROM initial_stock AS initial
        WHERE initial.s_w_id = stock.s_w_id AND initial.s_i_id = stock.s_i_id);

-- name: district
-- undoes: district
UPDATE district SET d_ytd = 3000000, d_next_o_id = 3001 WHERE d_ytd <> 3000000 OR d_next_o_id <> 3001;

-- name: warehouse
-- undoes: warehouse
UPDATE warehouse SET w_ytd = 30000000 WHERE w_ytd <> 30000000;

-- name: initial warehouse
-- title: W_YTD = 300,000.00
SELECT w_id, w_ytd FROM warehouse WHERE w_ytd <> 30000000;

-- name: initial district
-- title: D_YTD = 30,000.00 and D_NEXT_O_ID = 3001
SELECT d_w_id, d_id, d_ytd, d_next_o_id FROM district WHERE d_ytd <> 3000000 OR d_next_o_id <> 3001;

-- name: initial customer
-- title: C_BALANCE = -10.00, C_YTD_PAYMENT = 10.00, C_PAYMENT_CNT = 1 and C_DELIVERY_CNT = 0
SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt
FROM customer
WHERE c_balance <> -1000 OR c_ytd_payment <> 1000 OR c_payment_cnt <> 1 OR c_delivery_cnt <> 0;

-- name: initial history
-- title: H_AMOUNT = 10.00, H_DATE is the population's date, and the customer paid at home
SELECT h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount
FROM history
WHERE h_amount <> 1000 OR h_w_id <> h_c_w_id OR h_d_id <> h_c_d_id
    OR h_date <> (SELECT json_extract(manifest, '$.date') FROM graymark_manifest);

-- name: initial new_order
-- title: NO_O_ID is from 2101 to 3000
SELECT no_w_id, no_d_id, no_o_id FROM new_order WHERE no_o_id NOT BETWEEN 2101 AND 3000;

-- name: initial orders
-- title: O_ID is from 1 to 3000, O_CARRIER_ID is null from 2101 on, O_ALL_LOCAL = 1, O_ENTRY_D is the population's date
SELECT o_w_id, o_d_id, o_id, o_carrier_id, o_all_local, o_entry_d
FROM orders
WHERE o_id NOT BETWEEN 1 AND 3000 OR (o_carrier_id IS NULL) <> (o_id > 2100) OR o_all_local <> 1
    OR o_entry_d <> (SELECT json_extract(manifest, '$.date') FROM graymark_manifest);

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
