-- Removes the routines of procedures.sql, by what they take: those of the same name that take something else are not
-- Graymark's. The tables are removed by their names.
DROP PROCEDURE IF EXISTS tpcc.new_order(
    integer, integer, integer, integer[], integer[], integer[], integer[], integer[],
    integer, text, text, timestamptz, numeric, numeric, numeric, integer[], text[], numeric[], integer[], text[]);
DROP FUNCTION IF EXISTS tpcc.payment(integer, integer, integer, integer, integer, text, numeric);
DROP FUNCTION IF EXISTS tpcc.order_status_by_id(integer, integer, integer);
DROP FUNCTION IF EXISTS tpcc.order_status_by_name(integer, integer, text);
DROP FUNCTION IF EXISTS tpcc.delivery(integer, integer);
DROP FUNCTION IF EXISTS tpcc.stock_level(integer, integer, integer);
