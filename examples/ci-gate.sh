#!/bin/sh
# A gate for CI: keeps a baseline if there is none, and otherwise passes only if a slowdown is excluded (docs/ci.md).
set -eu
graymark=${GRAYMARK:-graymark}
db=${GRAYMARK_DB:-postgres:local}
baseline=${BASELINE:-baseline}

if [ ! -e "$baseline/record.json" ]; then
    exec "$graymark" bench --db "$db" -w "${WAREHOUSES:-4}" --clients "${CLIENTS:-4}" \
        --ramp-up "${RAMP_UP:-60s}" --duration "${DURATION:-5m}" --out "$baseline"
fi
exec "$graymark" gate --baseline "$baseline" --db "$db" --max-slowdown "${MAX_SLOWDOWN:-5%}" \
    --at-most "${AT_MOST:-20m}" --junit gate.xml --markdown gate.md
