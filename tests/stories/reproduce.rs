//! A researcher repeats the experiments of a document, stops, goes on, and gets its figures beside the measured ones.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::{PATIENCE, Working, files, graymark, json_file, run, start, succeed, the_one_of};

const PAPER: &str = r#"
title = "A small bank"
source = "A test"
setting = "One machine."
db = "sqlite:bank.db?synchronous=off"
minutes = 1
notes = ["Another machine."]
[values]
time = { usual = "6", full = "600", scaled = true }
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
    assert!(listed.contains("graymark run debitcredit --clients 2 --ramp-up 0s --duration 6s"), "{listed}");
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
    let working = second_step(place.path(), &paper);
    working.signal(Signal::SIGINT);
    let (status, done) = working.end();
    assert_eq!(status.code(), Some(130), "{done:?}");
    assert!(done.err.contains("--resume"), "{done:?}");
    let there = place.path().join("there");
    let state = |key: &str| -> Value { json_file(&there, "state.json")[key].clone() };
    assert_eq!(state("steps").as_array().map(Vec::len), Some(1));
    shorten(&there);
    let whole = succeed(place.path(), &["reproduce", &paper, "--out", "there", "--resume", "--json"]).json();
    assert_eq!(whole["steps"].as_array().map(Vec::len), Some(3));
    assert_eq!(whole["steps"][0], state("steps")[0]);
}

/// Starts a reproduction and waits until its second step runs.
fn second_step(place: &Path, paper: &str) -> Working {
    let mut working = start(graymark(place, &["reproduce", paper, "--full", "--out", "there"]));
    working.wait_for("reproduce: step 2");
    working.wait_for("run:");
    working
}

/// Shortens it by hand: ten minutes are too long for a test.
fn shorten(there: &Path) {
    let text = fs::read_to_string(there.join("state.json")).unwrap().replace("\"Full\"", "{\"Minutes\": 0.5}");
    fs::write(there.join("state.json"), text).unwrap();
}

/// The planted faults: directories and files of the user in the place of a step's record.
#[test]
fn what_is_not_the_record_of_an_interrupted_step_is_kept() {
    let place = TempDir::new().unwrap();
    let paper = paper(place.path());
    let working = second_step(place.path(), &paper);
    working.signal(Signal::SIGINT);
    assert_eq!(working.end().0.code(), Some(130));
    let (there, record) = (place.path().join("there"), place.path().join("there/streams-1"));
    shorten(&there);
    let resume = ["reproduce", &paper, "--out", "there", "--resume"];
    let refused = |words: &str| {
        let done = run(place.path(), &resume);
        assert!(done.code == Some(2) && done.err.lines().last().unwrap().contains(words), "{done:?}");
    };
    let thesis = record.join("sub/thesis.txt");
    let write = || {
        fs::create_dir_all(thesis.parent().unwrap()).unwrap();
        fs::write(&thesis, "precious").unwrap();
    };
    // In the record itself.
    write();
    refused("is not only a record of Graymark");
    assert!(record.join("record.json").exists() && fs::read_to_string(&thesis).unwrap() == "precious");
    // A directory or a record of the user's own.
    fs::remove_dir_all(record.join("sub")).unwrap();
    fs::rename(&record, place.path().join("own")).unwrap();
    write();
    refused("is not of this step: move it");
    assert_eq!(fs::read_to_string(&thesis).unwrap(), "precious");
    fs::remove_dir_all(&record).unwrap();
    fs::create_dir(&record).unwrap();
    for entry in fs::read_dir(place.path().join("own")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), record.join(entry.file_name())).unwrap();
    }
    refused("is not of this step: move it");
    assert!(record.join("record.json").exists());
    fs::rename(&record, place.path().join("copy")).unwrap();
    let whole = succeed(place.path(), &[&resume[..], &["--json"]].concat()).json();
    assert_eq!(whole["steps"].as_array().map(Vec::len), Some(3));
}

/// The planted fault: it is killed, and its command goes on.
#[test]
fn nothing_works_beside_a_command_that_goes_on() {
    let place = TempDir::new().unwrap();
    let paper = paper(place.path());
    let mut working = second_step(place.path(), &paper);
    let resume = ["reproduce", &paper, "--out", "there", "--resume"];
    let beside = || run(place.path(), &resume).refused(2, &["another graymark works in ", "/there"]);
    beside();
    let command = the_one_of(working.id(), |pid| *pid != working.id());
    working.signal(Signal::SIGKILL);
    while working.at_work() {
        std::thread::sleep(Duration::from_millis(10));
    }
    beside();
    run(place.path(), &resume[..4]).refused(2, &["is not empty"]);
    kill(Pid::from_raw(i32::try_from(command).unwrap()), Signal::SIGTERM).unwrap();
    shorten(&place.path().join("there"));
    let limit = Instant::now() + PATIENCE;
    let whole = loop {
        let done = run(place.path(), &[&resume[..], &["--json"]].concat());
        if done.code != Some(2) {
            break done;
        }
        assert!(done.err.contains("another graymark works") && Instant::now() < limit, "{done:?}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!((whole.code, whole.json()["steps"].as_array().map(Vec::len)), (Some(0), Some(3)), "{whole:?}");
}

/// An interrupted sweep has its own progress, with which it goes on.
#[test]
fn a_sweep_among_the_steps_goes_on_where_it_was() {
    let place = TempDir::new().unwrap();
    let run_step = "run debitcredit --clients {each} --ramp-up 0s --duration {time} --check none";
    let grid =
        "sweep grid debitcredit warehouses=1 clients={each} --steady 0s --ramp-up 0s --duration {time} --repeats 2";
    fs::write(place.path().join("paper.toml"), PAPER.replace(run_step, grid)).unwrap();
    let mut working = start(graymark(place.path(), &["reproduce", "paper.toml", "--minutes", "0.5", "--out", "there"]));
    working.wait_for("sweep: 1 point done, 1 left");
    working.signal(Signal::SIGINT);
    assert_eq!(working.end().0.code(), Some(130));
    let sweep = place.path().join("there/streams-1");
    let before = files(&sweep.join("points"));
    succeed(place.path(), &["reproduce", "paper.toml", "--out", "there", "--resume"]);
    let state = fs::read_to_string(sweep.join("sweep.toml")).unwrap();
    assert_eq!(state.matches("state = \"done\"").count(), 2, "{state}");
    assert!(!before.is_empty() && before.iter().all(|file| file.exists()), "{before:?}");
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
