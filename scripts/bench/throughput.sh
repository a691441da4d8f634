#!/usr/bin/env bash
# Throughput without think time on a private PostgreSQL, by number of clients, by procedures and by statements. They run
# in turn, in alternating order. Prints medians, and the best of all relative to REFERENCE, the New-Orders a minute of
# another kit on a machine of this size (46244: BenchBase, 10 warehouses, 4 connections, two virtual cores of another
# kind). To compare machines, pgbench runs in each round as well (100 branches, prepared, 4 clients): it had YARDSTICK
# tps on the reference's machine, and the ratio is also given scaled to that machine.
#
#   scripts/bench/throughput.sh [WAREHOUSES=10] [ROUNDS=5] [DURATION=30s] [CLIENTS="1 2 4 8 16"]
. "$(dirname "$0")/lib.sh"
WAREHOUSES=${1:-10}
ROUNDS=${2:-5}
DURATION=${3:-30s}
CLIENTS=${4:-1 2 4 8 16}
REFERENCE=${REFERENCE:-46244}
YARDSTICK=${YARDSTICK:-4421}
PGBENCH=${PGBENCH:-$PG_BIN/pgbench}
CONNECTION=(-h 127.0.0.1 -p "$PGPORT_PRIVATE" -U postgres)
start_postgres
sql postgres -c 'CREATE DATABASE bench' -c 'CREATE DATABASE yardstick'
"$PGBENCH" "${CONNECTION[@]}" -i -s 100 --quiet yardstick >/dev/null 2>&1
"$GRAYMARK" load tpcc --db "$(url bench)" -w "$WAREHOUSES" >/dev/null 2>&1

# What the server's sessions wait for, ten times a second, until the named file is removed.
watch_waits() {
  sql bench -At -c "SELECT 1" >/dev/null
  while [ -e "$1" ]; do
    echo "SELECT coalesce(wait_event_type || ':' || wait_event, 'CPU') FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND state = 'active' AND pid <> pg_backend_pid();"
    sleep 0.1
  done | sql bench -At >"$2"
}

run() { # VIA CLIENTS ROUND
  local name="$WORK/$1-$2-$3"
  sql postgres -c CHECKPOINT
  touch "$name.going"
  watch_waits "$name.going" "$name.waits" & local watch=$!
  "$GRAYMARK" run tpcc --db "$(url bench)" --clients "$2" --via "$1" --ramp-up 3s --duration "$DURATION" --check none \
    --out "$name" --json \
    2>/dev/null >"$name.json"
  rm "$name.going"
  wait $watch
}

yardstick() {
  sql postgres -c CHECKPOINT
  "$PGBENCH" "${CONNECTION[@]}" -n -M prepared -c 4 -j 1 -T 15 yardstick 2>/dev/null \
    | awk '/^tps/ { print $3 }' >>"$WORK/yardstick"
}

for round in $(seq "$ROUNDS"); do
  yardstick
  ways="procedures statements"
  [ $((round % 2)) = 1 ] || ways="statements procedures"
  for clients in $CLIENTS; do
    for via in $ways; do run "$via" "$clients" "$round"; done
  done
done
python3 - "$WORK" "$ROUNDS" "$CLIENTS" "$REFERENCE" "$YARDSTICK" <<'PY'
import collections, json, statistics, sys
work, rounds, clients, reference = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(), float(sys.argv[4])
here, there = statistics.median(map(float, open(f"{work}/yardstick"))), float(sys.argv[5])
best = (0, "")
print(f"{'via':12}{'clients':>8}{'NOPM':>9}{'server us/tx':>14}{'client us/tx':>14}   "
      f"what active sessions were doing (medians of {rounds})")
for via in ("procedures", "statements"):
    for n in clients:
        runs = [json.load(open(f"{work}/{via}-{n}-{r}.json")) for r in range(1, rounds + 1)]
        assert all(run["database"]["agrees"] for run in runs), "client and database count differently"
        med = lambda f: statistics.median(map(f, runs))
        nopm = med(lambda r: r["new_orders_per_minute"])
        best = max(best, (nopm, f"{via}, {n} clients"))
        waits = collections.Counter(line.strip() for r in range(1, rounds + 1)
                                    for line in open(f"{work}/{via}-{n}-{r}.waits"))
        total = sum(waits.values()) or 1
        told = ", ".join(f"{what} {100 * count / total:.0f}%" for what, count in waits.most_common(4))
        print(f"{via:12}{n:>8}{nopm:9.0f}{med(lambda r: r['server'].get('cpu_us_per_transaction', float('nan'))):14.1f}"
              f"{med(lambda r: r['client']['cpu_us_per_transaction']):14.1f}   {told}")
print(f"best: {best[0]:.0f} NOPM ({best[1]}), {best[0] / reference:.2f} times the reference of {reference:.0f}")
print(f"pgbench: {here:.0f} tps here, {there:.0f} on the machine of the reference: "
      f"{best[0] / reference * there / here:.2f} times if machines are compared by it")
PY
