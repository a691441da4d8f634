//! What the system limits, and what others can put in the way: an error, and never an abort or a wait without end.

use std::fs;
use std::process::Command;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tempfile::TempDir;

use crate::support::command::{end, graymark, run, start, succeed};
use crate::support::loaded::loaded;

/// A short run without a database.
const SIMULATED: [&str; 10] =
    ["run", "--db", "simulated:service=5ms", "-w", "1", "--clients", "1", "--ramp-up", "0s", "--duration"];

#[test]
fn a_refused_value_is_not_repeated_without_end() {
    let (place, value) = (TempDir::new().unwrap(), "a".repeat(100_000));
    let inline = format!("--clients={value}");
    let cases: [&[&str]; 3] = [&["run", "--clients", &value], &["run", &inline], &[&value]];
    for arguments in cases {
        let done = run(place.path(), arguments);
        done.refused(2, &["aaaa…"]);
        assert!(done.err.len() < 1_000, "{done:?}");
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let place = TempDir::new().unwrap();
    succeed(place.path(), &[&SIMULATED[..], &["6s", "--out", "record"]].concat());
    for name in ["record.json", "summary.json", "series.csv"] {
        let (file, aside) = (place.path().join("record").join(name), place.path().join("aside"));
        fs::rename(&file, &aside).unwrap();
        mkfifo(&file, Mode::S_IRWXU).unwrap();
        run(place.path(), &["report", "record"]).refused(2, &[name, "not a regular file"]);
        fs::rename(&aside, &file).unwrap();
    }
}

#[test]
fn a_limit_of_file_sizes_is_an_error() {
    let place = TempDir::new().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 4; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_graymark")]);
    command.args(SIMULATED).args(["2s", "--out", "record"]).current_dir(place.path());
    let done = end(command);
    assert_eq!(done.code, Some(4), "{done:?}");
    assert!(done.err.contains("File too large") && done.err.contains("ulimit -f"), "{done:?}");
}

#[test]
fn a_sqlite_file_that_is_removed_ends_the_run() {
    let place = loaded();
    let run = ["run", "--db", "sqlite:loaded.db", "--clients", "1", "--ramp-up", "0s", "--duration", "1h"];
    let mut working = start(graymark(place.path(), &run));
    working.wait_for("run: measurement");
    fs::remove_file(place.path().join("loaded.db")).unwrap();
    let (_, done) = working.end();
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.err.contains("loaded.db is gone: it was removed or renamed; the run was stopped"), "{done:?}");
}

/// The rest of the interval passes, but nobody waits for tables to come back. The interval is long enough for a drop on
/// a busy machine, and the run leaves the file unlocked most of the time.
#[test]
fn tables_that_are_dropped_end_the_run() {
    let place = loaded();
    let run = ["run", "--db", "sqlite:loaded.db?synchronous=off", "--clients", "1", "--rate", "10", "--ramp-up", "0s"];
    let run = [&run[..], &["--duration", "40s", "--json"]].concat();
    let mut working = start(graymark(place.path(), &run));
    working.wait_for("run: measurement");
    succeed(place.path(), &["drop", "--db", "sqlite:loaded.db?synchronous=off"]);
    let (_, done) = working.end();
    assert_eq!(done.code, Some(1), "{done:?}");
    let summary = done.json();
    let why = summary["database"]["uncounted"].as_str().unwrap_or_default();
    assert!(why.starts_with("somebody dropped the tables during the run"), "{summary}");
}

/// Sessions of SQLite have a thread each.
#[test]
fn more_threads_than_the_system_has_room_for_are_refused() {
    let limit = fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    let Some(limit) = limit.and_then(|limit| limit.trim().parse::<u64>().ok()).filter(|limit| *limit < 400_000) else {
        println!("not run: this system has room for as many threads as can be asked for");
        return;
    };
    let place = loaded();
    let run = ["run", "--db", "sqlite:loaded.db", "--clients", "100000", "--ramp-up", "0s", "--duration", "1s"];
    let done = end(graymark(place.path(), &run));
    assert_eq!(done.code, Some(2), "{done:?}");
    let words = format!("(vm.max_map_count is {limit}): ask for fewer clients with --clients");
    assert!(done.err.contains(&words), "{done:?}");
}
