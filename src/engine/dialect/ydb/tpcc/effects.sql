-- name: effects
-- title: New-Orders and Payments committed, orders delivered, each up to a constant: a run adds what it did
-- An order that is placed and no longer open has been delivered, so the third total needs no look at the orders.
SELECT SUM(placed) AS new_orders, SUM(paid) AS payments, SUM(placed) - SUM(still_open) AS deliveries
FROM (
    SELECT CAST(d_next_o_id AS Int64) AS placed, 0l AS paid, 0l AS still_open FROM district
    UNION ALL
    SELECT 0l AS placed, CAST(COUNT(*) AS Int64) AS paid, 0l AS still_open FROM history
    UNION ALL
    SELECT 0l AS placed, 0l AS paid, CAST(COUNT(*) AS Int64) AS still_open FROM new_order
);
