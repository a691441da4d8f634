#!/usr/bin/env bash
# Plants bottlenecks on a private PostgreSQL, several times each, and prints as Markdown what Graymark named first.
#
#   scripts/study/bottlenecks.sh [TIMES=10] [PLANT...]
#
# Plants: log hogs hot-row buffers lock-holder relay starved checkpoints. Needs Debian's postgresql package, a C compiler
# (log), python3 (relay), and a release build of graymark (or GRAYMARK=/path/to/it). The machine should be idle.
source "$(dirname "${BASH_SOURCE[0]}")/../bench/lib.sh"
TIMES=${1:-10}
shift || true
ALL=(log hogs hot-row buffers lock-holder relay starved checkpoints)
[ $# -gt 0 ] && PLANTS=("$@") || PLANTS=("${ALL[@]}")
CPUS=$(nproc)
FOUND=$WORK/found
BESIDE=()

beside() { "$@" & BESIDE+=($!); }
alone() {
  [ ${#BESIDE[@]} -eq 0 ] || kill "${BESIDE[@]}" 2>/dev/null || true
  wait "${BESIDE[@]}" 2>/dev/null || true
  BESIDE=()
}
finish() { alone; stop_postgres; }

# restart [-c NAME=VALUE...]: the same data with other settings, and whatever LD_PRELOAD says.
restart() {
  (cd "$WORK" && unprivileged "$PG_BIN/pg_ctl" -D "$WORK/data" -m fast -w stop >/dev/null) || true
  (cd "$WORK" && unprivileged "$PG_BIN/pg_ctl" -D "$WORK/data" -l "$WORK/socket/log" -w -o "-p $PGPORT_PRIVATE -k $WORK/socket \
    -c listen_addresses=127.0.0.1 -c shared_buffers=256MB -c max_wal_size=8GB -c checkpoint_timeout=30min $*" start >/dev/null)
}

# run PLANT NUMBER [OPTION...]: a run; the cause that it names first, and the one that it names first among those of the
# run itself, whatever others on the machine took.
run() {
  local plant=$1 record=$WORK/$1-$2 causes; shift 2
  "${NICE[@]}" "$GRAYMARK" run tpcc --check none --ramp-up 2s --out "$record" --json "$@" 2>>"$WORK/errors" >"$record.json"
  causes=$(grep -o '"bounds":{.*' "$record.json" | grep -o '"what":"[^"]*"' | head -n 4 | sed 's/"what":"\(.*\)"/\1/')
  printf '%s\t%s\t%s\n' "$plant" "$(head -n 1 <<<"$causes")" "$(grep -v 'taken by others' <<<"$causes" | head -n 1)" >>"$FOUND"
}

# explained PLANT NUMBER: what comes and goes is the cause of some seconds, and not of the mean transaction: what graymark
# explain names first in most dips and latency peaks takes the place of what the run named.
explained() {
  local causes
  sed -i '$d' "$FOUND"
  causes=$("$GRAYMARK" explain "$WORK/$1-$2" --json | grep -o '"differences":\[{"cause":"[a-z_]*"' | sed 's/.*:"\(.*\)"/\1/' |
    sort | uniq -c | sort -rn | awk '{ print $2 }')
  printf '%s\t%s\t%s\n' "$1" "$(head -n 1 <<<"$causes")" "$(grep -v -e strangers -e cpu_wait <<<"$causes" | head -n 1)" >>"$FOUND"
}

hog() { while :; do :; done; }
hogs() { for _ in $(seq "$1"); do beside hog; done; }

# The rows of all warehouses, 3 s of every 10.
lock_holder() {
  while :; do
    sql bench -c 'BEGIN' -c 'SELECT count(*) FROM (SELECT 1 FROM tpcc.warehouse FOR UPDATE) AS held' -c 'SELECT pg_sleep(3)' -c 'COMMIT'
    sleep 7
  done >/dev/null 2>&1
}

slow_flushes() {
  cat >"$WORK/slow.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
int fdatasync(int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    usleep(5000);
    return real(file);
}
C
  cc -shared -fPIC -O1 -o "$WORK/slow.so" "$WORK/slow.c" -ldl
  chmod 755 "$WORK/slow.so"
}

relay() {
  exec python3 - "$1" "$PGPORT_PRIVATE" 2>/dev/null <<'P'
import asyncio, sys
async def pump(reader, writer):
    loop = asyncio.get_running_loop()
    while data := await reader.read(65536):
        loop.call_later(0.001, writer.write, data)
async def client(reader, writer):
    there, to = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    await asyncio.gather(pump(reader, to), pump(there, writer))
async def main():
    await (await asyncio.start_server(client, "127.0.0.1", int(sys.argv[1]))).serve_forever()
asyncio.run(main())
P
}

plant() { # NAME NUMBER
  NICE=(env)
  local usual=(--db "$(url bench)" --clients 4) short=(--duration 10s)
  case $1 in
  log) LD_PRELOAD=$WORK/slow.so restart; run "$@" "${usual[@]}" "${short[@]}"; restart ;;
  hogs) hogs $((2 * CPUS)); run "$@" "${usual[@]}" "${short[@]}" ;;
  hot-row) run "$@" --db "$(url hot)" --clients 16 "${short[@]}" ;;
  buffers) run "$@" --db "postgres:local?data=$WORK/small&memory=160MB&shared_buffers=16MB" --clients 4 --duration 20s ;;
  lock-holder) beside lock_holder; run "$@" "${usual[@]}" --duration 35s; explained "$@" ;;
  relay)
    local port=$((PGPORT_PRIVATE + 1))
    beside relay $port
    sleep 1
    run "$@" --db "postgres://postgres@127.0.0.1:$port/bench" --clients 4 "${short[@]}" --via statements
    ;;
  starved) hogs $((2 * CPUS)); NICE=(nice -n 19); run "$@" "${usual[@]}" "${short[@]}" ;;
  checkpoints) run "$@" "${usual[@]}" --duration 65s --checkpoint 20s; explained "$@" ;;
  *) echo "no plant $1; there are ${ALL[*]}" >&2; exit 2 ;;
  esac
  alone
}

expected() {
  case $1 in
  log) echo "log write and flush" ;; hogs) echo "CPU taken by others" ;; hot-row) echo "row locks" ;;
  buffers) echo "page reads" ;; relay) echo "network and wake-up" ;; starved) echo "the client's wait for a CPU" ;;
  checkpoints) echo "checkpoint" ;; lock-holder) echo "lock_holder" ;;
  esac
}

start_postgres -c shared_buffers=256MB
trap finish EXIT
: >"$FOUND"
for database in "bench 2" "hot 1"; do
  read -r name warehouses <<<"$database"
  sql postgres -c "CREATE DATABASE $name"
  "$GRAYMARK" load tpcc --db "$(url "$name")" -w "$warehouses" >>"$WORK/errors" 2>&1
done
case " ${PLANTS[*]} " in *" log "*) slow_flushes ;; esac
case " ${PLANTS[*]} " in *" buffers "*) "$GRAYMARK" load tpcc --db "postgres:local?data=$WORK/small" -w 8 >>"$WORK/errors" 2>&1 ;; esac
for number in $(seq "$TIMES"); do
  for name in "${PLANTS[@]}"; do
    echo "$(date -u +%H:%M:%S) $name, $number of $TIMES, load $(cut -d ' ' -f 1 /proc/loadavg)" >&2
    plant "$name" "$number" || echo "$name failed: $(tail -n 1 "$WORK/errors")" >&2
  done
done
# counted PLANT COLUMN: what stands there, and how often.
counted() {
  awk -F '\t' -v plant="$1" -v column="$2" '$1 == plant { print $column == "" ? "nothing" : $column }' "$FOUND" | sort | uniq -c | sort -rn |
    awk '{ n = $1; $1 = ""; printf "%s%s: %d", c, $0, n; c = "," }'
}

echo "| planted | must be named | named first, times of $TIMES | named first, others on the machine apart |"
echo "|---|---|---|---|"
for name in "${PLANTS[@]}"; do
  echo "| $name | $(expected "$name") |$(counted "$name" 2) |$(counted "$name" 3) |"
done
