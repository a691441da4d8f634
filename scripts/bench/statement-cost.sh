#!/usr/bin/env bash
# Server time of each statement on a private PostgreSQL, including those within procedures: one client, warm tables, by
# procedures and by statements. Times are those of pg_stat_statements, which counts neither planning nor the preparation
# of a plan's execution.
#
#   scripts/bench/statement-cost.sh [WAREHOUSES=10] [DURATION=20s]
. "$(dirname "$0")/lib.sh"
WAREHOUSES=${1:-10}
DURATION=${2:-20s}
start_postgres -c shared_preload_libraries=pg_stat_statements -c pg_stat_statements.track=all \
  -c pg_stat_statements.track_planning=on
sql postgres -c 'CREATE DATABASE bench'
sql bench -c 'CREATE EXTENSION pg_stat_statements'
"$GRAYMARK" load tpcc --db "$(url bench)" -w "$WAREHOUSES" >/dev/null 2>&1
for via in procedures statements; do
  "$GRAYMARK" run tpcc --db "$(url bench)" --clients 1 --via $via --warm scan --ramp-up 0s --duration 5s --check none \
    --out "$WORK/warm-$via" >/dev/null 2>&1
  sql bench -c 'SELECT pg_stat_statements_reset()' >/dev/null
  "$GRAYMARK" run tpcc --db "$(url bench)" --clients 1 --via $via --ramp-up 0s --duration "$DURATION" --check none \
    --out "$WORK/$via" >/dev/null 2>&1
  echo "by $via:"
  sql bench -c "SELECT calls, plans, round(mean_exec_time::numeric * 1000, 1) AS us,
      round(rows::numeric / calls, 1) AS rows,
                       round(shared_blks_hit::numeric / calls, 1) AS blocks, round(wal_bytes / calls) AS wal_bytes,
                       CASE WHEN toplevel THEN '' ELSE 'nested' END AS level,
                       left(regexp_replace(query, '\s+', ' ', 'g'), 90) AS statement
                  FROM pg_stat_statements WHERE calls > 20 AND query LIKE '%tpcc.%' ORDER BY total_exec_time DESC"
done
