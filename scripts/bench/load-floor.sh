#!/usr/bin/env bash
# Load time of Graymark against the floor: psql COPY of the same rows as CSV, made beforehand, into bare tables in two
# sessions, and then the same keys, two at a time. Runs in pairs on one private PostgreSQL; prints each pair and the
# median ratio.
#
#   scripts/bench/load-floor.sh [SCALE=10] [PAIRS=5] [WORKLOAD=tpcc]
#   scripts/bench/load-floor.sh 1000 3 debitcredit
. "$(dirname "$0")/lib.sh"
SCALE=${1:-10}
PAIRS=${2:-5}
WORKLOAD=${3:-tpcc}
SQL=$HERE/src/engine/dialect/postgres/$WORKLOAD
SEED=7
# Two sessions of about equal bytes; NAME.PART is a part of the rows of table NAME.
case $WORKLOAD in
  tpcc) SCHEMA=schema.sql ONE="stock item history" OTHER="customer order_line orders new_order district warehouse" ;;
  debitcredit) SCHEMA=gray.sql ONE="account.0" OTHER="account.1 teller branch" ;;
  *) echo "no workload $WORKLOAD" >&2; exit 2 ;;
esac
start_postgres

echo "making the rows of scale $SCALE as CSV ..." >&2
mkdir "$WORK/rows"
for part in $ONE $OTHER; do
  table=${part%.*}
  [ "$part" != "$table" ] || "$GRAYMARK" rows "$WORKLOAD" "$table" -w "$SCALE" --seed $SEED >"$WORK/rows/$table.csv"
done
if [ "$WORKLOAD" = debitcredit ]; then
  "$GRAYMARK" rows debitcredit account -b "$SCALE" --seed $SEED |
    split -l $((SCALE * 5000)) -d -a 1 --additional-suffix=.csv - "$WORK/rows/account."
fi
echo "$(du -sm "$WORK/rows" | cut -f1) MB" >&2

# The rows have the standard's order of columns, from which the table stock differs.
columns() {
  [ "$1" != stock ] || echo "(s_i_id, s_w_id, s_quantity, $(printf 's_dist_%02d, ' {1..10})s_ytd, s_order_cnt, s_remote_cnt, s_data)"
}

copy() {
  for part in "$@"; do echo "\\copy $WORKLOAD.${part%.*} $(columns "$part") FROM '$WORK/rows/$part.csv' (FORMAT csv)"; done | sql floor
}

floor() {
  sql postgres -c 'DROP DATABASE IF EXISTS floor' -c 'CREATE DATABASE floor'
  sql floor -f "$SQL/$SCHEMA"
  sql postgres -c CHECKPOINT
  local start end
  start=$(seconds)
  # shellcheck disable=SC2086
  copy $ONE & local one=$!
  # shellcheck disable=SC2086
  copy $OTHER
  wait $one
  grep -v '^--' "$SQL/keys.sql" | tr '\n' ' ' | tr ';' '\n' | grep -v '^ *$' | sed 's/$/;/' | xargs -d '\n' -P 2 -I{} \
    psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$PGPORT_PRIVATE" -U postgres -d floor -c {}
  end=$(seconds)
  elapsed "$start" "$end"
}

graymark() {
  sql postgres -c 'DROP DATABASE IF EXISTS graymark' -c 'CREATE DATABASE graymark' -c CHECKPOINT
  "$GRAYMARK" load "$WORKLOAD" --db "$(url graymark)" -w "$SCALE" --seed $SEED --jobs 2 --json 2>/dev/null >"$WORK/load.json"
  python3 - "$WORK/load.json" <<'PY'
import json, sys
print(json.load(open(sys.argv[1]))["load"]["seconds"])
PY
}

# Warm: the CSV files are in the page cache, and both have had their first load on a new server, which is slower.
floor >/dev/null
graymark >/dev/null
: >"$WORK/ratios"
for pair in $(seq "$PAIRS"); do
  f=$(floor); g=$(graymark)
  ratio=$(echo "$g / $f" | bc -l)
  echo "$ratio" >>"$WORK/ratios"
  printf 'pair %d: floor %.2f s, graymark %.2f s, ratio %.3f\n' "$pair" "$f" "$g" "$ratio"
done
printf 'median ratio %.3f\n' "$(median <"$WORK/ratios")"
