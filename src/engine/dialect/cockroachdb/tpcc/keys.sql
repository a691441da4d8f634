-- The two access paths besides the primary keys that the transactions need, created after the rows are loaded.

-- Payment and Order-Status by last name: the customers in the order of C_FIRST.
-- name: customer_name
CREATE INDEX customer_name ON tpcc.customer (c_w_id, c_d_id, c_last, c_first, c_id);

-- Order-Status: the newest order of a customer.
-- name: orders_customer
CREATE INDEX orders_customer ON tpcc.orders (o_w_id, o_d_id, o_c_id, o_id);
