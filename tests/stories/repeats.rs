//! The same run several times, and several records on one page.

use std::collections::BTreeSet;
use std::fs;

use tempfile::TempDir;

use crate::support::command::{json_file, run, succeed};

#[test]
fn repeats_have_inputs_of_their_own_and_come_to_a_mean_with_its_interval() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let work = ["run", "--db", "simulated:service=2ms", "--clients", "2", "--ramp-up", "0s", "--duration", "4s"];
    let three = ["--repeats", "3", "--name", "often", "--out", "often", "--json"];
    let reported = succeed(place, &[&work[..], &three].concat()).json();
    let runs = reported["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3);
    let seeds: BTreeSet<u64> = runs.iter().map(|run| run["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds.len(), 3, "{seeds:?}");
    let figure = |name: &str| reported["repeats"][name].as_f64().unwrap();
    let figures = reported["repeats"]["figures"].as_array().unwrap();
    assert_eq!(figures[2], runs[2]["new_orders_per_minute"]);
    assert!(figure("low") <= figure("mean") && figure("mean") <= figure("high"), "{reported}");
    assert_eq!(json_file(&place.join("often/2"), "record.json")["name"], "often-2");
    let text = succeed(place, &[&work[..], &["--repeats", "2"]].concat()).out;
    assert!(text.lines().count() == 3 && text.contains("2 runs: mean"), "{text}");

    // A page of all three, laid over each other.
    let page = ["report", "often/1", "often/2", "often/3", "--html=three.html"];
    assert_eq!(succeed(place, &page).out, "three.html\n");
    let written = fs::read_to_string(place.join("three.html")).unwrap();
    for part in ["Throughput over time", "Response time over time", "Response time by percentile", "What differs"] {
        assert!(written.contains(&format!("{part}</h2>")), "{part}");
    }
    for record in ["1: often-1", "2: often-2", "3: often-3"] {
        assert!(written.matches(record).count() >= 3, "{record}: in the table and in the legends");
    }
    assert!(written.contains("fill-opacity=\"0\"><ellipse") && written.contains("<nav"), "hover values and contents");
    for outside in ["<script", "<link", "src=", "url("] {
        assert!(!written.contains(outside), "{outside}");
    }
    // Its own page is written again; what somebody else has written is not.
    succeed(place, &page);
    fs::write(place.join("mine.html"), "mine").unwrap();
    run(place, &["report", "often/1", "often/2", "--html=mine.html"]).refused(2, &["was not written by Graymark"]);
    assert_eq!(fs::read_to_string(place.join("mine.html")).unwrap(), "mine");
    run(place, &["report", "often/1", "--html"]).refused(2, &["name two to 5 records"]);
}
