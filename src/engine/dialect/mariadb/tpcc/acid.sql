-- Differences of MariaDB and MySQL: MySQL's casts know whole numbers as SIGNED only.

-- name: history
-- access: read
-- takes: w, d, c
-- gives: payments
SELECT CAST(count(*) AS SIGNED) FROM history WHERE h_c_w_id = ?1 AND h_c_d_id = ?2 AND h_c_id = ?3;

-- name: stock
-- access: read
-- takes: w, i
-- gives: order_cnt, sold
SELECT s_order_cnt, s_ytd FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2;

-- Rows of an order in all three tables.
-- name: order
-- access: read
-- takes: w, d, o
-- gives: rows
SELECT CAST((SELECT count(*) FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_id = ?3)
          + (SELECT count(*) FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 AND no_o_id = ?3)
          + (SELECT count(*) FROM order_line WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3) AS SIGNED);
