#!/usr/bin/env bash
# The number of sessions and driver threads that Graymark chooses for a number of warehouses, and the resource use of
# the client:
# terminals with the standard's keying and think times on simulated transactions of 5 ms. Prints a table in Markdown,
# with the figures of the YDB post for the clients that it compares.
#
#   scripts/study/size-client.sh [WAREHOUSES="1000 3000 10000 15000 30000 100000"] [DURATION=60s]
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
GRAYMARK=${GRAYMARK:-$HERE/target/release/graymark}
WAREHOUSES=${1:-1000 3000 10000 15000 30000 100000}
DURATION=${2:-60s}
WORK=$(mktemp -d -t graymark-study.XXXXXX)
trap 'rm -rf "$WORK"' EXIT
[ -x "$GRAYMARK" ] || { echo "build first: cargo build --release" >&2; exit 2; }

cat <<'HEAD'
| warehouses | terminals | sessions | threads | memory, MiB | MiB a warehouse | CPU of one core, % | CPU a transaction, us | efficiency, % | 99th percentile of lateness, ms | in the post: MiB a warehouse |
|---|---|---|---|---|---|---|---|---|---|---|
HEAD
for warehouses in $WAREHOUSES; do
  "$GRAYMARK" run tpcc --db 'simulated:service=5ms' -w "$warehouses" --pace standard --ramp-up 30s \
    --duration "$DURATION" --seed 7 --out "$WORK/$warehouses" --json 2>/dev/null >"$WORK/summary.json" ||
    { echo "the run of $warehouses warehouses failed" >&2; exit 1; }
  python3 - "$WORK/summary.json" <<'PY'
import json, sys
s = json.load(open(sys.argv[1]))
client, w = s["client"], s["scale"]
mib = client["peak_rss_bytes"] / 2**20
seconds = s["ramp_up_s"] + s["interval_s"]
post = {3000: "170 (BenchBase as it was)", 10000: "33 (YugabyteDB's client)", 15000: "6 (after the post's change)"}
print(f'| {w:,} | {client["terminals"]:,} | {s["clients"]:,} | {client.get("threads") or "not known"} '
      f'| {mib:.1f} | {mib / w:.4f} '
      f'| {100 * client["cpu_s"] / seconds:.0f} | {client["cpu_us_per_transaction"]:.1f} | {s["efficiency"]:.1f} '
      f'| {s["pacing"]["lateness_ms"]["p99"]:.2f} | {post.get(w, "–")} |')
PY
done
