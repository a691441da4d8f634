#!/usr/bin/env bash
# Cost of sampling the sessions (the waterfall of a run): pairs of runs by procedures on a private PostgreSQL, with and
# without it, in alternating order. Prints the median of the pairs' ratios of throughput and of the client's CPU, the
# CPU time that sampling itself takes (Graymark's thread and the sessions that ask for the others and for counters, from
# schedstat) as a share of all CPUs, and the share of the response time by which the parts of the waterfall do not add
# up.
#
#   scripts/bench/observer-cost.sh [PAIRS=20] [DURATION=10s] [WAREHOUSES=10] [CLIENTS=8] [FSYNC=on]
#
# With FSYNC=off variations of the disk are left out.
. "$(dirname "$0")/lib.sh"
PAIRS=${1:-20}
DURATION=${2:-10s}
WAREHOUSES=${3:-10}
CLIENTS=${4:-8}
start_postgres -c fsync="${5:-on}"
sql postgres -c 'CREATE DATABASE bench'
"$GRAYMARK" load tpcc --db "$(url bench)" -w "$WAREHOUSES" >/dev/null 2>&1

# Nanoseconds on a CPU of the thread that samples and of all sessions but those of clients (counters, too), over 3 s in
# the middle of a run.
watch() { # NAME
  local pid sessions
  sleep 3
  pid=$(pgrep -n -f -- "--out $WORK/$1 ") || return 0
  sessions=$(sql bench -At -c "SELECT pid FROM pg_stat_activity
    WHERE datname = 'bench' AND query !~ 'tpcc[.]' AND pid <> pg_backend_pid()" | tr '\n' ' ')
  on_cpu() {
    local task files=()
    for task in /proc/"$pid"/task/*; do [ "$(cat "$task/comm")" = waits ] && files+=("$task/schedstat"); done
    for task in $sessions; do files+=("/proc/$task/schedstat"); done
    awk '{ ns += $1 } END { print ns }' "${files[@]}"
  }
  local before after
  before="$(date +%s%N) $(on_cpu)"
  sleep 3
  after="$(date +%s%N) $(on_cpu)"
  echo "$before $after" >"$WORK/$1.cpu"
}
one() { # NAME [VARIABLE]
  sql postgres -c CHECKPOINT
  if [ -z "${2:-}" ]; then watch "$1" & fi
  env ${2:+"$2"} "$GRAYMARK" run tpcc --db "$(url bench)" --clients "$CLIENTS" --ramp-up 2s --duration "$DURATION" \
    --out "$WORK/$1" --check none --json 2>/dev/null >"$WORK/$1.json"
  wait
}
one first
for pair in $(seq "$PAIRS"); do
  if [ $((pair % 2)) = 0 ]; then one "with-$pair"; fi
  one "without-$pair" GRAYMARK_NO_LOOKS=1
  if [ $((pair % 2)) = 1 ]; then one "with-$pair"; fi
done
python3 - "$WORK" "$PAIRS" <<'PY'
import json, os, random, statistics, sys
work, pairs = sys.argv[1], int(sys.argv[2])
read = lambda name: json.load(open(f"{work}/{name}.json"))
runs = [(read(f"with-{n}"), read(f"without-{n}")) for n in range(1, pairs + 1)]
def told(name, value):
    ratios = [value(a) / value(b) for a, b in runs]
    draws = sorted(statistics.median(random.choices(ratios, k=pairs)) for _ in range(2000))
    print(f"{name:28} with / without: median {statistics.median(ratios):.4f}, "
          f"95 % {draws[50]:.4f} to {draws[1949]:.4f}")
told("New-Orders a minute", lambda r: r["new_orders_per_minute"])
told("client CPU a transaction", lambda r: r["client"]["cpu_us_per_transaction"])
shares = []
for n in range(1, pairs + 1):
    began, cpu, ended, more = map(int, open(f"{work}/with-{n}.cpu").read().split())
    shares.append((more - cpu) / (ended - began) / os.cpu_count())
draws = sorted(statistics.median(random.choices(shares, k=pairs)) for _ in range(2000))
print(f"CPU time of sampling, share of all CPUs: median {100 * statistics.median(shares):.2f} %, "
      f"95 % {100 * draws[50]:.2f} to {100 * draws[1949]:.2f}")
gaps = []
for r, _ in runs:
    for parts in [r["waterfall"]["all"], *r["waterfall"]["types"].values()]:
        gaps.append(abs(parts["parts"].get("not_attributed", 0) / parts["response_us"]))
print(f"not attributed, all types and runs: median {100 * statistics.median(gaps):.2f} %, most {100 * max(gaps):.2f} %")
PY
