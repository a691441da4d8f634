#!/usr/bin/env bash
# Hit rates of a private PostgreSQL at several sizes of shared_buffers, beside what `graymark predict simulate` says of them.
# Each size begins with the same freshly loaded files and an empty buffer. Counters are read twice in mid-run, so that neither the load nor
# the counting before and after a run is in them; the simulation then goes through as many transactions before and between the readings.
# The server does not wait for the disk (fsync=off) and does not vacuum: neither changes which pages are asked for by the transactions.
#
#   scripts/study/buffer-sizes.sh [WAREHOUSES=5] [SIZES="16MB 32MB 64MB 128MB 256MB 512MB"] [WARM_UP=45] [SECONDS=45] [CLIENTS=4]
#
# KEEP=DIR keeps the readings there. SIMULATE takes further options of the simulation.
. "$(dirname "$0")/../bench/lib.sh"
WAREHOUSES=${1:-5}
SIZES=${2:-16MB 32MB 64MB 128MB 256MB 512MB}
WARM_UP=${3:-45}
INTERVAL=${4:-45}
CLIENTS=${5:-4}
KEEP=${KEEP:-$WORK/readings}
mkdir -p "$KEEP"

pg_ctl() { (cd "$WORK" && unprivileged "$PG_BIN/pg_ctl" -D "$WORK/data" -w "$@" >/dev/null); }

# read_counters: a line a table and a line an index: kind, name, pages read, pages found; and the rows that Payments inserted.
read_counters() {
  sql bench -A -t -F ' ' -c "
    SELECT 'data', relname, heap_blks_read, heap_blks_hit FROM pg_statio_user_tables WHERE schemaname = 'tpcc'
    UNION ALL SELECT 'index', indexrelname, idx_blks_read, idx_blks_hit FROM pg_statio_user_indexes WHERE schemaname = 'tpcc'
    UNION ALL SELECT 'payments', relname, n_tup_ins, 0 FROM pg_stat_user_tables WHERE schemaname = 'tpcc' AND relname = 'history'"
}

start_postgres -c fsync=off -c autovacuum=off
sql postgres -c 'CREATE DATABASE bench'
"$GRAYMARK" load tpcc --db "$(url bench)" -w "$WAREHOUSES" >/dev/null 2>&1
sql bench -A -t -F ' ' -c "SELECT relname, relkind, pg_relation_size(oid) / 8192 FROM pg_class
  WHERE relnamespace = 'tpcc'::regnamespace AND relkind IN ('r', 'i') ORDER BY relkind DESC, relname" >"$KEEP/pages"
pg_ctl -m fast stop
mv "$WORK/data" "$WORK/loaded"

for size in $SIZES; do
  rm -rf "$WORK/data"
  cp -a "$WORK/loaded" "$WORK/data"
  pg_ctl -l "$WORK/socket/log" -o "-p $PGPORT_PRIVATE -k $WORK/socket -c listen_addresses=127.0.0.1 -c shared_buffers=$size \
    -c fsync=off -c autovacuum=off -c max_wal_size=8GB -c checkpoint_timeout=30min" start
  read_counters >"$KEEP/$size.0"
  "$GRAYMARK" run tpcc --db "$(url bench)" --clients "$CLIENTS" --ramp-up 0s --duration $((WARM_UP + INTERVAL + 5))s --check none \
    --out "$WORK/record-$size" >/dev/null 2>&1 &
  run=$!
  sleep "$WARM_UP"
  read_counters >"$KEEP/$size.1"
  sleep "$INTERVAL"
  read_counters >"$KEEP/$size.2"
  wait $run
  pg_ctl -m fast stop
done
