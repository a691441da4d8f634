-- The relationships of clause 1.2 as constraints. The standard does not require them; a result says whether they were
-- declared.
--
-- InnoDB needs an index on both sides. If the referring columns have none it creates one: on history twice, on orders
-- none (orders_customer serves), on stock by item, on order_line by the stock row that supplied it. Every New-Order
-- then maintains the last of these, too.

-- name: district_warehouse
ALTER TABLE district ADD CONSTRAINT district_warehouse FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id);

-- name: customer_district
ALTER TABLE customer ADD CONSTRAINT customer_district FOREIGN KEY (c_w_id, c_d_id) REFERENCES district (d_w_id, d_id);

-- name: history_customer
ALTER TABLE history
    ADD CONSTRAINT history_customer FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer (c_w_id, c_d_id, c_id);

-- name: history_district
ALTER TABLE history ADD CONSTRAINT history_district FOREIGN KEY (h_w_id, h_d_id) REFERENCES district (d_w_id, d_id);

-- name: orders_customer_key
ALTER TABLE orders
    ADD CONSTRAINT orders_customer_key FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer (c_w_id, c_d_id, c_id);

-- name: new_order_orders
ALTER TABLE new_order
    ADD CONSTRAINT new_order_orders FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders (o_w_id, o_d_id, o_id);

-- name: stock_warehouse
ALTER TABLE stock ADD CONSTRAINT stock_warehouse FOREIGN KEY (s_w_id) REFERENCES warehouse (w_id);

-- name: stock_item
ALTER TABLE stock ADD CONSTRAINT stock_item FOREIGN KEY (s_i_id) REFERENCES item (i_id);

-- name: order_line_orders
ALTER TABLE order_line
    ADD CONSTRAINT order_line_orders FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders (o_w_id, o_d_id, o_id);

-- name: order_line_stock
ALTER TABLE order_line
    ADD CONSTRAINT order_line_stock FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock (s_w_id, s_i_id);
