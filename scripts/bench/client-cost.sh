#!/usr/bin/env bash
# What a transaction costs the client and the server on a private PostgreSQL without think time, both ways of speaking,
# in turns.
#
#   scripts/bench/client-cost.sh [WAREHOUSES=10] [CLIENTS=4] [ROUNDS=3] [DURATION=30s]
. "$(dirname "$0")/lib.sh"
WAREHOUSES=${1:-10}
CLIENTS=${2:-4}
ROUNDS=${3:-3}
DURATION=${4:-30s}
start_postgres
sql postgres -c 'CREATE DATABASE bench'
"$GRAYMARK" load tpcc --db "$(url bench)" -w "$WAREHOUSES" >/dev/null 2>&1

for round in $(seq "$ROUNDS"); do
  for via in procedures statements; do
    sql postgres -c CHECKPOINT
    "$GRAYMARK" run tpcc --db "$(url bench)" --clients "$CLIENTS" --via $via --ramp-up 5s --duration "$DURATION" --check none \
      --out "$WORK/$via-$round" --json 2>/dev/null >"$WORK/$via-$round.json"
  done
done
python3 - "$WORK" "$ROUNDS" <<'PY'
import json, statistics, sys
work, rounds = sys.argv[1], int(sys.argv[2])
print(f"{'via':12} {'NOPM':>9} {'client us/tx':>13} {'user us/tx':>11} {'server us/tx':>13} {'RSS MB':>7}   medians of {rounds}")
for via in ("procedures", "statements"):
    runs = [json.load(open(f"{work}/{via}-{n}.json")) for n in range(1, rounds + 1)]
    med = lambda f: statistics.median(map(f, runs))
    print(f"{via:12} {med(lambda r: r['new_orders_per_minute']):9.0f} {med(lambda r: r['client']['cpu_us_per_transaction']):13.1f}"
          f" {med(lambda r: r['client']['cpu_us_per_transaction'] * r['client']['cpu_user_s'] / r['client']['cpu_s']):11.1f}"
          f" {med(lambda r: r['server'].get('cpu_us_per_transaction', float('nan'))):13.1f}"
          f" {med(lambda r: r['client']['peak_rss_bytes'] / 1e6):7.1f}")
PY
