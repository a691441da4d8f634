#!/usr/bin/env bash
# TPC-C without think time by stored procedures, Graymark and HammerDB in turn on one private PostgreSQL, each with a
# database of its own. Prints New-Orders a minute as medians, and the ratio of each round.
# HammerDB's figure is its own ("System achieved … NOPM"), from the database's order numbers.
#
#   HAMMERDB=DIR PGTCL=FILE scripts/bench/hammerdb.sh [WAREHOUSES=10] [ROUNDS=3] [CLIENTS=4] [SECONDS=18]
#
# DIR is an unpacked HammerDB 4.12, FILE the libpgtcl3.x.y.so of a Pgtcl of version 3: Debian's 2.7 crashes with several
# threads. Also needs Debian's tcl, tcl-thread, tcllib and libsqlite3-tcl.
# SECONDS is a multiple of 6.
. "$(dirname "$0")/lib.sh"
WAREHOUSES=${1:-10}
ROUNDS=${2:-3}
CLIENTS=${3:-4}
INTERVAL=${4:-18}
HAMMERDB=${HAMMERDB:?the directory of HammerDB}
PGTCL=$(realpath "${PGTCL:?the library Pgtcl}")
TCLSH=${TCLSH:-tclsh8.6}
start_postgres

# HammerDB's graphs, which nobody looks at here, need a package of their own.
packages=$WORK/tcl
mkdir -p "$packages"
version=$(basename "$PGTCL" .so)
cat >"$packages/pkgIndex.tcl" <<T
package ifneeded ticklecharts 99 {package provide ticklecharts 99}
package ifneeded Pgtcl ${version#libpgtcl} {
  load $PGTCL Pgtcl
  if {![llength [info commands pg_notice_handler]]} {proc pg_notice_handler {args} {}}
}
T

# hammerdb SCRIPT SECONDS: runs a script of its command line, for at most that long: it waits for ever if one of its
# virtual users fails.
hammerdb() {
  cat - "$1" >"$WORK/script.tcl" <<T
dbset db pg
dbset bm TPC-C
diset connection pg_host 127.0.0.1
diset connection pg_port $PGPORT_PRIVATE
diset connection pg_sslmode disable
diset tpcc pg_superuser postgres
diset tpcc pg_superuserpass none
diset tpcc pg_defaultdbase postgres
diset tpcc pg_user hammerdb
diset tpcc pg_pass hammerdb
diset tpcc pg_dbase hammerdb
diset tpcc pg_storedprocs true
T
  (cd "$HAMMERDB" &&
    TMP=$WORK TCLLIBPATH="$packages" timeout "$2" "$TCLSH" hammerdbcli tcl auto "$WORK/script.tcl") </dev/null
}

cat >"$WORK/build" <<T
diset tpcc pg_count_ware $WAREHOUSES
diset tpcc pg_num_vu $((WAREHOUSES > 1 ? 2 : 1))
buildschema
T
# With fractions of a minute, which its driver takes, its command line does not wait for the end: this script does.
cat >"$WORK/drive" <<T
diset tpcc pg_driver timed
diset tpcc pg_total_iterations 10000000
diset tpcc pg_rampup 0.1
diset tpcc pg_duration [expr {$INTERVAL / 60.0}]
diset tpcc pg_vacuum false
diset tpcc pg_timeprofile false
diset tpcc pg_allwarehouse true
loadscript
vuset logtotemp 0
vuset vu $CLIENTS
vucreate
vurun
after $(((INTERVAL + 12) * 1000)) {set ::waited 1}
vwait ::waited
vudestroy
T

hammerdb "$WORK/build" $((300 + 120 * WAREHOUSES)) >"$WORK/hammerdb-build.log" 2>&1 || true
grep -q 'SCHEMA COMPLETE' "$WORK/hammerdb-build.log" || { tail "$WORK/hammerdb-build.log" >&2; exit 1; }
sql postgres -c 'CREATE DATABASE graymark'
"$GRAYMARK" load tpcc --db "$(url graymark)" -w "$WAREHOUSES" >/dev/null 2>&1
sql hammerdb -c 'VACUUM ANALYZE'

of_graymark() {
  sql postgres -c CHECKPOINT
  "$GRAYMARK" run tpcc --db "$(url graymark)" --clients "$CLIENTS" --via procedures --ramp-up 6s \
    --duration "${INTERVAL}s" --check none --out "$WORK/graymark-$1" --json 2>/dev/null |
    python3 -c 'import json, sys
run = json.load(sys.stdin)
assert run["database"]["agrees"], "client and database count differently"
print(run["new_orders_per_minute"])'
}

of_hammerdb() {
  sql postgres -c CHECKPOINT
  hammerdb "$WORK/drive" $((INTERVAL + 120)) >"$WORK/hammerdb-$1.log" 2>&1 || true
  ! grep 'FINISHED FAILED' "$WORK/hammerdb-$1.log" >&2 || exit 1
  sed -n 's/.*System achieved \([0-9]*\)[.0-9]* NOPM.*/\1/p' "$WORK/hammerdb-$1.log" | tail -n 1 | grep . ||
    { tail "$WORK/hammerdb-$1.log" >&2; exit 1; }
}

for round in $(seq "$ROUNDS"); do
  if [ $((round % 2)) = 1 ]; then
    own=$(of_graymark "$round"); other=$(of_hammerdb "$round")
  else
    other=$(of_hammerdb "$round"); own=$(of_graymark "$round")
  fi
  echo "$own" >>"$WORK/own"
  echo "$other" >>"$WORK/other"
  echo "$own / $other" | bc -l >>"$WORK/ratio"
  printf 'Graymark %.0f, HammerDB %.0f NOPM: %.2f times\n' "$own" "$other" "$(tail -n 1 "$WORK/ratio")"
done
printf 'medians of %d with %d connections: Graymark %.0f, HammerDB %.0f NOPM; ratio of the pairs %.2f times\n' \
  "$ROUNDS" "$CLIENTS" "$(median <"$WORK/own")" "$(median <"$WORK/other")" "$(median <"$WORK/ratio")"
