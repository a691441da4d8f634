#!/usr/bin/env bash
# Plants bottlenecks on a private PostgreSQL, several times each, and prints as Markdown which bottleneck Graymark named
# first, and whether the gain without the planted one is within the predicted bound.
#
#   scripts/study/bottlenecks.sh [TIMES=10] [PLANT...]
#
# Plants: log hogs hot-row buffers lock-holder relay starved checkpoints. Needs Debian's postgresql package, a C
# compiler (log), python3, and a release build of graymark (or GRAYMARK=/path/to/it). The machine should be idle. Ten
# rounds of all take about 33 minutes.
source "$(dirname "${BASH_SOURCE[0]}")/../bench/lib.sh"
TIMES=${1:-10}
shift || true
ALL=(log hogs hot-row buffers lock-holder relay starved checkpoints)
[ $# -gt 0 ] && PLANTS=("$@") || PLANTS=("${ALL[@]}")
CPUS=$(nproc)
LENGTH=6s
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
  (cd "$WORK" && unprivileged "$PG_BIN/pg_ctl" -D "$WORK/data" -l "$WORK/socket/log" -w \
    -o "-p $PGPORT_PRIVATE -k $WORK/socket -c listen_addresses=127.0.0.1 -c shared_buffers=256MB -c max_wal_size=8GB \
    -c checkpoint_timeout=30min $*" start >/dev/null)
}

# run RECORD [OPTION...]: a run, whose summary is RECORD.json.
run() {
  local record=$WORK/$1; shift
  "${NICE[@]}" "$GRAYMARK" run tpcc --check none --ramp-up 1s --out "$record" --json "$@" 2>>"$WORK/errors" \
    >"$record.json"
}

# named PLANT NUMBER [FREED]: records the bottleneck that the run named first, the first among those of the run itself,
# ignoring other programs on the machine, and whether the gain of the run without the plant is within the bound.
named() {
  python3 - "$1" "$(expected "$1")" "$WORK/$1-$2.json" "${3:+$WORK/$3-$2.json}" >>"$FOUND" <<'P'
import json, sys
plant, cause, planted, freed = sys.argv[1:]
planted = json.load(open(planted))
gains = planted["bounds"]["gains"]
own = [gain["what"] for gain in gains if "used by other processes" not in gain["what"]]
within = "-"
if freed:
    gain = json.load(open(freed))["transactions_per_second"] / planted["transactions_per_second"]
    most = next((gain["at_most_times"] for gain in gains if gain["what"] == cause and "at_most_times" in gain), None)
    within = "no bound" if most is None else "within" if gain <= most else "beyond"
    print(f"{plant}: {gain:.2f} times as fast without, at most {most or 0:.2f}", file=sys.stderr)
print(plant, gains[0]["what"], own[0] if own else "", within, sep="\t")
P
}

# explained PLANT NUMBER: a temporary cause explains some seconds, and not the mean transaction: records what graymark
# explain names first in most dips and latency peaks.
explained() {
  "$GRAYMARK" explain "$WORK/$1-$2" --json >"$WORK/explained.json"
  python3 -c '
import collections, json, sys
def first(others):
    named = [[of["cause"] for of in moment["differences"]
              if others or not ("cpu_wait" in of["cause"] or of["cause"] == "strangers")]
             for moment in json.load(open(sys.argv[2]))["moments"]]
    counted = collections.Counter(causes[0] for causes in named if causes)
    return counted.most_common(1)[0][0] if counted else ""
print(sys.argv[1], first(True), first(False), "-", sep="\t")' "$1" "$WORK/explained.json" >>"$FOUND"
}

hog() { while :; do :; done; }
hogs() { for _ in $(seq "$1"); do beside hog; done; }

# The rows of all warehouses, 3 s of every 10.
lock_holder() {
  while :; do
    sleep 5
    sql bench -c 'BEGIN' -c 'SELECT count(*) FROM (SELECT 1 FROM tpcc.warehouse FOR UPDATE) AS held' \
      -c 'SELECT pg_sleep(3)' -c 'COMMIT'
    sleep 2
  done >/dev/null 2>&1
}

# A library for a slower log: each flush takes SLOW_FLUSH microseconds longer, and one for each LOG_MB bytes since the
# last, as on a device with that bandwidth in MB per second. PostgreSQL calls fdatasync for its log only.
slow_log() {
  cat >"$WORK/slow.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static size_t written;
static long of(const char *name) { const char *value = getenv(name); return value ? atol(value) : 0; }
static ssize_t counted(const char *name, int file, const void *bytes, size_t count, off_t at) {
    ssize_t (*real)(int, const void *, size_t, off_t) =
        (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, name);
    ssize_t done = real(file, bytes, count, at);
    if (done > 0) written += done;
    return done;
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t at)
{ return counted("pwrite", file, bytes, count, at); }
ssize_t pwrite64(int file, const void *bytes, size_t count, off_t at)
{ return counted("pwrite64", file, bytes, count, at); }
int fdatasync(int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    long rate = of("LOG_MB"), more = of("SLOW_FLUSH") + (rate > 0 ? written / rate : 0);
    written = 0;
    if (more > 0) usleep(more);
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

# plant NAME NUMBER: a run with the bottleneck, and, if it affects the mean transaction, one without.
plant() {
  local name=$1 number=$2
  NICE=(env)
  local usual=(--db "$(url bench)" --clients 4) short=(--duration $LENGTH) small="postgres:local?data=$WORK/small"
  case $name in
  log)
    LD_PRELOAD=$WORK/slow.so SLOW_FLUSH=5000 restart
    run "log-$number" "${usual[@]}" "${short[@]}"
    LD_PRELOAD=$WORK/slow.so SLOW_FLUSH=5000 restart -c synchronous_commit=off
    run "no-flush-$number" "${usual[@]}" "${short[@]}"
    restart
    named log "$number" no-flush
    ;;
  hogs)
    run "plain-$number" "${usual[@]}" "${short[@]}"
    hogs $((2 * CPUS))
    run "hogs-$number" "${usual[@]}" "${short[@]}"
    named hogs "$number" plain
    ;;
  hot-row)
    # Payments only: each changes the row of the warehouse and holds it until its commit is flushed. With the whole mix
    # the CPUs limit such a run before the row does.
    run "hot-row-$number" --db "$(url hot)" --clients 16 --mix payment=1 "${short[@]}"
    run "own-$number" --db "$(url wide)" --clients 16 --mix payment=1 --at-home "${short[@]}"
    named hot-row "$number" own
    ;;
  buffers)
    run "buffers-$number" --db "$small&memory=160MB&shared_buffers=16MB" --clients 4 --duration 15s
    run "large-$number" --db "$small&shared_buffers=2GB" --clients 4 --duration 15s
    named buffers "$number" large
    ;;
  lock-holder)
    beside lock_holder; run "lock-holder-$number" "${usual[@]}" --duration 20s; explained lock-holder "$number" ;;
  relay)
    local port=$((PGPORT_PRIVATE + 1))
    beside relay $port
    sleep 1
    run "relay-$number" --db "postgres://postgres@127.0.0.1:$port/bench" --clients 4 "${short[@]}" --via statements
    alone
    run "near-$number" "${usual[@]}" "${short[@]}" --via statements
    named relay "$number" near
    ;;
  starved)
    hogs $((2 * CPUS))
    NICE=(nice -n 19)
    run "starved-$number" "${usual[@]}" "${short[@]}"
    NICE=(env)
    run "fed-$number" "${usual[@]}" "${short[@]}"
    named starved "$number" fed
    ;;
  checkpoints)
    # After each checkpoint every page goes into the log as a whole when it changes first: more than a log of 25 MB a
    # second takes. On a fast device a checkpoint alone makes no dip.
    LD_PRELOAD=$WORK/slow.so LOG_MB=25 restart -c shared_buffers=1GB -c full_page_writes=on
    run "checkpoints-$number" "${usual[@]}" --duration 44s --checkpoint 20s
    restart
    explained checkpoints "$number"
    ;;
  *) echo "no plant $name; there are ${ALL[*]}" >&2; exit 2 ;;
  esac
  alone
}

expected() {
  case $1 in
  log) echo "log write and flush" ;; hogs) echo "CPU used by other processes" ;; hot-row) echo "row locks" ;;
  buffers) echo "page reads" ;; relay) echo "network and wake-up" ;; starved) echo "the client's wait for a CPU" ;;
  checkpoints) echo "checkpoint" ;; lock-holder) echo "lock_holder" ;;
  esac
}

# Descriptions for docs/why.md.
planted() {
  case $1 in
  log) echo "each flush of the log takes 5 ms more" ;; hogs) echo "$((2 * CPUS)) programs that take a CPU each" ;;
  hot-row) echo "one warehouse, 16 clients, Payments only" ;; buffers) echo "buffers of 16 MB, 160 MB of memory, 8 warehouses" ;;
  lock-holder) echo "a session that locks all warehouses for 3 s of every 10 (by \`explain\`)" ;;
  relay) echo "a relay that adds 2 ms to each round trip, statements" ;;
  starved) echo "the client at nice 19 beside $((2 * CPUS)) programs" ;;
  checkpoints) echo "a checkpoint every 20 s, full pages, a log of 25 MB a second (by \`explain\`)" ;;
  esac
}

start_postgres -c shared_buffers=256MB
trap finish EXIT
: >"$FOUND"
wanted() { case " ${PLANTS[*]} " in *" $1 "*) true ;; *) false ;; esac; }
load() {
  sql postgres -c "CREATE DATABASE $1"
  "$GRAYMARK" load tpcc --db "$(url "$1")" -w "$2" >>"$WORK/errors" 2>&1
}
load bench 2
if wanted hot-row; then load hot 1; fi
if wanted hot-row; then load wide 16; fi
if wanted log || wanted checkpoints; then slow_log; fi
if wanted buffers; then "$GRAYMARK" load tpcc --db "postgres:local?data=$WORK/small" -w 8 >>"$WORK/errors" 2>&1; fi
for number in $(seq "$TIMES"); do
  for name in "${PLANTS[@]}"; do
    echo "$(date -u +%H:%M:%S) $name, $number of $TIMES, load $(cut -d ' ' -f 1 /proc/loadavg)" >&2
    plant "$name" "$number" || echo "$name failed: $(tail -n 1 "$WORK/errors")" >&2
    alone
  done
done

# counted PLANT COLUMN: the values of a column, and how often each occurs.
counted() {
  awk -F '\t' -v plant="$1" -v column="$2" '$1 == plant { print $column == "" ? "nothing" : $column }' "$FOUND" |
    sort | uniq -c | sort -rn |
    awk '{ n = $1; $1 = ""; printf "%s%s: %d", c, $0, n; c = "," }'
}

echo "| planted | must be named | named first, times of $TIMES | named first, others on the machine apart" \
  "| gain without it, and its bound |"
echo "|---|---|---|---|---|"
for name in "${PLANTS[@]}"; do
  echo "| $(planted "$name") | $(expected "$name") |$(counted "$name" 2) |$(counted "$name" 3) |$(counted "$name" 4) |"
done
