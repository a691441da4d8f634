#!/usr/bin/env bash
# Cost of watching a run: triples of runs by procedures on a private PostgreSQL, in changing order: plain, with --listen
# and a reader of its page's events and of its metrics each second, and with --tui in a terminal of 120 columns. Prints
# the medians of the triples' ratios of throughput and of the client's CPU to the plain run, each with an interval.
#
#   scripts/bench/live-cost.sh [TRIPLES=10] [DURATION=10s] [WAREHOUSES=4] [CLIENTS=8] [FSYNC=off]
#
# Needs curl and script (Debian: curl, bsdutils).
. "$(dirname "$0")/lib.sh"
TRIPLES=${1:-10}
DURATION=${2:-10s}
WAREHOUSES=${3:-4}
CLIENTS=${4:-8}
start_postgres -c fsync="${5:-off}"
sql postgres -c 'CREATE DATABASE bench'
"$GRAYMARK" load tpcc --db "$(url bench)" -w "$WAREHOUSES" >/dev/null 2>&1
LIVE=$((PGPORT_PRIVATE + 1))

run() { # NAME [OPTION...]
  local name=$1; shift
  echo "$GRAYMARK run tpcc --db $(url bench) --clients $CLIENTS --ramp-up 2s --duration $DURATION --check none" \
    "--out $WORK/$name $*"
}
one() { # HOW NUMBER
  local reader=
  sql postgres -c CHECKPOINT
  case $1 in
  plain) $(run "$1-$2") >/dev/null 2>&1 ;;
  listen)
    # Both readers wait until the run listens.
    (
      curl -sN --retry 50 --retry-delay 0 --retry-connrefused "http://127.0.0.1:$LIVE/events" >/dev/null &
      while sleep 1; do curl -s "http://127.0.0.1:$LIVE/metrics" >/dev/null || true; done
    ) &
    reader=$!
    $(run "$1-$2" --listen "127.0.0.1:$LIVE") >/dev/null 2>&1
    pkill -P "$reader" 2>/dev/null || true
    kill "$reader" 2>/dev/null || true
    wait "$reader" 2>/dev/null || true
    ;;
  tui) script -qec "stty cols 120 rows 40; $(run "$1-$2" --tui)" /dev/null </dev/null >/dev/null 2>&1 ;;
  esac
}
one plain first
for number in $(seq "$TRIPLES"); do
  case $((number % 3)) in
  0) order="plain listen tui" ;; 1) order="listen tui plain" ;; 2) order="tui plain listen" ;;
  esac
  for how in $order; do one "$how" "$number"; done
done
python3 - "$WORK" "$TRIPLES" <<'PY'
import json, random, statistics, sys
work, triples = sys.argv[1], int(sys.argv[2])
read = lambda how, n: json.load(open(f"{work}/{how}-{n}/summary.json"))
for how in ("listen", "tui"):
    for name, value in (("transactions a second", lambda r: r["transactions_per_second"]),
                        ("client CPU a transaction", lambda r: r["client"]["cpu_us_per_transaction"])):
        ratios = [value(read(how, n)) / value(read("plain", n)) for n in range(1, triples + 1)]
        draws = sorted(statistics.median(random.choices(ratios, k=triples)) for _ in range(2000))
        print(f"--{how:7} {name:25} to plain: median {statistics.median(ratios):.3f}, "
              f"95 % {draws[50]:.3f} to {draws[1949]:.3f}")
PY
