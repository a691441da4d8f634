#!/usr/bin/env bash
# The program itself: size, start-up time, number of crates, and the memory of a load at two scales of SQLite.
#
#   scripts/bench/footprint.sh [WAREHOUSES=8] [STARTS=21]
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
GRAYMARK=${GRAYMARK:-$HERE/target/release/graymark}
WAREHOUSES=${1:-8}
STARTS=${2:-21}
[ -x "$GRAYMARK" ] || { echo "build first: cargo build --release" >&2; exit 2; }
WORK=$(mktemp -d -t graymark-bench.XXXXXX)
trap 'rm -rf "$WORK"' EXIT

echo "binary: $(stat -c %s "$GRAYMARK") bytes"
crates=$(cd "$HERE" && cargo tree --locked --edges normal --prefix none --format '{p}' |
  sed 's/ (\*)$//' | sort -u | wc -l)
echo "crates: $crates, Graymark among them"
python3 - "$GRAYMARK" "$STARTS" <<'PY'
import statistics, subprocess, sys, time
def start():
    begun = time.perf_counter()
    subprocess.run([sys.argv[1], "screens", "new-order"], stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - begun) * 1e3
starts = [start() for _ in range(int(sys.argv[2]))]
print(f"start-up to a drawn screen and exit: {statistics.median(starts):.1f} ms (median of {len(starts)})")
PY
for warehouses in 1 "$WAREHOUSES"; do
  "$GRAYMARK" load tpcc --db "sqlite:$WORK/tpcc-$warehouses.db" -w "$warehouses" --seed 7 --json 2>/dev/null \
    >"$WORK/load.json" &
  pid=$!
  peak=0
  while [ -e "/proc/$pid/status" ]; do
    now=$(awk '/VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null || true)
    [ -z "$now" ] || peak=$now
    sleep 0.02
  done
  wait $pid
  seconds=$(python3 -c 'import json, sys; print(round(json.load(open(sys.argv[1]))["load"]["seconds"], 2))' \
    "$WORK/load.json")
  echo "SQLite, $warehouses warehouses: loaded in $seconds s, peak memory $((peak / 1024)) MiB"
done
