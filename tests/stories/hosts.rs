//! A user names several hosts of a database: sessions follow the writer or are spread, and the record says which host
//! served what.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::unistd::{Uid, User, chown};
use serde_json::Value;

use crate::support::command::{STEADY, graymark, open_directory, run, start, succeed};
use crate::support::ports::free_ports;
use crate::support::{block_on, client, require_mariadb, require_postgres, small_mariadb, small_server, stand_in};

/// A PostgreSQL server of this test's own, which may replicate another.
struct Node {
    data: PathBuf,
    port: u16,
}

/// A program of PostgreSQL; root gives its rights up for it.
fn program(name: &str) -> Command {
    let named = std::env::var_os("GRAYMARK_PG_BIN").map(PathBuf::from);
    let installed = || std::fs::read_dir("/usr/lib/postgresql").unwrap().map(|entry| entry.unwrap().path().join("bin"));
    let directory = named.unwrap_or_else(|| installed().max().expect("a PostgreSQL"));
    let mut command = Command::new(directory.join(name));
    if Uid::effective().is_root() {
        let user = owner();
        command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
    }
    command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn owner() -> User {
    User::from_name("postgres").unwrap().expect("the user postgres")
}

fn done(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

impl Node {
    fn at(data: PathBuf, settings: &str) -> Node {
        let port = free_ports(1);
        let mut file = OpenOptions::new().append(true).open(data.join("postgresql.conf")).unwrap();
        let usual =
            "listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\nfsync = off\nshared_buffers = '64MB'";
        writeln!(file, "\n{usual}\nport = {port}\n{settings}").unwrap();
        Node { data, port }
    }

    fn control(&self, arguments: &[&str]) {
        done(program("pg_ctl").arg("-D").arg(&self.data).arg("-l").arg(self.data.join("log")).args(arguments));
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let mut stop = program("pg_ctl");
        let _ = stop.arg("-D").arg(&self.data).args(["-m", "immediate", "-w", "stop"]).status();
    }
}

/// A primary, and a standby without which it commits nothing.
fn primary_and_standby(place: &Path) -> (Node, Node) {
    let nodes = place.join("nodes");
    std::fs::create_dir(&nodes).unwrap();
    if Uid::effective().is_root() {
        chown(&nodes, Some(owner().uid), Some(owner().gid)).unwrap();
    }
    let (one, other) = (nodes.join("one"), nodes.join("other"));
    done(program("initdb").arg("-D").arg(&one).args(["-A", "trust", "-U", "postgres", "--no-sync", "--no-locale"]));
    done(Command::new("cp").arg("-a").arg(&one).arg(&other));
    let primary = Node::at(one, "synchronous_standby_names = '*'");
    std::fs::write(other.join("standby.signal"), "").unwrap();
    let from = format!("primary_conninfo = 'host=127.0.0.1 port={} user=postgres'", primary.port);
    let standby = Node::at(other, &from);
    primary.control(&["-w", "start"]);
    standby.control(&["-w", "start"]);
    (primary, standby)
}

async fn transactions(url: &str) -> i64 {
    client(url).await.query_one("SELECT count(*) FROM debitcredit.history", &[]).await.unwrap().get(0)
}

#[test]
fn sessions_follow_the_writer_when_its_host_is_lost() {
    let Some(()) = require_postgres() else { return };
    let place = open_directory();
    let (primary, standby) = primary_and_standby(place.path());
    let hosts = [&primary, &standby].map(|node| format!("127.0.0.1:{}", node.port));
    // The standby comes first: nobody may write there.
    let url =
        |wanted: &str| format!("postgres://postgres@{},{}/postgres?target_session_attrs={wanted}", hosts[1], hosts[0]);
    let primary_wanted = url("primary");
    succeed(place.path(), &["load", "debitcredit", "--db", &primary_wanted, "-b", "1", "--seed", "5"]);
    let arguments = ["--clients", "2", "--ramp-up", "0s", "--duration", "60s", "--out", "record", "--json"];
    let mut at_work = start(graymark(
        place.path(),
        &[&["run", "debitcredit", "--db", &primary_wanted], &arguments[..], &STEADY].concat(),
    ));
    at_work.wait_for("run: measurement");
    primary.control(&["-m", "immediate", "-w", "stop"]);
    at_work.wait_for("run: session");
    run(place.path(), &["check", "debitcredit", "--db", &primary_wanted])
        .refused(3, &["no host of the URL accepted the connection", &hosts[0], &format!("{} is a standby", hosts[1])]);
    standby.control(&["-w", "promote"]);
    at_work.wait_for("run: session 0 reconnected");
    let alone = format!("postgres://postgres@{}/postgres", hosts[1]);
    block_on(async {
        let before = transactions(&alone).await;
        while transactions(&alone).await < before + 3 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let (_, done) = at_work.end();
    assert!([Some(0), Some(1)].contains(&done.code), "{done:?}");
    let summary = done.json();
    assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
    let [new, old] = summary["hosts"].as_array().unwrap().as_slice() else { panic!("{}", summary["hosts"]) };
    assert_eq!((old["host"].as_str(), new["host"].as_str()), (Some(hosts[0].as_str()), Some(hosts[1].as_str())));
    let number = |host: &Value, key: &str| host[key].as_u64().unwrap();
    assert_eq!((number(old, "sessions_begin"), number(old, "sessions_end")), (2, 0), "{old}");
    assert_eq!((number(new, "sessions_begin"), number(old, "lost")), (0, 2), "{old} {new}");
    assert!(number(new, "sessions_end") > 0 && number(&new["transactions"], "debit_credit") >= 3, "{new}");
    assert_eq!((old["outages"].as_array().unwrap().len(), number(new, "lost")), (1, 0), "{old} {new}");
    let events = std::fs::read_to_string(place.path().join("record/events.jsonl")).unwrap();
    assert!(events.contains(&format!("\"host\":\"{}\"", hosts[0])) && events.contains(&hosts[1]), "{events}");
    let reported = succeed(place.path(), &["report", "record", "--full"]).out;
    assert!(reported.contains("Hosts") && reported.contains("without sessions from second"), "{reported}");
    let standby_wanted = run(place.path(), &["check", "debitcredit", "--db", &url("standby")]);
    standby_wanted.refused(3, &[&format!("{} is the primary", hosts[1])]);
}

/// The planted fault: no reply to a commit on one of two hosts can be read, so that its sessions are given up until all
/// are at the other one.
#[test]
fn a_session_that_is_opened_again_at_another_host_counts_there() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (small_server(), open_directory());
    let own = format!("{}?sslmode=disable", server.tcp_url());
    succeed(place.path(), &["load", "debitcredit", "--db", &own, "-b", "1", "--seed", "5"]);
    let port = stand_in::with_answers(server.port(), b"C\0\0\0\x0bCOMMIT\0", b"H\0\0\0\x0bCOMMIT\0");
    let hosts = [format!("127.0.0.1:{}", server.port()), format!("127.0.0.1:{port}")];
    let url = format!("{}&load_balance_hosts=random", own.replace(&hosts[0], &hosts.join(",")));
    let arguments = ["--clients", "4", "--ramp-up", "0s", "--duration", "15s", "--via", "statements", "--json"];
    let done = run(place.path(), &[&["run", "debitcredit", "--db", &url], &arguments[..], &STEADY].concat());
    let summary = done.json();
    let [good, bad] = summary["hosts"].as_array().unwrap().as_slice() else { panic!("{}", summary["hosts"]) };
    assert_eq!((good["host"].as_str(), bad["host"].as_str()), (Some(hosts[0].as_str()), Some(hosts[1].as_str())));
    assert!(bad["sessions_begin"].as_u64() > Some(0), "{bad}");
    assert_eq!((&good["sessions_end"], &bad["sessions_end"]), (&Value::from(4), &Value::from(0)), "{good} {bad}");
    assert_eq!((&good["lost"], &bad["lost"]), (&Value::from(0), &Value::from(0)), "{good} {bad}");
}

#[test]
fn sessions_are_spread_over_the_hosts_of_a_mysql_url() {
    let Some(()) = require_mariadb() else { return };
    let (server, place) = (small_mariadb(&[]), open_directory());
    // Two names of one server are two hosts.
    let url = server.tcp_url().replace("127.0.0.1", &format!("127.0.0.1:{},localhost", port(&server.tcp_url())));
    let url = format!("{url}?load_balance_hosts=random&target_session_attrs=read-write&ssl-mode=disabled");
    let arguments = ["-b", "1", "--clients", "4", "--ramp-up", "0s", "--duration", "8s", "--json"];
    let done = succeed(place.path(), &[&["bench", "debitcredit", "--db", &url], &arguments[..], &STEADY].concat());
    let summary = done.json();
    let hosts = summary["hosts"].as_array().unwrap();
    assert!(hosts.len() == 2 && hosts.iter().all(|host| host["sessions_begin"] == 2), "{hosts:?}");
    let served: u64 = hosts.iter().map(|host| host["transactions"]["debit_credit"].as_u64().unwrap()).sum();
    assert_eq!(Some(served), summary["outcomes"]["debit_credit"]["completed"].as_u64(), "{hosts:?}");
    assert!(summary["engine"]["url"].as_str().unwrap().contains("load_balance_hosts=random"), "{summary}");
    succeed(place.path(), &["drop", "debitcredit", "--db", &url]);
}

/// The port of a server's URL.
fn port(url: &str) -> &str {
    let address = url.rsplit_once('@').unwrap().1;
    address.split_once(':').unwrap().1.split(['/', '?']).next().unwrap()
}
