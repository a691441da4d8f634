-- What the file of the same name in `common` asks, in YQL: the sides of a UNION ALL name all columns, sums are filtered
-- outside of their query, joined columns are named with their tables, and there are no correlated subqueries.
--
-- https://ydb.tech/docs/en/yql/reference/syntax/correlated-subqueries
-- https://ydb.tech/docs/en/yql/reference/syntax/select/union

-- name: 3.3.2.1
-- title: W_YTD = sum(D_YTD) of the warehouse
-- cost: small
SELECT w_id, w_ytd, sum_d_ytd
FROM (
    SELECT w_id, SUM(warehouse_ytd) AS w_ytd, SUM(district_ytd) AS sum_d_ytd
    FROM (
        SELECT w_id, w_ytd AS warehouse_ytd, 0l AS district_ytd FROM warehouse
        UNION ALL
        SELECT d_w_id AS w_id, 0l AS warehouse_ytd, d_ytd AS district_ytd FROM district
    )
    GROUP BY w_id
)
WHERE w_ytd != sum_d_ytd;

-- name: 3.3.2.2
-- title: D_NEXT_O_ID - 1 = max(O_ID) of the district = max(NO_O_ID) where it has open orders
-- cost: small
SELECT w_id, d_id, d_next_o_id_minus_1, max_o_id, max_no_o_id
FROM (
    SELECT w_id, d_id, MAX(last_given) AS d_next_o_id_minus_1, MAX(last_order) AS max_o_id,
           MAX(last_open) AS max_no_o_id
    FROM (
        SELECT d_w_id AS w_id, d_id, CAST(d_next_o_id - 1 AS Int64) AS last_given, 0l AS last_order, 0l AS last_open
        FROM district
        UNION ALL
        SELECT o_w_id AS w_id, o_d_id AS d_id, 0l AS last_given, CAST(o_id AS Int64) AS last_order, 0l AS last_open
        FROM orders
        UNION ALL
        SELECT no_w_id AS w_id, no_d_id AS d_id, 0l AS last_given, 0l AS last_order,
               CAST(no_o_id AS Int64) AS last_open
        FROM new_order
    )
    GROUP BY w_id, d_id
)
WHERE d_next_o_id_minus_1 != max_o_id OR (max_no_o_id != 0 AND max_no_o_id != d_next_o_id_minus_1);

-- name: 3.3.2.3
-- title: The open orders of a district are numbered without a gap: max(NO_O_ID) - min(NO_O_ID) + 1 = rows in NEW-ORDER
-- cost: small
SELECT w_id, d_id, span, new_orders
FROM (
    SELECT no_w_id AS w_id, no_d_id AS d_id, CAST(MAX(no_o_id) - MIN(no_o_id) + 1 AS Int64) AS span,
           CAST(COUNT(*) AS Int64) AS new_orders
    FROM new_order
    GROUP BY no_w_id, no_d_id
)
WHERE span != new_orders;

-- name: 3.3.2.4
-- title: sum(O_OL_CNT) = rows in ORDER-LINE of the district
SELECT w_id, d_id, sum_o_ol_cnt, order_lines
FROM (
    SELECT w_id, d_id, SUM(promised) AS sum_o_ol_cnt, SUM(present) AS order_lines
    FROM (
        SELECT o_w_id AS w_id, o_d_id AS d_id, CAST(o_ol_cnt AS Int64) AS promised, 0l AS present FROM orders
        UNION ALL
        SELECT ol_w_id AS w_id, ol_d_id AS d_id, 0l AS promised, 1l AS present FROM order_line
    )
    GROUP BY w_id, d_id
)
WHERE sum_o_ol_cnt != order_lines;

-- name: 3.3.2.5
-- title: O_CARRIER_ID is null if and only if the order is in NEW-ORDER
SELECT w_id, d_id, o_id, without_carrier, new_orders
FROM (
    SELECT w_id, d_id, o_id, SUM(waiting) AS without_carrier, SUM(still_open) AS new_orders
    FROM (
        SELECT o_w_id AS w_id, o_d_id AS d_id, o_id, 1l AS waiting, 0l AS still_open
        FROM orders WHERE o_carrier_id IS NULL
        UNION ALL
        SELECT no_w_id AS w_id, no_d_id AS d_id, no_o_id AS o_id, 0l AS waiting, 1l AS still_open FROM new_order
    )
    GROUP BY w_id, d_id, o_id
)
WHERE without_carrier != new_orders;

-- name: 3.3.2.6
-- title: O_OL_CNT = rows in ORDER-LINE of the order
SELECT w_id, d_id, o_id, o_ol_cnt, order_lines
FROM (
    SELECT w_id, d_id, o_id, SUM(promised) AS o_ol_cnt, SUM(present) AS order_lines
    FROM (
        SELECT o_w_id AS w_id, o_d_id AS d_id, o_id, CAST(o_ol_cnt AS Int64) AS promised, 0l AS present FROM orders
        UNION ALL
        SELECT ol_w_id AS w_id, ol_d_id AS d_id, ol_o_id AS o_id, 0l AS promised, 1l AS present FROM order_line
    )
    GROUP BY w_id, d_id, o_id
)
WHERE o_ol_cnt != order_lines;

-- name: 3.3.2.7
-- title: OL_DELIVERY_D is null if and only if O_CARRIER_ID of its order is null
-- A line that has no order at all is found by 3.3.2.6.
SELECT l.ol_w_id AS w_id, l.ol_d_id AS d_id, l.ol_o_id AS o_id, l.ol_number AS ol_number,
       l.ol_delivery_d AS ol_delivery_d, o.o_carrier_id AS o_carrier_id
FROM order_line AS l
JOIN orders AS o ON o.o_w_id = l.ol_w_id AND o.o_d_id = l.ol_d_id AND o.o_id = l.ol_o_id
WHERE (l.ol_delivery_d IS NULL AND o.o_carrier_id IS NOT NULL)
   OR (l.ol_delivery_d IS NOT NULL AND o.o_carrier_id IS NULL);

-- name: 3.3.2.8
-- title: W_YTD = sum(H_AMOUNT) paid at the warehouse
-- cost: small
SELECT w_id, w_ytd, sum_h_amount
FROM (
    SELECT w_id, SUM(ytd) AS w_ytd, SUM(paid) AS sum_h_amount
    FROM (
        SELECT w_id, w_ytd AS ytd, 0l AS paid FROM warehouse
        UNION ALL
        SELECT h_w_id AS w_id, 0l AS ytd, h_amount AS paid FROM history
    )
    GROUP BY w_id
)
WHERE w_ytd != sum_h_amount;

-- name: 3.3.2.9
-- title: D_YTD = sum(H_AMOUNT) paid at the district
-- cost: small
SELECT w_id, d_id, d_ytd, sum_h_amount
FROM (
    SELECT w_id, d_id, SUM(ytd) AS d_ytd, SUM(paid) AS sum_h_amount
    FROM (
        SELECT d_w_id AS w_id, d_id, d_ytd AS ytd, 0l AS paid FROM district
        UNION ALL
        SELECT h_w_id AS w_id, h_d_id AS d_id, 0l AS ytd, h_amount AS paid FROM history
    )
    GROUP BY w_id, d_id
)
WHERE d_ytd != sum_h_amount;

-- name: 3.3.2.10
-- title: C_BALANCE = sum(OL_AMOUNT) delivered to the customer - sum(H_AMOUNT) paid by the customer
$delivered = (
    SELECT o.o_w_id AS w_id, o.o_d_id AS d_id, o.o_c_id AS c_id, l.ol_amount AS amount
    FROM order_line AS l
    JOIN orders AS o ON o.o_w_id = l.ol_w_id AND o.o_d_id = l.ol_d_id AND o.o_id = l.ol_o_id
    WHERE l.ol_delivery_d IS NOT NULL AND l.ol_amount != 0
);
SELECT w_id, d_id, c_id, c_balance, sum_ol_amount, sum_h_amount
FROM (
    SELECT w_id, d_id, c_id, SUM(balance) AS c_balance, SUM(delivered) AS sum_ol_amount, SUM(paid) AS sum_h_amount
    FROM (
        SELECT c_w_id AS w_id, c_d_id AS d_id, c_id, c_balance AS balance, 0l AS delivered, 0l AS paid FROM customer
        UNION ALL
        SELECT w_id, d_id, c_id, 0l AS balance, amount AS delivered, 0l AS paid FROM $delivered
        UNION ALL
        SELECT h_c_w_id AS w_id, h_c_d_id AS d_id, h_c_id AS c_id, 0l AS balance, 0l AS delivered, h_amount AS paid
        FROM history
    )
    GROUP BY w_id, d_id, c_id
)
WHERE c_balance != sum_ol_amount - sum_h_amount;

-- name: 3.3.2.11
-- title: Rows in ORDER - rows in NEW-ORDER = 2100 + sum(C_DELIVERY_CNT) of the district, at any time after the load
SELECT w_id, d_id, orders, new_orders, sum_c_delivery_cnt, delivered_at_load
FROM (
    SELECT w_id, d_id, SUM(ordered) AS orders, SUM(still_open) AS new_orders, SUM(delivered) AS sum_c_delivery_cnt,
           SUM(at_load) AS delivered_at_load
    FROM (
        SELECT d_w_id AS w_id, d_id, 0l AS ordered, 0l AS still_open, 0l AS delivered, 2100l AS at_load FROM district
        UNION ALL
        SELECT o_w_id AS w_id, o_d_id AS d_id, 1l AS ordered, 0l AS still_open, 0l AS delivered, 0l AS at_load
        FROM orders
        UNION ALL
        SELECT no_w_id AS w_id, no_d_id AS d_id, 0l AS ordered, 1l AS still_open, 0l AS delivered, 0l AS at_load
        FROM new_order
        UNION ALL
        SELECT c_w_id AS w_id, c_d_id AS d_id, 0l AS ordered, 0l AS still_open,
               CAST(c_delivery_cnt AS Int64) AS delivered, 0l AS at_load
        FROM customer
    )
    GROUP BY w_id, d_id
)
WHERE orders - new_orders != delivered_at_load + sum_c_delivery_cnt;

-- name: 3.3.2.12
-- title: C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT) delivered to the customer
$delivered = (
    SELECT o.o_w_id AS w_id, o.o_d_id AS d_id, o.o_c_id AS c_id, l.ol_amount AS amount
    FROM order_line AS l
    JOIN orders AS o ON o.o_w_id = l.ol_w_id AND o.o_d_id = l.ol_d_id AND o.o_id = l.ol_o_id
    WHERE l.ol_delivery_d IS NOT NULL AND l.ol_amount != 0
);
SELECT w_id, d_id, c_id, c_balance, c_ytd_payment, sum_ol_amount
FROM (
    SELECT w_id, d_id, c_id, SUM(balance) AS c_balance, SUM(ytd_payment) AS c_ytd_payment,
           SUM(delivered) AS sum_ol_amount
    FROM (
        SELECT c_w_id AS w_id, c_d_id AS d_id, c_id, c_balance AS balance, c_ytd_payment AS ytd_payment,
               0l AS delivered
        FROM customer
        UNION ALL
        SELECT w_id, d_id, c_id, 0l AS balance, 0l AS ytd_payment, amount AS delivered FROM $delivered
    )
    GROUP BY w_id, d_id, c_id
)
WHERE c_balance + c_ytd_payment != sum_ol_amount;

-- name: cardinality
-- title: 10 districts and 100,000 stock rows a warehouse, 3,000 customers a district, 100,000 items, all with stock
-- These tables never grow or shrink, so this also finds rows of unknown warehouses, districts and items. Districts
-- and stock rows are counted together, as their numbers, which are checked, are keys.
$counts = (
    SELECT "warehouse" AS of_table, w_id, d_id, has_rows, should_have
    FROM (
        SELECT w_id, 0 AS d_id, SUM(present) AS has_rows, SUM(due) AS should_have
        FROM (
            SELECT w_id, 0l AS present, 100010l AS due FROM warehouse
            UNION ALL
            SELECT d_w_id AS w_id, 1l AS present, 0l AS due FROM district
            UNION ALL
            SELECT s_w_id AS w_id, 1l AS present, 0l AS due FROM stock
        )
        GROUP BY w_id
    )
    UNION ALL
    SELECT "customer" AS of_table, w_id, d_id, has_rows, should_have
    FROM (
        SELECT w_id, d_id, SUM(present) AS has_rows, SUM(due) AS should_have
        FROM (
            SELECT d_w_id AS w_id, d_id, 0l AS present, 3000l AS due FROM district
            UNION ALL
            SELECT c_w_id AS w_id, c_d_id AS d_id, 1l AS present, 0l AS due FROM customer
        )
        GROUP BY w_id, d_id
    )
    UNION ALL
    SELECT "district" AS of_table, d_w_id AS w_id, d_id, 1l AS has_rows, 0l AS should_have
    FROM district
    WHERE d_id < 1 OR d_id > 10
    UNION ALL
    SELECT "stock" AS of_table, s_w_id AS w_id, s_i_id AS d_id, 1l AS has_rows, 0l AS should_have
    FROM stock
    WHERE s_i_id < 1 OR s_i_id > 100000
    UNION ALL
    SELECT "item" AS of_table, 0 AS w_id, 0 AS d_id, CAST(COUNT(*) AS Int64) AS has_rows, 100000l AS should_have
    FROM item
    WHERE i_id >= 1 AND i_id <= 100000
    UNION ALL
    SELECT "item" AS of_table, 0 AS w_id, i_id AS d_id, 1l AS has_rows, 0l AS should_have
    FROM item
    WHERE i_id < 1 OR i_id > 100000
);
SELECT of_table, w_id, d_id, has_rows, should_have FROM $counts WHERE has_rows != should_have;

-- name: order_ids
-- title: The orders of a district are numbered from 1 without a gap
SELECT w_id, d_id, min_o_id, max_o_id, orders
FROM (
    SELECT o_w_id AS w_id, o_d_id AS d_id, MIN(o_id) AS min_o_id, CAST(MAX(o_id) AS Int64) AS max_o_id,
           CAST(COUNT(*) AS Int64) AS orders
    FROM orders
    GROUP BY o_w_id, o_d_id
)
WHERE min_o_id != 1 OR max_o_id != orders;

-- name: all_local
-- title: O_ALL_LOCAL is 0 if and only if another warehouse supplies a line of the order, and else 1
SELECT w_id, d_id, o_id, not_local, remote
FROM (
    SELECT w_id, d_id, o_id, MAX(not_local) AS not_local, MAX(remote) AS remote
    FROM (
        SELECT o_w_id AS w_id, o_d_id AS d_id, o_id, CAST(1 - o_all_local AS Int64) AS not_local, 0l AS remote
        FROM orders WHERE o_all_local != 1
        UNION ALL
        SELECT ol_w_id AS w_id, ol_d_id AS d_id, ol_o_id AS o_id, 0l AS not_local, 1l AS remote
        FROM order_line WHERE ol_supply_w_id != ol_w_id
    )
    GROUP BY w_id, d_id, o_id
)
WHERE not_local != remote;

-- name: delivery_cnt
-- title: C_DELIVERY_CNT = orders of the customer that were delivered since the load; every order has its customer
$delivered = (
    SELECT o.o_w_id AS w_id, o.o_d_id AS d_id, o.o_c_id AS c_id
    FROM orders AS o
    LEFT ONLY JOIN new_order AS n ON n.no_w_id = o.o_w_id AND n.no_d_id = o.o_d_id AND n.no_o_id = o.o_id
    WHERE o.o_id > 2100
);
SELECT w_id, d_id, c_id, customers, c_delivery_cnt, delivered_orders
FROM (
    SELECT w_id, d_id, c_id, SUM(known) AS customers, SUM(counted) AS c_delivery_cnt, SUM(delivered) AS delivered_orders
    FROM (
        SELECT c_w_id AS w_id, c_d_id AS d_id, c_id, 1l AS known, CAST(c_delivery_cnt AS Int64) AS counted,
               0l AS delivered
        FROM customer
        UNION ALL
        SELECT w_id, d_id, c_id, 0l AS known, 0l AS counted, 1l AS delivered FROM $delivered
        UNION ALL
        SELECT o_w_id AS w_id, o_d_id AS d_id, o_c_id AS c_id, 0l AS known, 0l AS counted, 0l AS delivered FROM orders
    )
    GROUP BY w_id, d_id, c_id
)
WHERE customers != 1 OR c_delivery_cnt != delivered_orders;

-- name: payment_cnt
-- title: C_PAYMENT_CNT = rows in HISTORY of the customer
SELECT w_id, d_id, c_id, c_payment_cnt, payments
FROM (
    SELECT w_id, d_id, c_id, SUM(counted) AS c_payment_cnt, SUM(present) AS payments
    FROM (
        SELECT c_w_id AS w_id, c_d_id AS d_id, c_id, CAST(c_payment_cnt AS Int64) AS counted, 0l AS present
        FROM customer
        UNION ALL
        SELECT h_c_w_id AS w_id, h_c_d_id AS d_id, h_c_id AS c_id, 0l AS counted, 1l AS present FROM history
    )
    GROUP BY w_id, d_id, c_id
)
WHERE c_payment_cnt != payments;

-- name: stock_order_cnt
-- title: S_ORDER_CNT = order lines since the load that the stock row supplied; every line has its item and warehouse
SELECT w_id, i_id, stock_rows, s_order_cnt, order_lines
FROM (
    SELECT w_id, i_id, SUM(known) AS stock_rows, SUM(counted) AS s_order_cnt, SUM(present) AS order_lines
    FROM (
        SELECT s_w_id AS w_id, s_i_id AS i_id, 1l AS known, CAST(s_order_cnt AS Int64) AS counted, 0l AS present
        FROM stock
        UNION ALL
        SELECT ol_supply_w_id AS w_id, ol_i_id AS i_id, 0l AS known, 0l AS counted, 1l AS present
        FROM order_line WHERE ol_o_id > 3000
        UNION ALL
        SELECT ol_supply_w_id AS w_id, ol_i_id AS i_id, 0l AS known, 0l AS counted, 0l AS present
        FROM order_line WHERE ol_o_id <= 3000
    )
    GROUP BY w_id, i_id
)
WHERE stock_rows != 1 OR s_order_cnt != order_lines;

-- name: stock_ytd
-- title: S_YTD = sum(OL_QUANTITY) of the order lines since the load (OL_O_ID above 3000) that the stock row supplied
SELECT w_id, i_id, s_ytd, sum_ol_quantity
FROM (
    SELECT w_id, i_id, SUM(counted) AS s_ytd, SUM(present) AS sum_ol_quantity
    FROM (
        SELECT s_w_id AS w_id, s_i_id AS i_id, CAST(s_ytd AS Int64) AS counted, 0l AS present
        FROM stock WHERE s_ytd != 0
        UNION ALL
        SELECT ol_supply_w_id AS w_id, ol_i_id AS i_id, 0l AS counted, CAST(ol_quantity AS Int64) AS present
        FROM order_line WHERE ol_o_id > 3000
    )
    GROUP BY w_id, i_id
)
WHERE s_ytd != sum_ol_quantity;

-- name: stock_remote_cnt
-- title: S_REMOTE_CNT = order lines of other warehouses since the load (OL_O_ID above 3000) that the stock row supplied
SELECT w_id, i_id, s_remote_cnt, remote_lines
FROM (
    SELECT w_id, i_id, SUM(counted) AS s_remote_cnt, SUM(present) AS remote_lines
    FROM (
        SELECT s_w_id AS w_id, s_i_id AS i_id, CAST(s_remote_cnt AS Int64) AS counted, 0l AS present
        FROM stock WHERE s_remote_cnt != 0
        UNION ALL
        SELECT ol_supply_w_id AS w_id, ol_i_id AS i_id, 0l AS counted, 1l AS present
        FROM order_line WHERE ol_o_id > 3000 AND ol_supply_w_id != ol_w_id
    )
    GROUP BY w_id, i_id
)
WHERE s_remote_cnt != remote_lines;

-- name: stock_quantity
-- title: S_QUANTITY is between 10 and 100: New-Order takes 1 to 10 of it and adds 91 where less than 10 would be left
SELECT s_w_id AS w_id, s_i_id AS i_id, s_quantity FROM stock WHERE s_quantity < 10 OR s_quantity > 100;

-- name: o_carrier_id
-- title: O_CARRIER_ID is between 1 and 10, where it is not null
SELECT o_w_id AS w_id, o_d_id AS d_id, o_id, o_carrier_id FROM orders WHERE o_carrier_id < 1 OR o_carrier_id > 10;

-- name: ol_number
-- title: The lines of an order are numbered from 1 without a gap
SELECT w_id, d_id, o_id, min_ol_number, max_ol_number, order_lines
FROM (
    SELECT ol_w_id AS w_id, ol_d_id AS d_id, ol_o_id AS o_id, MIN(ol_number) AS min_ol_number,
           CAST(MAX(ol_number) AS Int64) AS max_ol_number, CAST(COUNT(*) AS Int64) AS order_lines
    FROM order_line
    GROUP BY ol_w_id, ol_d_id, ol_o_id
)
WHERE min_ol_number != 1 OR max_ol_number != order_lines;

-- name: ol_amount
-- title: OL_AMOUNT = OL_QUANTITY * I_PRICE of lines since the load (OL_O_ID above 3000)
-- A line of an unknown item is found by stock_order_cnt.
SELECT l.ol_w_id AS w_id, l.ol_d_id AS d_id, l.ol_o_id AS o_id, l.ol_number AS ol_number, l.ol_amount AS ol_amount,
       l.ol_quantity AS ol_quantity, i.i_price AS i_price
FROM order_line AS l
JOIN item AS i ON i.i_id = l.ol_i_id
WHERE l.ol_o_id > 3000 AND l.ol_amount != l.ol_quantity * i.i_price;

-- name: ol_dist_info
-- title: OL_DIST_INFO of lines since the load = S_DIST_xx, for the order's district, of the stock row that supplied it
SELECT l.ol_w_id AS w_id, l.ol_d_id AS d_id, l.ol_o_id AS o_id, l.ol_number AS ol_number,
       l.ol_supply_w_id AS supply_w_id, l.ol_i_id AS i_id, l.ol_dist_info AS ol_dist_info
FROM order_line AS l
JOIN stock AS s ON s.s_w_id = l.ol_supply_w_id AND s.s_i_id = l.ol_i_id
WHERE l.ol_o_id > 3000
  AND l.ol_dist_info != CASE l.ol_d_id
      WHEN 1 THEN s.s_dist_01 WHEN 2 THEN s.s_dist_02 WHEN 3 THEN s.s_dist_03 WHEN 4 THEN s.s_dist_04
      WHEN 5 THEN s.s_dist_05 WHEN 6 THEN s.s_dist_06 WHEN 7 THEN s.s_dist_07 WHEN 8 THEN s.s_dist_08
      WHEN 9 THEN s.s_dist_09 ELSE s.s_dist_10 END;
