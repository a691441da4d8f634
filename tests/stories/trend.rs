//! A user looks at a history of runs.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::{json_file, run, succeed};

/// A copy of a record, of another day and with another figure.
fn copy(from: &Path, to: &Path, number: usize, figure: f64) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    let change = |name: &str, key: &str, value: Value| {
        let mut json = json_file(to, name);
        json[key] = value;
        fs::write(to.join(name), json.to_string()).unwrap();
    };
    change("record.json", "started", format!("2026-03-01T00:{number:02}:00Z").into());
    change("record.json", "name", format!("commit-{number}").into());
    change("summary.json", "new_orders_per_minute", figure.into());
    let mut environment = json_file(to, "environment.json");
    environment["kernel"] = if number < 14 { "6.1".into() } else { "6.2".into() };
    fs::write(to.join("environment.json"), environment.to_string()).unwrap();
}

#[test]
fn a_step_in_a_history_is_found_with_what_came_in_there() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let bench = ["bench", "--db", "simulated:service=1ms", "--duration", "4s", "--ramp-up", "0s", "--out", "first"];
    succeed(place, &bench);
    for number in 0..28 {
        let level = if number < 14 { 1_000.0 } else { 920.0 };
        let figure = level + f64::from((number as u32 * 7) % 11);
        copy(&place.join("first"), &place.join(format!("history/run-{number}")), number, figure);
    }
    let done = succeed(place, &["trend", "history", "--json", "--html=page.html"]);
    let found = done.json();
    let steps = found["series"][0]["steps"].as_array().unwrap();
    let [step] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!((&step["at"], &step["after"]["name"]), (&14.into(), &"commit-14".into()), "{step}");
    let percent = step["change"]["percent"].as_f64().unwrap();
    assert!((-9.0..-7.0).contains(&percent), "{step}");
    assert_eq!(step["differs"], serde_json::json!([["kernel", "6.1", "6.2"]]));
    let page = fs::read_to_string(place.join("page.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("commit-14") && page.contains("kernel: 6.1 -"), "{page}");
    let text = succeed(place, &["trend", "history"]).out;
    assert!(text.contains("1 step") && text.contains("commit-14") && text.contains("at run 15: kernel"), "{text}");

    let failed = place.join("history/run-3");
    let mut summary = json_file(&failed, "summary.json");
    summary["database"]["agrees"] = false.into();
    fs::write(failed.join("summary.json"), summary.to_string()).unwrap();
    let text = succeed(place, &["trend", "history"]).out;
    assert!(text.starts_with("! 1 run FAILED") && text.contains("27 runs"), "{text}");

    fs::write(place.join("mine.html"), "mine").unwrap();
    run(place, &["trend", "history", "--html=mine.html"]).refused(2, &["was not written by Graymark"]);
    run(place, &["trend", "history", "--tag", "none"]).refused(2, &["no record of a complete run"]);
    run(place, &["trend", "nowhere"]).refused(2, &["not a directory"]);
}
