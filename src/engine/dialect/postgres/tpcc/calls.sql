-- How a client calls the procedures of procedures.sql. The read-only ones return the rows of the statements that they
-- replace. The arguments of New-Order are w_id, d_id, c_id, the number of lines, whether all are local, the number of
-- passes; and for each line its number, supplying warehouse, item, quantity and pass.

-- name: new_order
-- reply: arrays
CALL tpcc.new_order($1::integer, $2::integer, $3::integer, $7::integer[], $8::integer[], $9::integer[], $10::integer[],
                    $11::integer[], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

-- name: payment
SELECT * FROM tpcc.payment($1::integer, $2::integer, $3::integer, $4::integer, $5::integer, $6::text, $7::numeric);

-- name: order_status_by_id
-- access: read
SELECT * FROM tpcc.order_status_by_id($1::integer, $2::integer, $3::integer);

-- name: order_status_by_name
-- access: read
SELECT * FROM tpcc.order_status_by_name($1::integer, $2::integer, $3::text);

-- name: delivery
-- reply: arrays
SELECT * FROM tpcc.delivery($1::integer, $2::integer);

-- name: stock_level
-- access: read
SELECT * FROM tpcc.stock_level($1::integer, $2::integer, $3::integer);
