-- Distributes the tables over the nodes by warehouse. All are co-located: the rows of a warehouse are on one node.
-- ITEM, which is never written, has a copy on each node.
--
-- The history is with the warehouse that was paid, not with the customer's: a Payment writes both rows on one node.

SELECT create_distributed_table('tpcc.warehouse', 'w_id', colocate_with => 'none');
SELECT create_distributed_table('tpcc.district', 'd_w_id', colocate_with => 'tpcc.warehouse');
SELECT create_distributed_table('tpcc.customer', 'c_w_id', colocate_with => 'tpcc.warehouse');
SELECT create_distributed_table('tpcc.history', 'h_w_id', colocate_with => 'tpcc.warehouse');
SELECT create_distributed_table('tpcc.new_order', 'no_w_id', colocate_with => 'tpcc.warehouse');
SELECT create_distributed_table('tpcc.orders', 'o_w_id', colocate_with => 'tpcc.warehouse');
SELECT create_distributed_table('tpcc.order_line', 'ol_w_id', colocate_with => 'tpcc.warehouse');
SELECT create_distributed_table('tpcc.stock', 's_w_id', colocate_with => 'tpcc.warehouse');
SELECT create_reference_table('tpcc.item');
