-- How a client calls the procedures of procedures.sql. ?> is a text that the procedure returns in an output parameter:
-- a cursor for a result set would have to outlive the commit. The arguments of New-Order are w_id, d_id, c_id, the
-- number of lines, whether all are local, the number of passes; and for each line its number, supplying warehouse,
-- item, quantity and pass. ?*4 is a text of the first four of these, of all lines, with commas between them.
--
-- Order-Status and Stock-Level are one query each, which takes one round trip as it is.

-- name: new_order
-- reply: lines
{call tpcc_new_order (?1, ?2, ?3, ?4, ?5, ?*4, ?>)};

-- name: payment
-- reply: lines
{call tpcc_payment (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?>)};

-- name: order_status_by_id
-- access: read
SELECT c_id, c_balance, c_first, c_middle, c_last, o_id, o_entry_d, o_carrier_id,
    ol_supply_w_id, ol_i_id, ol_quantity, ol_amount, ol_delivery_d
FROM customer, orders, order_line
WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3
    AND o_w_id = ?1 AND o_d_id = ?2
    AND o_id = (SELECT MAX(newest.o_id) FROM orders newest
                WHERE newest.o_w_id = ?1 AND newest.o_d_id = ?2 AND newest.o_c_id = ?3)
    AND ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = o_id
ORDER BY ol_number;

-- name: order_status_by_name
-- access: read
SELECT c_id, c_balance, c_first, c_middle, c_last, o_id, o_entry_d, o_carrier_id,
    ol_supply_w_id, ol_i_id, ol_quantity, ol_amount, ol_delivery_d
FROM (SELECT c_id, c_balance, c_first, c_middle, c_last, ROW_NUMBER() OVER (ORDER BY c_first, c_id) AS place,
          COUNT(*) OVER () AS total
      FROM customer
      WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_last = ?3) namesake, orders, order_line
WHERE place = FLOOR((total + 1) / 2)
    AND o_w_id = ?1 AND o_d_id = ?2
    AND o_id = (SELECT MAX(newest.o_id) FROM orders newest
                WHERE newest.o_w_id = ?1 AND newest.o_d_id = ?2 AND newest.o_c_id = c_id)
    AND ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = o_id
ORDER BY ol_number;

-- name: delivery
-- reply: pairs
{call tpcc_delivery (?1, ?2, ?>)};

-- name: stock_level
-- access: read
SELECT COUNT(DISTINCT s_i_id)
FROM district, order_line, stock
WHERE d_w_id = ?1 AND d_id = ?2
    AND ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
    AND s_w_id = ?1 AND s_i_id = ol_i_id AND s_quantity < ?3;
