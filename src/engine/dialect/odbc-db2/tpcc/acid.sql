-- Statements that Db2 takes in another form: every SELECT has a table.
-- name: order
-- access: read
-- takes: w, d, o
-- gives: rows
SELECT (SELECT COUNT(*) FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_id = ?3)
     + (SELECT COUNT(*) FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 AND no_o_id = ?3)
     + (SELECT COUNT(*) FROM order_line WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3)
  FROM SYSIBM.SYSDUMMY1;

-- name: prices
-- access: read
-- takes: x, y
-- gives: price_x money, price_y money
SELECT (SELECT i_price FROM item WHERE i_id = ?1), (SELECT i_price FROM item WHERE i_id = ?2) FROM SYSIBM.SYSDUMMY1;

-- name: date_open_lines
-- access: write
-- takes: w, d
UPDATE order_line SET ol_delivery_d = {now}
 WHERE ol_w_id = ?1 AND ol_d_id = ?2
   AND ol_o_id IN (SELECT no_o_id FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2);
