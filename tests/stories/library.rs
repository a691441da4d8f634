//! A Rust program loads and runs a workload by library calls.

use std::path::Path;
use std::time::Duration;

use graymark::drive::Stop;
use graymark::engine::Error;
use graymark::plan::{Check, Plan, RampUp};
use graymark::record::Record;
use graymark::result::format::Status;
use graymark::result::summary::Summary;
use graymark::result::{Event, Finding, Phase, Step};
use graymark::run::{Depth, Run, Task};
use tempfile::TempDir;

fn plan(place: &Path) -> Plan {
    Plan {
        db: Some(format!("sqlite:{}", place.join("tpcc.db").display()).as_str().into()),
        clients: Some(1),
        ramp_up: Some(RampUp::Seconds(1)),
        duration: Some(12),
        ..Plan::default()
    }
}

/// The plan of a database that always takes 5 ms.
fn simulated(seconds: u32) -> Plan {
    Plan {
        db: Some("simulated:service=5ms".into()),
        ramp_up: Some(RampUp::Seconds(0)),
        duration: Some(seconds),
        ..Plan::default()
    }
}

/// The steps in a few words.
fn step(step: &Step) -> Option<&'static str> {
    Some(match step {
        Step::Connected(_) => "connected",
        Step::LoadBegan { .. } => "load began",
        Step::LoadEnded => "load ended",
        Step::CheckBegan { after: false } => "check before",
        Step::CheckBegan { after: true } => "check after",
        Step::DriveBegan { .. } => "drive began",
        _ => return None,
    })
}

#[test]
fn a_run_is_loaded_run_checked_and_recorded_by_a_call() {
    let place = TempDir::new().unwrap();
    let (mut steps, mut rows, mut held, mut completed) = (Vec::new(), 0, 0, 0);
    let run = Run::bench(plan(place.path())).out(place.path().join("record")).on_event(|event| match event {
        Event::Step(Step::LoadBegan { rows: all }) => {
            rows = *all;
            steps.push("load began");
        }
        Event::Step(Step::Checked(finding)) => held += u32::from(finding.held()),
        Event::Step(reported) => steps.extend(step(reported)),
        Event::Second { phase: Phase::Measurement, interval, .. } => {
            completed += interval.transactions.iter().map(|measured| measured.counted).sum::<u64>();
        }
        Event::RunEnded { .. } => steps.push("run ended"),
        _ => {}
    });
    let outcome = run.start().unwrap().expect("nobody asked to stop");
    let in_order = ["connected", "load began", "load ended", "check before", "drive began", "run ended", "check after"];
    assert_eq!(steps, in_order);
    assert!(rows > 500_000, "{rows}");
    let summary = &outcome.summary;
    assert_eq!(held, 2 * summary.consistency.held);
    assert!(!outcome.failed() && summary.database.agrees == Some(true));
    assert!(completed > 0);
    assert_eq!(summary.transactions.values().map(|of| of.completed).sum::<u64>(), completed);
    // What the caller is given is what the record says.
    let kept = std::fs::read_to_string(outcome.record.join("summary.json")).unwrap();
    assert_eq!(kept.trim_end(), serde_json::to_string_pretty(summary).unwrap());
    let record = Record::open(&outcome.record).unwrap();
    assert_eq!((record.header.status, record.header.command.as_str()), (Status::Complete.into(), "bench"));
    assert!(outcome.report.unwrap().is_file());

    // The same plan runs on what is loaded now, and needs no consumer.
    let again = Plan { check: Some(Check::None), ..plan(place.path()) };
    let outcome = Run::new(again).out(place.path().join("again")).start().unwrap().unwrap();
    assert!(!outcome.failed());
    assert_eq!(outcome.summary.population, summary.population);

    // The other calls, on what the run has used.
    let task = || Task::new(plan(place.path()));
    assert!(task().load().unwrap().unwrap().report.is_none(), "it is loaded");
    let mut reported = 0;
    let count = |event: &Event| reported += u32::from(matches!(event, Event::Step(Step::Checked(_))));
    let findings = task().on_event(count).check(Depth::Usual).unwrap().unwrap();
    assert!(findings.len() > 12 && findings.iter().all(Finding::held) && reported as usize == findings.len());
    let scan = task().scan(false, Some(place.path().join("serial"))).unwrap().unwrap().scan;
    assert_eq!((scan.passes.len(), scan.passes[1].tables.len()), (2, 9));
    let stop = Stop::new();
    stop.request();
    assert!(task().stop(stop).restore().unwrap().is_none());
    let restored = task().restore().unwrap().unwrap();
    assert!(restored.report.held() && restored.engine.name == "SQLite");
    assert!(task().drop_tables().unwrap().unwrap().tables);
    assert!(!task().drop_tables().unwrap().unwrap().tables);
    assert!(matches!(task().check(Depth::Deep), Err(Error::Database(_))));
}

#[test]
fn a_run_on_an_empty_database_is_an_error_and_leaves_no_record() {
    let place = TempDir::new().unwrap();
    let error = Run::new(plan(place.path())).out(place.path().join("record")).start().unwrap_err();
    assert!(matches!(&error, Error::Database(why) if why.contains("holds no tpcc tables")), "{error}");
    assert!(!place.path().join("record").exists());
}

#[test]
fn a_run_is_stopped_by_its_handle() {
    let place = TempDir::new().unwrap();
    let stop = Stop::new();
    let asked = stop.clone();
    let run = Run::bench(simulated(600)).out(place.path().join("record")).stop(stop).on_event(move |event| {
        if matches!(event, Event::Second { second: 1.., .. }) {
            asked.request();
        }
    });
    let outcome = run.start().unwrap().expect("the load was offered");
    assert!(outcome.summary.interrupted && !outcome.failed());
    assert!(outcome.summary.interval_s < 600.0);
    assert_eq!(Record::open(&outcome.record).unwrap().header.status, Status::Partial);

    // Who asks before the beginning gets nothing.
    let stop = Stop::new();
    stop.request();
    let run = Run::bench(simulated(600)).out(place.path().join("none")).stop(stop);
    assert!(run.start().unwrap().is_none());
}

#[test]
fn transactions_do_not_wait_for_a_slow_consumer() {
    let place = TempDir::new().unwrap();
    let (mut seconds, mut slept) = (Vec::new(), false);
    let run = Run::bench(simulated(12)).out(place.path().join("record")).on_event(|event| {
        if let Event::Second { second, phase: Phase::Measurement, interval } = event {
            if !std::mem::replace(&mut slept, true) {
                std::thread::sleep(Duration::from_secs(8));
            }
            seconds.push((*second, interval.transactions.iter().map(|measured| measured.completed).sum::<u64>()));
        }
    });
    let Summary { interval_s, .. } = run.start().unwrap().expect("nobody asked to stop").summary;
    assert_eq!(interval_s, 12.0);
    assert_eq!(seconds.iter().map(|(second, _)| *second).collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());
    // The consumer slept through some of these. The machine may have stood still in others.
    assert!(seconds[1..8].iter().any(|(_, completed)| *completed > 0), "{seconds:?}");
}
