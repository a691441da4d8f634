#!/usr/bin/env bash
# Load time of Graymark compared with psql COPY of the same rows as prepared CSV, into bare tables in two sessions, and
# then the same keys, two at a time. Runs in pairs on one private PostgreSQL; prints each pair and the median ratio.
#
#   scripts/bench/load-floor.sh [SCALE=10] [PAIRS=5] [WORKLOAD=tpcc]
#   scripts/bench/load-floor.sh 1000 3 debitcredit
. "$(dirname "$0")/lib.sh"
SCALE=${1:-10}
PAIRS=${2:-5}
WORKLOAD=${3:-tpcc}
. "$(dirname "$0")/floor.sh"
start_postgres
make_rows "$SCALE"

graymark() {
  sql postgres -c 'DROP DATABASE IF EXISTS graymark' -c 'CREATE DATABASE graymark' -c CHECKPOINT
  "$GRAYMARK" load "$WORKLOAD" --db "$(url graymark)" -w "$SCALE" --seed $SEED --jobs 2 --json 2>/dev/null \
    >"$WORK/load.json"
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
