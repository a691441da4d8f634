//! A database that stands still has connections and no errors: what its figures do not show is reported beside them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::command::{Done, STEADY, graymark, json_file, run, start, succeed};
use crate::support::loaded::{loaded, loaded_server};
use crate::support::{client, require_postgres};
use graymark::result::format::file;
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

const SECONDS: u64 = 20;

/// A run on one warehouse of PostgreSQL. Another session locks `tables` after so many seconds of the measurement, or
/// before the run if `lock_at` is negative, and frees them `held_s` seconds after that, or after the measurement began.
///
/// How long they were locked in the end is returned, too, in seconds.
fn behind(tables: &str, lock_at: i64, held_s: u64) -> (TempDir, Done, f64) {
    let (server, place) = (loaded_server(), TempDir::new().unwrap());
    let url = server.url();
    let lock = format!("BEGIN; LOCK TABLE {tables} IN SHARE ROW EXCLUSIVE MODE");
    let seconds = format!("{SECONDS}s");
    let arguments = ["run", "--db", &url, "--clients", "4", "--ramp-up", "0s", "--duration", &seconds, "--check"];
    // Of this seed each type but a locked one is completed before all sessions wait.
    let rest = ["none", "--seed", "3", "--out", "record", "--json"];
    let load: &[&str] = if lock_at < 0 { &[] } else { &STEADY };
    let arguments = [&arguments[..], &rest, load].concat();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (done, locked) = runtime.block_on(async {
        let other = client(&url).await;
        if lock_at < 0 {
            other.batch_execute(&lock).await.unwrap();
        }
        let mut run = start(graymark(place.path(), &arguments));
        run.wait_for("run: measurement");
        let mut asked = Instant::now();
        if let Ok(seconds) = usize::try_from(lock_at) {
            run.wait_for_seconds(&place.path().join("record"), seconds);
            asked = Instant::now();
            other.batch_execute(&lock).await.unwrap();
        }
        tokio::time::sleep(Duration::from_secs(held_s)).await;
        other.batch_execute("ROLLBACK").await.unwrap();
        let locked = asked.elapsed().as_secs_f64();
        (run.end().1, locked)
    });
    (place, done, locked)
}

/// What a reader meets first, in whatever way the record is shown.
fn first_words(place: &Path) -> Vec<String> {
    let text = succeed(place, &["report", "record"]).out;
    let first = text.lines().take(6).collect::<Vec<_>>().join(" ");
    let table = succeed(place, &["report", "record", "--table"]).out;
    vec![first, table]
}

#[test]
fn a_database_that_stands_still_is_told_beside_the_figure() {
    let Some(()) = require_postgres() else { return };
    let (place, done, locked) = behind("tpcc.district, tpcc.orders", 2, 5);
    assert_eq!(done.code, Some(0), "{done:?}");
    let summary = done.json();
    let stretches = summary["standstills"].as_array().unwrap();
    // Whole seconds, and a while until somebody is done; on a busy machine it may stand still elsewhere, too.
    let behind_it = |stretch: &Value| (3.0..=locked + 10.0).contains(&stretch[1].as_f64().unwrap());
    assert!(stretches.iter().any(behind_it), "{stretches:?} behind a lock of {locked} s");
    for words in first_words(place.path()) {
        assert!(words.contains("STANDSTILL"), "{words}");
    }
    assert!(done.err.contains("No transaction completed in"), "{done:?}");
}

/// Payments wait from the first to the last second, and end when the measurement is over.
#[test]
fn a_type_that_ends_only_after_the_interval_fails_the_run() {
    let Some(()) = require_postgres() else { return };
    let (place, done, _) = behind("tpcc.history", -1, SECONDS + 2);
    assert_eq!(done.code, Some(1), "{done:?}");
    let summary = done.json();
    let payment = &summary["outcomes"]["payment"];
    assert!(payment["completed"].as_u64().unwrap() > 0 && payment["failed"] == 0, "{payment}");
    assert_eq!(payment["within_interval"], 0, "{payment}");
    assert!(payment["open_at_end"].as_u64().unwrap() > 0, "{payment}");
    assert!(payment["longest_open_s"].as_f64().unwrap() > SECONDS as f64 / 2.0, "{payment}");
    for words in first_words(place.path()) {
        assert!(words.contains("NO Payment COMPLETED IN THE INTERVAL"), "{words}");
    }
    assert!(done.err.contains("the response times do not hold that"), "{done:?}");
}

/// A run on SQLite that is killed when its result is kept and its check is still to come.
fn killed_before_its_check(place: &Path) -> PathBuf {
    let arguments = ["run", "--db", "sqlite:loaded.db", "--ramp-up", "0s", "--duration", "2s", "--check", "after"];
    for number in 0..5 {
        let name = format!("killed-{number}");
        let record = place.join(&name);
        let mut working = start(graymark(place, &[&arguments[..], &["--out", &name]].concat()));
        while !record.join(file::SUMMARY).exists() {
            assert!(working.at_work(), "it left no result");
            std::thread::sleep(Duration::from_millis(1));
        }
        working.signal(Signal::SIGKILL);
        working.end();
        let unchecked = || json_file(&record, file::SUMMARY)["consistency"]["unchecked"].clone();
        if json_file(&record, file::HEADER)["status"] == "running" && !unchecked().is_null() {
            return record;
        }
    }
    panic!("its check is too fast to be killed");
}

#[test]
fn a_record_that_was_killed_before_its_check_is_no_baseline() {
    let place = loaded();
    let killed = killed_before_its_check(place.path());
    let name = killed.file_name().unwrap().to_str().unwrap();
    let summary = json_file(&killed, file::SUMMARY);
    assert_eq!(summary["consistency"]["unchecked"], "the command ended before the check");
    let whole =
        ["run", "--db", "sqlite:loaded.db?synchronous=off", "--ramp-up", "0s", "--duration", "6s", "--check", "after"];
    succeed(place.path(), &[&whole[..], &["--out", "whole"]].concat());
    assert_eq!(json_file(&place.path().join("whole"), file::SUMMARY)["consistency"]["unchecked"], Value::Null);

    let why = ["the baseline cannot be used", name, "is incomplete"];
    run(place.path(), &["compare", name, "whole", "--max-slowdown", "5%"]).refused(2, &why);
    run(place.path(), &["gate", "--baseline", name, "--max-slowdown", "5%", "--at-most", "10s"]).refused(2, &why);
    // Two seconds are too few to decide by; the baseline is no reason any more.
    run(place.path(), &["compare", name, "whole", "--max-slowdown", "90%", "--anyway"])
        .refused(2, &["fewer than 10 measured seconds"]);

    let table = succeed(place.path(), &["report", name, "--table"]).out;
    assert!(table.contains("unfinished") && table.contains("not checked"), "{table}");
    let list = succeed(place.path(), &["list", "."]).out;
    let line = list.lines().find(|line| line.contains(name)).unwrap();
    assert!(line.contains("unfinished") && line.contains("not checked"), "{list}");
    let report = succeed(place.path(), &["report", name, "--full"]).out;
    assert!(report.contains("Not checked after the run: the command ended before the check."), "{report}");
}

#[test]
fn a_database_that_swallows_rows_is_not_told_as_away() {
    let place = loaded();
    let database = rusqlite::Connection::open(place.path().join("loaded.db")).unwrap();
    let trigger = "CREATE TRIGGER swallow BEFORE INSERT ON history BEGIN SELECT RAISE(IGNORE); END";
    database.execute_batch(trigger).unwrap();
    drop(database);
    let db = "sqlite:loaded.db?synchronous=off";
    let arguments = ["run", "--db", db, "--duration", "6s", "--ramp-up", "0s", "--check", "none"];
    let done = run(place.path(), &[&arguments[..], &["--out", "record", "--json"]].concat());
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.err.contains("was given up, as a committed transaction's reply"), "{done:?}");
    let summary = done.json();
    assert!(summary["outcomes"]["payment"]["failed"].as_u64() > Some(0), "{summary:#}");
    assert_eq!(summary["connections"]["lost"], 0);
    assert_eq!(summary["connections"]["outages"].as_array().map(Vec::len), Some(0));
    for words in first_words(place.path()) {
        assert!(words.contains("NO Payment COMPLETED") && !words.contains("AWAY"), "{words}");
    }
    let events = std::fs::read_to_string(place.path().join("record").join(file::EVENTS)).unwrap();
    assert!(events.contains("session_given_up") && !events.contains("session_lost"), "{events}");
}
