-- Secondary indexes, made when the rows are there. The columns of the primary key are a part of each.
-- https://ydb.tech/docs/en/yql/reference/syntax/alter_table/indexes

-- name: customer_by_name
-- table: customer
ALTER TABLE customer ADD INDEX customer_by_name GLOBAL ON (c_w_id, c_d_id, c_last) COVER (c_first);

-- name: orders_by_customer
-- table: orders
ALTER TABLE orders ADD INDEX orders_by_customer GLOBAL ON (o_w_id, o_d_id, o_c_id);
