-- name: effects
-- title: New-Orders and Payments committed, orders delivered, each up to a constant: a run adds what it did
-- Oracle takes no subquery next to a total.
SELECT ordered AS new_orders, paid AS payments, ordered - still_open AS deliveries
FROM (SELECT SUM(d_next_o_id) AS ordered FROM district) districts
CROSS JOIN (SELECT COUNT(*) AS paid FROM history) payments
CROSS JOIN (SELECT COUNT(*) AS still_open FROM new_order) orders_in_work;
