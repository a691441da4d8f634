#!/usr/bin/env bash
# A real stack for high availability on this machine, whose leader is killed in the middle of a run: three PostgreSQLs
# under Patroni, one etcd, and HAProxy in front of them. The run goes on, client and database count the same, and no
# acknowledged commit is lost; the script fails otherwise. It takes about two minutes, on the loopback and in a
# temporary directory.
#   apt-get install patroni etcd-server haproxy   (start none of the services that come with them)
#   scripts/study/patroni.sh [SECONDS]            of the run, 60 by default
# GRAYMARK names the program, target/release/graymark by default.
set -euo pipefail
. "$(dirname "$0")/../bench/lib.sh"
seconds=${1:-60}
for program in patroni etcd haproxy curl; do
  command -v "$program" > /dev/null && continue
  echo "no $program: apt-get install patroni etcd-server haproxy curl" >&2
  exit 2
done
chmod 755 "$WORK"
pids=()
# Before a program, so that its process is the one that the shell knows.
as=()
[ "$(id -u)" != 0 ] || as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
leave() {
  for pid in "${pids[@]}"; do kill "$pid" 2> /dev/null || true; done
  for node in 1 2 3; do
    [ ! -d "$WORK/run/data$node" ] || stop_node "$node"
  done
  wait 2> /dev/null || true
  rm -rf "$WORK"
}
stop_node() {
  (cd / && unprivileged "$PG_BIN/pg_ctl" -D "$WORK/run/data$1" -m immediate -w stop > /dev/null 2>&1) || true
}
trap leave EXIT

# Ports that nobody has: PostgreSQL and Patroni of each node, etcd's two, HAProxy's.
mapfile -t ports < <(python3 - << 'PYTHON'
import socket
held = [socket.socket() for _ in range(9)]
for one in held:
    one.bind(("127.0.0.1", 0))
print("\n".join(str(one.getsockname()[1]) for one in held))
PYTHON
)
client=${ports[6]} peer=${ports[7]} entry=${ports[8]}
install_for() {
  if [ "$(id -u)" = 0 ]; then install -d -o postgres -g postgres -m 700 "$1"; else install -d -m 700 "$1"; fi
}
install_for "$WORK/etcd"
install_for "$WORK/run"

"${as[@]}" etcd --data-dir "$WORK/etcd" --name one --enable-v2=false \
  --listen-client-urls "http://127.0.0.1:$client" --advertise-client-urls "http://127.0.0.1:$client" \
  --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
  --initial-cluster "one=http://127.0.0.1:$peer" > "$WORK/etcd.log" 2>&1 &
pids+=($!)

for node in 1 2 3; do
  cat > "$WORK/node$node.yml" << YAML
scope: graymark
name: node$node
restapi: {listen: "127.0.0.1:${ports[$((node + 2))]}", connect_address: "127.0.0.1:${ports[$((node + 2))]}"}
etcd3: {hosts: "127.0.0.1:$client"}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: {shared_buffers: 64MB, max_connections: 40, wal_level: replica, hot_standby: "on"}
  initdb: [{encoding: UTF8}, {locale: C}, "no-sync"]
postgresql:
  listen: "127.0.0.1:${ports[$((node - 1))]}"
  connect_address: "127.0.0.1:${ports[$((node - 1))]}"
  data_dir: $WORK/run/data$node
  bin_dir: $PG_BIN
  pgpass: $WORK/run/pgpass$node
  pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust", "local all all trust"]
  authentication:
    superuser: {username: postgres, password: none}
    replication: {username: replicator, password: none}
    rewind: {username: postgres, password: none}
  parameters: {unix_socket_directories: "$WORK/run"}
YAML
  "${as[@]}" patroni "$WORK/node$node.yml" > "$WORK/patroni$node.log" 2>&1 &
  pids+=($!)
done

# HAProxy leads to the node that says it is the leader.
{
  printf 'defaults\n  mode tcp\n  timeout connect 2s\n  timeout client 10m\n  timeout server 10m\n'
  printf 'listen postgres\n  bind 127.0.0.1:%s\n  option httpchk GET /primary\n' "$entry"
  printf '  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions\n'
  for node in 1 2 3; do
    printf '  server node%s 127.0.0.1:%s check port %s\n' "$node" "${ports[$((node - 1))]}" "${ports[$((node + 2))]}"
  done
} > "$WORK/haproxy.cfg"
"${as[@]}" haproxy -f "$WORK/haproxy.cfg" > "$WORK/haproxy.log" 2>&1 &
pids+=($!)

# Whether a node has a role: primary or sync.
is() { curl -fso /dev/null "http://127.0.0.1:${ports[$(($1 + 2))]}/$2"; }
leader() { for node in 1 2 3; do ! is "$node" primary || echo "$node"; done; }
followed() { for node in 1 2 3; do ! is "$node" sync || return 0; done; return 1; }
for _ in $(seq 600); do
  [ -z "$(leader)" ] || ! followed || break
  for pid in "${pids[@]}"; do kill -0 "$pid" || { tail -n 3 "$WORK"/*.log >&2; exit 1; }; done
  sleep 0.5
done
killed=$(leader)
[ -n "$killed" ] || { echo "no leader within 5 minutes: $(tail -n 3 "$WORK"/patroni*.log)" >&2; exit 1; }
echo "leader: node$killed"

DB="postgres://postgres@127.0.0.1:$entry/postgres?sslmode=disable&connect_timeout=3"
"$GRAYMARK" load debitcredit --db "$DB" -b 1 --seed 5
# The leader's Patroni is killed with it: one that lives would start its PostgreSQL again.
cat > "$WORK/kill.sh" << SH
#!/bin/sh
kill -KILL ${pids[$killed]} \$(head -n 1 "$WORK/run/data$killed/postmaster.pid")
SH
chmod 755 "$WORK/kill.sh"
exit=0
"$GRAYMARK" run debitcredit --db "$DB" --clients 4 --ramp-up 0s --duration "${seconds}s" --reconnect-for 5m \
  --check after --fault "10s: script $WORK/kill.sh" --out "$WORK/record" || exit=$?
echo "leader: node$(leader)"
"$GRAYMARK" report "$WORK/record" --full | sed -n '/^Disturbed on purpose/,/^$/p;/^Planned faults/,/^$/p'
python3 - "$WORK/record/summary.json" << 'PYTHON'
import json, sys
summary = json.load(open(sys.argv[1]))
lookup = summary["connections"]["lookup"]
print("counts agree:", summary["database"]["agrees"], "- unknown fate:", lookup["unknown_fate"])
print("acknowledged:", lookup["acknowledged"], "- outages:", summary["connections"]["outages"])
PYTHON
[ "$(leader)" != "$killed" ] || { echo "the leader did not change" >&2; exit 1; }
exit "$exit"
