-- The statements of the five transactions in YQL. The parameters of a statement are declared in the order of its
-- arguments; a list of structs stands for those that have several places. The statements of an exchange go to the
-- server as one query.
--
-- Each statement returns one set of rows. Where it has nothing to tell but how many rows it changed, that is the column
-- `affected`. In each statement, as in the whole query, what is read comes first and what is written last; no statement
-- of a query reads a table that another one of it changes.
--
-- https://ydb.tech/docs/en/concepts/transactions
-- https://ydb.tech/docs/en/yql/reference/syntax/declare
-- https://ydb.tech/docs/en/yql/reference/syntax/select/from_as_table
-- https://ydb.tech/docs/en/yql/reference/syntax/update
-- https://ydb.tech/docs/en/yql/reference/syntax/insert_into
-- https://ydb.tech/docs/en/yql/reference/syntax/delete

-- name: new_order_customer
-- access: read
DECLARE $w_id AS Int32;
DECLARE $d_id AS Int32;
DECLARE $c_id AS Int32;
SELECT w.w_tax AS w_tax, c.c_discount AS c_discount, c.c_last AS c_last, c.c_credit AS c_credit
FROM warehouse AS w
JOIN customer AS c ON c.c_w_id = w.w_id
WHERE w.w_id = $w_id AND c.c_w_id = $w_id AND c.c_d_id = $d_id AND c.c_id = $c_id;

-- name: new_order_district
DECLARE $w_id AS Int32;
DECLARE $d_id AS Int32;
SELECT d_next_o_id AS o_id, d_tax FROM district WHERE d_w_id = $w_id AND d_id = $d_id;
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $w_id AND d_id = $d_id;

-- name: new_order_item
-- access: read
DECLARE $lines AS List<Struct<place: Int32, i_id: Int32>>;
SELECT l.place AS place, i.i_price AS i_price, i.i_name AS i_name, i.i_data AS i_data
FROM AS_TABLE($lines) AS l
JOIN item AS i ON i.i_id = l.i_id;

-- No stock row is in two places of one call: of two rows with one key, UPDATE ON would write one.
-- name: new_order_stock
DECLARE $d_id AS Int32;
DECLARE $lines AS List<Struct<place: Int32, supply_w_id: Int32, i_id: Int32, quantity: Int32, remote: Int32>>;
$stock = (
    SELECT l.place AS place, s.s_w_id AS s_w_id, s.s_i_id AS s_i_id,
           CASE WHEN s.s_quantity >= l.quantity + 10 THEN s.s_quantity - l.quantity
                ELSE s.s_quantity - l.quantity + 91 END AS s_quantity,
           s.s_ytd + l.quantity AS s_ytd, s.s_order_cnt + 1 AS s_order_cnt, s.s_remote_cnt + l.remote AS s_remote_cnt,
           CASE $d_id WHEN 1 THEN s.s_dist_01 WHEN 2 THEN s.s_dist_02 WHEN 3 THEN s.s_dist_03 WHEN 4 THEN s.s_dist_04
                      WHEN 5 THEN s.s_dist_05 WHEN 6 THEN s.s_dist_06 WHEN 7 THEN s.s_dist_07 WHEN 8 THEN s.s_dist_08
                      WHEN 9 THEN s.s_dist_09 ELSE s.s_dist_10 END AS s_dist_xx,
           s.s_data AS s_data
    FROM AS_TABLE($lines) AS l
    JOIN stock AS s ON s.s_w_id = l.supply_w_id AND s.s_i_id = l.i_id
);
SELECT place, s_quantity, s_dist_xx, s_data FROM $stock;
UPDATE stock ON SELECT s_w_id, s_i_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt FROM $stock;

-- name: new_order_order
DECLARE $w_id AS Int32;
DECLARE $d_id AS Int32;
DECLARE $o_id AS Int32;
DECLARE $c_id AS Int32;
DECLARE $ol_cnt AS Int32;
DECLARE $all_local AS Int32;
$now = CurrentUtcTimestamp();
SELECT $now AS o_entry_d;
INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
VALUES ($w_id, $d_id, $o_id, $c_id, $now, $ol_cnt, $all_local);

-- name: new_order_open
DECLARE $w_id AS Int32;
DECLARE $d_id AS Int32;
DECLARE $o_id AS Int32;
SELECT 1 AS affected;
INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($w_id, $d_id, $o_id);

-- name: new_order_line
DECLARE $w_id AS Int32;
DECLARE $d_id AS Int32;
DECLARE $o_id AS Int32;
DECLARE $lines AS List<Struct<number: Int32, i_id: Int32, supply_w_id: Int32, quantity: Int32, amount: Int64,
    dist_info: Utf8>>;
SELECT ListLength($lines) AS affected;
INSERT INTO order_line
SELECT $w_id AS ol_w_id, $d_id AS ol_d_id, $o_id AS ol_o_id, number AS ol_number, i_id AS ol_i_id,
       supply_w_id AS ol_supply_w_id, quantity AS ol_quantity, amount AS ol_amount, dist_info AS ol_dist_info
FROM AS_TABLE($lines);

-- name: payment_warehouse
DECLARE $w_id AS Int32;
DECLARE $amount AS Int64;
SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = $w_id;
UPDATE warehouse SET w_ytd = w_ytd + $amount WHERE w_id = $w_id;

-- name: payment_district
DECLARE $w_id AS Int32;
DECLARE $d_id AS Int32;
DECLARE $amount AS Int64;
SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = $w_id AND d_id = $d_id;
UPDATE district SET d_ytd = d_ytd + $amount WHERE d_w_id = $w_id AND d_id = $d_id;

-- name: payment_customer_by_id
DECLARE $w_id AS Int32;
DECLARE $d_id AS Int32;
DECLARE $c_w_id AS Int32;
DECLARE $c_d_id AS Int32;
DECLARE $c_id AS Int32;
DECLARE $amount AS Int64;
$field = ($number, $width) -> (String::LeftPad(CAST($number AS String), $width, " "));
$cents = String::LeftPad(CAST($amount % 100 AS String), 2ul, "0");
$paid = String::LeftPad(CAST($amount / 100 AS String) || "." || $cents, 7ul, " ");
$note = ($id) -> (Unwrap(CAST(
    $field($id, 4ul) || " " || $field($c_d_id, 2ul) || " " || $field($c_w_id, 4ul) || " " || $field($d_id, 2ul) || " "
    || $field($w_id, 4ul) || " $" || $paid || " " AS Utf8)));
$customer = (
    SELECT c_w_id, c_d_id, c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
           c_since, c_credit, c_credit_lim, c_discount, c_balance - $amount AS c_balance,
           c_ytd_payment + $amount AS c_ytd_payment, c_payment_cnt + 1 AS c_payment_cnt,
           IF(c_credit = "BC"u, Unicode::Substring($note(c_id) || c_data, 0ul, 500ul), c_data) AS c_data
    FROM customer
    WHERE c_w_id = $c_w_id AND c_d_id = $c_d_id AND c_id = $c_id
);
SELECT c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
       c_credit_lim, c_discount, c_balance,
       IF(c_credit = "BC"u, Unicode::Substring(c_data, 0ul, 200ul), ""u) AS c_data
FROM $customer;
UPDATE customer ON
SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, c_payment_cnt, c_data FROM $customer;

-- The customer at position ceil(n/2) of the n who bear the name, in the order of C_FIRST (clause 2.5.2.2). Names never
-- change.
-- name: payment_customer_by_name
DECLARE $w_id AS Int32;
DECLARE $d_id AS Int32;
DECLARE $c_w_id AS Int32;
DECLARE $c_d_id AS Int32;
DECLARE $c_last AS Utf8;
DECLARE $amount AS Int64;
$named = (
    SELECT c_w_id, c_d_id, c_id, c_first
    FROM customer VIEW customer_by_name
    WHERE c_w_id = $c_w_id AND c_d_id = $c_d_id AND c_last = $c_last
);
$ranked = (
    SELECT c_w_id, c_d_id, c_id, ROW_NUMBER() OVER by_first AS place
    FROM $named
    WINDOW by_first AS (ORDER BY c_first, c_id)
);
$middle = (SELECT (COUNT(*) + 1ul) / 2ul AS place FROM $named);
$chosen = (
    SELECT r.c_w_id AS c_w_id, r.c_d_id AS c_d_id, r.c_id AS c_id
    FROM $ranked AS r
    JOIN $middle AS m ON m.place = r.place
);
$field = ($number, $width) -> (String::LeftPad(CAST($number AS String), $width, " "));
$cents = String::LeftPad(CAST($amount % 100 AS String), 2ul, "0");
$paid = String::LeftPad(CAST($amount / 100 AS String) || "." || $cents, 7ul, " ");
$note = ($id) -> (Unwrap(CAST(
    $field($id, 4ul) || " " || $field($c_d_id, 2ul) || " " || $field($c_w_id, 4ul) || " " || $field($d_id, 2ul) || " "
    || $field($w_id, 4ul) || " $" || $paid || " " AS Utf8)));
$customer = (
    SELECT c.c_w_id AS c_w_id, c.c_d_id AS c_d_id, c.c_id AS c_id, c.c_first AS c_first, c.c_middle AS c_middle,
           c.c_last AS c_last, c.c_street_1 AS c_street_1, c.c_street_2 AS c_street_2, c.c_city AS c_city,
           c.c_state AS c_state, c.c_zip AS c_zip, c.c_phone AS c_phone, c.c_since AS c_since, c.c_credit AS c_credit,
           c.c_credit_lim AS c_credit_lim, c.c_discount AS c_discount, c.c_balance - $amount AS c_balance,
           c.c_ytd_payment + $amount AS c_ytd_payment, c.c_payment_cnt + 1 AS c_payment_cnt,
           IF(c.c_credit = "BC"u, Unicode::Substring($note(c.c_id) || c.c_data, 0ul, 500ul), c.c_data) AS c_data
    FROM $chosen AS chosen
    JOIN customer AS c ON c.c_w_id = chosen.c_w_id AND c.c_d_id = chosen.c_d_id AND c.c_id = chosen.c_id
);
SELECT c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
       c_credit_lim, c_discount, c_balance,
       IF(c_credit = "BC"u, Unicode::Substring(c_data, 0ul, 200ul), ""u) AS c_data
FROM $customer;
UPDATE customer ON
SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, c_payment_cnt, c_data FROM $customer;

-- The number makes the key unique within a microsecond; INSERT refuses a key that is there.
-- name: payment_history
DECLARE $c_id AS Int32;
DECLARE $c_d_id AS Int32;
DECLARE $c_w_id AS Int32;
DECLARE $d_id AS Int32;
DECLARE $w_id AS Int32;
DECLARE $amount AS Int64;
DECLARE $data AS Utf8;
$now = CurrentUtcTimestamp();
SELECT $now AS h_date;
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data, h_number)
VALUES ($c_id, $c_d_id, $c_w_id, $d_id, $w_id, $now, $amount, $data, RandomNumber($data));

-- name: order_status_by_id
-- access: read
DECLARE $w_id AS Int32;
DECLARE $d_id AS Int32;
DECLARE $c_id AS Int32;
$newest = (
    SELECT o_w_id, o_d_id, o_c_id, o_id, o_entry_d, o_carrier_id
    FROM orders VIEW orders_by_customer
    WHERE o_w_id = $w_id AND o_d_id = $d_id AND o_c_id = $c_id
    ORDER BY o_w_id DESC, o_d_id DESC, o_c_id DESC, o_id DESC
    LIMIT 1
);
SELECT c.c_id AS c_id, c.c_balance AS c_balance, c.c_first AS c_first, c.c_middle AS c_middle, c.c_last AS c_last,
       o.o_id AS o_id, o.o_entry_d AS o_entry_d, o.o_carrier_id AS o_carrier_id, l.ol_supply_w_id AS ol_supply_w_id,
       l.ol_i_id AS ol_i_id, l.ol_quantity AS ol_quantity, l.ol_amount AS ol_amount, l.ol_delivery_d AS ol_delivery_d,
       l.ol_number AS ol_number
FROM $newest AS o
JOIN customer AS c ON c.c_w_id = o.o_w_id AND c.c_d_id = o.o_d_id AND c.c_id = o.o_c_id
JOIN order_line AS l ON l.ol_w_id = o.o_w_id AND l.ol_d_id = o.o_d_id AND l.ol_o_id = o.o_id
ORDER BY ol_number;

-- name: order_status_by_name
-- access: read
DECLARE $w_id AS Int32;
DECLARE $d_id AS Int32;
DECLARE $c_last AS Utf8;
$named = (
    SELECT c_w_id, c_d_id, c_id, c_first
    FROM customer VIEW customer_by_name
    WHERE c_w_id = $w_id AND c_d_id = $d_id AND c_last = $c_last
);
$ranked = (
    SELECT c_w_id, c_d_id, c_id, ROW_NUMBER() OVER by_first AS place
    FROM $named
    WINDOW by_first AS (ORDER BY c_first, c_id)
);
$middle = (SELECT (COUNT(*) + 1ul) / 2ul AS place FROM $named);
$chosen = (
    SELECT r.c_w_id AS c_w_id, r.c_d_id AS c_d_id, r.c_id AS c_id
    FROM $ranked AS r
    JOIN $middle AS m ON m.place = r.place
);
$last = (
    SELECT chosen.c_w_id AS c_w_id, chosen.c_d_id AS c_d_id, chosen.c_id AS c_id, MAX(o.o_id) AS o_id
    FROM $chosen AS chosen
    JOIN orders VIEW orders_by_customer AS o
      ON o.o_w_id = chosen.c_w_id AND o.o_d_id = chosen.c_d_id AND o.o_c_id = chosen.c_id
    GROUP BY chosen.c_w_id, chosen.c_d_id, chosen.c_id
);
SELECT c.c_id AS c_id, c.c_balance AS c_balance, c.c_first AS c_first, c.c_middle AS c_middle, c.c_last AS c_last,
       o.o_id AS o_id, o.o_entry_d AS o_entry_d, o.o_carrier_id AS o_carrier_id, l.ol_supply_w_id AS ol_supply_w_id,
       l.ol_i_id AS ol_i_id, l.ol_quantity AS ol_quantity, l.ol_amount AS ol_amount, l.ol_delivery_d AS ol_delivery_d,
       l.ol_number AS ol_number
FROM $last AS newest
JOIN customer AS c ON c.c_w_id = newest.c_w_id AND c.c_d_id = newest.c_d_id AND c.c_id = newest.c_id
JOIN orders AS o ON o.o_w_id = newest.c_w_id AND o.o_d_id = newest.c_d_id AND o.o_id = newest.o_id
JOIN order_line AS l ON l.ol_w_id = newest.c_w_id AND l.ol_d_id = newest.c_d_id AND l.ol_o_id = newest.o_id
ORDER BY ol_number;

-- Takes the oldest open order of each district that is asked for. Only the head of each district is read, so that
-- New-Orders, which append, do not break this transaction's locks.
-- name: delivery_take
DECLARE $w_id AS Int32;
DECLARE $districts AS List<Struct<d_id: Int32>>;
$oldest_1 = (SELECT no_w_id, no_d_id, no_o_id FROM new_order
             WHERE no_w_id = $w_id AND no_d_id = 1 ORDER BY no_w_id, no_d_id, no_o_id LIMIT 1);
$oldest_2 = (SELECT no_w_id, no_d_id, no_o_id FROM new_order
             WHERE no_w_id = $w_id AND no_d_id = 2 ORDER BY no_w_id, no_d_id, no_o_id LIMIT 1);
$oldest_3 = (SELECT no_w_id, no_d_id, no_o_id FROM new_order
             WHERE no_w_id = $w_id AND no_d_id = 3 ORDER BY no_w_id, no_d_id, no_o_id LIMIT 1);
$oldest_4 = (SELECT no_w_id, no_d_id, no_o_id FROM new_order
             WHERE no_w_id = $w_id AND no_d_id = 4 ORDER BY no_w_id, no_d_id, no_o_id LIMIT 1);
$oldest_5 = (SELECT no_w_id, no_d_id, no_o_id FROM new_order
             WHERE no_w_id = $w_id AND no_d_id = 5 ORDER BY no_w_id, no_d_id, no_o_id LIMIT 1);
$oldest_6 = (SELECT no_w_id, no_d_id, no_o_id FROM new_order
             WHERE no_w_id = $w_id AND no_d_id = 6 ORDER BY no_w_id, no_d_id, no_o_id LIMIT 1);
$oldest_7 = (SELECT no_w_id, no_d_id, no_o_id FROM new_order
             WHERE no_w_id = $w_id AND no_d_id = 7 ORDER BY no_w_id, no_d_id, no_o_id LIMIT 1);
$oldest_8 = (SELECT no_w_id, no_d_id, no_o_id FROM new_order
             WHERE no_w_id = $w_id AND no_d_id = 8 ORDER BY no_w_id, no_d_id, no_o_id LIMIT 1);
$oldest_9 = (SELECT no_w_id, no_d_id, no_o_id FROM new_order
             WHERE no_w_id = $w_id AND no_d_id = 9 ORDER BY no_w_id, no_d_id, no_o_id LIMIT 1);
$oldest_10 = (SELECT no_w_id, no_d_id, no_o_id FROM new_order
              WHERE no_w_id = $w_id AND no_d_id = 10 ORDER BY no_w_id, no_d_id, no_o_id LIMIT 1);
$heads = (
    SELECT no_w_id, no_d_id, no_o_id FROM $oldest_1
    UNION ALL SELECT no_w_id, no_d_id, no_o_id FROM $oldest_2
    UNION ALL SELECT no_w_id, no_d_id, no_o_id FROM $oldest_3
    UNION ALL SELECT no_w_id, no_d_id, no_o_id FROM $oldest_4
    UNION ALL SELECT no_w_id, no_d_id, no_o_id FROM $oldest_5
    UNION ALL SELECT no_w_id, no_d_id, no_o_id FROM $oldest_6
    UNION ALL SELECT no_w_id, no_d_id, no_o_id FROM $oldest_7
    UNION ALL SELECT no_w_id, no_d_id, no_o_id FROM $oldest_8
    UNION ALL SELECT no_w_id, no_d_id, no_o_id FROM $oldest_9
    UNION ALL SELECT no_w_id, no_d_id, no_o_id FROM $oldest_10
);
$taken = (
    SELECT h.no_w_id AS no_w_id, h.no_d_id AS no_d_id, h.no_o_id AS no_o_id
    FROM $heads AS h
    JOIN AS_TABLE($districts) AS d ON d.d_id = h.no_d_id
);
SELECT no_d_id, no_o_id FROM $taken;
DELETE FROM new_order ON SELECT no_w_id, no_d_id, no_o_id FROM $taken;

-- name: delivery_order
DECLARE $w_id AS Int32;
DECLARE $carrier_id AS Int32;
DECLARE $taken AS List<Struct<d_id: Int32, o_id: Int32>>;
$keys = (SELECT $w_id AS w_id, d_id, o_id FROM AS_TABLE($taken));
$orders = (
    SELECT o.o_w_id AS o_w_id, o.o_d_id AS o_d_id, o.o_id AS o_id, o.o_c_id AS o_c_id
    FROM $keys AS k
    JOIN orders AS o ON o.o_w_id = k.w_id AND o.o_d_id = k.d_id AND o.o_id = k.o_id
);
SELECT o_d_id, o_c_id FROM $orders;
UPDATE orders ON SELECT o_w_id, o_d_id, o_id, $carrier_id AS o_carrier_id FROM $orders;

-- name: delivery_lines
DECLARE $w_id AS Int32;
DECLARE $taken AS List<Struct<d_id: Int32, o_id: Int32>>;
$now = CurrentUtcTimestamp();
$keys = (SELECT $w_id AS w_id, d_id, o_id FROM AS_TABLE($taken));
$lines = (
    SELECT l.ol_w_id AS ol_w_id, l.ol_d_id AS ol_d_id, l.ol_o_id AS ol_o_id, l.ol_number AS ol_number,
           l.ol_amount AS ol_amount
    FROM $keys AS k
    JOIN order_line AS l ON l.ol_w_id = k.w_id AND l.ol_d_id = k.d_id AND l.ol_o_id = k.o_id
);
SELECT ol_d_id, SUM(ol_amount) AS amount FROM $lines GROUP BY ol_d_id;
UPDATE order_line ON SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, $now AS ol_delivery_d FROM $lines;

-- name: delivery_customer
DECLARE $w_id AS Int32;
DECLARE $taken AS List<Struct<d_id: Int32, c_id: Int32, amount: Int64>>;
$keys = (SELECT $w_id AS w_id, d_id, c_id, amount FROM AS_TABLE($taken));
$customers = (
    SELECT c.c_w_id AS c_w_id, c.c_d_id AS c_d_id, c.c_id AS c_id, c.c_balance + k.amount AS c_balance,
           c.c_delivery_cnt + 1 AS c_delivery_cnt
    FROM $keys AS k
    JOIN customer AS c ON c.c_w_id = k.w_id AND c.c_d_id = k.d_id AND c.c_id = k.c_id
);
SELECT COUNT(*) AS affected FROM $customers;
UPDATE customer ON SELECT c_w_id, c_d_id, c_id, c_balance, c_delivery_cnt FROM $customers;

-- Stock has one row an item, so that an item sold several times counts once.
-- name: stock_level
-- access: read
DECLARE $w_id AS Int32;
DECLARE $d_id AS Int32;
DECLARE $threshold AS Int32;
$next = (SELECT d_next_o_id FROM district WHERE d_w_id = $w_id AND d_id = $d_id);
$sold = (
    SELECT DISTINCT ol_w_id, ol_i_id
    FROM order_line
    WHERE ol_w_id = $w_id AND ol_d_id = $d_id AND ol_o_id >= $next - 20 AND ol_o_id < $next
);
SELECT COUNT(*) AS low_stock
FROM $sold AS l
JOIN stock AS s ON s.s_w_id = l.ol_w_id AND s.s_i_id = l.ol_i_id
WHERE s.s_quantity < $threshold;
