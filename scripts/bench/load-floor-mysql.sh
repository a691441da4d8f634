#!/usr/bin/env bash
# Load time of Graymark on MariaDB compared with LOAD DATA INFILE by the server itself of the same rows from prepared
# files, into the same tables in two sessions, and then the same keys, two at a time. Runs in pairs on one private
# MariaDB; prints each pair and the median ratio.
#
#   scripts/bench/load-floor-mysql.sh [WAREHOUSES=4] [PAIRS=3]
#
# Needs Debian's packages mariadb-server and mariadb-client, and a release build of graymark (or GRAYMARK=/path/to/it).
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
GRAYMARK=${GRAYMARK:-$HERE/target/release/graymark}
W=${1:-4}
PAIRS=${2:-3}
SQL=$HERE/src/engine/dialect/mariadb/tpcc
SEED=7
# Two sessions of about equal bytes.
ONE="stock item history"
OTHER="customer order_line orders new_order district warehouse"
[ -x "$GRAYMARK" ] || { echo "build first: cargo build --release" >&2; exit 2; }
PATH=$PATH:/usr/sbin
command -v mariadbd mariadb-install-db mariadb >/dev/null \
  || { echo "no MariaDB found: apt-get install mariadb-server mariadb-client" >&2; exit 2; }

WORK=$(mktemp -d -t graymark-bench.XXXXXX)
SOCKET=$WORK/my.sock
# The server is a child of the background job, which would leave it behind.
stop() { [ ! -f "$WORK/pid" ] || kill -9 "$(cat "$WORK/pid")" || true; wait 2>/dev/null || true; rm -rf "$WORK"; }
trap stop EXIT
# MariaDB refuses to run as root.
unprivileged() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=mysql --regid=mysql --clear-groups "$@"; else "$@"; fi; }
if [ "$(id -u)" = 0 ]; then chown mysql "$WORK"; fi
unprivileged mariadb-install-db --no-defaults --datadir="$WORK/data" --auth-root-authentication-method=normal \
  --skip-test-db >/dev/null 2>&1
# The settings of mysql:local.
unprivileged mariadbd --no-defaults --datadir="$WORK/data" --socket="$SOCKET" --skip-networking --pid-file="$WORK/pid" \
  --local-infile=ON \
  --character-set-server=utf8mb4 --collation-server=utf8mb4_bin --innodb-buffer-pool-size=4G --innodb-log-file-size=2G \
  --innodb-flush-log-at-trx-commit=1 >"$WORK/log" 2>&1 &
sql() { mariadb --no-defaults -uroot -S "$SOCKET" "$@"; }
for _ in $(seq 300); do sql -e 'SELECT 1' >/dev/null 2>&1 && break; sleep 0.1; done

echo "generating the rows of $W warehouses ..." >&2
mkdir "$WORK/rows"
for table in $ONE $OTHER; do
  "$GRAYMARK" rows tpcc "$table" -w "$W" --seed $SEED --date 2026-01-01T00:00:00Z |
    sed -E -e 's/,,/,\\N,/g' -e 's/([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9:.]+)Z/\1 \2/' >"$WORK/rows/$table.csv"
done
chmod -R a+rX "$WORK"
echo "$(du -sm "$WORK/rows" | cut -f1) MB" >&2

# The rows have the standard's order of columns, from which the table stock differs.
columns() {
  [ "$1" != stock ] ||
    echo "(s_i_id, s_w_id, s_quantity, $(printf 's_dist_%02d, ' {1..10})s_ytd, s_order_cnt, s_remote_cnt, s_data)"
}
fill() {
  for table in "$@"; do
    echo "LOAD DATA INFILE '$WORK/rows/$table.csv' INTO TABLE $table CHARACTER SET utf8mb4 FIELDS TERMINATED BY ','
      $(columns "$table");"
  done | sql floor
}
seconds() { date +%s.%N; }

floor() {
  sql -e 'DROP DATABASE IF EXISTS graymark; DROP DATABASE IF EXISTS floor; CREATE DATABASE floor;
    SET GLOBAL innodb_log_checkpoint_now = ON'
  sql floor <"$SQL/schema.sql"
  local start end
  start=$(seconds)
  # shellcheck disable=SC2086
  fill $ONE & local one=$!
  # shellcheck disable=SC2086
  fill $OTHER
  wait $one
  grep -v '^--' "$SQL/keys.sql" | tr '\n' ' ' | tr ';' '\n' | grep -v '^ *$' \
    | xargs -d '\n' -P 2 -I{} mariadb --no-defaults -uroot -S "$SOCKET" floor -e {}
  end=$(seconds)
  echo "$end - $start" | bc -l
}

graymark() {
  sql -e 'DROP DATABASE IF EXISTS floor; DROP DATABASE IF EXISTS graymark; CREATE DATABASE graymark;
    SET GLOBAL innodb_log_checkpoint_now = ON'
  "$GRAYMARK" load tpcc --db "mysql://root@localhost/graymark?socket=$SOCKET" -w "$W" --seed $SEED \
    --date 2026-01-01T00:00:00Z --jobs 2 --json \
    2>/dev/null >"$WORK/load.json"
  python3 - "$WORK/load.json" <<'PY'
import json, sys
load = json.load(open(sys.argv[1]))["load"]
print(load["seconds"])
print(" ".join(f"{name} {seconds:.1f}" for name, seconds in load["phases"]), file=sys.stderr)
PY
}

# Warm: the files are in the page cache, and both have had their first load on a new server.
floor >/dev/null
graymark >/dev/null 2>&1
: >"$WORK/ratios"
for pair in $(seq "$PAIRS"); do
  f=$(floor); g=$(graymark)
  ratio=$(echo "$g / $f" | bc -l)
  echo "$ratio" >>"$WORK/ratios"
  printf 'pair %d: floor %.2f s, graymark %.2f s, ratio %.3f\n' "$pair" "$f" "$g" "$ratio"
done
sort -g "$WORK/ratios" |
  awk '{ v[NR] = $1 } END { printf "median ratio %.3f\n", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
