-- name: effects
SELECT count(*) AS steps FROM step;
