//! A user stops what goes on.

mod support;

use graymark::record::file;
use nix::sys::signal::Signal;
use support::command::{graymark, json_file, loaded, start, succeed};
use tempfile::TempDir;

const INTERRUPTED: Option<i32> = Some(130);

/// A run that is asked to stop ends, counts, and leaves a partial record.
fn a_run_ends(signal: Signal) {
    let place = loaded();
    let arguments =
        ["run", "--db", "sqlite:loaded.db", "--clients", "2", "--ramp-up", "1s", "--duration", "1h", "--out", "record", "--json"];
    let mut run = start(graymark(place.path(), &arguments));
    run.wait_for("run: measurement");
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    run.signal(signal);
    let (_, done) = run.end();
    assert_eq!(done.code, INTERRUPTED, "{done:?}");
    assert!(done.err.contains("graymark: stopping"), "{done:?}");
    let summary = done.json();
    assert_eq!(summary["interrupted"], true);
    assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
    assert!(summary["database"]["new_orders"].as_i64().unwrap() > 0, "{summary}");
    let interval = summary["interval_s"].as_f64().unwrap();
    assert!(interval > 0.0 && interval < 3_600.0, "{interval}");
    assert_eq!(summary["verdict"]["valid"], false);

    let record = place.path().join("record");
    assert_eq!(json_file(&record, file::SUMMARY), summary);
    assert_eq!(json_file(&record, file::HEADER)["status"], "partial");
    let told = succeed(place.path(), &["report", "record"]);
    assert!(told.out.contains("the run was interrupted"), "{}", told.out);
    succeed(place.path(), &["check", "--db", "sqlite:loaded.db"]);
}

#[test]
fn a_run_ends_on_sigint() {
    a_run_ends(Signal::SIGINT);
}

#[test]
fn a_run_ends_on_sigterm() {
    a_run_ends(Signal::SIGTERM);
}

#[test]
fn a_second_interrupt_ends_a_run_at_once() {
    let place = TempDir::new().unwrap();
    // Its first transactions would end in an hour.
    let arguments = ["run", "--db", "simulated:service=1h", "--ramp-up", "0s", "--duration", "1s", "--out", "record"];
    let mut run = start(graymark(place.path(), &arguments));
    run.wait_for("run: measurement");
    run.signal(Signal::SIGINT);
    run.wait_for("graymark: stopping; once more to stop at once");
    assert!(run.at_work());
    run.signal(Signal::SIGINT);
    let (_, done) = run.end();
    assert_eq!(done.code, INTERRUPTED, "{done:?}");
    let told = succeed(place.path(), &["report", "record"]);
    assert!(told.out.contains("was killed"), "{}", told.out);
}

/// A load that is asked to stop ends, and the next one goes on with it.
fn a_load_ends(signal: Signal, phase: &str) {
    let place = TempDir::new().unwrap();
    let arguments = ["load", "--db", "sqlite:file.db", "-w", "2", "--seed", "3"];
    let mut load = start(graymark(place.path(), &arguments));
    load.wait_for(phase);
    load.signal(signal);
    let (_, done) = load.end();
    assert_eq!(done.code, INTERRUPTED, "{done:?}");
    assert!(done.err.contains("graymark: stopping"), "{done:?}");
    succeed(place.path(), &arguments);
    succeed(place.path(), &["check", "--db", "sqlite:file.db"]);
}

#[test]
fn a_load_ends_on_sigint() {
    a_load_ends(Signal::SIGINT, "load: rows");
}

#[test]
fn a_load_ends_on_sigterm() {
    a_load_ends(Signal::SIGTERM, "load: rows");
}

#[test]
fn a_bench_that_is_stopped_while_it_loads_leaves_a_partial_record() {
    let place = TempDir::new().unwrap();
    let mut bench = start(graymark(place.path(), &["bench", "-w", "2", "--out", "record"]));
    bench.wait_for("load: rows");
    bench.signal(Signal::SIGINT);
    let (_, done) = bench.end();
    assert_eq!(done.code, INTERRUPTED, "{done:?}");
    assert_eq!(json_file(&place.path().join("record"), file::HEADER)["status"], "partial");
    succeed(place.path(), &["report", "record"]);
}
