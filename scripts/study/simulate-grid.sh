#!/usr/bin/env bash
# Compares the hit rates that a grid measured on PostgreSQL with simulated ones: for each point as many transactions
# from an empty buffer, before and in the measurement interval, as the run had. Prints a Markdown table and the largest
# differences. A hit rate that a point did not measure, as in an interval shorter than the server's counters, is a dash.
#
#   scripts/study/simulate-grid.sh GRID
#
# GRID is the directory of `graymark sweep grid` on postgres:local. Needs a release build of graymark (or
# GRAYMARK=/path/to/it).
set -euo pipefail
HERE=$(cd "$(dirname "$0")/../.." && pwd)
GRAYMARK=${GRAYMARK:-$HERE/target/release/graymark}
[ -x "$GRAYMARK" ] || { echo "build first: cargo build --release" >&2; exit 2; }
[ -f "${1:-}/points.csv" ] || { echo "give the directory of a grid, with its points.csv" >&2; exit 2; }
python3 - "$GRAYMARK" "$1" <<'PY'
import csv, json, subprocess, sys
program, grid = sys.argv[1], sys.argv[2]
points = list(csv.DictReader(open(f"{grid}/points.csv")))
points.sort(key=lambda p: (int(p["cpus"] or 0), int(p["warehouses"]), int(p["buffer_bytes"]), int(p["repeat"] or 1)))
print("| warehouses | CPUs | buffers | % of database | NOPM "
      "| data hits, % | simulated | index hits, % | simulated | overall, % | simulated |")
print("|" + "---|" * 11)
farthest = {}
for point in points:
    done = {"before": 0, "counted": 0}
    for second in csv.DictReader(open(f"{grid}/{point['record']}/series.csv")):
        when = {"ramp_up": "before", "measurement": "counted"}.get(second["phase"])
        if when:
            done[when] += int(second["completed"])
    size = int(point["buffer_bytes"]) >> 20
    answer = subprocess.run(
        [program, "predict", "simulate", "-w", point["warehouses"], "--buffer", f"{size}MB", "--policy", "clock-sweep",
         "--clients", point["clients"], "--from-empty", "--warm-up", str(done["before"]),
         "--transactions", str(done["counted"]), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    simulated = json.loads(answer.stdout)["sizes"][0]
    row = [point["warehouses"], point["cpus"], f"{size} MB",
           f"{100 * int(point['buffer_bytes']) / int(point['database_bytes']):.1f}" if point["database_bytes"] else "",
           f"{float(point['new_orders_per_minute']):,.0f}"]
    for part in ("data", "index", "overall"):
        cell, model = point[f"{part}_hit_percent"], simulated[part]
        row += [f"{float(cell):.2f}" if cell else "–", f"{model:.2f}"]
        if cell:
            far = (abs(float(cell) - model), f"{point['warehouses']} warehouses, {point['cpus']} CPUs, {size} MB")
            farthest[part] = max(farthest.get(part, far), far)
    print("| " + " | ".join(row) + " |", flush=True)
for part, (distance, where) in farthest.items():
    print(f"{part}: at most {distance:.2f} points apart ({where})")
PY
