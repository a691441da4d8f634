-- name: effects
-- title: New-Orders and Payments committed, orders delivered, each up to a constant: a run adds what it did
-- An order that is placed and no longer open has been delivered, so the third total needs no look at the orders.
SELECT sum(d_next_o_id) AS new_orders,
       (SELECT count(*) FROM history) AS payments,
       sum(d_next_o_id) - (SELECT count(*) FROM new_order) AS deliveries
FROM district;
