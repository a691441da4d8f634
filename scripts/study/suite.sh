#!/usr/bin/env bash
# Runs the stories of tests/ again and again, to find those that depend on how busy the machine is.
#
#   scripts/study/suite.sh RUNS [idle|hog|starve] [FILTER...]
#
# idle    nothing else runs (default)
# hog     a program keeps one processor busy
# starve  programs keep all processors busy, and any thread of a test, of Graymark or of a server may get almost none of
#         them for up to three seconds (SCHED_IDLE), chosen at random all the time; needs root
#
# Tests run as in .ci/run: with GRAYMARK_REQUIRE_ENGINES=1 a test that finds no engine fails; with an empty
# GRAYMARK_REQUIRE_ENGINES it passes without running. The output of each run is kept in a directory that is printed.
# Exits with 1 if a run failed.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:?how many runs}
beside=${2:-idle}
shift $(($# > 1 ? 2 : 1))
case $beside in idle | hog | starve) ;; *)
  echo "$beside: idle, hog or starve" >&2
  exit 2
  ;;
esac
export GRAYMARK_REQUIRE_ENGINES=${GRAYMARK_REQUIRE_ENGINES-1}
cargo test --all-features --locked --test stories --no-run
logs=$(mktemp -d)
others=()
trap '[ ${#others[@]} -eq 0 ] || kill "${others[@]}" 2> /dev/null || true' EXIT

hog() { exec sh -c 'while :; do :; done'; }

# Starves threads of processes that began after this script.
starve() {
  exec python3 - "$$" <<'P'
import os, random, sys, time

def began(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[19])

first, own = began(sys.argv[1]), {os.getpid(), os.getppid()}
starved = {}
def allow(thread, policy):
    try:
        os.sched_setscheduler(thread, policy, os.sched_param(0))
    except OSError:
        pass
while True:
    now = time.monotonic()
    for thread in [thread for thread, end in starved.items() if end < now]:
        allow(thread, os.SCHED_OTHER)
        del starved[thread]
    threads = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as file:
                name = file.read().strip()
            if int(pid) not in own and name not in ("sh", "bash", "tee", "cargo") and began(pid) > first:
                threads += map(int, os.listdir(f"/proc/{pid}/task"))
        except (OSError, IndexError):
            pass
    # A child has the policy of the thread that made it.
    for thread in threads:
        try:
            if thread not in starved and os.sched_getscheduler(thread) == os.SCHED_IDLE:
                allow(thread, os.SCHED_OTHER)
        except OSError:
            pass
    for thread in random.sample(threads, min(len(threads), 1 + len(threads) // 20)):
        if thread not in starved:
            allow(thread, os.SCHED_IDLE)
            starved[thread] = now + random.expovariate(2) % 3
    time.sleep(0.1)
P
}

case $beside in
  hog) hog & others+=($!) ;;
  starve)
    for _ in $(seq "$(nproc)"); do
      hog &
      others+=($!)
    done
    starve &
    others+=($!)
    ;;
esac

failed=0
for run in $(seq "$runs"); do
  log=$logs/$run
  cargo test --all-features --locked --test stories -- "$@" > "$log" 2>&1 || failed=$((failed + 1))
  echo "run $run of $runs ($beside): $(grep '^test result' "$log" || tail -n 1 "$log")"
  sed -n '/^failures:$/,$ s/^    \([a-z_0-9:]*\)$/  \1/p' "$log" | sort -u
done
echo "$failed of $runs failed; their output is in $logs"
[ "$failed" -eq 0 ]
