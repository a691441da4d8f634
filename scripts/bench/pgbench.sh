#!/usr/bin/env bash
# DebitCredit (profile tpc-b) by Graymark, by procedures and by statements, compared with pgbench's similar transaction
# (prepared) on one private PostgreSQL: the same number of branches, the same clients, in turns. Prints medians and
# ratios.
#
#   scripts/bench/pgbench.sh [BRANCHES=100] [ROUNDS=3] [SECONDS=20] [CLIENTS="1 4 16"]
. "$(dirname "$0")/lib.sh"
BRANCHES=${1:-100}
ROUNDS=${2:-3}
DURATION=${3:-20}
CLIENTS=${4:-1 4 16}
PGBENCH=${PGBENCH:-$PG_BIN/pgbench}
CONNECTION=(-h 127.0.0.1 -p "$PGPORT_PRIVATE" -U postgres)
start_postgres
sql postgres -c 'CREATE DATABASE pgbench' -c 'CREATE DATABASE graymark'
"$PGBENCH" "${CONNECTION[@]}" -i -s "$BRANCHES" --quiet pgbench >/dev/null 2>&1
"$GRAYMARK" load debitcredit --db "$(url graymark)" -b "$BRANCHES" --profile tpc-b >/dev/null 2>&1

# A transaction is short, so its cost is the client's user and system time over the whole run, start included.
pgbench() {
  local TIMEFORMAT='%U %S'
  { time "$PGBENCH" "${CONNECTION[@]}" -n -M prepared -c "$1" -j 1 -T "$DURATION" pgbench >"$WORK/out" 2>&1; } \
    2>"$WORK/time"
  awk -v t="$(cat "$WORK/time")" '/transactions actually processed/ { n = $NF } /^tps/ { tps = $3 }
    END { split(t, c, " "); printf "pgbench %.1f %.2f\n", tps, 1e6 * (c[1] + c[2]) / n }' "$WORK/out"
}

graymark() {
  "$GRAYMARK" run debitcredit --db "$(url graymark)" --clients "$1" --via "$2" --ramp-up 2s --duration "${DURATION}s" \
    --check none \
    --out "$WORK/record" --json 2>/dev/null >"$WORK/out"
  rm -rf "$WORK/record"
  python3 - "$2" "$WORK/out" <<'PY'
import json, sys
run = json.load(open(sys.argv[2]))
assert run["database"]["agrees"], run["database"]
print(f"{sys.argv[1]} {run['tps']:.1f} {run['client']['cpu_us_per_transaction']:.2f}")
PY
}

for round in $(seq "$ROUNDS"); do
  for clients in $CLIENTS; do
    # The first one changes with each round.
    for kind in $(printf '%s\n' \
      pgbench procedures statements procedures pgbench statements statements procedures pgbench |
      tail -n +$((round % 3 * 3 + 1)) | head -n 3); do
      sql postgres -c CHECKPOINT
      case $kind in
        pgbench) pgbench "$clients" ;;
        *) graymark "$clients" "$kind" ;;
      esac | sed "s/^/$clients /" | tee -a "$WORK/figures" >&2
    done
  done
done
python3 - "$WORK/figures" <<'PY'
import collections, statistics, sys
runs = collections.defaultdict(list)
for line in open(sys.argv[1]):
    clients, kind, tps, cpu = line.split()
    runs[int(clients), kind].append((float(tps), float(cpu)))
med = {key: tuple(statistics.median(column) for column in zip(*values)) for key, values in runs.items()}
print(f"{'clients':>7} {'':12} {'tps':>8} {'ratio':>6} {'client us/tx':>13} {'ratio':>6}   "
      f"medians of {len(next(iter(runs.values())))}")
for clients in sorted({clients for clients, _ in med}):
    for kind in ("pgbench", "procedures", "statements"):
        (tps, cpu), (tps0, cpu0) = med[clients, kind], med[clients, "pgbench"]
        print(f"{clients:7} {kind:12} {tps:8.0f} {tps / tps0:6.2f} {cpu:13.1f} {cpu / cpu0:6.2f}")
PY
