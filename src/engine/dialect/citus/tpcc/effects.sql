-- name: effects
-- title: New-Orders and Payments committed, orders delivered, each up to a constant: a run adds what it did
-- Each total is a subquery of its own: Citus takes none in the list of results.
SELECT numbered.orders AS new_orders, paid.rows AS payments, numbered.orders - still_open.rows AS deliveries
  FROM (SELECT sum(d_next_o_id) AS orders FROM district) AS numbered
 CROSS JOIN (SELECT count(*) AS rows FROM history) AS paid
 CROSS JOIN (SELECT count(*) AS rows FROM new_order) AS still_open;
