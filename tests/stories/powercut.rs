//! A user asks what a loss of power would take: cuts of it, on a disk that loses what was not synced.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::command::{Done, run};
use crate::support::require_postgres;

/// A series of cuts in turn; none where no file system can be mounted, which is said.
fn cuts(place: &Path, db: &str, record: &str, more: &[&str]) -> Option<Done> {
    let usual = ["acid", "debitcredit", "-b", "1", "--db", db, "--seed", "5", "--crash", "power", "--clients", "2"];
    let done = run(place, &[&usual[..], &["--json", "--out", record], more].concat());
    let cannot = ["cannot mount a disk with simulated power cuts", "this Graymark cannot simulate power cuts"];
    match done.err.lines().find(|line| cannot.iter().any(|cannot| line.contains(cannot))) {
        Some(why) => {
            assert_eq!(done.code, Some(3), "{done:?}");
            println!("not run: {why}");
            None
        }
        None => Some(done),
    }
}

/// The state of a clause.
fn state(acid: &Value, id: &str) -> Value {
    let clauses = acid["clauses"].as_array().unwrap();
    clauses.iter().find(|clause| clause["id"] == id).unwrap()["state"].clone()
}

/// What is found of a disk that lies: commits that clients were told of are not there.
fn lost_by_a_lie(done: &Done) {
    assert_eq!(done.code, Some(1), "{done:?}");
    let planted = done.json();
    assert_eq!((&planted["planted"], &planted["left"]), (&json!(["lying disk"]), &json!("")));
    let crash = &planted["crashes"][0];
    assert!(crash["lost"].as_u64().unwrap() > 0, "{crash}");
    assert!(crash["power"]["oldest_lost_s"].as_f64().unwrap() >= 0.0, "{crash}");
    assert_eq!(
        (state(&planted, "durability: power"), state(&planted, "durability")),
        ("broken".into(), "broken".into())
    );
}

#[test]
fn a_file_survives_cuts_of_the_power_unless_its_disk_lies() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    // What cannot be cut is said before anything is made.
    run(place, &["acid", "--db", "sqlite:x.db", "--crash", "kill", "--lying-disk"]).refused(2, &["for --crash power"]);
    run(place, &["acid", "--db", "simulated:service=1ms", "--crash", "power"]).refused(2, &["does not work on"]);
    let Some(done) = cuts(place, "sqlite:x.db", "sound", &["--times", "3"]) else { return };
    assert_eq!(done.code, Some(0), "{done:?}");
    let sound = done.json();
    let crashes = sound["crashes"].as_array().unwrap();
    let losses: Vec<&Value> = crashes.iter().map(|crash| &crash["power"]["loss"]).collect();
    assert_eq!(losses, ["whole", "pages", "torn"]);
    for crash in crashes {
        assert!(crash["committed"].as_u64().unwrap() > 0 && crash["lost"] == 0, "{crash}");
        assert!(crash["power"]["unusable"] == "" && crash["power"]["oldest_lost_s"].is_null(), "{crash}");
    }
    assert_eq!((state(&sound, "durability: power"), state(&sound, "durability")), ("held".into(), "not tested".into()));
    assert!(!place.join("x.db").exists(), "the file of that name is another one");
    lost_by_a_lie(&cuts(place, "sqlite:x.db", "planted", &["--lying-disk"]).unwrap());
    let text = run(place, &["report", "planted"]).out;
    assert!(text.contains("! Planted fault: lying disk"), "{text}");
    let plan = std::fs::read_to_string(place.join("planted/plan.toml")).unwrap();
    assert!(plan.contains("# crash = \"power\"\n") && plan.contains("# lying_disk = true\n"), "{plan}");
    assert!(text.contains("Power cuts:") && text.contains("success-1.txt: not survived"), "{text}");
}

#[test]
fn a_server_loses_what_its_disk_called_durable_and_was_not() {
    let Some(()) = require_postgres() else { return };
    let place = TempDir::new().unwrap();
    let Some(done) = cuts(place.path(), "postgres:local", "planted", &["--lying-disk"]) else { return };
    lost_by_a_lie(&done);
    let kept = format!("postgres:local?data={}", place.path().join("data").display());
    cuts(place.path(), &kept, "kept", &[]).unwrap().refused(2, &["leave data= out"]);
}

/// Pages of the tables that were torn, and whose whole images the log does not have.
#[test]
fn torn_pages_that_the_log_cannot_mend_are_found() {
    let Some(()) = require_postgres() else { return };
    let place = TempDir::new().unwrap();
    // The server writes pages all the time, because it can keep only few of them.
    let small = ["--set", "shared_buffers=256kB", "--times"];
    let with = |record: &str, times: &str, writes: &str| {
        let more = [&small[..], &[times, "--set", writes]].concat();
        cuts(place.path(), "postgres:local", record, &more)
    };
    let Some(whole) = with("whole", "3", "full_page_writes=on") else { return };
    assert_eq!(whole.code, Some(0), "{whole:?}");
    let torn = with("torn", "18", "full_page_writes=off").unwrap();
    assert_eq!(torn.code, Some(1), "{torn:?}");
    let torn = torn.json();
    assert_eq!(state(&torn, "durability: power"), Value::from("broken"));
    let crashes = torn["crashes"].as_array().unwrap();
    assert_eq!(crashes.len(), 18, "a broken database is taken back, and the series goes on");
    // A cut that tears pages of indexes only is not noticed, and damages what comes after it.
    let unnoticed = |crash: &&Value| crash["power"]["loss"] != "whole" && crash["power"]["taken_back"] != true;
    let sound = crashes.iter().take_while(|crash| !unnoticed(crash));
    for crash in sound.filter(|crash| crash["power"]["loss"] == "whole") {
        assert!(crash["power"]["unusable"] == "" && crash["lost"] == 0 && crash["failed"] == json!([]), "{crash}");
    }
}
