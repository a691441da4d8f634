#!/usr/bin/env bash
# Load time of Graymark against the floor: psql COPY of the same rows as CSV, made beforehand, into bare tables in two sessions, and
# then the same keys, two at a time. Runs in pairs on one private PostgreSQL; prints each pair and the median ratio.
#
#   scripts/bench/load-floor.sh [WAREHOUSES=10] [PAIRS=5]
. "$(dirname "$0")/lib.sh"
WAREHOUSES=${1:-10}
PAIRS=${2:-5}
SQL=$HERE/src/engine/postgres/tpcc
SEED=7
start_postgres

echo "making the rows of $WAREHOUSES warehouses as CSV ..." >&2
mkdir "$WORK/rows"
for table in warehouse district customer history new_order orders order_line item stock; do
  "$GRAYMARK" rows tpcc "$table" -w "$WAREHOUSES" --seed $SEED >"$WORK/rows/$table.csv"
done
echo "$(du -sm "$WORK/rows" | cut -f1) MB" >&2

copy() { for table in "$@"; do echo "\\copy tpcc.$table FROM '$WORK/rows/$table.csv' (FORMAT csv)"; done | sql floor; }

# Two sessions of about equal bytes: stock and item against the rest.
floor() {
  sql postgres -c 'DROP DATABASE IF EXISTS floor' -c 'CREATE DATABASE floor'
  sql floor -f "$SQL/schema.sql"
  sql postgres -c CHECKPOINT
  local start end
  start=$(seconds)
  copy stock item history & local one=$!
  copy customer order_line orders new_order district warehouse
  wait $one
  grep -v '^--' "$SQL/keys.sql" | tr '\n' ' ' | tr ';' '\n' | grep -v '^ *$' | sed 's/$/;/' | xargs -d '\n' -P 2 -I{} \
    psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$PGPORT_PRIVATE" -U postgres -d floor -c {}
  end=$(seconds)
  elapsed "$start" "$end"
}

graymark() {
  sql postgres -c 'DROP DATABASE IF EXISTS graymark' -c 'CREATE DATABASE graymark' -c CHECKPOINT
  "$GRAYMARK" load tpcc --db "$(url graymark)" -w "$WAREHOUSES" --seed $SEED --jobs 2 --json 2>/dev/null >"$WORK/load.json"
  python3 - "$WORK/load.json" <<'PY'
import json, sys
print(json.load(open(sys.argv[1]))["load"]["seconds"])
PY
}

floor >/dev/null # warm: the CSV files are in the page cache for both
: >"$WORK/ratios"
for pair in $(seq "$PAIRS"); do
  f=$(floor); g=$(graymark)
  ratio=$(echo "$g / $f" | bc -l)
  echo "$ratio" >>"$WORK/ratios"
  printf 'pair %d: floor %.2f s, graymark %.2f s, ratio %.3f\n' "$pair" "$f" "$g" "$ratio"
done
printf 'median ratio %.3f (target: at most 1.5)\n' "$(median <"$WORK/ratios")"
