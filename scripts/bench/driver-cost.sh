#!/usr/bin/env bash
# CPU cost of the driver itself, without a database: terminals with the standard's pace on simulated transactions of 5
# ms. If the kit tpcc-postgres-cpp is installed (TPCC_CPP=/path/to/its/binary), its simulation of as many terminals is
# printed for comparison.
#
#   scripts/bench/driver-cost.sh [DURATION=60s]
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
GRAYMARK=${GRAYMARK:-$HERE/target/release/graymark}
DURATION=${1:-60s}
WORK=$(mktemp -d -t graymark-bench.XXXXXX)
trap 'rm -rf "$WORK"' EXIT
[ -x "$GRAYMARK" ] || { echo "build first: cargo build --release" >&2; exit 2; }

printf '%-10s %10s %12s %12s %10s %14s %14s\n' \
  warehouses terminals 'tpm/warehouse' '% of 12.605' 'us CPU/tx' 'peak RSS MiB' 'late p99 ms'
for warehouses in 1000 15000 100000; do
  "$GRAYMARK" run tpcc --db 'simulated:service=5ms' -w $warehouses --pace standard --ramp-up 30s \
    --duration "$DURATION" --seed 7 \
    --out "$WORK/$warehouses" --json 2>/dev/null >"$WORK/$warehouses.json"
  python3 - "$WORK/$warehouses.json" <<'PY'
import json, sys
s = json.load(open(sys.argv[1]))
per = s["new_orders_per_minute"] / s["scale"]
# A deck of 23 cards allows 600 * 10 / 476 New-Orders per minute and warehouse without any response time; 5 ms of it
# lengthen the cycle.
most = 600 * 10 / (476 + 23 * 0.005)
print(f'{s["scale"]:<10} {s["client"]["terminals"]:>10} {per:>12.3f} {100 * per / most:>12.2f} '
      f'{s["client"]["cpu_us_per_transaction"]:>10.2f}'
      f' {s["client"]["peak_rss_bytes"] / 2**20:>14.1f} {s["pacing"]["lateness_ms"]["p99"]:>14.2f}')
PY
done

if [ -n "${TPCC_CPP:-}" ]; then
  echo "tpcc-postgres-cpp, 15000 warehouses, simulated 5 ms:"
  /usr/bin/time -v "$TPCC_CPP" run --warehouses 15000 --simulate-ms 5 --duration 1 --skip-warmup 2>&1 \
    | grep -E 'Maximum resident|User time|System time|tpmC' || true
fi
