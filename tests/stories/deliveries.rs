//! An auditor reads the result file of deferred Deliveries (clause 2.7.2.2): each line is true, and none is missing
//! unseen.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support;
use crate::support::command::{Working, end, graymark, json_file, start, succeed};
use crate::support::loaded::{loaded, loaded_server};
use crate::support::require_postgres;
use graymark::record::deliveries;
use graymark::result::format::file;
use jiff::Timestamp;
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

/// What the clock of a database and that of the run may differ by, in microseconds, if the run begins on a busy
/// machine.
const CLOCKS: i64 = 5_000_000;
/// Ten terminals that send some 80 transactions a second.
const PACED: [&str; 10] =
    ["--pace", "standard*0.005", "--clients", "4", "--ramp-up", "1s", "--duration", "20s", "--seed", "5"];

/// W_ID, D_ID and O_ID.
type Order = (i32, i32, i32);

/// A line of the file.
#[derive(Clone, Debug)]
struct Line {
    queued: i64,
    completed: i64,
    carrier: i32,
    orders: Vec<Order>,
    skipped: usize,
}

/// What a database says of a delivered order: its carrier, and the first and last moment at which its lines were
/// delivered, in microseconds.
type Stored = BTreeMap<Order, (i32, i64, i64)>;

/// All lines that zcat prints, and whether it came to the file's end.
fn zcat(record: &Path) -> (Vec<Line>, bool) {
    let mut zcat = Command::new("zcat");
    zcat.arg(record.join(file::DELIVERIES));
    let done = end(zcat);
    let mut lines = done.out.lines();
    let head = "queued_at,queued_s,completed_s,w_id,o_carrier_id,d_1,d_2,d_3,d_4,d_5,d_6,d_7,d_8,d_9,d_10";
    assert_eq!(lines.next(), Some(head), "{done:?}");
    (lines.map(line).collect(), done.code == Some(0))
}

fn line(text: &str) -> Line {
    let cells = text.split(',').collect::<Vec<_>>();
    let [at, queued_s, completed_s, w_id, carrier, districts @ ..] = &cells[..] else { panic!("{text}") };
    assert_eq!(districts.len(), 10, "{text}");
    let seconds = |cell: &str| cell.parse::<f64>().unwrap();
    let queued = at.parse::<Timestamp>().unwrap().as_microsecond();
    let w_id = w_id.parse().unwrap();
    let order = |(d_id, cell): (i32, &&str)| (!cell.is_empty()).then(|| (w_id, d_id, cell.parse().unwrap()));
    let orders = (1..).zip(districts).filter_map(order).collect::<Vec<_>>();
    Line {
        queued,
        completed: queued + ((seconds(completed_s) - seconds(queued_s)) * 1e6) as i64,
        carrier: carrier.parse().unwrap(),
        skipped: 10 - orders.len(),
        orders,
    }
}

fn rule(summary: &Value) -> &Value {
    let clauses = summary["verdict"]["clauses"].as_array().unwrap();
    clauses.iter().find(|clause| clause["rule"] == "Deliveries in the result file").expect("a rule")
}

/// The file tells of every order that was delivered, of no other, and nothing else of any of them than the database
/// does.
fn is_true(record: &Path, summary: &Value, stored: &Stored) {
    let (lines, whole) = zcat(record);
    assert!(whole);
    let mut reported = Stored::new();
    for line in &lines {
        assert!(line.queued <= line.completed, "{line:?}");
        for order in &line.orders {
            let (carrier, first, last) = stored.get(order).unwrap_or_else(|| panic!("{order:?} was not delivered"));
            assert_eq!(*carrier, line.carrier, "{order:?}");
            assert!(line.queued - CLOCKS <= *first && *last <= line.completed + CLOCKS, "{line:?}: {first} to {last}");
            assert!(reported.insert(*order, (*carrier, *first, *last)).is_none(), "{order:?} twice");
        }
    }
    assert_eq!(&reported, stored);
    assert!(lines.len() > 3, "{lines:?}");

    let done = summary["outcomes"]["delivery"]["completed"].as_u64().unwrap();
    assert_eq!((lines.len() as u64, deliveries::lines(record)), (done, done));
    assert_eq!(summary["pacing"]["result_lines"], done);
    assert_eq!(summary["database"]["effects"]["deliveries"]["client"], stored.len());
    let skipped = lines.iter().map(|line| line.skipped as u64).sum::<u64>();
    assert!(skipped >= summary["tallies"]["districts_skipped"].as_u64().unwrap());
    let rule = rule(summary);
    assert_eq!(
        (&rule["state"], rule["value"].as_str().unwrap()),
        (&"held".into(), &*format!("{done} lines of {done}"))
    );
}

/// A paced run into `record`: its summary.
fn run(place: &Path, url: &str) -> Value {
    succeed(place, &[&["run", "--db", url, "--check", "none", "--out", "record", "--json"], &PACED[..]].concat()).json()
}

#[test]
fn each_line_is_true_against_sqlite() {
    let place = loaded();
    let summary = run(place.path(), "sqlite:loaded.db?synchronous=off");
    let database = rusqlite::Connection::open(place.path().join("loaded.db")).unwrap();
    let mut query = database
        .prepare(
            "SELECT o_w_id, o_d_id, o_id, o_carrier_id, min(ol_delivery_d), max(ol_delivery_d) FROM orders
             JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
             WHERE o_id > 2100 AND o_carrier_id IS NOT NULL GROUP BY 1, 2, 3, 4",
        )
        .unwrap();
    let row =
        |row: &rusqlite::Row| Ok(((row.get(0)?, row.get(1)?, row.get(2)?), (row.get(3)?, row.get(4)?, row.get(5)?)));
    let stored = query.query_map([], row).unwrap().map(Result::unwrap).collect();
    is_true(&place.path().join("record"), &summary, &stored);
}

#[test]
fn each_line_is_true_against_postgresql() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (loaded_server(), TempDir::new().unwrap());
    let url = server.url();
    let summary = run(place.path(), &url);
    let query = "SELECT o_w_id, o_d_id, o_id, o_carrier_id, (extract(epoch FROM min(ol_delivery_d)) * 1000000)::bigint,
                        (extract(epoch FROM max(ol_delivery_d)) * 1000000)::bigint
                   FROM tpcc.orders JOIN tpcc.order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
                  WHERE o_id > 2100 AND o_carrier_id IS NOT NULL GROUP BY 1, 2, 3, 4";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let rows = runtime.block_on(async { support::client(&url).await.query(query, &[]).await.unwrap() });
    let row = |row: &tokio_postgres::Row| ((row.get(0), row.get(1), row.get(2)), (row.get(3), row.get(4), row.get(5)));
    is_true(&place.path().join("record"), &summary, &rows.iter().map(row).collect());
}

/// A long paced run on SQLite, once its file tells of Deliveries.
fn at_work(place: &Path, duration: &str) -> Working {
    let paced = ["--pace", "standard*0.005", "--clients", "4", "--ramp-up", "0s", "--duration", duration];
    let arguments = [
        &["run", "--db", "sqlite:loaded.db?synchronous=off", "--check", "none", "--out", "record", "--json"],
        &paced[..],
    ]
    .concat();
    let mut working = start(graymark(place, &arguments));
    let limit = Instant::now() + Duration::from_secs(300);
    while deliveries::lines(&place.join("record")) == 0 {
        assert!(working.at_work() && Instant::now() < limit, "no Delivery in the file");
        std::thread::sleep(Duration::from_millis(50));
    }
    working
}

/// Lines that get lost between their writing and the end of the run do not pass.
#[test]
fn lines_that_are_lost_break_the_rule() {
    let place = loaded();
    let record = place.path().join("record");
    let working = at_work(place.path(), "30s");
    File::options().write(true).truncate(true).open(record.join(file::DELIVERIES)).unwrap();
    let (_, done) = working.end();
    assert_eq!(done.code, Some(0), "{done:?}");
    let summary = json_file(&record, file::SUMMARY);
    let completed = summary["outcomes"]["delivery"]["completed"].as_u64().unwrap();
    let rule = rule(&summary);
    assert!(completed > 0 && rule["state"] == "broken", "{rule}");
    assert_eq!(rule["value"], format!("0 lines of {completed}"));
}

/// A killed run leaves what was flushed, for zcat and for the report.
#[test]
fn a_killed_run_leaves_the_lines_that_it_had() {
    let place = loaded();
    let record = place.path().join("record");
    let working = at_work(place.path(), "10m");
    working.signal(Signal::SIGKILL);
    working.end();
    let (lines, whole) = zcat(&record);
    assert!(!whole && !lines.is_empty());
    assert_eq!(lines.len() as u64, deliveries::lines(&record));
    succeed(place.path(), &["report", "record"]);
}

/// Without pace the client waits for each Delivery: nothing is deferred, and there is no file.
#[test]
fn a_run_without_pace_has_no_result_file() {
    let place = loaded();
    let db = "sqlite:loaded.db?synchronous=off";
    let run = ["run", "--db", db, "--check", "none", "--clients", "1", "--ramp-up", "0s", "--duration", "6s"];
    let summary = succeed(place.path(), &[&run, &["--out", "record", "--json"][..]].concat()).json();
    assert!(!place.path().join("record").join(file::DELIVERIES).exists());
    assert_eq!(rule(&summary)["state"], "not tested");
}
