//! A user stops what goes on.

mod support;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use graymark::record::file;
use nix::sys::signal::Signal;
use support::command::{end, graymark, json_file, loaded, open_directory, start, succeed};
use support::require_postgres;
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

/// The program, with its temporary files in a place of the test's own.
fn beside(place: &Path, arguments: &[&str]) -> Command {
    let mut command = graymark(place, arguments);
    command.env("TMPDIR", place);
    command
}

/// The directories of private servers in a place.
fn left(place: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("graymark-postgres-")).collect()
}

const LONG: [&str; 9] = ["bench", "--db", "postgres:local?shared_buffers=64MB", "-w", "1", "--ramp-up", "1h", "--duration", "1h"];

#[test]
fn what_a_killed_run_leaves_is_removed_by_the_next_and_nothing_else_is() {
    let Some(()) = require_postgres() else { return };
    let place = open_directory();
    let mut killed = start(beside(place.path(), &[&LONG[..], &["--out", "killed"]].concat()));
    killed.wait_for("run: ramp-up");
    let [old] = &left(place.path())[..] else { panic!("{:?}", left(place.path())) };
    killed.signal(Signal::SIGKILL);
    let _ = killed.end();
    assert!(old.join("run/data/PG_VERSION").exists(), "a killed run cannot remove its data");

    // Another one is at work, and goes on.
    let mut working = start(beside(place.path(), &[&LONG[..], &["--out", "working"]].concat()));
    working.wait_for("run: ramp-up");
    assert!(!old.exists(), "it was removed by the start of a private server");
    let [live] = &left(place.path())[..] else { panic!("{:?}", left(place.path())) };

    // Names like theirs: a link, a directory without a lock, a file, and one that is another user's.
    let outside = place.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("owner.lock"), "").unwrap();
    symlink(&outside, place.path().join("graymark-postgres-link")).unwrap();
    let unlocked = place.path().join("graymark-postgres-letters");
    std::fs::create_dir(&unlocked).unwrap();
    std::fs::write(unlocked.join("letter"), "dear").unwrap();
    std::fs::write(place.path().join("graymark-postgres-file"), "x").unwrap();
    let linked = place.path().join("graymark-postgres-linked");
    std::fs::create_dir(&linked).unwrap();
    symlink(outside.join("owner.lock"), linked.join("owner.lock")).unwrap();
    let others = place.path().join("graymark-postgres-others");
    std::fs::create_dir(&others).unwrap();
    if std::fs::metadata(&others).unwrap().uid() == 0 {
        std::fs::write(others.join("owner.lock"), "").unwrap();
        std::os::unix::fs::chown(others.join("owner.lock"), Some(65_534), None).unwrap();
        std::os::unix::fs::chown(&others, Some(65_534), None).unwrap();
    } else {
        println!("not run: only root can make another user's directory");
    }
    let checked = end(beside(place.path(), &["check", "--db", "postgres:local"]));
    assert_eq!(checked.code, Some(3), "a new database is empty: {checked:?}");
    assert!(live.join("run/data/PG_VERSION").exists() && working.at_work(), "one that is at work is left alone");
    for kept in [outside.join("owner.lock"), unlocked.join("letter"), linked, others] {
        assert!(std::fs::symlink_metadata(&kept).is_ok(), "{} was not Graymark's to remove", kept.display());
    }
    for kept in ["graymark-postgres-link", "graymark-postgres-file"] {
        assert!(std::fs::symlink_metadata(place.path().join(kept)).is_ok(), "{kept}");
    }

    // Stopped twice, it removes what is its own.
    working.signal(Signal::SIGINT);
    working.wait_for("graymark: stopping; once more to stop at once");
    working.signal(Signal::SIGINT);
    let (_, done) = working.end();
    assert_eq!(done.code, INTERRUPTED, "{done:?}");
    assert!(!live.exists(), "{}", live.display());
}

#[test]
fn a_temporary_directory_is_the_servers_and_closed() {
    let Some(()) = require_postgres() else { return };
    let place = open_directory();
    let mut working = start(beside(place.path(), &[&LONG[..], &["--out", "working"]].concat()));
    working.wait_for("run: ramp-up");
    let [live] = &left(place.path())[..] else { panic!("{:?}", left(place.path())) };
    let (whole, inside) = (std::fs::metadata(live).unwrap(), std::fs::metadata(live.join("run")).unwrap());
    let own = std::fs::metadata("/proc/self").unwrap().uid();
    assert_eq!(whole.uid(), own, "only Graymark's user can exchange what is in it");
    assert_eq!(whole.permissions().mode() & 0o066, 0, "others do not look around in it");
    assert_eq!((inside.permissions().mode() & 0o777, inside.uid() == own), (0o700, own != 0));
    working.signal(Signal::SIGTERM);
    let (_, done) = working.end();
    assert_eq!(done.code, INTERRUPTED, "{done:?}");
    assert_eq!(left(place.path()), Vec::<PathBuf>::new());
}
