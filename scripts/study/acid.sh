#!/usr/bin/env bash
# Long series of crashes under load, on private servers. The reports stay in the records, below graymark-runs.
#   scripts/study/acid.sh kill [TIMES]     kills of the whole server: 100 of PostgreSQL and of MariaDB by default
#   scripts/study/acid.sh power [TIMES]    cuts of the power: 100 of each engine with settings that wait for the disk,
#                                          and a fifth of that with each that does not (docs/durability.md). Linux, root
#   scripts/study/acid.sh media [TIMES]    losses of the data and of the log of PostgreSQL, 100 by default; a fifth of
#                                          that with restores that leave out the end of the log
set -euo pipefail
cd "$(dirname "$0")/../.."
what=${1:-kill}
times=${2:-100}
cargo build --release --features powercut

series() { # NAME TIMES DB [OPTION...]
    local record="graymark-runs/acid-$what-$1-$(date -u +%Y%m%dT%H%M%SZ)" exit=0
    echo "== $1: $record"
    target/release/graymark acid tpcc --crash "$what" --times "$2" --db "$3" --out "$record" "${@:4}" || exit=$?
    # 1 is what a lossy setting comes to.
    [ "$exit" -le 1 ] || exit "$exit"
}

case $what in
kill)
    series postgres "$times" postgres:local -w 2
    series mariadb "$times" mysql:local -w 2
    ;;
power)
    few=$(((times + 4) / 5))
    series postgres "$times" postgres:local -w 1
    series mariadb "$times" mysql:local -w 1
    series sqlite "$times" sqlite:study.db -w 1
    series postgres-fsync-off "$few" postgres:local -w 1 --set fsync=off
    series postgres-fsync-off-small "$few" postgres:local -w 1 --set fsync=off --set shared_buffers=2MB
    series postgres-commit-off "$few" postgres:local -w 1 --set synchronous_commit=off
    series mariadb-flush-2 "$few" mysql:local -w 1 --set innodb_flush_log_at_trx_commit=2
    series mariadb-flush-0 "$few" mysql:local -w 1 --set innodb_flush_log_at_trx_commit=0
    series sqlite-normal "$few" 'sqlite:study.db?synchronous=normal' -w 1
    series sqlite-off "$few" 'sqlite:study.db?synchronous=off' -w 1
    series sqlite-delete "$few" 'sqlite:study.db?journal=delete' -w 1
    series postgres-lie "$few" postgres:local -w 1 --lying-disk
    series mariadb-lie "$few" mysql:local -w 1 --lying-disk
    series sqlite-lie "$few" sqlite:study.db -w 1 --lying-disk
    ;;
media)
    series postgres "$times" postgres:local -w 2
    series postgres-without-last-log "$(((times + 4) / 5))" postgres:local -w 2 --without-last-log
    ;;
*)
    echo "give kill, power or media" >&2
    exit 2
    ;;
esac
