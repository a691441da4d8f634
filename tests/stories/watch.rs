//! A run is watched on a terminal while it goes on, in its own terminal or in another, and the terminal is given back.

use tempfile::TempDir;

use crate::support::command::{json_file, run, succeed};
use crate::support::terminal::OnTerminal;

/// What takes a terminal, and what gives it back.
const TAKEN: &str = "\u{1b}[?1049h";
const GIVEN_BACK: &str = "\u{1b}[?1049l";

#[test]
fn a_run_is_drawn_in_its_own_terminal_and_in_another() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let long = "run --tui --db simulated:service=5ms --clients 2 --ramp-up 0s --duration 1h --out record --name drawn";
    let mut running = OnTerminal::start(place, long);
    running.wait_for(TAKEN);
    running.wait_for("transactions/s");

    let mut other = OnTerminal::start(place, "watch record");
    other.wait_for("transactions/s");
    other.wait_for("drawn");
    other.wait_for("/3600");
    other.press("e");
    other.wait_for("Errors and connections");
    other.press("p");
    other.wait_for("PAUSED");
    other.press("q");
    let (code, seen) = other.end();
    assert_eq!(code, Some(0), "{seen:?}");
    assert!(seen.contains(GIVEN_BACK), "{seen:?}");

    // The newest that goes on is found among others.
    let mut other = OnTerminal::start(place, "watch .");
    other.wait_for("drawn");
    other.press("\u{3}");
    let (code, seen) = other.end();
    assert_eq!(code, Some(130), "{seen:?}");
    assert!(seen.contains(GIVEN_BACK), "{seen:?}");

    running.press("\u{3}");
    let (code, seen) = running.end();
    assert_eq!(code, Some(130), "{seen:?}");
    let after = seen.rsplit(GIVEN_BACK).next().unwrap();
    assert!(after.contains("stopping") && after.contains("NOPM"), "{after:?}");
    assert_eq!(json_file(&place.join("record"), "record.json")["status"], "partial");
    run(place, &["watch", "."]).refused(2, &["no run is in progress"]);
}

#[test]
fn the_key_q_ends_a_run_cleanly() {
    let place = TempDir::new().unwrap();
    let short = "run --tui --db simulated:service=5ms --clients 2 --ramp-up 0s --duration 1h --out record";
    let mut running = OnTerminal::start(place.path(), short);
    running.wait_for("q end the run");
    running.press("q");
    let (code, seen) = running.end();
    assert_eq!(code, Some(130), "{seen:?}");
    assert_eq!(json_file(&place.path().join("record"), "summary.json")["interrupted"], true);
}

#[test]
fn what_is_no_terminal_is_reported() {
    let place = TempDir::new().unwrap();
    let work = ["run", "--db", "simulated:service=1ms", "--duration", "5s", "--ramp-up", "0s", "--out", "record"];
    succeed(place.path(), &work);
    run(place.path(), &["watch", "record"]).refused(2, &["graymark watch needs a terminal", "graymark report"]);
    run(place.path(), &["watch", "nothing"]).refused(2, &["no record named nothing", "graymark list"]);
    let refused = run(place.path(), &["run", "--tui", "--db", "simulated:service=1ms", "--out", "other"]);
    refused.refused(2, &["--tui needs a terminal", "remove it"]);
    assert!(!place.path().join("other").exists());
}
