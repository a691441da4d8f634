#!/usr/bin/env bash
# Size of a record of many hours, and the cost of its report. The record of a short paced run is lengthened by
# repeating its measurement: series, counters (which continue), histograms and events. The file of
# Deliveries stays as it is; no report reads it. DIPS is the number of planted dips of 3 s, and of seconds with thirty
# times the response time, for the report to explain.
#
#   scripts/bench/long-record.sh [HOURS=12] [WAREHOUSES=1] [DB=sqlite:short.db] [DIPS=0]
#   scripts/bench/long-record.sh 12 15000 simulated:service=5ms 20
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
GRAYMARK=${GRAYMARK:-$HERE/target/release/graymark}
HOURS=${1:-12}
WAREHOUSES=${2:-1}
DB=${3:-sqlite:short.db}
DIPS=${4:-0}
[ -x "$GRAYMARK" ] || { echo "build first: cargo build --release" >&2; exit 2; }
WORK=$(mktemp -d -t graymark-bench.XXXXXX)
trap 'rm -rf "$WORK"' EXIT
cd "$WORK"

run=("$GRAYMARK" run tpcc --db "$DB" --pace standard --ramp-up 5s --duration 60s --check none --out record --json)
case "$DB" in
  simulated:*) run+=(-w "$WAREHOUSES") ;;
  *) "$GRAYMARK" load tpcc --db "$DB" -w "$WAREHOUSES" 2>/dev/null >/dev/null ;;
esac
"${run[@]}" 2>/dev/null >/dev/null || true
python3 - "$HOURS" "$DIPS" <<'PY'
import csv, io, json, sys
hours, planted = float(sys.argv[1]), int(sys.argv[2])
summary = json.load(open("record/summary.json"))
ramp_up, length = summary["ramp_up_s"], summary["interval_s"]
times = int(hours * 3600 / length)

def repeat(lines, shifted):
    return [shifted(line, number) for number in range(times) for line in lines]

head, *rows = open("record/series.csv").read().splitlines()
begun = [row for row in rows if float(row.split(",")[0]) < ramp_up]
measured = [row.split(",", 1) for row in rows if float(row.split(",")[0]) >= ramp_up]
later = repeat(measured, lambda row, number: f"{int(row[0]) + int(number * length)},{row[1]}")
open("record/series.csv", "w").write("\n".join([head, *begun, *later]) + "\n")

head, *rows = csv.reader(open("record/counters.csv"))
number_of = lambda text: float(text) if text else None
first, last = ([number_of(cell) for cell in row] for row in (rows[0], rows[-1]))
grown = [b - a if a is not None and b is not None else 0 for a, b in zip(first, last)]
def shift(row, number):
    return [cell and f"{float(cell) + grown[place] * number:.6f}" for place, cell in enumerate(row)]
with open("record/counters.csv", "w") as file:
    csv.writer(file, lineterminator="\n").writerows([head, rows[0], *repeat(rows[1:], shift)])

lines = open("record/histograms.hlog").read().splitlines()
intervals = [line.split(",", 2) for line in lines if line.startswith("Tag=")]
longer = repeat(intervals, lambda at, number: f"{at[0]},{float(at[1]) + number * length:.3f},{at[2]}")
kept = [line for line in lines if not line.startswith("Tag=")]
open("record/histograms.hlog", "w").write("\n".join(kept + longer) + "\n")

events = [json.loads(line) for line in open("record/events.jsonl")]
once = [event for event in events if not ramp_up < event.get("at", 0) < ramp_up + length]
often = repeat([event for event in events if event not in once],
               lambda event, number: {**event, "at": event["at"] + number * length})
ordered = sorted(once + often, key=lambda event: event.get("at", 0))
open("record/events.jsonl", "w").writelines(json.dumps(event) + "\n" for event in ordered)

summary["interval_s"] = times * length
apart = times * length / max(2 * planted, 1)
moments = [int(ramp_up + (number + 0.5) * apart) for number in range(2 * planted)]
dips, peaks = moments[::2], set(moments[1::2])
low = {second + number for second in dips for number in range(3)}
if planted:
    summary["dips"] = [{"start_s": at, "length_s": 3, "depth": 0.8, "blackout_s": 0} for at in dips]
    head, *rows = csv.reader(open("record/series.csv"))
    completed, slow = head.index("completed"), [head.index("p99_ms"), head.index("max_ms")]
    for row in rows:
        if int(row[0]) in low:
            row[completed] = str(int(row[completed]) // 5)
        for place in slow if int(row[0]) in peaks else []:
            row[place] = row[place] and str(30 * float(row[place]))
    with open("record/series.csv", "w") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
json.dump(summary, open("record/summary.json", "w"))
PY
rm -f record/report.txt record/report.html
bytes=$(du -sb record | cut -f1)
echo "record of $HOURS hours: $((bytes / 1024)) KiB, $(echo "$bytes / 1024 / $HOURS" | bc) KiB an hour"
python3 - "$GRAYMARK" <<'PY'
import os, resource, statistics, subprocess, sys
seconds = []
used = lambda: resource.getrusage(resource.RUSAGE_CHILDREN)
for _ in range(5):
    begun = used()
    subprocess.run([sys.argv[1], "report", "record"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    seconds.append(used().ru_utime + used().ru_stime - begun.ru_utime - begun.ru_stime)
page = os.path.getsize("record/report.html") // 1024
memory = used().ru_maxrss // 1024
print(f"its report: {statistics.median(seconds):.2f} s of CPU (median of 5), at most {memory} MiB; page of {page} KiB")
PY
