#!/usr/bin/env bash
# CPU time per transaction of client and server on a private PostgreSQL without think time, by procedures and by
# statements, in turns.
#
#   scripts/bench/client-cost.sh [WAREHOUSES=10] [CLIENTS=4] [ROUNDS=3] [DURATION=30s]
#
# With OTHER=/path/to/another/graymark, that binary takes turns with this one, each on a database that it loaded itself,
# and the last lines are the medians of the ratios of this one to the other, round by round.
. "$(dirname "$0")/lib.sh"
WAREHOUSES=${1:-10}
CLIENTS=${2:-4}
ROUNDS=${3:-3}
DURATION=${4:-30s}
declare -A BINARIES=([this]=$GRAYMARK)
SIDES=this
if [ -n "${OTHER:-}" ]; then
  BINARIES[other]=$OTHER
  SIDES="this other"
fi
start_postgres
for side in $SIDES; do
  sql postgres -c "CREATE DATABASE $side"
  "${BINARIES[$side]}" load tpcc --db "$(url $side)" -w "$WAREHOUSES" > /dev/null 2>&1
done

for round in $(seq "$ROUNDS"); do
  for via in procedures statements; do
    # The first one changes with each round, too.
    for side in $( ((round % 2)) && echo "$SIDES" || echo "$SIDES" | tr ' ' '\n' | tac); do
      sql postgres -c CHECKPOINT
      "${BINARIES[$side]}" run tpcc --db "$(url $side)" --clients "$CLIENTS" --via $via --ramp-up 5s \
        --duration "$DURATION" --check none --out "$WORK/$side-$via-$round" --json 2> /dev/null \
        > "$WORK/$side-$via-$round.json"
    done
  done
done
python3 - "$WORK" "$ROUNDS" $SIDES << 'PY'
import json, statistics, sys
work, rounds, sides = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
nan = float("nan")
FIGURES = {
    "NOPM": lambda r: r["new_orders_per_minute"],
    "client us/tx": lambda r: r["client"]["cpu_us_per_transaction"],
    "user us/tx": lambda r: r["client"]["cpu_us_per_transaction"] * r["client"]["cpu_user_s"] / r["client"]["cpu_s"],
    "server us/tx": lambda r: r["server"].get("cpu_us_per_transaction", nan),
    "RSS MB": lambda r: r["client"]["peak_rss_bytes"] / 1e6,
}
print(f"{'':6} {'via':11}" + "".join(f"{name:>13}" for name in FIGURES) + f"   medians of {rounds}")
for via in ("procedures", "statements"):
    runs = {side: [json.load(open(f"{work}/{side}-{via}-{n}.json")) for n in range(1, rounds + 1)] for side in sides}
    for side in sides:
        print(f"{side:6} {via:11}" +
              "".join(f"{statistics.median(map(of, runs[side])):13.1f}" for of in FIGURES.values()))
    if len(sides) == 2:
        ratios = lambda of: [of(a) / of(b) for a, b in zip(*runs.values())]
        told = "".join(f"{statistics.median(ratios(of)):13.3f}" for of in FIGURES.values())
        print(f"{'ratio':6} {via:11}" + told)
        low_high = "".join(f"{min(ratios(of)):6.2f}-{max(ratios(of)):.2f}".rjust(13) for of in FIGURES.values())
        print(f"{'range':6} {via:11}" + low_high)
PY
