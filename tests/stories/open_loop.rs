//! Transactions come at a rate of their own: whoever would have met a stall waits in the percentiles, and what the
//! database does not keep up with is reported.

use std::fs;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::{graymark, json_file, run, start, succeed};
use crate::support::loaded::loaded;

/// Milliseconds of a percentile of New-Order's times.
fn new_order(summary: &Value, clock: &str, percentile: &str) -> f64 {
    summary["transactions"]["new_order"][clock][percentile].as_f64().unwrap()
}

/// A database is locked for four of ten seconds: four in ten of all transactions are due while it is. Four sessions
/// meet it, as a closed loop would tell; all who were due wait.
#[test]
fn a_stall_is_in_the_percentiles_of_all_who_would_have_met_it() {
    let place = loaded();
    let work = [
        "run",
        "--db",
        "sqlite:loaded.db?synchronous=off",
        "--rate",
        "25",
        "--arrivals",
        "constant",
        "--clients",
        "4",
        "--mix",
        "new_order=1",
        "--ramp-up",
        "0s",
        "--duration",
        "20s",
        "--check",
        "none",
        "--out",
        "record",
        "--json",
    ];
    let mut working = start(graymark(place.path(), &work));
    working.wait_for("run: measurement");
    let blocker = Connection::open(place.path().join("loaded.db")).unwrap();
    blocker.busy_timeout(Duration::from_secs(60)).unwrap();
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::sleep(Duration::from_secs(6));
    blocker.execute_batch("ROLLBACK").unwrap();
    let (_, done) = working.end();
    assert_eq!(done.code, Some(0), "{done:?}");
    let summary = done.json();
    let open = &summary["open_loop"];
    assert_eq!((&open["offered"], &open["rate"], &open["arrivals"]), (&500.into(), &25.0.into(), &"constant".into()));
    // Of 150 that were due in the stall, the 50 that waited longest began to wait in its first two seconds.
    assert!(new_order(&summary, "response_ms", "p90") >= 2_500.0, "{}", summary["transactions"]["new_order"]);
    // Of those under way there was one for each session.
    assert!(new_order(&summary, "service_ms", "p90") < 1_000.0, "{}", summary["transactions"]["new_order"]);
    assert!(open["longest_queue"].as_u64().unwrap() >= 100, "{open}");
    let completed = summary["transactions"]["new_order"]["completed"].as_u64().unwrap();
    // One for each session may end after the interval.
    assert!(completed + open["unserved"].as_u64().unwrap() >= 496, "{open}, {completed} completed");
    let plan = fs::read_to_string(place.path().join("record/plan.toml")).unwrap();
    assert!(plan.contains("rate = 25") && plan.contains("arrivals = \"constant\""), "{plan}");
    let text = succeed(place.path(), &["report", "record", "--full"]).out;
    assert!(text.contains("25 a second, constant arrivals; 500 transactions were due"), "{text}");
}

/// Two sessions of 50 ms each do forty transactions a second at most.
#[test]
fn a_database_that_does_not_keep_up_is_reported_by_every_output() {
    let place = TempDir::new().unwrap();
    let offer = |rate: &str, lasts: &str, out: &str| {
        let work = [
            "run",
            "--db",
            "simulated:service=50ms",
            "--rate",
            rate,
            "--arrivals",
            "constant",
            "--clients",
            "2",
            "--ramp-up",
            "0s",
            "--duration",
            lasts,
            "--out",
            out,
            "--json",
        ];
        let done = succeed(place.path(), &work);
        (done.json(), done.err)
    };
    let (summary, reported) = offer("100", "4s", "overloaded");
    let open = &summary["open_loop"];
    assert_eq!((&open["offered"], &open["kept_up"]), (&400.into(), &false.into()), "{open}");
    let unserved = open["unserved"].as_u64().unwrap();
    assert!(unserved >= 400 - 162, "{open}");
    // Those who were never served waited, too: half of all for more than half a second.
    assert!(new_order(&summary, "response_ms", "p50") >= 500.0, "{}", summary["transactions"]);
    assert!(reported.contains("The database did not keep up with 100 a second"), "{reported}");
    let rule = summary["verdict"]["own"].as_array().unwrap().iter().find(|rule| rule["id"] == "open loop").unwrap();
    assert_eq!((&rule["state"], &rule["value"]), (&"broken".into(), &format!("{unserved} of 400").into()));
    let first = succeed(place.path(), &["report", "overloaded"]).out;
    assert!(first.contains("100 a second offered") && first.contains("did not keep up"), "{first}");
    assert!(first.lines().count() <= 10, "{first}");

    // One every two seconds: three of them are missed only by a driver that stands still for more than four.
    let (summary, _) = offer("0.5", "16s", "easy");
    assert_eq!((&summary["open_loop"]["kept_up"], &summary["open_loop"]["offered"]), (&true.into(), &8.into()));
    let first = succeed(place.path(), &["report", "easy"]).out;
    assert!(first.contains("and the database kept up"), "{first}");
    let gate = run(place.path(), &["compare", "easy", "overloaded", "--max-slowdown", "5%"]);
    gate.refused(2, &["pace (0.5 transactions a second (constant) in A, 100 transactions a second (constant) in B)"]);
}

#[test]
fn a_sweep_over_rates_tells_from_which_rate_on_the_database_does_not_keep_up() {
    let place = TempDir::new().unwrap();
    let sweep = [
        "sweep",
        "load",
        "--db",
        "simulated:service=20ms",
        "--rates",
        "200,0.5",
        "--arrivals",
        "constant",
        "--clients",
        "2",
        "-w",
        "1",
        "--ramp-up",
        "0s",
        "--duration",
        "8s",
        "--and-back",
        "--check",
        "none",
        "--out",
        "rates",
    ];
    let text = succeed(place.path(), &sweep).out;
    let rows: Vec<&str> = text.lines().skip(1).take(3).map(str::trim_start).collect();
    assert!(rows[0].starts_with("0.5 ") && rows[0].contains("  kept up"), "{text}");
    assert!(rows[1].starts_with("200 ") && rows[1].contains("did not keep up"), "{text}");
    // Whether it recovers on a busy machine, nobody knows.
    assert!(rows[2].starts_with("again 0.5 ") && text.contains("Back at 0.5 per second: "), "{text}");
    let study = json_file(&place.path().join("rates"), "sweep.json");
    let points = study["series"][0]["points"].as_array().unwrap();
    assert_eq!(points.iter().map(|point| point["at_rate"]["rate"].clone()).collect::<Vec<_>>(), [0.5, 200.0, 0.5]);
    let page = fs::read_to_string(place.path().join("rates/sweep.html")).unwrap();
    assert!(page.contains("Response time over the rate"), "{page}");
    let again = succeed(place.path(), &["sweep", "resume", "rates"]);
    assert!(again.err.contains("3 points"), "{again:?}");
}

#[test]
fn what_does_not_go_with_a_rate_is_refused() {
    let place = TempDir::new().unwrap();
    let refused = |more: &[&str], word: &str| {
        run(place.path(), &[&["run", "--db", "simulated:service=1ms"], more].concat()).refused(2, &[word]);
    };
    refused(&["--rate", "10", "--pace", "standard"], "remove --pace");
    refused(&["--rate", "10", "--stages", "1,2"], "remove --stages");
    refused(&["--rate", "10", "--steady", "5s"], "remove --steady");
    refused(&["--rate", "10", "--ramp-up", "auto"], "give a time");
    refused(&["--arrivals", "poisson"], "add --rate");
    refused(&["--rate", "0"], "transactions per second from 0.001");
    run(place.path(), &["sweep", "load", "--rates", "5", "--pace", "standard"]).refused(2, &["remove --pace"]);
}
