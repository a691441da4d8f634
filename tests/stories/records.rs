//! A user opens records that another version of Graymark has written: an earlier one, or a later one.
//!
//! `tests/records` holds what earlier versions wrote, in a directory named by the commit; see the README there.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use graymark::record::{Record, deliveries};
use graymark::result::format::{Clock, Status, file};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support;
use crate::support::command::{run, succeed};
use crate::support::schema::Schema;

/// Runs that each version has a record of.
const RUNS: [&str; 3] = ["tpcc", "debitcredit", "paced"];

/// The versions that have records here.
fn versions() -> Vec<PathBuf> {
    let entries = fs::read_dir(support::records::all()).unwrap().map(|entry| entry.unwrap().path());
    let mut versions: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    versions.sort_unstable();
    assert!(versions.len() >= 2, "{versions:?}");
    versions
}

/// A copy of the records of a version, to which reports can be added.
fn copy(version: &Path) -> TempDir {
    let place = TempDir::new().unwrap();
    for run in RUNS {
        fs::create_dir(place.path().join(run)).unwrap();
        for entry in fs::read_dir(version.join(run)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, place.path().join(run).join(path.file_name().unwrap())).unwrap();
        }
    }
    place
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// All keys and values of one are in the other.
fn holds(all: &Value, part: &Value, at: &str) {
    match (all, part) {
        (Value::Object(all), Value::Object(part)) => part.iter().for_each(|(key, value)| {
            holds(all.get(key).unwrap_or_else(|| panic!("{at}/{key} is gone")), value, &format!("{at}/{key}"))
        }),
        (Value::Array(all), Value::Array(part)) if all.len() == part.len() => {
            all.iter().zip(part).for_each(|(all, part)| holds(all, part, at))
        }
        _ => assert_eq!(all, part, "{at}"),
    }
}

/// Each value of a record that has a schema, with the schema and the place.
fn schemed(record: &Path) -> Vec<(Schema, Value, String)> {
    let mut all = Vec::new();
    for name in [file::HEADER, file::ENVIRONMENT, file::LOAD, file::SUMMARY] {
        let path = record.join(name);
        if path.exists() {
            all.push((Schema::of(name), json_of(&path), path.display().to_string()));
        }
    }
    let path = record.join(file::EVENTS);
    for line in fs::read_to_string(&path).unwrap().lines() {
        all.push((Schema::of(file::EVENTS), serde_json::from_str(line).unwrap(), path.display().to_string()));
    }
    all
}

#[test]
fn records_of_earlier_versions_stay_readable() {
    let places: Vec<TempDir> = versions().iter().map(|version| copy(version)).collect();
    for place in &places {
        for run in RUNS {
            let directory = place.path().join(run);
            let record = Record::open(&directory).unwrap();
            assert_eq!(record.header.status, Status::Complete);
            let summary = record.summary.as_ref().unwrap();
            let (headline, _) = summary.transactions.iter().max_by_key(|(_, of)| of.completed).unwrap();
            let counted = record.histogram(headline, Clock::Response).unwrap().len();
            assert!(counted >= summary.transactions[headline].completed && counted > 0);
            let in_series: u64 = record.series.iter().map(|row| row.completed).sum();
            assert!(in_series >= summary.transactions.values().map(|of| of.completed).sum());
            assert!(record.counters.len() > 10 && record.events.len() >= 3 && record.plan.is_some());
            if let Some(lines) = summary.pacing.as_ref().and_then(|pacing| pacing.result_lines) {
                assert_eq!(deliveries::lines(&directory), lines);
            }

            let reported = succeed(place.path(), &["report", run]);
            assert!(
                reported.out.contains(&summary.metric) && directory.join(file::REPORT_HTML).exists(),
                "{reported:?}"
            );
            let printed = succeed(place.path(), &["report", "--json", run]).json();
            holds(&printed, &json_of(&directory.join(file::SUMMARY)), "");
        }
        let table = succeed(place.path(), &["report", "--table", "tpcc", "debitcredit", "paced"]);
        assert!(table.out.lines().count() >= RUNS.len(), "{table:?}");
    }
    let (first, last) = (places.first().unwrap().path(), places.last().unwrap().path());
    for run in RUNS {
        let [old, new] = [first, last].map(|place| place.join(run).display().to_string());
        let compared = succeed(first, &["compare", "--json", "--across-durability", &old, &new]).json();
        assert!(compared["throughput"]["percent"].is_number(), "{compared}");
    }
}

/// A plan of an earlier version is read as it was written, and runs again.
#[test]
fn plans_of_earlier_versions_run_again() {
    for version in versions() {
        let place = copy(&version);
        for (run, workload) in [("tpcc", "tpcc"), ("debitcredit", "debitcredit")] {
            let plan = place.path().join(run).join(file::PLAN).display().to_string();
            let done = succeed(
                place.path(),
                &["bench", "--plan", &plan, "--db", "simulated:service=1ms", "--duration", "4s", "--out", "again"],
            );
            assert!(done.out.contains("p50"), "{done:?}");
            let summary = json_of(&place.path().join("again").join(file::SUMMARY));
            assert_eq!((&summary["workload"], &summary["seed"]), (&json!(workload), &json!(7)));
            fs::remove_dir_all(place.path().join("again")).unwrap();
        }
    }
}

/// What is written and what was written is what the schemas say; a key of an earlier version is never gone.
#[test]
fn records_are_what_their_schemas_say() {
    let place = TempDir::new().unwrap();
    let fresh = ["bench", "-w", "1", "--duration", "8s", "--ramp-up", "0s", "--clients", "2", "--out", "fresh"];
    succeed(place.path(), &fresh);
    let kept = versions().into_iter().flat_map(|version| RUNS.map(|run| version.join(run)));
    for record in kept.chain([place.path().join("fresh")]) {
        for (schema, value, place) in schemed(&record) {
            assert_eq!(schema.faults(&value), Vec::<String>::new(), "{place}");
        }
    }
    // The check itself finds what is wrong.
    let (schema, summary) = (Schema::of(file::SUMMARY), json_of(&place.path().join("fresh").join(file::SUMMARY)));
    for (pointer, wrong) in [
        ("/scale", json!("1")),
        ("/scale", json!(-1)),
        ("/verdict/clauses/0/state", json!(7)),
        ("/connections/outages", json!([[1.0]])),
        ("/engine", json!({ "name": "", "version": "" })),
        ("/engine", json!({ "name": "", "version": "", "url": "", "port": 1 })),
        ("/transactions/payment/response_ms/p90", json!(null)),
    ] {
        let mut changed = summary.clone();
        *changed.pointer_mut(pointer).unwrap() = wrong;
        assert_eq!(schema.faults(&changed).len(), 1, "{pointer}: {:?}", schema.faults(&changed));
    }
}

/// Makes a record into one that a later version might write: other words in all places of fixed sets, more keys, more
/// columns, another phase, and an event that nobody knows. What was replaced is added to `replaced`.
fn make_later(record: &Path, replaced: &RefCell<BTreeSet<String>>) {
    let word = |value: &Value| {
        replaced.borrow_mut().insert(value.to_string());
        json!("sealed")
    };
    for name in [file::HEADER, file::ENVIRONMENT, file::LOAD, file::SUMMARY] {
        let path = record.join(name);
        if path.exists() {
            let mut value = json_of(&path);
            Schema::of(name).later(&mut value, &word);
            fs::write(&path, value.to_string()).unwrap();
        }
    }
    let change = |name: &str, line: &dyn Fn(usize, &str) -> String| {
        let text = fs::read_to_string(record.join(name)).unwrap();
        let lines: Vec<String> = text.lines().enumerate().map(|(number, text)| line(number, text) + "\n").collect();
        fs::write(record.join(name), lines.concat()).unwrap();
    };
    change(file::EVENTS, &|number, line| {
        let mut value = serde_json::from_str(line).unwrap();
        Schema::of(file::EVENTS).later(&mut value, &word);
        if number == 0 { format!("{value}\n{{\"event\":\"moved\",\"to\":[\"elsewhere\"]}}") } else { value.to_string() }
    });
    change(file::SERIES, &|number, line| match number {
        0 => format!("{line},added_later"),
        _ => format!("{line},7").replace(",ramp_up,", ",settling,"),
    });
    change(file::COUNTERS, &|number, line| format!("{line},{}", if number == 0 { "added_later" } else { "7" }));
}

/// A word that only a later version knows is shown as it is; it is no damage.
#[test]
fn records_of_a_later_version_are_read_as_far_as_they_are_known() {
    let replaced = RefCell::default();
    let newest = support::records::newest();
    let (before, later) = (copy(&newest), copy(&newest));
    for run in RUNS {
        let directory = later.path().join(run);
        make_later(&directory, &replaced);
        let record = Record::open(&directory).unwrap();
        assert!(record.series.iter().any(|row| row.phase.name() == "settling"));
        let summary = record.summary.unwrap();
        assert_eq!((summary.via.name(), summary.durability.class.name()), ("sealed".to_owned(), "sealed".to_owned()));

        let reported = succeed(later.path(), &["report", "--full", run]);
        for words in [
            "Unknown status \"sealed\", of a later version of Graymark",
            "1 event skipped",
            "sealed, isolation",
            " with a state of a later version of Graymark",
        ] {
            assert!(reported.out.replace("\n", " ").contains(words), "{words}: {reported:?}");
        }
        assert!(
            reported.out.lines().any(|line| line.starts_with("Durability") && line.contains("sealed")),
            "{reported:?}"
        );
        let rules = reported.out.lines().filter(|line| line.starts_with("sealed ")).count();
        assert!(rules >= summary.verdict.clauses.len(), "{reported:?}");
        let printed = succeed(later.path(), &["report", "--json", run]).json();
        assert_eq!((&printed["via"], &printed["verdict"]["clauses"][0]["state"]), (&json!("sealed"), &json!("sealed")));

        let [old, new] = [&before, &later].map(|place| place.path().join(run).display().to_string());
        let compared = succeed(later.path(), &["compare", "--across-durability", &old, &new]);
        let rows: Vec<Vec<&str>> = compared.out.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(rows.contains(&vec!["transactions", "by", "statements", "sealed"]), "{compared:?}");
    }
    succeed(later.path(), &["report", "--table", "tpcc", "debitcredit", "paced"]);
    let words = ["statements", "unused", "complete", "held", "broken", "not tested", "checkpoint", "measurement"];
    let words = words.into_iter().chain(["commit waits for the disk"]);
    for word in words.map(|word| format!("\"{word}\"")) {
        assert!(replaced.borrow().contains(&word), "{word} stands in no schema as one of a fixed set: {replaced:?}");
    }
    // What no version would write is damage still.
    let path = later.path().join("tpcc").join(file::SUMMARY);
    let mut summary = json_of(&path);
    summary["via"] = json!(7);
    fs::write(&path, summary.to_string()).unwrap();
    run(later.path(), &["report", "tpcc"]).refused(2, &["summary.json is damaged"]);
}
