-- A difference of SQLite: dates are microseconds since 1970.
-- name: date_open_lines
-- access: write
-- takes: w, d
UPDATE order_line SET ol_delivery_d = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
 WHERE ol_w_id = ?1 AND ol_d_id = ?2
   AND ol_o_id IN (SELECT no_o_id FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2);
