//! A researcher repeats the experiments of a document, stops, goes on, and gets its figures beside the measured ones.

use std::fs;
use std::path::Path;

use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::{graymark, json_file, run, start, succeed};

const PAPER: &str = r#"
title = "A small bank"
source = "A test"
setting = "One machine."
db = "sqlite:bank.db?synchronous=off"
minutes = 1
notes = ["Another machine."]
[values]
time = { usual = "2", full = "600", scaled = true }
[[step]]
id = "load"
why = "fills the bank"
command = "load debitcredit -b 1"
[[step]]
id = "streams"
why = "adds streams"
command = "run debitcredit --clients {each} --ramp-up 0s --duration {time} --check none"
each = ["1", "2"]
record = true
[[figure]]
id = "2A"
title = "Throughput"
place = "page 3"
rows = { step = "streams" }
columns = [{ name = "streams", at = "/clients" }, { name = "tps", at = "/tps" }]
plot = ["tps"]
published = [[1, 2500], [2, 5000]]
[[claim]]
says = "A bank does more than one transaction a second"
figure = "2A"
column = "tps"
shape = "at-least"
bound = 1
"#;

fn paper(place: &Path) -> String {
    let path = place.join("paper.toml");
    fs::write(&path, PAPER).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_document_is_repeated_and_told_beside_its_own_figures() {
    let place = TempDir::new().unwrap();
    let paper = paper(place.path());
    let listed = succeed(place.path(), &["reproduce", &paper, "--dry-run"]).out;
    assert!(listed.contains("graymark run debitcredit --clients 2 --ramp-up 0s --duration 2s"), "{listed}");
    assert!(!place.path().join("there").exists());

    let done = succeed(place.path(), &["reproduce", &paper, "--out", "there", "--minutes", "0.5", "--json"]);
    let reported = done.json();
    assert!(done.err.contains("step 3 of 3"), "{}", done.err);
    let measured = reported["figures"][0]["measured"].as_array().unwrap();
    assert_eq!(measured.iter().map(|row| row[0].as_f64().unwrap()).collect::<Vec<_>>(), [1.0, 2.0]);
    assert_eq!((&reported["claims"][0]["measured"], &reported["claims"][0]["published"]), (&true.into(), &true.into()));
    let seeds: Vec<Option<u64>> =
        reported["steps"].as_array().unwrap().iter().map(|step| step["seed"].as_u64()).collect();
    assert!(seeds[0].is_none() && seeds[1].is_some() && seeds[1] != seeds[2], "{seeds:?}");
    let there = place.path().join("there");
    let tps = json_file(&there.join("streams-1"), "summary.json")["tps"].clone();
    assert_eq!(measured[0][1], tps);
    for name in ["reproduction.html", "reproduction.md", "reproduction.json", "tables.tex", "figure-2a-1.svg"] {
        assert!(there.join(name).is_file(), "{name}");
    }
    // A whole one has nothing to go on with; and nobody's directory is written over.
    let again = succeed(place.path(), &["reproduce", &paper, "--out", "there", "--resume", "--json"]).json();
    assert_eq!(again["steps"], reported["steps"]);
    run(place.path(), &["reproduce", &paper, "--out", "there"]).refused(2, &["not empty", "--resume"]);
}

#[test]
fn a_reproduction_that_was_stopped_goes_on() {
    let place = TempDir::new().unwrap();
    let paper = paper(place.path());
    let mut working = start(graymark(place.path(), &["reproduce", &paper, "--full", "--out", "there"]));
    working.wait_for("reproduce: step 2");
    working.wait_for("run:");
    working.signal(Signal::SIGINT);
    let (status, done) = working.end();
    assert_eq!(status.code(), Some(130), "{done:?}");
    assert!(done.err.contains("--resume"), "{done:?}");
    let there = place.path().join("there");
    let state = |key: &str| -> Value { json_file(&there, "state.json")[key].clone() };
    assert_eq!(state("steps").as_array().map(Vec::len), Some(1));
    // Shortened by hand: ten minutes are too long for a test.
    let text = fs::read_to_string(there.join("state.json")).unwrap().replace("\"Full\"", "{\"Minutes\": 0.5}");
    fs::write(there.join("state.json"), text).unwrap();
    let whole = succeed(place.path(), &["reproduce", &paper, "--out", "there", "--resume", "--json"]).json();
    assert_eq!(whole["steps"].as_array().map(Vec::len), Some(3));
    assert_eq!(whole["steps"][0], state("steps")[0]);
}

#[test]
fn a_document_that_is_none_is_refused() {
    let place = TempDir::new().unwrap();
    run(place.path(), &["reproduce", "grey"]).refused(2, &["unknown document `grey`", "gray", ".toml"]);
    run(place.path(), &["reproduce", "none.toml"]).refused(2, &["cannot read none.toml"]);
    fs::write(place.path().join("bad.toml"), PAPER.replace("{time}", "{times}")).unwrap();
    run(place.path(), &["reproduce", "bad.toml"]).refused(2, &["bad.toml", "no value `times`"]);
    run(place.path(), &["reproduce", "gray", "--resume", "--out", "nothing"]).refused(2, &["state.json"]);
    fs::write(place.path().join("fails.toml"), PAPER.replace("-b 1", "-b 1 --seed x")).unwrap();
    let failed = run(place.path(), &["reproduce", "fails.toml"]);
    assert!(failed.code == Some(3) && failed.err.contains("the step load failed with exit code 2"), "{failed:?}");
}
