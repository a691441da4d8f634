#!/usr/bin/env bash
# What looking at the sessions costs (the waterfall of a run): pairs of runs by procedures on a private PostgreSQL, with
# and without it, in changing order. Prints the median of the pairs' ratios of throughput and of the client's CPU, and
# in which share of the response time the parts of the waterfall do not add up.
#
#   scripts/bench/observer-cost.sh [PAIRS=20] [DURATION=10s] [WAREHOUSES=10] [CLIENTS=8] [FSYNC=on]
#
# With FSYNC=off the disk's own ups and downs are left out.
. "$(dirname "$0")/lib.sh"
PAIRS=${1:-20}
DURATION=${2:-10s}
WAREHOUSES=${3:-10}
CLIENTS=${4:-8}
start_postgres -c fsync="${5:-on}"
sql postgres -c 'CREATE DATABASE bench'
"$GRAYMARK" load tpcc --db "$(url bench)" -w "$WAREHOUSES" >/dev/null 2>&1

one() { # NAME [VARIABLE]
  sql postgres -c CHECKPOINT
  env ${2:+"$2"} "$GRAYMARK" run tpcc --db "$(url bench)" --clients "$CLIENTS" --ramp-up 2s --duration "$DURATION" \
    --check none --out "$WORK/$1" --json 2>/dev/null >"$WORK/$1.json"
}
one first
for pair in $(seq "$PAIRS"); do
  if [ $((pair % 2)) = 0 ]; then one "with-$pair"; fi
  one "without-$pair" GRAYMARK_NO_LOOKS=1
  if [ $((pair % 2)) = 1 ]; then one "with-$pair"; fi
done
python3 - "$WORK" "$PAIRS" <<'PY'
import json, random, statistics, sys
work, pairs = sys.argv[1], int(sys.argv[2])
read = lambda name: json.load(open(f"{work}/{name}.json"))
runs = [(read(f"with-{n}"), read(f"without-{n}")) for n in range(1, pairs + 1)]
def told(name, value):
    ratios = [value(a) / value(b) for a, b in runs]
    draws = sorted(statistics.median(random.choices(ratios, k=pairs)) for _ in range(2000))
    print(f"{name:28} with / without: median {statistics.median(ratios):.4f}, 95 % {draws[50]:.4f} to {draws[1949]:.4f}")
told("New-Orders a minute", lambda r: r["new_orders_per_minute"])
told("client CPU a transaction", lambda r: r["client"]["cpu_us_per_transaction"])
gaps = []
for r, _ in runs:
    for parts in [r["waterfall"]["all"], *r["waterfall"]["types"].values()]:
        gaps.append(abs(parts["parts"].get("not_attributed", 0) / parts["response_us"]))
print(f"not attributed, all types and runs: median {100 * statistics.median(gaps):.2f} %, most {100 * max(gaps):.2f} %")
PY
