# Shared by the benchmark scripts: a private PostgreSQL in a temporary directory on the loopback, and medians.
# Needs Debian's postgresql package (or PG_BIN=/directory/with/initdb) and a release build of graymark.

set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
GRAYMARK=${GRAYMARK:-$HERE/target/release/graymark}
PG_BIN=${PG_BIN:-$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)}
WORK=$(mktemp -d -t graymark-bench.XXXXXX)
PGPORT_PRIVATE=${PGPORT_PRIVATE:-$((20000 + RANDOM % 20000))}

[ -x "$GRAYMARK" ] || { echo "build first: cargo build --release" >&2; exit 2; }
[ -n "$PG_BIN" ] && [ -x "$PG_BIN/initdb" ] ||
  { echo "no PostgreSQL found: apt-get install postgresql, or set PG_BIN" >&2; exit 2; }

# PostgreSQL refuses to run as root.
unprivileged() {
  if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; else "$@"; fi
}

# start_postgres: durable, with memory and log enough for ten warehouses.
start_postgres() {
  mkdir -p "$WORK/socket"
  if [ "$(id -u)" = 0 ]; then
    chmod 755 "$WORK"; install -d -o postgres -g postgres -m 700 "$WORK/data"; chown postgres "$WORK/socket"
  else
    mkdir -m 700 "$WORK/data"
  fi
  unprivileged "$PG_BIN/initdb" -D "$WORK/data" -A trust -U postgres --no-sync --no-locale -E UTF8 >"$WORK/initdb.log"
  (cd "$WORK" && unprivileged "$PG_BIN/pg_ctl" -D "$WORK/data" -l "$WORK/socket/log" -w \
    -o "-p $PGPORT_PRIVATE -k $WORK/socket -c listen_addresses=127.0.0.1 \
    -c shared_buffers=4GB -c max_wal_size=8GB -c checkpoint_timeout=30min $*" start >/dev/null)
  trap stop_postgres EXIT
}

stop_postgres() {
  (cd / && unprivileged "$PG_BIN/pg_ctl" -D "$WORK/data" -m immediate -w stop >/dev/null 2>&1) || true
  rm -rf "$WORK"
}

# sql DATABASE [psql arguments]
sql() { local db=$1; shift; psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$PGPORT_PRIVATE" -U postgres -d "$db" "$@"; }

url() { echo "postgres://postgres@127.0.0.1:$PGPORT_PRIVATE/$1"; }

seconds() { date +%s.%N; }
elapsed() { echo "$2 - $1" | bc -l; }
median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
