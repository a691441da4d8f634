#!/usr/bin/env bash
# A hundred kills of the whole server, under load, on private servers: nothing may be lost. The reports stay in the
# records.
#   scripts/study/acid.sh [TIMES] [ENGINE...]      100 by default; engines: postgres mysql
set -euo pipefail
cd "$(dirname "$0")/../.."
times=${1:-100}
shift || true
engines=("$@")
[ ${#engines[@]} -gt 0 ] || engines=(postgres mysql)
cargo build --release
for engine in "${engines[@]}"; do
    record="graymark-runs/acid-crash-$engine-$(date -u +%Y%m%dT%H%M%SZ)"
    target/release/graymark acid tpcc --db "$engine:local" -w 2 --crash kill --times "$times" --out "$record"
done
