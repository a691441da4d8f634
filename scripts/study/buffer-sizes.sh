#!/usr/bin/env bash
# Hit rates of a private PostgreSQL at several sizes of shared_buffers, compared with `graymark predict simulate`. Each
# size begins with the same freshly loaded files and an empty buffer. Counters are read twice during the run, so that
# neither the load nor the counting before and after a run is in them; the simulation then goes through as many
# transactions before and between the readings. The server does not wait for the disk (fsync=off) and does not vacuum:
# neither changes which pages the transactions request.
#
#   scripts/study/buffer-sizes.sh [WAREHOUSES=5] [SIZES="16MB 32MB 64MB 128MB 256MB 512MB"] [WARM_UP=45] [SECONDS=45]
#   [CLIENTS=4]
#
# KEEP=DIR keeps the readings there; GRAYMARK=FILE is the program. Hit rates are in percent, the last three columns are
# the differences of the simulation.
. "$(dirname "$0")/../bench/lib.sh"
WAREHOUSES=${1:-5}
SIZES=${2:-16MB 32MB 64MB 128MB 256MB 512MB}
WARM_UP=${3:-45}
INTERVAL=${4:-45}
CLIENTS=${5:-4}
KEEP=${KEEP:-$WORK/readings}
mkdir -p "$KEEP"

pg_ctl() { (cd "$WORK" && unprivileged "$PG_BIN/pg_ctl" -D "$WORK/data" -w "$@" >/dev/null); }

# hit_rates BEFORE AFTER: data, index, overall.
hit_rates() {
  awk 'FNR == NR { read[$1 $2] = $3; found[$1 $2] = $4; next }
    $2 ~ /^graymark/ || $1 == "payments" { next }
    { misses[$1] += $3 - read[$1 $2]; hits[$1] += $4 - found[$1 $2] }
    END { misses["all"] = misses["data"] + misses["index"]; hits["all"] = hits["data"] + hits["index"]
      printf "%.2f %.2f %.2f", 100 * hits["data"] / (hits["data"] + misses["data"]),
        100 * hits["index"] / (hits["index"] + misses["index"]),
        100 * hits["all"] / (hits["all"] + misses["all"]) }' "$1" "$2"
}

# transactions BEFORE AFTER: ten of a deck of 23 are Payments.
transactions() { awk '$1 == "payments" { n = $3 - n } END { printf "%.0f", n * 2.3 }' "$1" "$2"; }

# read_counters: a line a table and a line an index: kind, name, pages read, pages found; and the rows that Payments
# inserted.
read_counters() {
  sql bench -A -t -F ' ' -c "
    SELECT 'data', relname, heap_blks_read, heap_blks_hit FROM pg_statio_user_tables WHERE schemaname = 'tpcc'
    UNION ALL SELECT 'index', indexrelname, idx_blks_read, idx_blks_hit FROM pg_statio_user_indexes
      WHERE schemaname = 'tpcc'
    UNION ALL SELECT 'payments', relname, n_tup_ins, 0 FROM pg_stat_user_tables
      WHERE schemaname = 'tpcc' AND relname = 'history'"
}

start_postgres -c fsync=off -c autovacuum=off
sql postgres -c 'CREATE DATABASE bench'
"$GRAYMARK" load tpcc --db "$(url bench)" -w "$WAREHOUSES" >/dev/null 2>&1
sql bench -A -t -F ' ' -c "SELECT relname, relkind, pg_relation_size(oid) / 8192 FROM pg_class
  WHERE relnamespace = 'tpcc'::regnamespace AND relkind IN ('r', 'i') ORDER BY relkind DESC, relname" >"$KEEP/pages"
pg_ctl -m fast stop
mv "$WORK/data" "$WORK/loaded"

echo "size transactions | measured data index overall | simulated data index overall | difference data index overall"
for size in $SIZES; do
  rm -rf "$WORK/data"
  cp -a "$WORK/loaded" "$WORK/data"
  pg_ctl -l "$WORK/socket/log" \
    -o "-p $PGPORT_PRIVATE -k $WORK/socket -c listen_addresses=127.0.0.1 -c shared_buffers=$size \
    -c fsync=off -c autovacuum=off -c max_wal_size=8GB -c checkpoint_timeout=30min" start
  read_counters >"$KEEP/$size.0"
  "$GRAYMARK" run tpcc --db "$(url bench)" --clients "$CLIENTS" --ramp-up 0s --duration $((WARM_UP + INTERVAL + 5))s \
    --check none \
    --out "$WORK/record-$size" >/dev/null 2>&1 &
  run=$!
  sleep "$WARM_UP"
  read_counters >"$KEEP/$size.1"
  sleep "$INTERVAL"
  read_counters >"$KEEP/$size.2"
  wait $run
  counted=$(transactions "$KEEP/$size.1" "$KEEP/$size.2")
  "$GRAYMARK" predict simulate -w "$WAREHOUSES" --sample "$WAREHOUSES" --buffer "$size" --policy clock-sweep \
    --clients "$CLIENTS" --from-empty --json \
    --warm-up "$(transactions "$KEEP/$size.0" "$KEEP/$size.1")" --transactions "$counted" >"$KEEP/$size.json"
  measured=$(hit_rates "$KEEP/$size.1" "$KEEP/$size.2")
  simulated=$(sql bench -A -t -F ' ' -v simulated="$(cat "$KEEP/$size.json")" <<<"
    SELECT round((s->>'data')::numeric, 2), round((s->>'index')::numeric, 2), round((s->>'overall')::numeric, 2)
      FROM (SELECT :'simulated'::json->'sizes'->0 AS s) AS first")
  echo "$measured $simulated" | awk -v size="$size" -v counted="$counted" '{
    printf "%s %d | %.2f %.2f %.2f | %.2f %.2f %.2f | %+.2f %+.2f %+.2f\n", size, counted, $1, $2, $3, $4, $5, $6,
      $4 - $1, $5 - $2, $6 - $3 }'
  pg_ctl -m fast stop
done
