-- name: counter-steps
-- title: Value of a counter = number of its steps
SELECT id, sum(of_counter) AS counter_value, sum(of_steps) AS steps
FROM (
    SELECT id, value AS of_counter, 0 AS of_steps FROM counter
    UNION ALL
    SELECT counter_id, 0, count(*) FROM step GROUP BY counter_id
) sides
GROUP BY id
HAVING sum(of_counter) <> sum(of_steps);
