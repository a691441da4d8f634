-- How often sessions of the server have waited for a lock so far. Which session waits, Virtuoso tells by `status ()`
-- only, which must not be called while the server makes a checkpoint (docs/virtuoso.md).

-- name: lock_waits
-- access: read
-- gives: waits
SELECT CAST(sys_stat('lock_waits') AS INTEGER);
