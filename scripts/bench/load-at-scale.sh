#!/usr/bin/env bash
# Load at scale: rows and bytes per second and the loader's peak memory, by number of warehouses and of loading sessions
# (--jobs), on one private PostgreSQL, compared with psql COPY of the same rows as prepared CSV plus the same keys in
# two sessions. 100 warehouses temporarily need about 25 GB, 300 about 65: rows as CSV, their database and its log.
# FLOOR=no leaves psql COPY and its CSV out; 300 warehouses then need about 45 GB.
#
#   [FLOOR=no] scripts/bench/load-at-scale.sh [WAREHOUSES="1 10 100"] [JOBS="1 2 4"] [ROUNDS=1]
. "$(dirname "$0")/lib.sh"
SCALES=${1:-1 10 100}
JOBS=${2:-1 2 4}
ROUNDS=${3:-1}
WORKLOAD=tpcc
. "$(dirname "$0")/floor.sh"
start_postgres

echo '| warehouses | how | s | rows/s | MB/s | loader CPU, s | peak memory, MiB | times the floor |'
echo '|---|---|---|---|---|---|---|---|'
for scale in $SCALES; do
  took=
  if [ "${FLOOR:-yes}" != no ]; then
    make_rows "$scale"
    # A first load on a new server is slower than those after it.
    [ "$scale" -gt 10 ] || floor >/dev/null
  fi
  for round in $(seq "$ROUNDS"); do
    if [ "${FLOOR:-yes}" != no ]; then
      took=$(floor)
      printf '| %d | psql COPY, 2 sessions | %.2f | | | | | |\n' "$scale" "$took"
      sql postgres -c 'DROP DATABASE floor'
    fi
    for jobs in $JOBS; do
      sql postgres -c 'CREATE DATABASE graymark' -c CHECKPOINT
      # Peak memory and CPU time of the loader are those that the kernel counted for the process.
      python3 - "$GRAYMARK" "$(url graymark)" "$scale" "$jobs" "$SEED" "$took" <<'PY'
import json, resource, subprocess, sys
program, url, scale, jobs, seed, floor = sys.argv[1:]
load = subprocess.run([program, "load", "tpcc", "--db", url, "-w", scale, "--jobs", jobs, "--seed", seed, "--json"],
                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
used, load = resource.getrusage(resource.RUSAGE_CHILDREN), json.loads(load.stdout)["load"]
seconds = load["seconds"]
times = f'{seconds / float(floor):.2f}' if floor else ''
rows = load["rows"] if isinstance(load["rows"], int) else sum(load["rows"].values())
print(f'| {scale} | --jobs {jobs} | {seconds:.2f} | {rows / seconds:,.0f} | {load["bytes"] / 1e6 / seconds:.1f} '
      f'| {used.ru_utime + used.ru_stime:.2f} | {used.ru_maxrss / 1024:.1f} '
      f'| {times} |')
PY
      sql postgres -c 'DROP DATABASE graymark'
    done
  done
done
