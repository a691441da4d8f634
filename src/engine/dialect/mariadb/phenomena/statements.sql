-- A difference of MariaDB and MySQL: MySQL's casts know whole numbers as SIGNED only.

-- name: count
-- access: read
-- takes: g
-- gives: n
SELECT CAST(count(*) AS SIGNED) FROM graymark_phenomena WHERE g = ?1;
