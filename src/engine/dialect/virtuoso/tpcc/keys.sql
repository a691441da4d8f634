-- The two access paths besides the primary keys that the transactions need.

-- name: customer_name
CREATE INDEX customer_name ON tpcc.DBA.customer (c_w_id, c_d_id, c_last, c_first, c_id);

-- name: orders_customer
CREATE UNIQUE INDEX orders_customer ON tpcc.DBA.orders (o_w_id, o_d_id, o_c_id, o_id);
