-- How a client calls the procedures of procedures.sql. The read-only ones return the rows of the statements that they
-- replace. The arguments of New-Order are w_id, d_id, c_id, the number of lines, whether all are local, the number of
-- passes; and for each line, as a row of the JSON array ?*, its number, supplying warehouse, item, quantity and pass.

-- name: new_order
-- reply: lines
CALL new_order(?1, ?2, ?3, ?4, ?5, ?6, ?*);

-- name: payment
-- reply: lines
CALL payment(?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: order_status_by_id
-- access: read
CALL order_status(?1, ?2, ?3, NULL);

-- name: order_status_by_name
-- access: read
CALL order_status(?1, ?2, NULL, ?3);

-- name: delivery
-- reply: pairs
CALL delivery(?1, ?2);

-- name: stock_level
-- access: read
CALL stock_level(?1, ?2, ?3);
