-- The statements of the five transactions, sent by the client (--via statements): prepared once a session, pipelined.
--
-- Parameters that stand for several rows come as arrays and are taken apart by unnest. The planner joins a few such
-- rows with a table by a nested loop over its primary key, in the arrays' order, so that rows are locked in the order
-- in which the client sorted them.
--
-- Isolation: READ COMMITTED is enough, as each row that a transaction reads in order to write it is read by the very
-- statement that writes it, and each transaction that only reads is one statement, that is one snapshot. Rows read
-- without a lock (customer's discount, name and credit, taxes, items) are read once in a transaction.

-- name: new_order_customer
-- access: read
SELECT w_tax, c_discount, c_last, c_credit
  FROM tpcc.warehouse CROSS JOIN tpcc.customer
 WHERE w_id = $1::integer
   AND c_w_id = $1::integer AND c_d_id = $2::integer AND c_id = $3::integer;

-- name: new_order_district
-- access: write
UPDATE tpcc.district
   SET d_next_o_id = d_next_o_id + 1
 WHERE d_w_id = $1::integer AND d_id = $2::integer
RETURNING d_next_o_id - 1 AS o_id, d_tax;

-- name: new_order_item
-- access: read
SELECT line.place, i_price, i_name, i_data
  FROM unnest($1::integer[], $2::integer[]) AS line (place, i_id)
  JOIN tpcc.item ON item.i_id = line.i_id;

-- A call never names one stock row twice: of rows that match one row twice, UPDATE would take only one.
-- name: new_order_stock
-- access: write
UPDATE tpcc.stock
   SET s_quantity = CASE WHEN s_quantity >= line.quantity + 10 THEN s_quantity - line.quantity
                         ELSE s_quantity - line.quantity + 91 END,
       s_ytd = s_ytd + line.quantity,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + line.remote
  FROM unnest($2::integer[], $3::integer[], $4::integer[], $5::integer[], $6::integer[])
       AS line (place, supply_w_id, i_id, quantity, remote)
 WHERE s_w_id = line.supply_w_id AND s_i_id = line.i_id
RETURNING line.place, s_quantity,
          CASE $1::integer WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                           WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                           WHEN 9 THEN s_dist_09 WHEN 10 THEN s_dist_10 END AS s_dist_xx,
          s_data;

-- name: new_order_order
-- access: write
INSERT INTO tpcc.orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
VALUES ($1::integer, $2::integer, $3::integer, $4::integer, CURRENT_TIMESTAMP, NULL, $5::integer, $6::integer)
RETURNING o_entry_d;

-- name: new_order_open
-- access: write
INSERT INTO tpcc.new_order (no_w_id, no_d_id, no_o_id) VALUES ($1::integer, $2::integer, $3::integer);

-- name: new_order_line
-- access: write
INSERT INTO tpcc.order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                             ol_quantity, ol_amount, ol_dist_info)
SELECT $1::integer, $2::integer, $3::integer, line.number, line.i_id, line.supply_w_id, NULL, line.quantity,
       line.amount, line.dist_info
  FROM unnest($4::integer[], $5::integer[], $6::integer[], $7::integer[], $8::numeric[], $9::text[])
       AS line (number, i_id, supply_w_id, quantity, amount, dist_info);

-- name: payment_warehouse
-- access: write
UPDATE tpcc.warehouse
   SET w_ytd = w_ytd + $2::numeric
 WHERE w_id = $1::integer
RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip;

-- name: payment_district
-- access: write
UPDATE tpcc.district
   SET d_ytd = d_ytd + $3::numeric
 WHERE d_w_id = $1::integer AND d_id = $2::integer
RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip;

-- name: payment_customer_by_id
-- access: write
UPDATE tpcc.customer
   SET c_balance = c_balance - $6::numeric,
       c_ytd_payment = c_ytd_payment + $6::numeric,
       c_payment_cnt = c_payment_cnt + 1,
       c_data = CASE c_credit WHEN 'BC' THEN left(format('%4s %2s %4s %2s %4s $%7s %s',
                                                      c_id, c_d_id, c_w_id, $2::integer, $1::integer, $6::numeric,
                                                      c_data), 500)
                              ELSE c_data END
 WHERE c_w_id = $3::integer AND c_d_id = $4::integer AND c_id = $5::integer
RETURNING c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
          c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN left(c_data, 200) ELSE '' END AS c_data;

-- The customer at position ceil(n/2) of the n who bear the name, in the order of C_FIRST (clause 2.5.2.2). Names never
-- change.
-- name: payment_customer_by_name
-- access: write
UPDATE tpcc.customer
   SET c_balance = c_balance - $6::numeric,
       c_ytd_payment = c_ytd_payment + $6::numeric,
       c_payment_cnt = c_payment_cnt + 1,
       c_data = CASE c_credit WHEN 'BC' THEN left(format('%4s %2s %4s %2s %4s $%7s %s',
                                                      c_id, c_d_id, c_w_id, $2::integer, $1::integer, $6::numeric,
                                                      c_data), 500)
                              ELSE c_data END
 WHERE c_w_id = $3::integer AND c_d_id = $4::integer
   AND c_id = (SELECT namesake.c_id
                 FROM (SELECT c_id, row_number() OVER (ORDER BY c_first, c_id) AS place, count(*) OVER () AS total
                         FROM tpcc.customer
                        WHERE c_w_id = $3::integer AND c_d_id = $4::integer AND c_last = $5::text) AS namesake
                WHERE namesake.place = (namesake.total + 1) / 2)
RETURNING c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
          c_credit_lim, c_discount, c_balance, CASE c_credit WHEN 'BC' THEN left(c_data, 200) ELSE '' END AS c_data;

-- name: payment_history
-- access: write
INSERT INTO tpcc.history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
VALUES ($1::integer, $2::integer, $3::integer, $4::integer, $5::integer, CURRENT_TIMESTAMP, $6::numeric, $7::text)
RETURNING h_date;

-- name: order_status_by_id
-- access: read
SELECT c_id, c_balance, c_first, c_middle, c_last, newest.o_id, newest.o_entry_d, newest.o_carrier_id,
       ol_supply_w_id, ol_i_id, ol_quantity, ol_amount, ol_delivery_d
  FROM tpcc.customer
 CROSS JOIN LATERAL (SELECT o_id, o_entry_d, o_carrier_id
                       FROM tpcc.orders
                      WHERE o_w_id = $1::integer AND o_d_id = $2::integer AND o_c_id = customer.c_id
                      ORDER BY o_id DESC
                      LIMIT 1) AS newest
  JOIN tpcc.order_line ON ol_w_id = $1::integer AND ol_d_id = $2::integer AND ol_o_id = newest.o_id
 WHERE c_w_id = $1::integer AND c_d_id = $2::integer AND c_id = $3::integer
 ORDER BY ol_number;

-- name: order_status_by_name
-- access: read
SELECT c_id, c_balance, c_first, c_middle, c_last, newest.o_id, newest.o_entry_d, newest.o_carrier_id,
       ol_supply_w_id, ol_i_id, ol_quantity, ol_amount, ol_delivery_d
  FROM (SELECT c_id, c_balance, c_first, c_middle, c_last,
               row_number() OVER (ORDER BY c_first, c_id) AS place, count(*) OVER () AS total
          FROM tpcc.customer
         WHERE c_w_id = $1::integer AND c_d_id = $2::integer AND c_last = $3::text) AS namesake
 CROSS JOIN LATERAL (SELECT o_id, o_entry_d, o_carrier_id
                       FROM tpcc.orders
                      WHERE o_w_id = $1::integer AND o_d_id = $2::integer AND o_c_id = namesake.c_id
                      ORDER BY o_id DESC
                      LIMIT 1) AS newest
  JOIN tpcc.order_line ON ol_w_id = $1::integer AND ol_d_id = $2::integer AND ol_o_id = newest.o_id
 WHERE namesake.place = (namesake.total + 1) / 2
 ORDER BY ol_number;

-- Takes the oldest open order of each district out of the queue. FOR UPDATE under LIMIT waits for a competitor who
-- holds the oldest one and goes on to the next if that was taken, so two deliveries never take the same order. Orders
-- that came after this statement began are not seen: before a district counts as skipped, the statement is sent again
-- (it then sees them).
-- name: delivery_take
-- access: write
WITH oldest AS MATERIALIZED (
    SELECT queue.no_d_id, queue.no_o_id
      FROM unnest($2::integer[]) AS district (d_id)
     CROSS JOIN LATERAL (SELECT no_d_id, no_o_id
                           FROM tpcc.new_order
                          WHERE no_w_id = $1::integer AND no_d_id = district.d_id
                          ORDER BY no_o_id
                          LIMIT 1
                            FOR UPDATE) AS queue
)
DELETE FROM tpcc.new_order
 USING oldest
 WHERE new_order.no_w_id = $1::integer AND new_order.no_d_id = oldest.no_d_id AND new_order.no_o_id = oldest.no_o_id
RETURNING new_order.no_d_id, new_order.no_o_id;

-- name: delivery_order
-- access: write
UPDATE tpcc.orders
   SET o_carrier_id = $2::integer
  FROM unnest($3::integer[], $4::integer[]) AS taken (d_id, o_id)
 WHERE o_w_id = $1::integer AND o_d_id = taken.d_id AND orders.o_id = taken.o_id
RETURNING taken.d_id, o_c_id;

-- name: delivery_lines
-- access: write
WITH delivered AS (
    UPDATE tpcc.order_line
       SET ol_delivery_d = CURRENT_TIMESTAMP
      FROM unnest($2::integer[], $3::integer[]) AS taken (d_id, o_id)
     WHERE ol_w_id = $1::integer AND ol_d_id = taken.d_id AND ol_o_id = taken.o_id
    RETURNING ol_d_id, ol_amount
)
SELECT ol_d_id, sum(ol_amount) AS amount
  FROM delivered
 GROUP BY ol_d_id;

-- name: delivery_customer
-- access: write
UPDATE tpcc.customer
   SET c_balance = c_balance + taken.amount,
       c_delivery_cnt = c_delivery_cnt + 1
  FROM unnest($2::integer[], $3::integer[], $4::numeric[]) AS taken (d_id, c_id, amount)
 WHERE c_w_id = $1::integer AND c_d_id = taken.d_id AND customer.c_id = taken.c_id;

-- Stock has one row an item, so that an item sold several times counts once. As a join this is fragile: the planner
-- takes the range of orders, whose ends come from another table, for a ninth of all lines of the district, and as these
-- grow it comes to prefer reading the whole stock of the warehouse, fifty times the work. The ends as subqueries and
-- the items as an array leave it no such choice.
-- name: stock_level
-- access: read
SELECT count(*)::integer AS low_stock
  FROM tpcc.stock
 WHERE s_w_id = $1::integer AND s_quantity < $3::integer
   AND s_i_id = ANY (ARRAY(
           SELECT ol_i_id
             FROM tpcc.order_line
            WHERE ol_w_id = $1::integer AND ol_d_id = $2::integer
              AND ol_o_id >= (SELECT d_next_o_id - 20 FROM tpcc.district
                              WHERE d_w_id = $1::integer AND d_id = $2::integer)
              AND ol_o_id < (SELECT d_next_o_id FROM tpcc.district WHERE d_w_id = $1::integer AND d_id = $2::integer)));
