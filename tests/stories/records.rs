//! A user opens records that another version of Graymark has written: an earlier one, or a later one.
//!
//! `tests/records` holds what earlier versions wrote, in a directory named by the commit; see the README there.

use std::fs;
use std::path::{Path, PathBuf};

use graymark::record::{Record, deliveries};
use graymark::result::format::{Clock, Status, file};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::command::succeed;
use crate::support::schema::Schema;

/// Runs that each version has a record of.
const RUNS: [&str; 3] = ["tpcc", "debitcredit", "paced"];

/// The versions that have records here.
fn versions() -> Vec<PathBuf> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records");
    let entries = fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().path());
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

            let told = succeed(place.path(), &["report", run]);
            assert!(told.out.contains(&summary.metric) && directory.join(file::REPORT_HTML).exists(), "{told:?}");
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
                &["bench", "--plan", &plan, "--db", "simulated:service=1ms", "--duration", "1s", "--out", "again"],
            );
            assert!(done.out.contains("Clients"), "{done:?}");
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
    let fresh = ["bench", "-w", "1", "--duration", "1s", "--ramp-up", "0s", "--clients", "2", "--out", "fresh"];
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
