//! A user asks which settings would make a server faster.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::{graymark, json_file, run, start, succeed};
use crate::support::loaded::fail_half_of_history;

/// A list of candidates: a name, a setting and its value each.
fn list(candidates: &[(&str, &str, &str)]) -> String {
    let one = |(name, setting, value): &(&str, &str, &str)| {
        format!(
            "[[candidate]]\nname = \"{name}\"\nsettings = {{ {setting} = \"{value}\" }}\nreason = \"r\"\nsource = \
             \"s\"\n\
             restart = true\n"
        )
    };
    candidates.iter().map(one).collect()
}

fn candidate<'a>(found: &'a Value, name: &str) -> &'a Value {
    found["candidates"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()
}

/// A database that answers three hundred times as fast with the right setting, and one whose commits would not wait for the
/// disk although its list says nothing of that.
#[test]
fn what_is_faster_is_found_and_what_loses_commits_never_wins() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    fs::write(place.join("service.toml"), list(&[("fast", "service", "1ms"), ("odd", "service", "none")])).unwrap();
    let simulated = ["tune", "--db", "simulated:service=300ms", "-w", "1", "--clients", "1", "--ramp-up", "0s"];
    let short = ["--duration", "3s", "--pairs", "4", "--candidates", "service.toml", "--out", "graymark-runs/tune"];
    let done = succeed(place, &[&simulated[..], &short, &["--name", "spring", "--json"]].concat());
    let found = done.json();
    let fresh = &found["confirmation"];
    assert_eq!((&found["decision"], fresh["pairs"].as_array().unwrap().len()), (&"winner".into(), 4), "{found}");
    assert!(fresh["gain"]["low_percent"].as_f64().unwrap() > 0.0, "{found}");
    assert_eq!(candidate(&found, "odd")["fate"], "failed", "{found}");
    let record = place.join("graymark-runs/tune");
    assert_eq!(json_file(&record, "tune.json"), found);
    assert!(fs::read_to_string(record.join("tuned.conf")).unwrap().ends_with("service = 1ms\n"));
    assert_eq!(succeed(place, &["report", "spring", "--json"]).json(), found);
    assert!(succeed(place, &["report", "spring"]).out.contains("Winner: fast"));
    assert!(succeed(place, &["list"]).out.contains("tuned: +"));
    run(place, &["watch", "spring"]).refused(2, &["a record of graymark tune", "graymark report"]);

    fs::write(place.join("lossy.toml"), list(&[("lossy", "synchronous", "off")])).unwrap();
    let sqlite = ["tune", "debitcredit", "--db", "sqlite:x.db", "--candidates", "lossy.toml", "--out", "lossy"];
    let found = succeed(place, &[&sqlite[..], &["--duration", "6s", "--ramp-up", "0s", "--json"]].concat()).json();
    assert_eq!((&found["decision"], &found["settings"]), (&"no_winner".into(), &serde_json::json!({})), "{found}");
    let why = candidate(&found, "lossy")["why"].as_str().unwrap();
    assert!(why.contains("may lose commits") && why.contains("synchronous=off"), "{why}");
    let mut left: Vec<_> = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["graymark-runs", "lossy", "lossy.toml", "service.toml"], "its databases are gone");
}

/// The planted fault: the database that is copied for each run gets a trigger during the first run.
#[test]
fn a_start_whose_transactions_fail_is_named_first() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let db = "sqlite:x.db?synchronous=off";
    let tune = ["tune", "debitcredit", "--db", db, "-b", "1", "--clients", "2", "--only", "cache-64"];
    let short = ["--ramp-up", "0s", "--duration", "4s", "--pairs", "4", "--budget", "20m", "--out=graymark-runs/tune"];
    let mut working = start(graymark(place, &[&tune[..], &short].concat()));
    working.wait_for("run: measurement");
    fail_half_of_history(&place.join("x-w1.db"));
    let (_, done) = working.end();
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(done.out.starts_with("! The start FAILED: transactions of "), "{done:?}");
    let found = json_file(&place.join("graymark-runs/tune"), "tune.json");
    assert!(found["start_failures"][0].as_str().unwrap().ends_with("tune/start/1 failed"), "{found}");
    assert!(run(place, &["report", "tune"]).out.starts_with("! The start FAILED"));
    let page = std::fs::read_to_string(place.join("graymark-runs/tune/report.html")).unwrap();
    assert!(page.contains("The start FAILED"));
    assert!(succeed(place, &["list"]).out.contains("FAILED, tuned: no winner"));
}

#[test]
fn mistakes_are_reported_before_anything_is_done() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    run(place, &["tune", "--db", "postgres://host/db"]).refused(2, &["needs a private server", "graymark compare"]);
    run(place, &["tune", "--db", "simulated:"]).refused(2, &["no list of candidates for simulated"]);
    run(place, &["tune", "--db", "postgres:local", "--only", "x"])
        .refused(2, &["unknown candidate `x`", "more-buffers"]);
    run(place, &["tune", "--db", "postgres:local", "--budget", "1m"]).refused(2, &["too short", "--budget"]);
    run(place, &["tune", "--db", "sqlite:x.db", "--only", "flushes-at-checkpoints-only"]).refused(2, &["--allow-loss"]);
    fs::write(place.join("bad.toml"), "[[candidate]]\nname = \"x\"\n").unwrap();
    run(place, &["tune", "--candidates", "bad.toml"]).refused(2, &["bad.toml is not a list of candidates"]);
    let reported = succeed(place, &["tune", "--db", "postgres:local", "--dry-run"]).out;
    assert!(reported.contains("# 11 candidates, about") && reported.contains("# commits-do-not-wait:"), "{reported}");
}
