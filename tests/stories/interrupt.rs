//! A user stops what goes on, also where the database says nothing any more: nothing hangs for ever.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::command::{end, family, graymark, json_file, open_directory, run, start, succeed};
use crate::support::loaded::{loaded, loaded_server};
use crate::support::{client, require_mariadb, require_postgres, small_server};
use graymark::result::format::file;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

const INTERRUPTED: Option<i32> = Some(130);

/// A run that is asked to stop ends, counts, and leaves a partial record.
fn a_run_ends(signal: Signal) {
    let place = loaded();
    let arguments = [
        "run",
        "--db",
        "sqlite:loaded.db",
        "--clients",
        "2",
        "--ramp-up",
        "1s",
        "--duration",
        "1h",
        "--out",
        "record",
        "--json",
    ];
    let mut run = start(graymark(place.path(), &arguments));
    run.wait_for("run: measurement");
    while !places_orders(&place.path().join("record")) {
        assert!(run.at_work(), "it ended without a New-Order");
        std::thread::sleep(Duration::from_millis(20));
    }
    run.signal(signal);
    let (_, done) = run.end();
    assert_eq!(done.code, INTERRUPTED, "{done:?}");
    assert!(done.err.contains("graymark: stopping"), "{done:?}");
    let summary = done.json();
    assert_eq!(summary["interrupted"], true);
    let database = &summary["database"];
    // A count that this machine cannot end in time is left out, and named.
    let late = database["uncounted"].as_str().is_some_and(|why| why.contains("when the run was stopped"));
    assert!(if late { database["agrees"].is_null() } else { database["agrees"] == true }, "{database}");
    assert!(late || database["new_orders"].as_i64() > Some(0), "{summary}");
    let interval = summary["interval_s"].as_f64().unwrap();
    assert!(interval > 0.0 && interval < 3_600.0, "{interval}");
    assert_eq!(summary["verdict"]["valid"], false);

    let record = place.path().join("record");
    assert_eq!(json_file(&record, file::SUMMARY), summary);
    assert_eq!(json_file(&record, file::HEADER)["status"], "partial");
    let reported = succeed(place.path(), &["report", "record", "--full"]);
    assert!(reported.out.contains("the run was interrupted"), "{}", reported.out);
    succeed(place.path(), &["check", "--db", "sqlite:loaded.db"]);
}

/// Whether a run's record has a second of the measurement in which a New-Order completed.
fn places_orders(record: &Path) -> bool {
    let series = std::fs::read_to_string(record.join(file::SERIES)).unwrap_or_default();
    series.lines().map(|line| line.split(',').collect::<Vec<_>>()).any(|cells| {
        let count = cells.get(3).and_then(|count| count.parse::<u64>().ok());
        cells[1..cells.len().min(3)] == ["measurement", "new_order"] && count > Some(0)
    })
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
fn a_run_ends_on_sighup() {
    a_run_ends(Signal::SIGHUP);
}

/// As under nohup: the terminal may go.
#[test]
fn a_run_that_was_started_with_sighup_ignored_goes_on() {
    let place = loaded();
    let mut command = Command::new("/bin/sh");
    let script = format!(
        "trap '' HUP; exec {} run --db 'sqlite:loaded.db?synchronous=off' --ramp-up 0s --duration 8s --check none --json",
        env!("CARGO_BIN_EXE_graymark")
    );
    command.args(["-c", &script]).current_dir(place.path());
    let mut run = start(command);
    run.wait_for("run: measurement");
    run.signal(Signal::SIGHUP);
    let (_, done) = run.end();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(done.json()["interrupted"], false);
}

#[test]
fn a_second_interrupt_ends_a_run_at_once() {
    let place = TempDir::new().unwrap();
    for record in ["1", "2", "3", "4", "5"] {
        // Its first transactions would end in an hour.
        let run = ["run", "--db", "simulated:service=1h", "--ramp-up", "0s", "--duration", "1h", "--out", record];
        let mut run = start(graymark(place.path(), &run));
        run.wait_for("run: measurement");
        run.signal(Signal::SIGINT);
        run.wait_for("graymark: stopping; press again to stop at once");
        run.signal(Signal::SIGINT);
        let (_, done) = run.end();
        assert_eq!(done.code, INTERRUPTED, "{done:?}");
        // On a busy machine it may have ended by itself before the second signal.
        if json_file(&place.path().join(record), file::HEADER)["status"] != "partial" {
            let reported = succeed(place.path(), &["report", record, "--full"]);
            // The result is stored once before the count: the second signal came before or after that.
            let told = ["was killed", "the run was interrupted"];
            assert!(told.iter().any(|told| reported.out.contains(told)), "{}", reported.out);
            return;
        }
    }
    panic!("no run was ended at once");
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
    // A command that a busy disk keeps from ending is ended after 9 s, with a record that says no more.
    let status = json_file(&place.path().join("record"), file::HEADER)["status"].clone();
    assert!(status == "partial" || status == "running", "{status}");
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

/// A run whose database is small.
const LONG: [&str; 8] =
    ["bench", "debitcredit", "--db", "postgres:local?shared_buffers=64MB", "--ramp-up", "1h", "--duration", "1h"];

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

    // The planted fault: somebody's directory, mounted in it.
    let (precious, mount) = (place.path().join("precious"), old.join("mount"));
    std::fs::create_dir(&precious).unwrap();
    std::fs::create_dir(&mount).unwrap();
    std::fs::write(precious.join("letter"), "dear").unwrap();
    let mounted = Command::new("mount").arg("--bind").args([&precious, &mount]).output();
    if mounted.is_ok_and(|mounted| mounted.status.success()) {
        let checked = end(beside(place.path(), &["check", "--db", "postgres:local"]));
        assert!(Command::new("umount").arg(&mount).status().unwrap().success());
        assert!(
            checked.err.contains("is kept: something is mounted at") && checked.err.contains("/mount"),
            "{checked:?}"
        );
        assert!(old.join("run/data/PG_VERSION").exists() && precious.join("letter").exists());
    } else {
        println!("not run: only root can mount a directory, and not in every container");
    }

    // Another one is at work, and goes on.
    let mut working = start(beside(place.path(), &[&LONG[..], &["--out", "working"]].concat()));
    working.wait_for("run: ramp-up");
    assert!(!old.exists(), "it was removed by the start of a private server");
    let [live] = &left(place.path())[..] else { panic!("{:?}", left(place.path())) };

    // Names like theirs: a link, a copy, a directory whose lock does not name it (of an earlier version), one without a
    // lock, a file, and one that is another user's.
    let outside = place.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("owner.lock"), "").unwrap();
    symlink(&outside, place.path().join("graymark-postgres-link")).unwrap();
    let copied = place.path().join("graymark-postgres-copied");
    assert!(Command::new("cp").arg("-a").args([live, &copied]).output().is_ok());
    let earlier = place.path().join("graymark-postgres-earlier");
    std::fs::create_dir(&earlier).unwrap();
    std::fs::write(earlier.join("owner.lock"), "").unwrap();
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
    let theirs = [outside.join("owner.lock"), unlocked.join("letter"), linked, others];
    for kept in theirs.into_iter().chain([copied.join("run/data/PG_VERSION"), earlier]) {
        assert!(std::fs::symlink_metadata(&kept).is_ok(), "{} was not Graymark's to remove", kept.display());
    }
    for kept in ["graymark-postgres-link", "graymark-postgres-file"] {
        assert!(std::fs::symlink_metadata(place.path().join(kept)).is_ok(), "{kept}");
    }

    // Stopped twice, it removes what is its own.
    working.signal(Signal::SIGINT);
    working.wait_for("graymark: stopping; press again to stop at once");
    working.signal(Signal::SIGINT);
    let (_, done) = working.end();
    assert_eq!(done.code, INTERRUPTED, "{done:?}");
    // For no longer than three seconds: what a busy machine has not removed by then, the next start removes.
    if live.exists() {
        end(beside(place.path(), &["check", "--db", "postgres:local"]));
    }
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

/// A run that was asked to stop has this long at the most; it takes less than ten seconds on a machine that has nothing
/// else to do, and an hour if it does not hear.
const LONGEST: Duration = Duration::from_secs(120);

fn tell_all(processes: &[u32], signal: Signal) {
    for pid in processes {
        // A child of the server may have ended meanwhile.
        let _ = kill(Pid::from_raw(i32::try_from(*pid).unwrap()), signal);
    }
}

fn alive(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Each session's transaction did not come back: its fate is unknown, and so is what the database would have counted.
fn partial_without_a_count(summary: &Value, clients: u64) {
    assert_eq!(summary["interrupted"], true);
    assert_eq!(summary["connections"]["abandoned"], clients, "{}", summary["connections"]);
    assert!(summary["connections"]["ambiguous"].as_u64().unwrap() >= clients, "{}", summary["connections"]);
    assert_eq!(summary["database"]["agrees"], Value::Null, "{}", summary["database"]);
    assert!(!summary["database"]["uncounted"].as_str().unwrap().is_empty(), "{}", summary["database"]);
    let completed =
        summary["outcomes"].as_object().unwrap().values().map(|of| of["completed"].as_u64().unwrap()).sum::<u64>();
    assert!(completed > 0, "{summary}");
}

/// A private server is stopped in the middle of a run, all its processes, and the run ends on one signal: with what it
/// measured, and without its server.
fn a_run_without_answers_ends(workload: &str, db: &str, signal: Signal) {
    let place = TempDir::new().unwrap();
    let arguments =
        ["bench", workload, "--db", db, "--clients", "2", "--ramp-up", "0s", "--duration", "1h", "--check", "none"];
    let mut run = start(graymark(place.path(), &[&arguments[..], &["--out", "record", "--json"]].concat()));
    run.wait_for("run: measurement");
    run.wait_for_seconds(&place.path().join("record"), 1);
    let servers = family(run.id()).split_off(1);
    assert!(!servers.is_empty());
    tell_all(&servers, Signal::SIGSTOP);
    std::thread::sleep(Duration::from_secs(2));
    run.signal(signal);
    let asked = Instant::now();
    let (_, done) = run.end();
    assert!(asked.elapsed() < LONGEST, "{:?}", asked.elapsed());
    assert_eq!(done.code, INTERRUPTED, "{done:?}");
    let summary = done.json();
    partial_without_a_count(&summary, 2);
    let record = place.path().join("record");
    assert_eq!(json_file(&record, file::SUMMARY), summary);
    assert_eq!(json_file(&record, file::HEADER)["status"], "partial");
    // PostgreSQL's own processes see that their first one is gone, and end soon.
    let end = Instant::now() + LONGEST;
    while servers.iter().any(|pid| alive(*pid)) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(servers.iter().filter(|pid| alive(**pid)).count(), 0, "servers that were stopped are left behind");
}

#[test]
fn a_run_on_a_stopped_postgres_ends_on_sigint() {
    let Some(()) = require_postgres() else { return };
    a_run_without_answers_ends("debitcredit", "postgres:local", Signal::SIGINT);
}

#[test]
fn a_run_on_a_stopped_mariadb_ends_on_sigterm() {
    let Some(()) = require_mariadb() else { return };
    a_run_without_answers_ends("tpcc", "mysql:local", Signal::SIGTERM);
}

/// Its driver blocks the threads of its sessions.
#[cfg(feature = "odbc")]
#[test]
fn a_run_on_a_stopped_virtuoso_ends_on_sighup() {
    let Some(()) = crate::support::virtuoso::require() else { return };
    a_run_without_answers_ends("tpcc", "virtuoso:local?buffers=20000", Signal::SIGHUP);
}

/// SQLite waits in the process for a lock of another one. Readers go on, so that the run is counted all the same.
#[test]
fn a_run_on_a_locked_sqlite_ends_on_sigint() {
    let place = loaded();
    let db = "sqlite:loaded.db?busy_timeout=3600000";
    let arguments =
        ["run", "--db", db, "--clients", "2", "--ramp-up", "0s", "--duration", "1h", "--out", "record", "--json"];
    let mut run = start(graymark(place.path(), &arguments));
    run.wait_for("run: measurement");
    run.wait_for_seconds(&place.path().join("record"), 1);
    let other = rusqlite::Connection::open(place.path().join("loaded.db")).unwrap();
    other.busy_timeout(Duration::from_secs(300)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::sleep(Duration::from_secs(2));
    run.signal(Signal::SIGINT);
    let asked = Instant::now();
    let (_, done) = run.end();
    assert!(asked.elapsed() < LONGEST, "{:?}", asked.elapsed());
    assert_eq!(done.code, INTERRUPTED, "{done:?}");
    let summary = done.json();
    assert!(summary["connections"]["abandoned"].as_u64().unwrap() > 0, "{}", summary["connections"]);
    let database = &summary["database"];
    // A count that this machine cannot end in time is left out, and named.
    let late = database["uncounted"].as_str().is_some_and(|why| why.contains("when the run was stopped"));
    assert!(if late { database["agrees"].is_null() } else { database["agrees"] == true }, "{database}");
    assert_eq!(json_file(&place.path().join("record"), file::SUMMARY), summary);
}

/// Another session locks a row that every transaction needs, and keeps it: the run ends by itself, and what it left
/// under way is of unknown fate.
#[test]
fn a_run_behind_a_locked_row_ends_by_itself() {
    let Some(()) = require_postgres() else { return };
    let server = loaded_server();
    let (url, place) = (server.url(), TempDir::new().unwrap());
    let arguments =
        ["run", "--db", &url, "--clients", "2", "--ramp-up", "0s", "--duration", "25s", "--timeout", "15s", "--json"];
    let mut run = start(graymark(place.path(), &[&arguments[..], &["--out", "record"]].concat()));
    run.wait_for("run: measurement");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let other = client(&url).await;
        run.wait_for_seconds(&place.path().join("record"), 1);
        other.batch_execute("BEGIN; LOCK TABLE tpcc.district, tpcc.orders IN SHARE ROW EXCLUSIVE MODE").await.unwrap();
        let (_, done) = tokio::task::spawn_blocking(move || run.end()).await.unwrap();
        let summary = done.json();
        assert_eq!(summary["connections"]["abandoned"], 2, "{done:?}");
        assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
        assert_eq!(
            (&summary["interrupted"], &summary["consistency"]["failed"]),
            (&false.into(), &Value::Array(Vec::new()))
        );
        other.batch_execute("ROLLBACK").await.unwrap();
    });
}

/// Commands that wait for a table that another session keeps locked are cut off by `--timeout`.
#[test]
fn a_check_and_a_drop_behind_a_lock_end_by_themselves() {
    let Some(()) = require_postgres() else { return };
    let server = loaded_server();
    let (url, place) = (server.url(), TempDir::new().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let other = runtime.block_on(async {
        let other = client(&url).await;
        other.batch_execute("BEGIN; LOCK TABLE tpcc.warehouse IN ACCESS EXCLUSIVE MODE").await.unwrap();
        other
    });
    for command in ["check", "drop", "restore", "scan"] {
        let done = run(place.path(), &[command, "tpcc", "--db", &url, "--timeout", "2s"]);
        assert_eq!(done.code, Some(3), "{command}: {done:?}");
        assert!(done.err.contains("no response within 2 s (increase --timeout to wait longer)"), "{command}: {done:?}");
    }
    drop(other);
    drop(runtime);
    succeed(place.path(), &["check", "tpcc", "--db", &url]);
}

/// A drop that has waited for a lock in vain says who holds it.
#[test]
fn a_drop_that_gives_up_names_the_session_that_holds_the_lock() {
    let Some(()) = require_postgres() else { return };
    let server = loaded_server();
    let (url, place) = (server.url(), TempDir::new().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (other, process) = runtime.block_on(async {
        let other = client(&url).await;
        let process: i32 = other.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
        let hold = "SET application_name = 'billing'; BEGIN; LOCK TABLE tpcc.stock IN ACCESS SHARE MODE";
        other.batch_execute(hold).await.unwrap();
        (other, process)
    });
    let impatient = format!("{url}{}options=-c%20lock_timeout%3D1s", if url.contains('?') { '&' } else { '?' });
    let done = run(place.path(), &["drop", "tpcc", "--db", &impatient]);
    assert_eq!(done.code, Some(3), "{done:?}");
    let named = format!("process {process} (");
    for words in ["lock timeout", &named, "billing", "idle in transaction)", "pg_terminate_backend"] {
        assert!(done.err.contains(words), "{words}: {done:?}");
    }
    drop(other);
    drop(runtime);
    succeed(place.path(), &["check", "tpcc", "--db", &url]);
}

/// Without any `--timeout`: a load is not cut off as long as the server says anything, and it is when the server says
/// nothing at all.
#[test]
fn a_load_into_a_server_that_is_stopped_ends_by_itself() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let place = TempDir::new().unwrap();
    let mut load = start(graymark(place.path(), &["load", "--db", &server.url(), "-w", "4"]));
    load.wait_for("load: rows");
    let servers = family(server.pid().unwrap());
    tell_all(&servers, Signal::SIGSTOP);
    let (_, done) = load.end();
    tell_all(&servers, Signal::SIGCONT);
    assert_eq!(done.code, Some(3), "{done:?}");
    // Either the rows under way are given up, or the next connection for further ones.
    let silent = ["does not respond", "does not answer"].iter().any(|words| done.err.contains(words));
    assert!(silent, "{done:?}");
}
