//! A run is followed second by second: counters of the database and the system agree with what the run did, what cannot
//! be known is named, a server that dies leaves a gap, and stalls are found where they were.

use std::path::Path;
use std::time::Duration;

use crate::support::command::{STEADY, graymark, start, succeed};
use crate::support::loaded::{loaded, loaded_postgres, loaded_server};
use crate::support::require_postgres;
use graymark::engine::server::postgres::PostgresServerOptions;
use graymark::measure::counters::{Counter, Sample};
use graymark::record::Record;
use graymark::record::reader::SeriesRow;
use graymark::result::format::Status;
use serde_json::Value;
use tempfile::TempDir;

/// Runs with `--json` into `record`, and reads both.
fn run(place: &Path, arguments: &[&str]) -> (Value, Record) {
    let summary =
        succeed(place, &[&["run"], arguments, &["--check", "none", "--out", "record", "--json"]].concat()).json();
    (summary, Record::open(&place.join("record")).unwrap())
}

fn text(place: &Path) -> String {
    succeed(place, &["report", "record", "--full"]).out
}

/// The values of a counter in all samples.
fn values(samples: &[Sample], counter: Counter) -> Vec<Option<f64>> {
    samples.iter().map(|sample| sample.counters.get(counter)).collect()
}

/// From the first sample that knows a counter to the last one.
fn growth(record: &Record, counter: Counter) -> f64 {
    let known: Vec<f64> = values(&record.counters, counter).into_iter().flatten().collect();
    known.last().unwrap() - known.first().unwrap()
}

/// Transactions that write: those completed in the seconds to `end` that the commits from the first sample to the last
/// contain, and those among them that were rolled back. A sample is read a while after its time, and before that of the
/// next one.
fn done(record: &Record, end: u32) -> (u64, u64) {
    let writes = |row: &&SeriesRow| {
        !["order_status", "stock_level"].contains(&record.header.transactions[row.transaction].as_str())
    };
    let first = values(&record.counters, Counter::Commits).iter().position(Option::is_some).unwrap();
    let begin = record.counters[first + 1].at.ceil().max(0.0) as u32;
    let rows = record.series.iter().filter(|row| (begin..end).contains(&row.second)).filter(writes);
    rows.fold((0, 0), |sum, row| (sum.0 + row.completed, sum.1 + row.rolled_back))
}

fn notes(summary: &Value) -> String {
    summary["counters"]["notes"].to_string()
}

/// Samples from the start to the end, in which the client's CPU time is always known. On a busy machine
/// the first one comes late.
fn all_along(record: &Record, seconds: f64) {
    assert!(
        record.counters.first().unwrap().at < seconds / 2.0 && record.counters.last().unwrap().at >= seconds,
        "{:?}",
        record.counters
    );
    assert!(values(&record.counters, Counter::ClientCpu).iter().all(Option::is_some));
    assert!(record.counters.windows(2).all(|pair| pair[0].at < pair[1].at));
}

#[test]
fn sqlite_counts_what_its_sessions_do() {
    let place = loaded();
    let db =
        ["--db", "sqlite:loaded.db", "--clients", "2", "--ramp-up", "1s", "--duration", "8s", "--checkpoint", "2s"];
    let db = [&db[..], &STEADY].concat();
    // Some that only read are among them, however few a slow disk allows.
    let mix = ["--mix", "new_order=5,payment=5,order_status=15,stock_level=3"];
    let (summary, record) = run(place.path(), &[&db[..], &mix].concat());
    all_along(&record, 9.0);

    // All that was completed before the last sample had been committed or rolled back by then; what only reads has
    // nothing to commit.
    let (completed, rolled_back) = done(&record, 9);
    let commits = growth(&record, Counter::Commits);
    assert!(completed > 0 && commits + rolled_back as f64 >= completed as f64, "{commits} {completed} {rolled_back}");
    let flushes = growth(&record, Counter::LogFlushes);
    assert!(flushes > 0.0 && flushes <= commits, "{flushes} of {commits}");
    // A transaction that writes writes a page at the least.
    assert!(growth(&record, Counter::LogBytes) >= flushes * 4096.0);

    let counters = &summary["counters"];
    assert!(counters["transactions_per_log_flush"].as_f64().unwrap() > 1.0, "{counters}");
    assert!(counters["log_bytes_per_transaction"].as_f64().unwrap() > 1_000.0, "{counters}");
    for unknown in ["server_cpu_s", "checkpoints", "block_writes"] {
        assert_eq!(counters["grown"][unknown], Value::Null, "{counters}");
    }
    assert!(notes(&summary).contains("CPU of the database") && notes(&summary).contains("checkpoints"), "{counters}");
    let text = text(place.path());
    assert!(
        text.contains("Course of the run") && text.contains("flushes a second") && text.contains("Not counted"),
        "{text}"
    );
}

#[test]
fn sqlite_names_what_its_settings_leave_uncounted() {
    let place = loaded();
    let db = ["--db", "sqlite:loaded.db?synchronous=normal", "--clients", "1", "--ramp-up", "0s", "--duration", "8s"];
    let (summary, record) = run(place.path(), &[&db[..], &STEADY].concat());
    assert!(values(&record.counters, Counter::LogFlushes).iter().all(Option::is_none));
    assert!(growth(&record, Counter::LogBytes) > 0.0);
    assert!(notes(&summary).contains("synchronous=normal"), "{}", notes(&summary));
    assert_eq!(summary["counters"]["transactions_per_log_flush"], Value::Null);
}

#[test]
fn postgresql_counts_what_its_clients_do() {
    let Some(()) = require_postgres() else { return };
    let server = loaded_postgres(PostgresServerOptions {
        settings: vec![("shared_buffers".into(), "64MB".into())],
        tcp: true,
        ..PostgresServerOptions::default()
    });
    let url = server.tcp_url();
    let place = TempDir::new().unwrap();
    let arguments =
        ["--db", &url, "--clients", "2", "--ramp-up", "1s", "--duration", "19s", "--checkpoint", "3s", "--rate", "60"];
    let (summary, record) = run(place.path(), &arguments);
    all_along(&record, 20.0);

    // Backends hand in their statistics about once a second: the last sample has what was done some seconds before it.
    let (completed, rolled_back) = done(&record, 17);
    let commits = growth(&record, Counter::Commits);
    assert!(completed > 0 && commits + rolled_back as f64 >= completed as f64, "{commits} {completed} {rolled_back}");
    for counter in
        [Counter::LogBytes, Counter::LogFlushes, Counter::BlockWrites, Counter::CheckpointBlocks, Counter::Checkpoints]
    {
        assert!(growth(&record, counter) > 0.0, "{counter:?}");
    }
    let counters = &summary["counters"];
    assert!(counters["transactions_per_log_flush"].as_f64().unwrap() > 0.0, "{counters}");
    assert!(counters["log_bytes_per_transaction"].as_f64().unwrap() > 0.0, "{counters}");
    assert!(!counters["checkpoints"].as_array().unwrap().is_empty(), "{counters}");
    #[cfg(target_os = "linux")]
    assert!(
        growth(&record, Counter::ServerCpu) > 0.0 && counters["server_cpu_percent"].as_f64().unwrap() > 0.0,
        "{counters}"
    );

    let page = std::fs::read_to_string(place.path().join("record/report.html")).unwrap();
    assert!(page.contains("and log over time") && page.contains("log flushes/s"));
    assert!(text(place.path()).contains("transactions a flush"));
}

/// The kernel hands on the peak of the program that starts another one.
#[test]
fn the_peak_of_memory_is_not_that_of_the_program_that_started_graymark() {
    const OURS: usize = 400_000_000;
    let place = TempDir::new().unwrap();
    let ours = std::hint::black_box(vec![1_u8; OURS]);
    let simulated = ["--db", "simulated:service=1ms", "-w", "1", "--clients", "1", "--ramp-up", "0s"];
    let (summary, _) = run(place.path(), &[&simulated[..], &["--duration", "4s"]].concat());
    assert_eq!(ours.len(), OURS);
    let peak = summary["client"]["peak_rss_bytes"].as_u64().unwrap();
    assert!((1_000_000..OURS as u64 / 2).contains(&peak), "{peak}");
}

#[test]
fn a_killed_server_leaves_a_gap_and_not_an_end() {
    let Some(()) = require_postgres() else { return };
    let server = loaded_server();
    let url = server.tcp_url();
    let place = TempDir::new().unwrap();
    let arguments =
        ["--clients", "2", "--ramp-up", "1s", "--duration", "24s", "--check", "none", "--out", "record", "--json"];
    // So few that they are reached from the start: an outage is a dip from there.
    let few = ["--rate", "20", "--arrivals", "constant"];
    let mut run = start(graymark(place.path(), &[&["run", "--db", &url], &arguments[..], &few].concat()));
    run.wait_for("run: measurement");
    run.wait_for_seconds(&place.path().join("record"), 4);
    server.kill().unwrap();
    run.wait_for("run: session");
    std::thread::sleep(Duration::from_millis(2_500));
    server.restart().unwrap();
    let (_, done) = run.end();
    assert_eq!(done.code, Some(0), "{done:?}");
    let (summary, record) = (done.json(), Record::open(&place.path().join("record")).unwrap());
    assert_eq!(record.header.status, Status::Complete);
    all_along(&record, 25.0);

    // Known before and after, and not while it was away for certain, some time before and after a sample's time.
    let outage = summary["connections"]["outages"][0][0].as_f64().unwrap();
    let known = |sample: &&Sample| sample.counters.get(Counter::LogBytes).is_some();
    let of = |from: f64, to: f64| record.counters.iter().filter(move |sample| (from..=to).contains(&sample.at));
    assert!(of(-1.0, outage).any(|sample| known(&sample)), "{:?}", record.counters);
    assert!(of(outage, outage + 1.5).filter(known).count() == 0, "{:?}", record.counters);
    assert!(of(outage, 25.0).any(|sample| !known(&sample)), "{:?}", record.counters);
    assert!(of(outage + 2.5, 99.0).any(|sample| known(&sample)), "{:?}", record.counters);
    // What the server never counts is named: this one runs with fsync=off.
    assert!(values(&record.counters, Counter::LogFlushes).iter().all(Option::is_none));
    assert!(notes(&summary).contains("fsync=off"), "{}", notes(&summary));
    // The outage is a blackout, too, and nobody takes it for a checkpoint's.
    let black = |dip: &&Value| dip["blackout_s"].as_f64() > Some(0.0);
    let dips = summary["dips"].as_array().unwrap();
    assert!(
        dips.iter().filter(black).any(|dip| (dip["start_s"].as_f64().unwrap() - outage).abs() <= 2.0),
        "{dips:?} {outage}"
    );
}

#[test]
fn planted_stalls_are_found_at_their_times() {
    let place = TempDir::new().unwrap();
    // Nothing is answered in four of ten seconds, counted from when the engine was opened: which ones these are of the
    // run, its series says.
    let db = "simulated:service=5ms&stall=4s&every=10s";
    let (summary, record) = run(place.path(), &["--db", db, "--clients", "4", "--ramp-up", "5s", "--duration", "28s"]);
    all_along(&record, 33.0);
    // Samples do not begin with the measurement.
    assert!(record.counters[0].at < 5.0, "{:?}", record.counters[0]);
    let dips = summary["dips"].as_array().unwrap();
    let of_second = |second| record.series.iter().filter(move |row| row.second == second).map(|row| row.completed);
    let still = |second: &u32| of_second(*second).sum::<u64>() == 0;
    // Before the first one there is something to fall from.
    let worked = (5..33).find(|second| !still(second)).unwrap();
    let planted: Vec<u32> = (worked..32).filter(|second| still(second) && still(&(second + 1))).collect();
    assert!(planted.iter().any(|second| *second < 17) && planted.iter().any(|second| *second >= 17), "{planted:?}");
    for middle in planted.iter().map(|second| f64::from(*second) + 1.0) {
        let covers = |dip: &&Value| {
            let number = |key: &str| dip[key].as_f64().unwrap();
            number("start_s") <= middle
                && middle <= number("start_s") + number("length_s")
                && number("blackout_s") >= 1.9
        };
        let dip = dips.iter().find(covers).unwrap_or_else(|| panic!("none covers {middle}: {dips:?}"));
        assert_eq!(dip["checkpoint_s"], Value::Null);
    }
    // No counter of a database is there, and none is shown as 0.
    let grown = summary["counters"]["grown"].as_object().unwrap();
    assert!(
        grown.contains_key("client_cpu_s")
            && !grown.keys().any(|key| key.starts_with("log") || key.starts_with("server"))
    );
    assert!(notes(&summary).contains("simulated"), "{}", notes(&summary));
    let text = text(place.path());
    assert!(text.contains("\nDip ") && text.contains("blackouts among them") && !text.contains("\nLog "), "{text}");
    let page = std::fs::read_to_string(place.path().join("record/report.html")).unwrap();
    assert!(page.contains("Dips have an amber one.") && !page.contains("log flushes/s"));
}
