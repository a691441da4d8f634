-- Primary keys (clause 1.2) and the two further access paths that the transactions need, created after the rows are
-- loaded. The largest tables come first, because several sessions share the work.

-- name: order_line_pkey
ALTER TABLE tpcc.order_line ADD CONSTRAINT order_line_pkey PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number);

-- name: stock_pkey
ALTER TABLE tpcc.stock ADD CONSTRAINT stock_pkey PRIMARY KEY (s_w_id, s_i_id);

-- name: customer_pkey
ALTER TABLE tpcc.customer ADD CONSTRAINT customer_pkey PRIMARY KEY (c_w_id, c_d_id, c_id);

-- name: orders_pkey
ALTER TABLE tpcc.orders ADD CONSTRAINT orders_pkey PRIMARY KEY (o_w_id, o_d_id, o_id);

-- Payment and Order-Status by last name: the customers in the order of C_FIRST.
-- name: customer_name
CREATE INDEX customer_name ON tpcc.customer (c_w_id, c_d_id, c_last, c_first, c_id);

-- Order-Status: the newest order of a customer.
-- name: orders_customer
CREATE INDEX orders_customer ON tpcc.orders (o_w_id, o_d_id, o_c_id, o_id);

-- name: new_order_pkey
ALTER TABLE tpcc.new_order ADD CONSTRAINT new_order_pkey PRIMARY KEY (no_w_id, no_d_id, no_o_id);

-- name: item_pkey
ALTER TABLE tpcc.item ADD CONSTRAINT item_pkey PRIMARY KEY (i_id);

-- name: district_pkey
ALTER TABLE tpcc.district ADD CONSTRAINT district_pkey PRIMARY KEY (d_w_id, d_id);

-- name: warehouse_pkey
ALTER TABLE tpcc.warehouse ADD CONSTRAINT warehouse_pkey PRIMARY KEY (w_id);
