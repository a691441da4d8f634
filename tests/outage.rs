//! The database crashes in the middle of a run and comes back: the run goes on, and what was committed is accounted for.

mod support;

use std::time::Duration;

use graymark::engine::server;
use graymark::record::file;
use serde_json::{Map, Value};
use support::command::{graymark, json_file, start, succeed};
use support::{require_mariadb, require_postgres, small_mariadb, small_server};
use tempfile::TempDir;

const CLIENTS: u64 = 4;
const SECONDS: f64 = 13.0;

/// A private server that can be killed and started again.
trait Server {
    fn url(&self) -> String;
    fn kill(&self);
    fn restart(&self);
}

impl Server for server::postgres::Server {
    fn url(&self) -> String {
        self.tcp_url()
    }
    fn kill(&self) {
        self.kill().unwrap();
    }
    fn restart(&self) {
        self.restart().unwrap();
    }
}

impl Server for server::mariadb::Server {
    fn url(&self) -> String {
        self.tcp_url()
    }
    fn kill(&self) {
        self.kill().unwrap();
    }
    fn restart(&self) {
        self.restart().unwrap();
    }
}

fn a_crash(server: &impl Server, via: &str) {
    let url = server.url();
    let place = TempDir::new().unwrap();
    succeed(place.path(), &["load", "--db", &url, "-w", "1", "--seed", "5"]);
    let clients = CLIENTS.to_string();
    let arguments = [
        "run",
        "--db",
        &url,
        "--via",
        via,
        "--clients",
        &clients,
        "--ramp-up",
        "1s",
        "--duration",
        "12s",
        "--out",
        "record",
        "--json",
    ];
    let mut run = start(graymark(place.path(), &arguments));
    run.wait_for("run: measurement");
    std::thread::sleep(Duration::from_secs(3));
    server.kill();
    run.wait_for("run: session");
    std::thread::sleep(Duration::from_secs(1));
    server.restart();
    let (_, done) = run.end();
    assert_eq!(done.code, Some(0), "{done:?}");
    let summary = done.json();

    assert_eq!(summary["errors"], Value::Object(Map::new()), "{}", summary["errors"]);
    let connections = &summary["connections"];
    let (lost, ambiguous) = (connections["lost"].as_u64().unwrap(), connections["ambiguous"].as_u64().unwrap());
    assert!(lost >= CLIENTS, "{connections}");
    assert_eq!(connections["restored"].as_u64(), Some(lost), "{connections}");
    let outage = connections["outage_s"].as_f64().unwrap();
    assert!(outage > 0.0 && outage < SECONDS, "{connections}");
    assert!(!connections["outages"].as_array().unwrap().is_empty(), "{connections}");

    // Each commit of unknown fate is at most one of each effect, but for the ten deliveries of a Delivery.
    assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
    for (name, effect) in summary["database"]["effects"].as_object().unwrap() {
        let number = |key: &str| effect[key].as_i64().unwrap();
        assert!(number("client") > 0, "{name}: {effect}");
        assert!((0..=number("ambiguous")).contains(&(number("database") - number("client"))), "{name}: {effect}");
        assert!(number("ambiguous").unsigned_abs() <= 10 * ambiguous, "{name}: {effect}");
    }
    assert_eq!(summary["consistency"]["failed"], Value::Array(Vec::new()));
    assert!(summary["consistency"]["held"].as_u64().unwrap() >= 12);

    // It is in the record, second by second and by event.
    let record = place.path().join("record");
    assert_eq!(json_file(&record, file::HEADER)["status"], "complete");
    let events = std::fs::read_to_string(record.join(file::EVENTS)).unwrap();
    let count = |name: &str| events.lines().filter(|line| line.contains(&format!("\"{name}\""))).count() as u64;
    assert_eq!((count("session_lost"), count("session_restored")), (lost, lost), "{events}");
    let told = succeed(place.path(), &["report", "record"]);
    assert!(told.out.to_lowercase().contains("outage"), "{}", told.out);
}

#[test]
fn a_run_by_statements_outlives_a_crash() {
    let Some(()) = require_postgres() else { return };
    a_crash(&small_server(), "statements");
}

#[test]
fn a_run_by_procedures_outlives_a_crash() {
    let Some(()) = require_postgres() else { return };
    a_crash(&small_server(), "procedures");
}

#[test]
fn a_run_on_mariadb_outlives_a_crash() {
    let Some(()) = require_mariadb() else { return };
    // What is committed has to be there after a crash of the server alone, which is what happens here.
    a_crash(&small_mariadb(&[("innodb_flush_log_at_trx_commit", "1")]), "procedures");
}
