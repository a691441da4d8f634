-- Differences between Citus and PostgreSQL. The warehouses of the lines are in a separate condition: it limits the
-- query to the shards of these warehouses, which for nine orders in ten is one.

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
 WHERE s_w_id = ANY ($3::integer[]) AND s_w_id = line.supply_w_id AND s_i_id = line.i_id
RETURNING line.place, s_quantity,
          CASE $1::integer WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
                           WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
                           WHEN 9 THEN s_dist_09 WHEN 10 THEN s_dist_10 END AS s_dist_xx,
          s_data;

-- In a CASE, Citus accepts only immutable functions, which format() is not; and it does not push down a CASE that
-- compares a CHAR column by WHEN 'BC'.

-- name: payment_customer_by_id
-- access: write
UPDATE tpcc.customer
   SET c_balance = c_balance - $6::numeric,
       c_ytd_payment = c_ytd_payment + $6::numeric,
       c_payment_cnt = c_payment_cnt + 1,
       c_data = CASE WHEN c_credit = 'BC' THEN left(
                    lpad(c_id::text, 4) || lpad(c_d_id::text, 3) || ' '
                    || lpad(c_w_id::text, greatest(4, length(c_w_id::text)))
                    || lpad($2::integer::text, 3) || ' '
                    || lpad($1::integer::text, greatest(4, length($1::integer::text)))
                    || ' $' || lpad($6::numeric::text, 7) || ' ' || c_data, 500)
                              ELSE c_data END
 WHERE c_w_id = $3::integer AND c_d_id = $4::integer AND c_id = $5::integer
RETURNING c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
          c_credit_lim, c_discount, c_balance, CASE WHEN c_credit = 'BC' THEN left(c_data, 200) ELSE '' END AS c_data;

-- name: payment_customer_by_name
-- access: write
UPDATE tpcc.customer
   SET c_balance = c_balance - $6::numeric,
       c_ytd_payment = c_ytd_payment + $6::numeric,
       c_payment_cnt = c_payment_cnt + 1,
       c_data = CASE WHEN c_credit = 'BC' THEN left(
                    lpad(c_id::text, 4) || lpad(c_d_id::text, 3) || ' '
                    || lpad(c_w_id::text, greatest(4, length(c_w_id::text)))
                    || lpad($2::integer::text, 3) || ' '
                    || lpad($1::integer::text, greatest(4, length($1::integer::text)))
                    || ' $' || lpad($6::numeric::text, 7) || ' ' || c_data, 500)
                              ELSE c_data END
 WHERE c_w_id = $3::integer AND c_d_id = $4::integer
   AND c_id = (SELECT namesake.c_id
                 FROM (SELECT c_id, row_number() OVER (ORDER BY c_first, c_id) AS place, count(*) OVER () AS total
                         FROM tpcc.customer
                        WHERE c_w_id = $3::integer AND c_d_id = $4::integer AND c_last = $5::text) AS namesake
                WHERE namesake.place = (namesake.total + 1) / 2)
RETURNING c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
          c_credit_lim, c_discount, c_balance, CASE WHEN c_credit = 'BC' THEN left(c_data, 200) ELSE '' END AS c_data;
