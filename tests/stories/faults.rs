//! Faults on a timetable: a run that is disturbed by plan says when, by what, and how the database stood it.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::command::{Done, STEADY, json_file, run, succeed};
use crate::support::{require_mariadb, require_postgres};
use graymark::result::format::file;

/// The events of a record that are of planned faults.
fn fault_events(place: &TempDir) -> Vec<Value> {
    let text = fs::read_to_string(place.path().join("record").join(file::EVENTS)).unwrap();
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["event"].as_str().unwrap().starts_with("fault_")).collect()
}

#[test]
fn a_private_server_is_slowed_stopped_and_killed_on_time_and_loses_nothing() {
    let Some(()) = require_postgres() else { return };
    let place = TempDir::new().unwrap();
    let load = ["bench", "debitcredit", "--db", "postgres:local", "-b", "1", "--clients", "2", "--seed", "5"];
    let times = ["--ramp-up", "0s", "--duration", "12s", "--reconnect-for", "5m", "--out", "record", "--json"];
    let times = [&times[..], &STEADY].concat();
    let faults = ["--fault", "4s: kill", "--fault", "500ms: delay 5ms for 1s", "--fault", "2s 500ms: stop for 500ms"];
    let done = succeed(place.path(), &[&load[..], &times, &faults].concat());

    let events = fault_events(&place);
    let reported: Vec<(&str, u64)> =
        events.iter().map(|event| (event["event"].as_str().unwrap(), event["fault"].as_u64().unwrap())).collect();
    let expected = (0..3).flat_map(|fault| [("fault_began", fault), ("fault_ended", fault)]).collect::<Vec<_>>();
    assert_eq!(reported, expected);
    assert!(events.iter().all(|event| event.get("error").is_none()), "{events:?}");
    let at: Vec<f64> = events.iter().map(|event| event["at"].as_f64().unwrap()).collect();
    assert!(at.is_sorted() && at[0] >= 0.5 && at[4] >= 4.0, "{at:?}");
    assert!(at[1] - at[0] >= 1.0 && at[3] - at[2] >= 0.5, "{at:?}");

    let summary = done.json();
    let faults = summary["faults"].as_array().unwrap();
    let what: Vec<&str> = faults.iter().map(|fault| fault["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["delay 5ms for 1s", "stop for 500ms", "kill"]);
    // Half a second before the first fault is too little for a level, unless the machine stood still meanwhile.
    let first = &faults[0]["resilience"];
    assert_eq!(first["level_before"].is_null(), at[0] < 2.0, "{first}");
    assert_eq!(first["unknown"].to_string().contains("less than 2 s"), at[0] < 2.0, "{first}");
    assert_eq!(summary["relayed"], json!(true));
    let kill = &faults[2]["resilience"];
    let lost = kill["connections_lost"].as_u64().unwrap();
    assert!(lost >= 1 && kill["first_error_s"].as_f64().is_some(), "{kill}");
    assert_eq!(kill["lost_commits"], json!(0), "{kill}");
    assert!(summary["connections"]["lost"].as_u64().unwrap() >= lost);
    assert!(!summary["connections"]["outages"].as_array().unwrap().is_empty(), "{}", summary["connections"]);
    assert_eq!(summary["database"]["agrees"], json!(true), "{}", summary["database"]);
    assert_eq!(summary["consistency"]["failed"], json!([]));
    assert_eq!(summary["verdict"]["valid"], json!(false));
    assert!(summary["verdict"].to_string().contains("faults planned in the interval"));

    let text = succeed(place.path(), &["report", "record", "--full"]).out;
    assert!(text.contains("Disturbed by 3 faults") && text.contains("\nF3 kill "), "{text}");
    let page = fs::read_to_string(place.path().join("record").join(file::REPORT_HTML)).unwrap();
    assert!(page.contains("Planned faults") && page.contains("\nF3\n</text>"), "the charts carry no faults");
    let header = json_file(&place.path().join("record"), file::HEADER);
    assert_eq!(header["status"], "complete");
}

#[test]
fn a_private_mariadb_stands_faults_of_all_kinds() {
    let Some(()) = require_mariadb() else { return };
    let place = TempDir::new().unwrap();
    let load = ["bench", "debitcredit", "--db", "mysql:local?buffers=64MB", "-b", "1", "--clients", "2", "--seed", "5"];
    let times = ["--ramp-up", "0s", "--duration", "90s", "--reconnect-for", "5m", "--check", "after", "--json"];
    let times = [&times[..], &STEADY].concat();
    // Sessions are back when the server is killed, even if its restart takes a minute.
    let faults = [
        "500ms: delay 5ms for 500ms",
        "1s: bandwidth 1MB for 500ms",
        "4s: partition for 500ms",
        "8s: stop for 500ms",
        "12s: restart",
        "80s: kill",
    ];
    let faults: Vec<&str> = faults.iter().flat_map(|fault| ["--fault", *fault]).collect();
    let summary = succeed(place.path(), &[&load[..], &times, &faults].concat()).json();
    let reported = summary["faults"].as_array().unwrap();
    assert!(reported.len() == 6 && reported.iter().all(|fault| fault["error"].is_null()), "{reported:?}");
    // A transaction counts when it ends, which may be after the fault.
    let waited = |fault: &Value| {
        let longest = |when: &str| fault["resilience"][when]["max_ms"].as_f64().unwrap_or_default();
        longest("during").max(longest("after"))
    };
    assert!(waited(&reported[2]) >= 400.0 && waited(&reported[3]) >= 400.0, "{reported:?}");
    let lost = |fault: &Value| fault["resilience"]["connections_lost"].as_u64();
    assert!(
        lost(&reported[3]) == Some(0) && lost(&reported[4]) >= Some(1) && lost(&reported[5]) >= Some(1),
        "{reported:?}"
    );
    assert_eq!(summary["database"]["agrees"], json!(true), "{}", summary["database"]);
    assert_eq!(summary["consistency"]["failed"], json!([]));
    assert_eq!(summary["connections"]["lookup"]["acknowledged"]["lost"], json!(0), "{}", summary["connections"]);
}

/// The disk is one of Graymark's own, whose flushes can be made slow: each commit then waits for at least so long.
#[test]
fn a_disk_is_slow_to_flush_for_as_long_as_it_was_planned() {
    let Some(()) = require_postgres() else { return };
    let place = TempDir::new().unwrap();
    let load = ["bench", "debitcredit", "--db", "postgres:local", "-b", "1", "--clients", "2", "--seed", "5"];
    let times = ["--ramp-up", "0s", "--duration", "14s", "--check", "after", "--out", "record", "--json"];
    let done = succeed(place.path(), &[&load[..], &times, &["--fault", "6s: slow flush 300ms for 3s"]].concat());
    let summary = done.json();
    let fault = &summary["faults"][0];
    assert!(fault["what"] == "slow flush 300ms for 3s" && fault["error"].is_null(), "{fault}");
    // Two sessions come to seven commits a second at most, and somebody waited for 300 ms.
    let resilience = &fault["resilience"];
    assert!(resilience["lowest_per_second"].as_f64().unwrap() <= 7.0, "{resilience}");
    assert!(resilience["during"]["max_ms"].as_f64().unwrap() >= 300.0, "{resilience}");
    assert_eq!(summary["database"]["agrees"], json!(true), "{}", summary["database"]);

    let kept = ["bench", "debitcredit", "--db", "postgres:local?data=data", "-b", "1", "--duration", "5s"];
    run(place.path(), &[&kept[..], &["--fault", "1s: full disk for 1s"]].concat())
        .refused(2, &["a disk of Graymark's own is a temporary one"]);
}

#[test]
fn a_fault_that_cannot_be_carried_out_is_refused_before_anything_is_done() {
    let place = TempDir::new().unwrap();
    let refused = |more: &[&str]| -> String {
        let Done { code, err, .. } =
            run(place.path(), &[&["bench", "debitcredit", "-b", "1", "--duration", "5s"], more].concat());
        assert_eq!(code, Some(2), "{more:?}: {err}");
        err
    };
    for (fault, why) in [
        ("1s: kill", "needs a server that Graymark starts"),
        ("1s: stop for 1s", "(--fault '5s: script PATH')"),
        ("1s: partition node 2 for 1s", "needs a server that Graymark starts"),
        ("1s: partition for 1s", "has no relay for this SQLite"),
        ("1s: script nowhere.sh", "nowhere.sh is not an executable file"),
        ("9s: script nowhere.sh", "make --duration longer"),
        ("1s: full disk for 1s", "needs data on a disk of Graymark's own"),
        ("1s: burn", "unknown fault `burn`"),
    ] {
        let err = refused(&["--fault", fault]);
        assert!(err.contains(why), "{fault}: {err}");
    }
    fs::write(place.path().join("plan.toml"), "[[fault]]\nat = \"1s\"\ndo = \"kill\"\n").unwrap();
    assert!(refused(&["--plan", "plan.toml"]).contains("needs a server that Graymark starts"));
    let sweep = run(
        place.path(),
        &["sweep", "max", "--of", "clients", "--to", "2", "--until", "errors<=0", "--plan", "plan.toml"],
    );
    assert!(sweep.code == Some(2) && sweep.err.contains("remove [[fault]]"), "{sweep:?}");
    assert!(!place.path().join("graymark-runs").exists(), "a record was begun");
}
