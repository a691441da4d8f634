-- How a client calls the procedures of procedures.sql. The arguments of New-Order are w_id, d_id, c_id, the number of
-- lines, whether all are local, the number of passes; and for each line its number, supplying warehouse, item, quantity
-- and pass. ?*4 is a text of the first four of these, of all lines, with commas between them.

-- name: new_order
{call tpcc.DBA.new_order (?1, ?2, ?3, ?5, ?*4)};

-- name: payment
{call tpcc.DBA.payment (?1, ?2, ?3, ?4, ?5, ?6, ?7)};

-- name: order_status_by_id
-- access: read
{call tpcc.DBA.order_status (?1, ?2, ?3, NULL)};

-- name: order_status_by_name
-- access: read
{call tpcc.DBA.order_status (?1, ?2, NULL, ?3)};

-- name: delivery
{call tpcc.DBA.delivery (?1, ?2)};

-- name: stock_level
-- access: read
{call tpcc.DBA.stock_level (?1, ?2, ?3)};
