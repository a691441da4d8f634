//! Runs are judged: with a stall, too short, without think time, with failures that are allowed.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;
use graymark::result::summary::*;
use tempfile::TempDir;

use crate::support::command::{graymark, json_file, start, succeed};
use crate::support::loaded::{fail_half_of_history, loaded};
use crate::verdict::{find, of_state};

/// Runs the program on a simulated database; its JSON summary and the text of its report.
fn run(arguments: &[&str]) -> (Summary, String) {
    let place = TempDir::new().unwrap();
    let record = place.path().join("record");
    let mut command = Command::cargo_bin("graymark").unwrap();
    command
        .env_remove("GRAYMARK_DB")
        .args(["run", "tpcc", "--json", "--seed", "7", "--out"])
        .arg(&record)
        .args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary = serde_json::from_slice(&output.stdout).unwrap();
    (summary, std::fs::read_to_string(record.join("report.txt")).unwrap())
}

/// Coordinated omission: whoever would have sent something during a stall has waited for its end.
#[test]
fn a_stall_is_seen_by_everyone_who_would_have_met_it() {
    let stalling = "simulated:service=5ms&stall=2s&every=5s";
    let (summary, report) = run(&[
        "--db",
        stalling,
        "-w",
        "500",
        "--pace",
        "standard",
        "--clients",
        "20",
        "--ramp-up",
        "1s",
        "--duration",
        "10s",
    ]);
    // Two fifths of all moments are in a stall, so the 90th percentile waits for three quarters of one.
    for name in ["new_order", "payment", "order_status", "stock_level"] {
        let transaction = &summary.transactions[name];
        assert!(transaction.response_ms.p90 > 500.0, "{name}: {:?}", transaction.response_ms);
    }
    let pacing = summary.pacing.as_ref().unwrap();
    assert!(pacing.deferred_ms.p90 > 500.0 && pacing.queue_ms.p90 > 500.0, "{pacing:?}");
    // A Delivery is answered when it is queued, and the driver is not what stalls.
    assert!(summary.transactions["delivery"].response_ms.p90 < summary.transactions["payment"].response_ms.p90);
    assert!(pacing.lateness_ms.p90 < pacing.queue_ms.p90, "{pacing:?}");
    let (_, last) = report.trim_end().rsplit_once("\n\n").unwrap();
    assert!(last.starts_with("FAILED: clauses "), "{report}");
}

#[test]
fn a_short_paced_run_breaks_what_it_is_too_short_for() {
    let (summary, report) = run(&[
        "--db",
        "simulated:service=2ms",
        "-w",
        "200",
        "--pace",
        "standard",
        "--clients",
        "4",
        "--ramp-up",
        "2s",
        "--duration",
        "5s",
    ]);
    let state = |id: &str, rule: &str| find(&summary.verdict, id, rule).state.clone();
    assert!(!summary.verdict.valid);
    assert_eq!(state("5.5.2.1", "interval"), State::Broken);
    assert_eq!(state("4.2.2", "ten terminals"), State::Held);
    assert_eq!(state("2.1.6.1", "distance of C"), State::Held);
    assert_eq!(state("5.1.2", "the database has all commits"), State::Held);
    for name in ["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"] {
        assert_eq!(state("5.2.5.2", &format!("keying time of {name}")), State::Held);
    }
    // A simulated database has neither checkpoints nor rows.
    for (id, rule) in [
        ("5.5.2.2", "before"),
        ("5.5.2.2", "in the interval"),
        ("3.3.2", "consistency"),
        ("3.3.3.2", "consistency run"),
        ("4.2.2", "rows of warehouses"),
        ("4.2.2", "rows of ORDER"),
    ] {
        assert_eq!(state(id, rule), State::NotTested, "{id} {rule}");
    }
    let last = report.trim_end().lines().last().unwrap();
    assert!(report.contains("FAILED: clauses ") && !report.contains("PASSED"), "{last}");
}

#[test]
fn a_run_without_think_time_is_judged_by_the_same_rules() {
    let (summary, report) =
        run(&["--db", "simulated:service=2ms", "-w", "1", "--clients", "2", "--ramp-up", "0s", "--duration", "4s"]);
    let broken =
        of_state(&summary.verdict, State::Broken).into_iter().map(|clause| clause.id.as_str()).collect::<BTreeSet<_>>();
    for id in ["4.2.2", "4.1.3", "5.2.5.2", "5.2.5.4", "2.7.2.2", "5.5.2.1"] {
        assert!(broken.contains(id), "{id}: {broken:?}");
    }
    let remote = find(&summary.verdict, "5.5.1.5", "Payments of a remote");
    assert!(remote.state == State::Broken && remote.note.contains("no remote warehouse"), "{remote:?}");
    assert_eq!(summary.metric, "NOPM");
    assert!(!report.contains("PASSED") && !report.contains("FAILED: clauses"), "{report}");
}

/// The planted fault: half of all Payments fail, which the user allows.
#[test]
fn failures_that_are_allowed_are_named_by_a_sweep() {
    let place = loaded();
    let place = place.path();
    fail_half_of_history(&place.join("loaded.db"));
    let sweep = ["sweep", "max", "--of", "clients", "--to", "1", "--until", "tps>0.1", "--db", NO_DISK];
    let short = ["-w", "1", "--ramp-up", "0s", "--duration", "10s", "--allow-errors", "90%", "--out", "max"];
    let done = succeed(place, &[&sweep[..], &short].concat());
    assert!(done.out.starts_with("! Transactions FAILED, but no more than allowed at 1 of 1 points."), "{done:?}");
    let largest = done.out.lines().find(|line| line.starts_with("The largest that keeps")).unwrap();
    assert!(largest.contains("% of transactions FAILED"), "{done:?}");
    let found = json_file(&place.join("max"), "sweep.json");
    let point = &found["series"][0]["points"][0];
    assert!(point["failed_percent"].as_f64().unwrap() > 1.0, "{found}");
    assert!(point["notes"].to_string().contains("transactions FAILED, within the allowed 90 %"), "{found}");
    assert!(std::fs::read_to_string(place.join("max/sweep.html")).unwrap().contains("% of transactions FAILED"));
    let explained = succeed(place, &["explain", "max/points/clients1"]).out;
    assert!(explained.starts_with("! ") && explained.contains("failed"), "{explained}");
}

/// Commits that wait for a slow disk leave another client no time to take the lock.
const NO_DISK: &str = "sqlite:loaded.db?synchronous=off";

/// Takes the lock of a SQLite database for some seconds, so that nobody else writes.
fn hold(database: &Path, length: Duration) {
    let other = rusqlite::Connection::open(database).unwrap();
    other.busy_timeout(Duration::from_secs(300)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::sleep(length);
    other.execute_batch("ROLLBACK").unwrap();
}

/// The planted fault: another client has the lock for half of the interval.
#[test]
fn a_standstill_is_named_by_a_sweep() {
    let place = loaded();
    let place = place.path();
    let sweep = ["sweep", "max", "--of", "clients", "--from", "2", "--to", "2", "--until", "tps>0.1"];
    let short = ["--db", NO_DISK, "-w", "1", "--mix", "payment=100", "--ramp-up", "0s", "--duration", "10s"];
    let mut working = start(graymark(place, &[&sweep[..], &short, &["--out", "max"]].concat()));
    working.wait_for("run: measurement");
    std::thread::sleep(Duration::from_secs(2));
    hold(&place.join("loaded.db"), Duration::from_secs(5));
    let (_, done) = working.end();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("! Nothing completed for some time at 1 of 1 points."), "{done:?}");
    let largest = done.out.lines().find(|line| line.starts_with("The largest that keeps")).unwrap();
    assert!(largest.contains("(STANDSTILL "), "{done:?}");
    let found = json_file(&place.join("max"), "sweep.json");
    assert!(found["series"][0]["points"][0]["standstill_s"].as_f64() > Some(1.0), "{found}");
}

/// The planted fault: another client has the lock for more than the second stage.
#[test]
fn a_stage_in_which_nothing_completed_is_a_standstill() {
    let place = loaded();
    let place = place.path();
    let stages = ["run", "--db", NO_DISK, "--mix", "payment=100", "--stages", "1,2,1"];
    let short = ["--stage-duration", "4s", "--ramp-up", "0s", "--check", "none", "--out", "staged"];
    let mut working = start(graymark(place, &[&stages[..], &short].concat()));
    working.wait_for("run: measurement");
    std::thread::sleep(Duration::from_secs(3));
    hold(&place.join("loaded.db"), Duration::from_secs(6));
    let (_, done) = working.end();
    assert!(done.out.lines().next().unwrap().contains("STANDSTILL"), "{done:?}");
    let found = json_file(&place.join("staged"), "summary.json");
    let standstills = found["standstills"].as_array().unwrap();
    let longest = standstills.iter().filter_map(|stretch| stretch[1].as_f64()).fold(0.0, f64::max);
    assert!(longest >= 4.0, "{standstills:?}");
}
