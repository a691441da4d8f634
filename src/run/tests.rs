//! Tests a small third workload from load to report.

use std::path::Path;

use super::{Outcome, Run};
use crate::engine::registry::WorkloadName;
use crate::engine::server;
use crate::plan::{Plan, RampUp};
use crate::result::Via;
use crate::result::summary::State;

fn plan(db: &str) -> Plan {
    Plan {
        db: Some(db.into()),
        workload: Some(WorkloadName::Counter),
        scale: Some(8),
        clients: Some(2),
        ramp_up: Some(RampUp::Seconds(0)),
        duration: Some(2),
        ..Plan::default()
    }
}

fn load_run_and_report(plan: Plan, out: &Path) -> Outcome {
    let outcome = Run::bench(plan).out(out).start().unwrap().unwrap();
    let summary = &outcome.summary;
    assert!(!outcome.failed(), "{summary:?}");
    let of = |name: &str| summary.transactions.get(name).map_or(0, |measured| measured.completed);
    assert!(of("step") > 0 && of("look") > 0 && summary.tps.is_some_and(|rate| rate > 0.0), "{summary:?}");
    let steps = &summary.database.effects["steps"];
    assert_eq!((summary.database.agrees, steps.database), (Some(true), steps.client as i64));
    let held: Vec<&str> = summary.consistency.after.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!((held, summary.consistency.failed.len()), (vec!["counter-steps", "seed_counter"], 0));
    let rules = summary.verdict.clauses.iter().find(|clause| clause.id == "rules").unwrap();
    assert!(!summary.verdict.valid && rules.state == State::NotTested, "{:?}", summary.verdict);
    let report = std::fs::read_to_string(outcome.report.as_ref().unwrap()).unwrap();
    assert!(report.contains("Counter on ") && report.contains("steps a second"), "{report}");
    outcome
}

#[test]
fn a_third_workload_runs_on_sqlite_and_its_planted_fault_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("counter.db");
    let db = format!("sqlite:{}", file.display());
    load_run_and_report(plan(&db), &directory.path().join("first"));
    rusqlite::Connection::open(&file).unwrap().execute("DELETE FROM step WHERE rowid = 1", []).unwrap();
    let second = Run::new(plan(&db)).out(directory.path().join("second")).start().unwrap().unwrap();
    assert!(second.failed());
    assert_eq!(second.summary.consistency.failed, ["counter-steps"]);
}

#[test]
#[allow(clippy::print_stdout, reason = "a test that does not run says so")]
fn a_third_workload_runs_on_postgres_by_statements_and_by_procedures() {
    if let Err(why) = server::postgres::available() {
        let required = std::env::var_os("GRAYMARK_REQUIRE_ENGINES").is_some_and(|set| !set.is_empty());
        assert!(!required, "{why}");
        println!("not run: {why}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let db = format!("postgres:local?data={}", directory.path().join("data").display());
    for (via, name) in [(Via::Statements, "statements"), (Via::Procedures, "procedures")] {
        let plan = Plan { via: Some(via), ..plan(&db) };
        let outcome = load_run_and_report(plan, &directory.path().join(name));
        assert_eq!(outcome.summary.via.known(), Some(&via));
    }
}

#[test]
fn a_dialect_without_its_sql_refuses_it() {
    let error = Run::bench(plan("mysql://nobody@127.0.0.1:1/none")).start().unwrap_err().to_string();
    assert!(
        error.contains(
            "counter does not run on MariaDB and MySQL: give another --db, or the workload tpcc or debitcredit"
        ),
        "{error}"
    );
}
