#!/usr/bin/env bash
# Cost by scale: loads and runs several numbers of warehouses on one private PostgreSQL, one after the other, and prints
# the costs of each. With FIGURE, draws the table as an SVG file as well.
#
#   scripts/bench/scale.sh [WAREHOUSES="1 10 100"] [ROUNDS=3] [DURATION=30s] [CLIENTS=4] [FIGURE]
. "$(dirname "$0")/lib.sh"
SCALES=${1:-1 10 100}
ROUNDS=${2:-3}
DURATION=${3:-30s}
CLIENTS=${4:-4}
FIGURE=${5:-}
start_postgres
for scale in $SCALES; do
  sql postgres -c "CREATE DATABASE w$scale" -c CHECKPOINT
  # Peak memory and CPU time of the loader are those that the kernel counted for the process.
  python3 - "$GRAYMARK" "$(url "w$scale")" "$scale" >"$WORK/load-$scale.json" <<'PY'
import json, resource, subprocess, sys
load = subprocess.run([sys.argv[1], "load", "tpcc", "--db", sys.argv[2], "-w", sys.argv[3], "--jobs", "2", "--json"],
                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
load = json.loads(load.stdout)["load"]
print(json.dumps({"seconds": load["seconds"], "bytes": load["bytes"],
                  "cpu": used.ru_utime + used.ru_stime, "rss": used.ru_maxrss * 1024}))
PY
  for round in $(seq "$ROUNDS"); do
    for via in procedures statements; do
      sql postgres -c CHECKPOINT
      "$GRAYMARK" run tpcc --db "$(url "w$scale")" --clients "$CLIENTS" --via $via --ramp-up 10s \
        --duration "$DURATION" --check none \
        --out "$WORK/$via-$scale-$round" --json 2>/dev/null >"$WORK/$via-$scale-$round.json"
    done
  done
  echo "$scale warehouses done" >&2
  # Free the space for the next.
  sql postgres -c "DROP DATABASE w$scale"
done
python3 - "$WORK" "$ROUNDS" "$SCALES" "$FIGURE" <<'PY'
import json, math, statistics, sys
work, rounds, scales, figure = sys.argv[1], int(sys.argv[2]), [int(s) for s in sys.argv[3].split()], sys.argv[4]
columns = ["load s", "load s a warehouse", "loader CPU s a warehouse", "loader MB"]
for via in ("procedures", "statements"):
    columns += [f"{via}: NOPM", "client us/tx", "server us/tx", "client MB"]
rows = []
for scale in scales:
    load = json.load(open(f"{work}/load-{scale}.json"))
    row = [load["seconds"], load["seconds"] / scale, load["cpu"] / scale, load["rss"] / 1e6]
    for via in ("procedures", "statements"):
        runs = [json.load(open(f"{work}/{via}-{scale}-{n}.json")) for n in range(1, rounds + 1)]
        assert all(run["database"]["agrees"] for run in runs), "client and database count differently"
        med = lambda f: statistics.median(map(f, runs))
        row += [med(lambda r: r["new_orders_per_minute"]), med(lambda r: r["client"]["cpu_us_per_transaction"]),
                med(lambda r: r["server"].get("cpu_us_per_transaction", float("nan"))),
                med(lambda r: r["client"]["peak_rss_bytes"] / 1e6)]
    rows.append(row)
for i, name in enumerate(columns):
    print(f"{name:26}" + "".join(f"{row[i]:12.2f}" if row[i] < 100 else f"{row[i]:12.0f}" for row in rows))
print(f"{'warehouses':26}" + "".join(f"{scale:12}" for scale in scales) + f"   medians of {rounds}")

if figure:
    # One panel per figure; a flat line means that the cost is proportional to the scale.
    panels = [("load, seconds a warehouse", [(1, "")]),
              ("client CPU a transaction, µs", [(5, "procedures"), (9, "statements")]),
              ("client memory, MB", [(3, "load"), (7, "run")])]
    wide, high, left, top = 280, 170, 46, 34
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide * len(panels)} {high + 70}" '
           f'font-family="sans-serif" font-size="11">']
    position = lambda scale: math.log(scale / scales[0]) / (math.log(scales[-1] / scales[0]) or 1)
    for p, (title, lines) in enumerate(panels):
        most = max(row[column] for row in rows for column, _ in lines) * 1.15
        x = lambda scale: p * wide + left + position(scale) * (wide - left - 76)
        y = lambda value: top + high * (1 - value / most)
        svg.append(f'<text x="{p * wide + left}" y="16" font-weight="bold">{title}</text>')
        svg.append(f'<path d="M{p * wide + left} {top}V{top + high}H{p * wide + wide - 66}" '
                   'fill="none" stroke="#888"/>')
        for value in (0, most / 2, most):
            svg.append(f'<text x="{p * wide + left - 4}" y="{y(value) + 4:.0f}" text-anchor="end">{value:.3g}</text>')
        for scale in scales:
            svg.append(f'<text x="{x(scale):.0f}" y="{top + high + 14}" text-anchor="middle">{scale}</text>')
        for (column, name), colour in zip(lines, ("#1b6ca8", "#c2571a")):
            points = [(x(scale), y(row[column])) for scale, row in zip(scales, rows)]
            svg.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" '
                       f'points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}"/>')
            svg += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in points]
            svg.append(f'<text x="{points[-1][0] + 7:.0f}" y="{points[-1][1] + 4:.0f}" fill="{colour}">{name}</text>')
        svg.append(f'<text x="{p * wide + left}" y="{top + high + 30}">warehouses</text>')
    open(figure, "w").write("\n".join(svg + ["</svg>\n"]))
PY
