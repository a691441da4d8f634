-- The two access paths beside the primary keys that the transactions need, made after the rows are loaded: InnoDB then
-- sorts and fills them.

-- name: customer_name
-- Payment and Order-Status by last name. The customers of a name are in the order of C_FIRST.
ALTER TABLE customer ADD INDEX customer_name (c_w_id, c_d_id, c_last, c_first, c_id);

-- name: orders_customer
-- Order-Status, for the newest order of a customer.
ALTER TABLE orders ADD INDEX orders_customer (o_w_id, o_d_id, o_c_id, o_id);
