-- Removes the routines of procedures.sql; the tables are removed by their names.
DROP PROCEDURE IF EXISTS tpcc.new_order;
DROP FUNCTION IF EXISTS tpcc.payment;
DROP FUNCTION IF EXISTS tpcc.order_status_by_id;
DROP FUNCTION IF EXISTS tpcc.order_status_by_name;
DROP FUNCTION IF EXISTS tpcc.delivery;
DROP FUNCTION IF EXISTS tpcc.stock_level;
