-- What must hold in a TPC-C database at any moment without open transactions. Each statement returns the rows that
-- violate it, with the values that should agree, and no row where it holds.
--
-- 3.3.2.1 to 3.3.2.12 are the consistency conditions of the standard; the rest follows from the population and the
-- transaction profiles. Sides that should agree are stacked (UNION ALL) and added up by their common key, so that a row
-- with no partner on the other side, such as a payment to an unknown district, counts against it as much as a wrong
-- value. What is 0 on both sides holds: rows that add 0 are left out early, for they are most of a database that was
-- just loaded. Nulls where the schema forbids them are left to the schema. Tables in FROM are named without AS, which
-- Oracle does not take. The note "cost: small" stands where no large table is read: a restore checks these, too.

-- name: 3.3.2.1
-- title: W_YTD = sum(D_YTD) of the warehouse
-- cost: small
SELECT w_id, sum(warehouse_ytd) AS w_ytd, sum(district_ytd) AS sum_d_ytd
FROM (
    SELECT w_id, w_ytd AS warehouse_ytd, 0 AS district_ytd FROM warehouse
    UNION ALL
    SELECT d_w_id, 0, d_ytd FROM district
) sides
GROUP BY w_id
HAVING sum(warehouse_ytd) <> sum(district_ytd);

-- name: 3.3.2.2
-- title: D_NEXT_O_ID - 1 = max(O_ID) of the district = max(NO_O_ID) where it has open orders
-- cost: small
SELECT w_id, d_id, max(last_given) AS d_next_o_id_minus_1, max(last_order) AS max_o_id, max(last_open) AS max_no_o_id
FROM (
    SELECT d_w_id AS w_id, d_id, d_next_o_id - 1 AS last_given, 0 AS last_order, 0 AS last_open FROM district
    UNION ALL
    SELECT o_w_id, o_d_id, 0, max(o_id), 0 FROM orders GROUP BY o_w_id, o_d_id
    UNION ALL
    SELECT no_w_id, no_d_id, 0, 0, max(no_o_id) FROM new_order GROUP BY no_w_id, no_d_id
) sides
GROUP BY w_id, d_id
HAVING max(last_given) <> max(last_order) OR (max(last_open) <> 0 AND max(last_open) <> max(last_given));

-- name: 3.3.2.3
-- title: The open orders of a district are numbered without a gap: max(NO_O_ID) - min(NO_O_ID) + 1 = rows in NEW-ORDER
-- cost: small
SELECT no_w_id AS w_id, no_d_id AS d_id, max(no_o_id) - min(no_o_id) + 1 AS span, count(*) AS new_orders
FROM new_order
GROUP BY no_w_id, no_d_id
HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*);

-- name: 3.3.2.4
-- title: sum(O_OL_CNT) = rows in ORDER-LINE of the district
SELECT w_id, d_id, sum(promised) AS sum_o_ol_cnt, sum(present) AS order_lines
FROM (
    SELECT o_w_id AS w_id, o_d_id AS d_id, sum(o_ol_cnt) AS promised, 0 AS present FROM orders GROUP BY o_w_id, o_d_id
    UNION ALL
    SELECT ol_w_id, ol_d_id, 0, count(*) FROM order_line GROUP BY ol_w_id, ol_d_id
) sides
GROUP BY w_id, d_id
HAVING sum(promised) <> sum(present);

-- name: 3.3.2.5
-- title: O_CARRIER_ID is null if and only if the order is in NEW-ORDER
SELECT o_w_id AS w_id, o_d_id AS d_id, o_id, o_carrier_id, no_o_id
FROM orders
LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE o_carrier_id IS NULL AND no_o_id IS NULL OR o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL
UNION ALL
SELECT no_w_id, no_d_id, o_id, o_carrier_id, no_o_id
FROM new_order
LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id
WHERE o_id IS NULL;

-- name: 3.3.2.6
-- title: O_OL_CNT = rows in ORDER-LINE of the order
SELECT w_id, d_id, o_id, max(promised) AS o_ol_cnt, max(present) AS order_lines
FROM (
    SELECT o_w_id AS w_id, o_d_id AS d_id, o_id, o_ol_cnt AS promised, 0 AS present FROM orders
    UNION ALL
    SELECT ol_w_id, ol_d_id, ol_o_id, 0, count(*) FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id
) sides
GROUP BY w_id, d_id, o_id
HAVING max(promised) <> max(present);

-- name: 3.3.2.7
-- title: OL_DELIVERY_D is null if and only if O_CARRIER_ID of its order is null
-- A line that has no order at all is found by 3.3.2.6.
SELECT ol_w_id AS w_id, ol_d_id AS d_id, ol_o_id AS o_id, ol_number, ol_delivery_d, o_carrier_id
FROM order_line
JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL OR ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL;

-- name: 3.3.2.8
-- title: W_YTD = sum(H_AMOUNT) paid at the warehouse
-- cost: small
SELECT w_id, sum(ytd) AS w_ytd, sum(paid) AS sum_h_amount
FROM (
    SELECT w_id, w_ytd AS ytd, 0 AS paid FROM warehouse
    UNION ALL
    SELECT h_w_id, 0, sum(h_amount) FROM history GROUP BY h_w_id
) sides
GROUP BY w_id
HAVING sum(ytd) <> sum(paid);

-- name: 3.3.2.9
-- title: D_YTD = sum(H_AMOUNT) paid at the district
-- cost: small
SELECT w_id, d_id, sum(ytd) AS d_ytd, sum(paid) AS sum_h_amount
FROM (
    SELECT d_w_id AS w_id, d_id, d_ytd AS ytd, 0 AS paid FROM district
    UNION ALL
    SELECT h_w_id, h_d_id, 0, sum(h_amount) FROM history GROUP BY h_w_id, h_d_id
) sides
GROUP BY w_id, d_id
HAVING sum(ytd) <> sum(paid);

-- name: 3.3.2.10
-- title: C_BALANCE = sum(OL_AMOUNT) delivered to the customer - sum(H_AMOUNT) paid by the customer
SELECT w_id, d_id, c_id, sum(balance) AS c_balance, sum(delivered) AS sum_ol_amount, sum(paid) AS sum_h_amount
FROM (
    SELECT c_w_id AS w_id, c_d_id AS d_id, c_id, c_balance AS balance, 0 AS delivered, 0 AS paid FROM customer
    UNION ALL
    SELECT o_w_id, o_d_id, o_c_id, 0, sum(amount), 0
    FROM (
        SELECT ol_w_id, ol_d_id, ol_o_id, sum(ol_amount) AS amount
        FROM order_line
        WHERE ol_delivery_d IS NOT NULL AND ol_amount <> 0
        GROUP BY ol_w_id, ol_d_id, ol_o_id
    ) delivered_orders
    JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
    GROUP BY o_w_id, o_d_id, o_c_id
    UNION ALL
    SELECT h_c_w_id, h_c_d_id, h_c_id, 0, 0, h_amount FROM history
) sides
GROUP BY w_id, d_id, c_id
HAVING sum(balance) <> sum(delivered) - sum(paid);

-- name: 3.3.2.11
-- title: Rows in ORDER - rows in NEW-ORDER = 2100 + sum(C_DELIVERY_CNT) of the district, at any time after the load
SELECT w_id, d_id, sum(ordered) AS orders, sum(still_open) AS new_orders, sum(delivered) AS sum_c_delivery_cnt
FROM (
    SELECT d_w_id AS w_id, d_id, 0 AS ordered, 0 AS still_open, 0 AS delivered, 2100 AS delivered_at_load FROM district
    UNION ALL
    SELECT o_w_id, o_d_id, count(*), 0, 0, 0 FROM orders GROUP BY o_w_id, o_d_id
    UNION ALL
    SELECT no_w_id, no_d_id, 0, count(*), 0, 0 FROM new_order GROUP BY no_w_id, no_d_id
    UNION ALL
    SELECT c_w_id, c_d_id, 0, 0, sum(c_delivery_cnt), 0 FROM customer GROUP BY c_w_id, c_d_id
) sides
GROUP BY w_id, d_id
HAVING sum(ordered) - sum(still_open) <> sum(delivered_at_load) + sum(delivered);

-- name: 3.3.2.12
-- title: C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT) delivered to the customer
SELECT w_id, d_id, c_id, sum(balance) AS c_balance, sum(ytd_payment) AS c_ytd_payment, sum(delivered) AS sum_ol_amount
FROM (
    SELECT c_w_id AS w_id, c_d_id AS d_id, c_id, c_balance AS balance, c_ytd_payment AS ytd_payment, 0 AS delivered
      FROM customer
    UNION ALL
    SELECT o_w_id, o_d_id, o_c_id, 0, 0, sum(amount)
    FROM (
        SELECT ol_w_id, ol_d_id, ol_o_id, sum(ol_amount) AS amount
        FROM order_line
        WHERE ol_delivery_d IS NOT NULL AND ol_amount <> 0
        GROUP BY ol_w_id, ol_d_id, ol_o_id
    ) delivered_orders
    JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
    GROUP BY o_w_id, o_d_id, o_c_id
) sides
GROUP BY w_id, d_id, c_id
HAVING sum(balance) + sum(ytd_payment) <> sum(delivered);

-- name: cardinality
-- title: 10 districts and 100,000 stock rows a warehouse, 3,000 customers a district, 100,000 items, all with stock
-- These tables never grow or shrink, so this also finds rows of unknown warehouses, districts and items.
SELECT 'district' AS of_table, w_id, 0 AS d_id, 0 AS i_id, sum(present) AS has_rows, sum(due) AS should_have
FROM (
    SELECT w_id, 0 AS present, 10 AS due FROM warehouse
    UNION ALL
    SELECT d_w_id, count(*), 0 FROM district GROUP BY d_w_id
) districts
GROUP BY w_id
HAVING sum(present) <> sum(due)
UNION ALL
SELECT 'customer', w_id, d_id, 0, sum(present), sum(due)
FROM (
    SELECT d_w_id AS w_id, d_id, 0 AS present, 3000 AS due FROM district
    UNION ALL
    SELECT c_w_id, c_d_id, count(*), 0 FROM customer GROUP BY c_w_id, c_d_id
) customers
GROUP BY w_id, d_id
HAVING sum(present) <> sum(due)
UNION ALL
SELECT 'stock', w_id, 0, 0, sum(present), sum(due)
FROM (
    SELECT w_id, 0 AS present, 100000 AS due FROM warehouse
    UNION ALL
    SELECT s_w_id, count(*), 0 FROM stock GROUP BY s_w_id
) stocks
GROUP BY w_id
HAVING sum(present) <> sum(due)
UNION ALL
SELECT 'stock', 0, 0, i_id, present, CASE WHEN i_id BETWEEN 1 AND 100000 THEN warehouses ELSE 0 END
FROM (SELECT s_i_id AS i_id, count(*) AS present FROM stock GROUP BY s_i_id) stocked
CROSS JOIN (SELECT count(*) AS warehouses FROM warehouse) w
WHERE present <> warehouses OR i_id NOT BETWEEN 1 AND 100000
UNION ALL
SELECT 'item', 0, 0, CASE WHEN lowest < 1 THEN lowest ELSE highest END, present, 100000
FROM (SELECT count(*) AS present, min(i_id) AS lowest, max(i_id) AS highest FROM item) items
WHERE present <> 100000 OR lowest < 1 OR highest > 100000;

-- name: order_ids
-- title: The orders of a district are numbered from 1 without a gap
SELECT o_w_id AS w_id, o_d_id AS d_id, min(o_id) AS min_o_id, max(o_id) AS max_o_id, count(*) AS orders
FROM orders
GROUP BY o_w_id, o_d_id
HAVING min(o_id) <> 1 OR max(o_id) <> count(*);

-- name: all_local
-- title: O_ALL_LOCAL is 0 if and only if another warehouse supplies a line of the order, and else 1
SELECT w_id, d_id, o_id, 1 - sum(not_local) AS o_all_local, sum(remote) AS remote_lines
FROM (
    SELECT o_w_id AS w_id, o_d_id AS d_id, o_id, 1 - o_all_local AS not_local, 0 AS remote
    FROM orders
    WHERE o_all_local <> 1
    UNION ALL
    SELECT ol_w_id, ol_d_id, ol_o_id, 0, 1 FROM order_line WHERE ol_supply_w_id <> ol_w_id
) sides
GROUP BY w_id, d_id, o_id
HAVING sum(not_local) <> max(remote);

-- name: delivery_cnt
-- title: C_DELIVERY_CNT = orders of the customer that were delivered since the load; every order has its customer
SELECT w_id, d_id, c_id, sum(known) AS customers, sum(counted) AS c_delivery_cnt, sum(delivered) AS delivered_orders
FROM (
    SELECT c_w_id AS w_id, c_d_id AS d_id, c_id, 1 AS known, c_delivery_cnt AS counted, 0 AS delivered FROM customer
    UNION ALL
    SELECT o_w_id, o_d_id, o_c_id, 0, 0, CASE WHEN o_id > 2100 AND no_o_id IS NULL THEN 1 ELSE 0 END
    FROM orders
    LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
) sides
GROUP BY w_id, d_id, c_id
HAVING sum(known) <> 1 OR sum(counted) <> sum(delivered);

-- name: payment_cnt
-- title: C_PAYMENT_CNT = rows in HISTORY of the customer
SELECT w_id, d_id, c_id, sum(counted) AS c_payment_cnt, sum(present) AS payments
FROM (
    SELECT c_w_id AS w_id, c_d_id AS d_id, c_id, c_payment_cnt AS counted, 0 AS present FROM customer
    UNION ALL
    SELECT h_c_w_id, h_c_d_id, h_c_id, 0, 1 FROM history
) sides
GROUP BY w_id, d_id, c_id
HAVING sum(counted) <> sum(present);

-- name: stock_order_cnt
-- title: S_ORDER_CNT = order lines since the load that the stock row supplied; every line has its item and warehouse
SELECT w_id, i_id, sum(counted) AS s_order_cnt, sum(present) AS order_lines
FROM (
    SELECT s_w_id AS w_id, s_i_id AS i_id, s_order_cnt AS counted, 0 AS present FROM stock WHERE s_order_cnt <> 0
    UNION ALL
    SELECT ol_supply_w_id, ol_i_id, 0, count(*) FROM order_line WHERE ol_o_id > 3000 GROUP BY ol_supply_w_id, ol_i_id
) sides
GROUP BY w_id, i_id
HAVING sum(counted) <> sum(present)
UNION ALL
SELECT ol_supply_w_id, ol_i_id, 0, count(*)
FROM order_line
CROSS JOIN (SELECT max(w_id) AS last_w_id FROM warehouse) w
WHERE ol_o_id <= 3000 AND (ol_i_id NOT BETWEEN 1 AND 100000 OR ol_supply_w_id NOT BETWEEN 1 AND last_w_id)
GROUP BY ol_supply_w_id, ol_i_id;

-- name: stock_ytd
-- title: S_YTD = sum(OL_QUANTITY) of the order lines since the load (OL_O_ID above 3000) that the stock row supplied
SELECT w_id, i_id, sum(counted) AS s_ytd, sum(present) AS sum_ol_quantity
FROM (
    SELECT s_w_id AS w_id, s_i_id AS i_id, s_ytd AS counted, 0 AS present FROM stock WHERE s_ytd <> 0
    UNION ALL
    SELECT ol_supply_w_id, ol_i_id, 0, sum(ol_quantity) FROM order_line
     WHERE ol_o_id > 3000
     GROUP BY ol_supply_w_id, ol_i_id
) sides
GROUP BY w_id, i_id
HAVING sum(counted) <> sum(present);

-- name: stock_remote_cnt
-- title: S_REMOTE_CNT = order lines of other warehouses since the load (OL_O_ID above 3000) that the stock row supplied
SELECT w_id, i_id, sum(counted) AS s_remote_cnt, sum(present) AS remote_lines
FROM (
    SELECT s_w_id AS w_id, s_i_id AS i_id, s_remote_cnt AS counted, 0 AS present FROM stock WHERE s_remote_cnt <> 0
    UNION ALL
    SELECT ol_supply_w_id, ol_i_id, 0, count(*)
    FROM order_line
    WHERE ol_o_id > 3000 AND ol_supply_w_id <> ol_w_id
    GROUP BY ol_supply_w_id, ol_i_id
) sides
GROUP BY w_id, i_id
HAVING sum(counted) <> sum(present);

-- name: stock_quantity
-- title: S_QUANTITY is between 10 and 100: New-Order takes 1 to 10 of it and adds 91 where less than 10 would be left
SELECT s_w_id AS w_id, s_i_id AS i_id, s_quantity
FROM stock
WHERE s_quantity NOT BETWEEN 10 AND 100;

-- name: o_carrier_id
-- title: O_CARRIER_ID is between 1 and 10, where it is not null
SELECT o_w_id AS w_id, o_d_id AS d_id, o_id, o_carrier_id
FROM orders
WHERE o_carrier_id NOT BETWEEN 1 AND 10;

-- name: ol_number
-- title: The lines of an order are numbered from 1 without a gap
SELECT ol_w_id AS w_id, ol_d_id AS d_id, ol_o_id AS o_id, min(ol_number) AS min_ol_number,
       max(ol_number) AS max_ol_number,
       count(*) AS order_lines
FROM order_line
GROUP BY ol_w_id, ol_d_id, ol_o_id
HAVING min(ol_number) <> 1 OR max(ol_number) <> count(*);

-- name: ol_amount
-- title: OL_AMOUNT = OL_QUANTITY * I_PRICE of lines since the load (OL_O_ID above 3000)
-- A line of an unknown item is found by stock_order_cnt.
SELECT ol_w_id AS w_id, ol_d_id AS d_id, ol_o_id AS o_id, ol_number, ol_amount, ol_quantity, i_price
FROM order_line
JOIN item ON i_id = ol_i_id
WHERE ol_o_id > 3000 AND ol_amount <> ol_quantity * i_price;

-- name: ol_dist_info
-- title: OL_DIST_INFO of lines since the load = S_DIST_xx, for the order's district, of the stock row that supplied it
SELECT ol_w_id AS w_id, ol_d_id AS d_id, ol_o_id AS o_id, ol_number, ol_supply_w_id AS supply_w_id, ol_i_id AS i_id,
       ol_dist_info
FROM order_line
JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
WHERE ol_o_id > 3000
  AND ol_dist_info <> CASE ol_d_id
      WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05
      WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END;
