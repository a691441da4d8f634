-- Queries to a primary with standbys, and to a standby. Positions in the log are bytes since its beginning.

-- name: written
SELECT (pg_current_wal_flush_lsn() - '0/0')::text AS bytes;

-- Standbys that follow, or are about to have caught up.
-- name: following
SELECT count(*)::text AS standbys FROM pg_stat_replication WHERE state IN ('catchup', 'streaming');

-- What a standby has on disk, and whether more may come.
-- name: received
SELECT (greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0')::text AS bytes,
       (SELECT count(*) FROM pg_stat_wal_receiver)::text AS receivers;

-- name: replayed
SELECT (pg_last_wal_replay_lsn() - '0/0')::text AS bytes;

-- name: promote
SELECT pg_promote(true, 120)::text AS done;

-- How far standbys are behind: asked about once a second. Time is only known while something is written. Who may not
-- look at other users' sessions is told of none.
-- name: standbys
SELECT coalesce(nullif(application_name, ''), 'standby') || coalesce(' at ' || host(client_addr), '') AS node,
       greatest(pg_current_wal_lsn() - replay_lsn, 0)::bigint::text AS bytes,
       extract(epoch FROM replay_lag)::double precision::text AS seconds
FROM pg_stat_replication
WHERE state IN ('catchup', 'streaming') AND replay_lsn IS NOT NULL AND NOT pg_is_in_recovery();
