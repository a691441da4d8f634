-- Statements of the sessions in tests of phenomena, on a table of Graymark's own: see `table.sql`.

-- name: wipe
-- access: write
DELETE FROM graymark_phenomena;

-- name: add
-- access: write
-- takes: k, g, v
INSERT INTO graymark_phenomena (k, g, v) VALUES (?1, ?2, ?3);

-- name: get
-- access: read
-- takes: k
-- gives: v
SELECT v FROM graymark_phenomena WHERE k = ?1;

-- name: put
-- access: write
-- takes: k, v
UPDATE graymark_phenomena SET v = ?2 WHERE k = ?1;

-- name: raise
-- access: write
-- takes: k
UPDATE graymark_phenomena SET v = v + 1 WHERE k = ?1;

-- name: count
-- access: read
-- takes: g
-- gives: n
SELECT CAST(count(*) AS INTEGER) FROM graymark_phenomena WHERE g = ?1;

-- name: raise_group
-- access: write
-- takes: g
UPDATE graymark_phenomena SET v = v + 1 WHERE g = ?1;
