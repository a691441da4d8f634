//! Waits that begin before the measurement or end after it, and failures without an error of the database: no figure
//! leaves them out.

use std::path::Path;
use std::time::Duration;

use crate::support::command::{Done, STEADY, graymark, run, start, succeed};
use crate::support::loaded::{loaded, loaded_server};
use crate::support::{client, require_postgres};
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

/// The first lines of the report and the table of a record.
fn first_words(place: &Path) -> [String; 2] {
    let text = succeed(place, &["report", "record"]).out;
    let first = text.lines().take(6).collect::<Vec<_>>().join(" ");
    [first, succeed(place, &["report", "record", "--table"]).out]
}

/// It failed, and says so where one looks.
fn failed_with(place: &Path, done: &Done, mark: &str) -> Value {
    assert_eq!(done.code, Some(1), "{done:?}");
    for words in first_words(place) {
        assert!(words.contains(mark), "no `{mark}`: {words}");
    }
    done.json()
}

/// The longest of these times of any type, in milliseconds.
fn longest(summary: &Value, times: &str) -> f64 {
    let types = summary["transactions"].as_object().unwrap().values();
    types.map(|of| of[times]["max"].as_f64().unwrap_or_default()).fold(0.0, f64::max)
}

/// Without a queue of the driver a session has each transaction as long as its user waits for it, as the waterfall says.
fn served_as_long_as_waited(summary: &Value) {
    for (name, of) in summary["transactions"].as_object().unwrap() {
        let [response, service] = ["response_ms", "service_ms"].map(|times| of[times]["mean"].as_f64().unwrap());
        assert!((response - service).abs() <= 0.01 * response, "{name}: {response} and {service} ms");
    }
}

/// Of the outcomes of all types.
fn sum(summary: &Value, key: &str) -> u64 {
    summary["outcomes"].as_object().unwrap().values().map(|of| of[key].as_u64().unwrap()).sum()
}

/// Locks the writers of `loaded.db` out until it is dropped.
fn lock(place: &Path) -> Connection {
    let other = Connection::open(place.join("loaded.db")).unwrap();
    other.busy_timeout(Duration::from_secs(300)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    other
}

/// Commits that wait for a slow disk would leave the lock of another process no time.
const LOADED: &str = "sqlite:loaded.db?busy_timeout=600000&synchronous=off";
const AT_THE_END: [&str; 6] = ["--check", "none", "--out", "record", "--json", "--clients"];

/// Two transactions get no response, as if they had failed with an error.
#[test]
fn what_is_given_up_at_the_end_fails_the_run() {
    let place = loaded();
    let arguments = ["run", "--db", LOADED, "--ramp-up", "0s", "--duration", "10s", "--timeout", "5s"];
    let mut run = start(graymark(place.path(), &[&arguments[..], &AT_THE_END, &["2"], &STEADY].concat()));
    run.wait_for("run: measurement");
    run.wait_for_seconds(&place.path().join("record"), 3);
    let _other = lock(place.path());
    let done = run.end().1;
    let summary = failed_with(place.path(), &done, "FAILED");
    assert_eq!((sum(&summary, "given_up"), &summary["connections"]["abandoned"]), (2, &2.into()), "{summary:#}");
    // The sessions had them all the time: they waited in no queue of the driver.
    assert!(longest(&summary, "service_ms") >= 1_000.0, "{}", summary["transactions"]);
    assert!(done.err.contains("2 had no response by the end of the run"), "{done:?}");
    assert!(!done.err.contains("the response times do not hold that"), "{done:?}");
}

/// Replies to some committed transactions cannot be read: a trigger swallows the rows of every third customer. No
/// connection is lost, and most transactions complete.
#[test]
fn a_reply_that_cannot_be_read_is_a_failure() {
    let place = loaded();
    let database = Connection::open(place.path().join("loaded.db")).unwrap();
    let trigger = "CREATE TRIGGER swallow BEFORE INSERT ON history WHEN NEW.h_c_id % 3 = 0 \
                   BEGIN SELECT RAISE(IGNORE); END";
    database.execute_batch(trigger).unwrap();
    drop(database);
    let arguments = ["run", "--db", LOADED, "--ramp-up", "0s", "--duration", "12s"];
    let done = run(place.path(), &[&arguments[..], &AT_THE_END, &["2"], &STEADY].concat());
    let summary = failed_with(place.path(), &done, "FAILED");
    let payment = &summary["outcomes"]["payment"];
    let unreadable = payment["failed"].as_u64().unwrap();
    assert!(unreadable > 0 && payment["completed"].as_u64() > Some(0), "{payment}");
    assert!(summary["errors"].as_object().unwrap().keys().any(|why| why.contains("reply")), "{}", summary["errors"]);
    let (connections, lookup) = (&summary["connections"], &summary["connections"]["lookup"]);
    assert_eq!((&connections["lost"], &connections["ambiguous"]), (&0.into(), &unreadable.into()), "{connections}");
    // Each was looked up, although no connection was lost: its history row is missing.
    assert_eq!(lookup["unknown_fate"]["not_committed"], unreadable, "{lookup}");
}

/// The server is killed in the ramp-up and comes back after the interval.
#[test]
fn an_interval_in_which_nothing_completes_fails_the_run() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (loaded_server(), TempDir::new().unwrap());
    let url = server.tcp_url();
    let arguments = ["run", "--db", &url, "--ramp-up", "7s", "--duration", "3s"];
    let mut run = start(graymark(place.path(), &[&arguments[..], &AT_THE_END, &["2"]].concat()));
    run.wait_for("run: ramp-up");
    std::thread::sleep(Duration::from_secs(1));
    server.kill().unwrap();
    run.wait_for("run: the database cannot be asked for its count");
    server.restart().unwrap();
    let done = run.end().1;
    let summary = failed_with(place.path(), &done, "NOTHING COMPLETED IN THE INTERVAL");
    assert!(done.err.contains("No transaction completed within the measurement interval"), "{done:?}");
    // Both users waited in all of it.
    assert!(longest(&summary, "response_ms") >= 2_900.0, "{}", summary["transactions"]);
    assert_eq!((sum(&summary, "within_interval"), sum(&summary, "open_at_end")), (0, 2), "{}", summary["outcomes"]);
}

/// A trigger cuts the connection of every Delivery, which is then tried again for ever.
#[test]
fn a_type_that_is_tried_again_for_ever_is_named() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (loaded_server(), TempDir::new().unwrap());
    let url = server.tcp_url();
    let plant = "CREATE FUNCTION tpcc.cut() RETURNS trigger LANGUAGE plpgsql AS \
                 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'; \
                 CREATE TRIGGER cut BEFORE DELETE ON tpcc.new_order FOR EACH ROW EXECUTE FUNCTION tpcc.cut()";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { client(&url).await.batch_execute(plant).await.unwrap() });
    let arguments = ["run", "--db", &url, "--ramp-up", "0s", "--duration", "9s", "--mix", "payment=1,delivery=1"];
    let done = run(place.path(), &[&arguments[..], &AT_THE_END, &["2"]].concat());
    let summary = failed_with(place.path(), &done, "NO Delivery COMPLETED");
    assert_eq!(summary["outcomes"]["delivery"]["completed"], 0, "{}", summary["outcomes"]);
}

/// Another process locks the database from the ramp-up into the measurement.
#[test]
fn a_wait_that_begins_in_the_ramp_up_counts_in_the_response_times() {
    let place = loaded();
    let arguments = ["run", "--db", LOADED, "--ramp-up", "8s", "--duration", "9s"];
    let mut run = start(graymark(place.path(), &[&arguments[..], &AT_THE_END, &["2"]].concat()));
    run.wait_for("run: ramp-up");
    std::thread::sleep(Duration::from_millis(500));
    let other = lock(place.path());
    run.wait_for("run: measurement");
    std::thread::sleep(Duration::from_secs(3));
    drop(other);
    let done = run.end().1;
    assert_eq!(done.code, Some(0), "{done:?}");
    served_as_long_as_waited(&done.json());
    let longest = longest(&done.json(), "response_ms");
    // Its part before the interval, of seven seconds or so, does not count.
    assert!((2_000.0..=9_100.0).contains(&longest), "{longest} ms");
}

/// More terminals than sessions, and a lock that lasts beyond the end: those in the queue wait, too.
#[test]
fn terminals_in_the_queue_wait_until_the_end() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (loaded_server(), TempDir::new().unwrap());
    let url = server.tcp_url();
    let arguments = ["run", "--db", &url, "--pace", "standard*0.02", "--ramp-up", "1s", "--duration", "12s"];
    let rest = ["--timeout", "4s", "--mix", "new_order=1,payment=1"];
    let mut run = start(graymark(place.path(), &[&arguments[..], &rest, &AT_THE_END, &["2"]].concat()));
    run.wait_for("run: measurement");
    run.wait_for_seconds(&place.path().join("record"), 1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let summary = runtime.block_on(async {
        let other = client(&url).await;
        other.batch_execute("BEGIN; LOCK TABLE tpcc.district IN EXCLUSIVE MODE").await.unwrap();
        let done = tokio::task::spawn_blocking(move || run.end().1).await.unwrap();
        failed_with(place.path(), &done, "FAILED")
    });
    // Ten terminals, of which two have a session.
    assert_eq!((sum(&summary, "given_up"), sum(&summary, "open_at_end")), (2, 10), "{}", summary["outcomes"]);
    assert!(longest(&summary, "response_ms") >= 2_000.0, "{}", summary["transactions"]);
}
