//! Versions of servers beside those that a system installs: each is worked in every way of speaking against the
//! reference model, and its counters and hit rates agree with what was done. `graymark engines --fetch` gets them.

use std::time::{Duration, Instant};

use graymark::engine::server::fetched::Package;
use graymark::engine::server::{mariadb, postgres};
use graymark::engine::{Engine, Observer, Session, Sessions};
use graymark::measure::counters::{Counter, Counters};
use graymark::result::Via;
use graymark::result::maintenance::MaintenanceKind;
use graymark::workload::tpcc::Tpcc;
use graymark::workload::tpcc::input::{Customer, Delivery, Input, OrderStatus, Payment, StockLevel};
use graymark::workload::value::Money;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::conformance::{MODEL, any_way, block_on, holds, manifest, work_side_by_side};
use crate::support;
use crate::support::command::{PATIENCE, graymark, run, start, succeed, write_program};
use crate::support::model::Model;
use crate::support::suite::{self, goes_on, population};

/// Looks until the server has counted enough: each of its processes may hand in statistics late, the one that writes
/// checkpoints as well as those of sessions.
async fn look(observer: &mut dyn Observer, enough: impl Fn(&Counters) -> bool) -> Counters {
    let mut now = observer.look().await.unwrap();
    for _ in 0..3_000 {
        if enough(&now) {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        now = observer.look().await.unwrap();
    }
    panic!("not all was counted: {now:?} {:?}", observer.left_out());
}

fn grown(before: &Counters, after: &Counters, counter: Counter) -> f64 {
    let value = |counters: &Counters| counters.get(counter).unwrap_or_else(|| panic!("{counter:?} is not known"));
    value(after) - value(before)
}

/// Payments by one session: each commits once.
async fn pay<E: Sessions<Tpcc>>(engine: &E, model: &mut Model, payments: i32) {
    let mut session = engine.open_session().await.unwrap();
    for c_id in 1..=payments {
        let (customer, h_amount) = (Customer::Id(c_id), Money(100));
        let payment = Payment { w_id: 1, d_id: 1, c_w_id: 1, c_d_id: 1, customer, h_amount };
        let input = Input::Payment(payment);
        model.execute(&input).unwrap();
        session.execute(&input).await.unwrap();
    }
}

/// What a version counts of payments, of pages, and of a checkpoint if it can be asked for one.
async fn is_counted<E: Sessions<Tpcc>>(engine: &E, model: &mut Model, checkpoints: bool, flushes: bool) {
    const PAYMENTS: i32 = 60;
    let mut observer = engine.observer();
    let before = observer.look().await.unwrap();
    let pages = observer.pages().await.unwrap().unwrap();
    pay(engine, model, PAYMENTS).await;
    if checkpoints {
        engine.maintain(MaintenanceKind::Checkpoint).await.unwrap();
    }
    let after = look(&mut *observer, |now| {
        let grown = |counter| grown(&before, now, counter);
        // The server may hand in one statistic of a checkpoint a moment before the other.
        let written = || {
            let blocks = grown(Counter::CheckpointBlocks);
            let all = grown(Counter::BlockWrites) >= blocks && grown(Counter::BlockWriteBytes) >= 8192.0 * blocks;
            grown(Counter::Checkpoints) >= 1.0 && blocks > 0.0 && all
        };
        let flushed = || grown(Counter::LogFlushes) >= f64::from(PAYMENTS);
        let paid = grown(Counter::Commits) >= f64::from(PAYMENTS);
        paid && (!checkpoints || written()) && (!flushes || flushed())
    })
    .await;
    let grown = |counter| grown(&before, &after, counter);
    assert!(grown(Counter::LogBytes) > f64::from(PAYMENTS * 50) && grown(Counter::BlockReads) >= 0.0);
    assert!(grown(Counter::LogWrites) > 0.0 && grown(Counter::BlockWrites) >= 0.0, "{before:?} {after:?}");
    if checkpoints {
        assert!(grown(Counter::Checkpoints) >= 1.0 && grown(Counter::CheckpointBlocks) > 0.0, "{before:?} {after:?}");
        assert!(grown(Counter::BlockWrites) >= grown(Counter::CheckpointBlocks), "{before:?} {after:?}");
        assert!(grown(Counter::BlockWriteBytes) >= 8192.0 * grown(Counter::CheckpointBlocks), "{before:?} {after:?}");
    }
    match flushes {
        // Each commit of a single session waits for the log.
        true => assert!(grown(Counter::LogFlushes) >= f64::from(PAYMENTS), "{before:?} {after:?}"),
        false => assert!(observer.left_out().iter().any(|note| note.contains("log flushes"))),
    }
    let (was, is) = (pages.overall.unwrap(), observer.pages().await.unwrap().unwrap().overall.unwrap());
    let (logical, physical) = (is.logical - was.logical, is.physical - was.physical);
    assert!(logical >= 3 * PAYMENTS as u64 && physical <= logical, "{physical} of {logical}");
}

/// Each way of speaking, the first by an engine whose tables are to be loaded.
async fn conforms<E: Sessions<Tpcc>>(engines: &[E; 2], checkpoints: bool, flushes: bool) {
    let [first, second] = engines;
    first.load(&manifest(), &population(), 2, &|_| {}).await.unwrap();
    let mut model = MODEL.clone();
    let began = suite::now();
    for engine in [first, second] {
        goes_on(engine, &mut model, suite::RESTORED, began)
            .await
            .unwrap_or_else(|why| panic!("{:?}: {why}", engine.via()));
    }
    is_counted(first, &mut model, checkpoints, flushes).await;
    for engine in [first, second] {
        work_side_by_side(engine).await;
    }
    holds(second).await;
}

fn postgresql(version: &str) {
    let Some(()) = support::found(postgres::available_of(version).map_err(|why| why.to_string())) else { return };
    let mut options = support::small_postgres();
    options.version = Some(version.to_owned());
    options.settings.push(("fsync".to_owned(), "on".to_owned()));
    let server = support::private_postgres(options);
    block_on(async {
        let procedures = support::open(&server.url(), Via::Procedures).await.unwrap();
        let engines = [procedures, support::open(&server.url(), Via::Statements).await.unwrap()];
        let identity = Engine::<Tpcc>::identity(&engines[0]);
        assert!(identity.version.starts_with(&format!("{version}.")), "{identity:?}");
        conforms(&engines, true, true).await;
    });
}

#[test]
fn postgresql_14_conforms_and_counts() {
    postgresql("14");
}

#[test]
fn postgresql_16_conforms_and_counts() {
    postgresql("16");
}

#[test]
fn postgresql_17_conforms_and_counts() {
    postgresql("17");
}

#[test]
fn postgresql_18_conforms_and_counts() {
    postgresql("18");
}

/// A private server of MariaDB or MySQL, with these settings, too, if there is one of the version.
pub fn mysql(version: &str, more: &[(&str, &str)]) -> Option<mariadb::Server> {
    support::found(mariadb::available_of(version).map_err(|why| why.to_string()))?;
    let small =
        [("innodb_buffer_pool_size", "128M"), ("innodb_log_file_size", "96M"), ("innodb_flush_log_at_trx_commit", "1")];
    let mut options = support::small_mariadb_options(&[&small, more].concat());
    options.version = Some(version.to_owned());
    // On a disk: MariaDB 11.4 counts no writes of a log in memory.
    Some(mariadb::Server::start(&options).unwrap())
}

#[test]
fn mariadb_11_4_conforms_and_counts() {
    let Some(server) = mysql("11.4", &[]) else { return };
    block_on(async {
        let procedures = support::open_mysql(&server.url(), Via::Procedures).await.unwrap();
        let statements = support::open_mysql(&server.url(), Via::Statements).await.unwrap();
        let identity = Engine::<Tpcc>::identity(&procedures);
        assert_eq!((identity.name.as_str(), identity.version.starts_with("11.4.")), ("MariaDB", true), "{identity:?}");
        conforms(&[procedures, statements], false, false).await;
    });
}

#[test]
fn mysql_8_0_conforms_and_counts() {
    let Some(server) = mysql("8.0", &[]) else { return };
    block_on(async {
        let procedures = support::open_mysql(&server.url(), Via::Procedures).await.unwrap();
        let plain = format!("{}&dialect=mysql-plain", server.url());
        let statements = graymark::engine::wire::mysql::Mysql::open(any_way(plain)).await.unwrap();
        let identity = Engine::<Tpcc>::identity(&procedures);
        assert_eq!((identity.name.as_str(), identity.version.starts_with("8.0.")), ("MySQL", true), "{identity:?}");
        let engines = [procedures, statements];
        conforms(&engines, false, true).await;
        round_trips_are_few(&engines[1]).await;

        // Of its ciphers none is Graymark's, too.
        let refused = support::open_mysql(&format!("{}?ssl-mode=REQUIRED", server.tcp_url()), Via::Procedures).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("MySQL before 8.0.16"), "{refused}");
        let preferred = format!("{}?ssl-mode=PREFERRED", server.tcp_url());
        support::open_mysql(&preferred, Via::Procedures).await.unwrap();
    });
    // Its tests of ACID need no word that only MariaDB has.
    let place = tempfile::tempdir().unwrap();
    let db = format!("{}&dialect=mysql-plain", server.url());
    let tests = ["acid", "tpcc", "--db", &db, "--isolation", "repeatable-read", "--out", "tests", "--json"];
    let tests = succeed(place.path(), &tests).json();
    assert_eq!(tests["phenomena"][0]["phenomena"].as_array().map(Vec::len), Some(12), "{tests}");
    assert_eq!(tests["scale"], 2);
    drop(server);
    let bank = ["acid", "debitcredit", "--db", "mysql:local?version=8.0", "-b", "1", "--out", "bank"];
    succeed(place.path(), &bank);
}

/// Statements without procedures go together: a round trip for each step that needs the answer of the one before it.
pub async fn round_trips_are_few<E: Sessions<Tpcc>>(engine: &E) {
    let mut session = engine.open_session().await.unwrap();
    let (w_id, d_id) = (1, 2);
    let (customer, h_amount) = (Customer::Id(7), Money(100));
    for (input, trips) in [
        (Input::Payment(Payment { w_id, d_id, c_w_id: w_id, c_d_id: d_id, customer, h_amount }), 2),
        (Input::OrderStatus(OrderStatus { w_id, d_id, customer }), 1),
        (Input::Delivery(Delivery { w_id: 2, o_carrier_id: 3 }), 4),
        (Input::StockLevel(StockLevel { w_id, d_id, threshold: 15 }), 1),
    ] {
        let before = session.round_trips().unwrap();
        session.execute(&input).await.unwrap();
        let after = session.round_trips().unwrap();
        // A Delivery asks once more where a district has no open order.
        let more = u64::from(matches!(input, Input::Delivery(_)));
        assert!((trips..=trips + more).contains(&(after - before)), "{input:?}: {}", after - before);
    }
}

/// The planted fault: a Maven that hangs. It ends with an interrupt and with Graymark, and nothing of the fetch is
/// left.
#[test]
fn a_download_ends_with_the_fetch() {
    if Package::named("postgres@18").is_err() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (programs, engines) = (place.path().join("bin"), place.path().join("engines"));
    std::fs::create_dir(&programs).unwrap();
    let hangs =
        format!("#!/bin/sh\nsleep 600 &\necho $$ $! > {0}/new\nmv {0}/new {0}/pids\nwait\n", place.path().display());
    write_program(&programs.join("mvn"), &hangs);
    let fetch = || {
        let mut fetch = graymark(place.path(), &["engines", "--fetch", "postgres@18"]);
        fetch.env("PATH", format!("{}:/usr/bin:/bin", programs.display())).env("GRAYMARK_ENGINES", &engines);
        let (at_work, file) = (start(fetch), place.path().join("pids"));
        let pids = loop {
            if let Ok(pids) = std::fs::read_to_string(&file) {
                break pids;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        std::fs::remove_file(file).unwrap();
        let pids: Vec<u32> = pids.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        (at_work, pids)
    };
    let names = || {
        let names = std::fs::read_dir(&engines).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name != ".lock").collect::<Vec<_>>()
    };
    let (at_work, pids) = fetch();
    at_work.signal(Signal::SIGINT);
    let (_, done) = at_work.end();
    assert!(done.code == Some(130) && done.err.contains("engines: stopped"), "{done:?}");
    pids.iter().for_each(|pid| wait_until_gone(*pid));
    assert!(names().is_empty(), "{:?}", names());
    let (at_work, pids) = fetch();
    at_work.signal(Signal::SIGKILL);
    at_work.end();
    wait_until_gone(pids[0]);
    // Only Maven itself dies with Graymark, which in reality is one process.
    let _ = kill(Pid::from_raw(pids[1] as i32), Signal::SIGKILL);
}

/// A process that has ended may still be in the table of processes.
fn wait_until_gone(pid: u32) {
    let is_there = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    };
    let end = Instant::now() + PATIENCE;
    while is_there() {
        assert!(Instant::now() < end, "process {pid} does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What is fetched is found by its version, and what cannot be fetched is said.
#[test]
fn a_fetched_server_is_listed_and_started_by_its_version() {
    let place = tempfile::tempdir().unwrap();
    run(place.path(), &["engines", "--fetch", "postgres@9"]).refused(2, &["postgres@9", "postgres@18"]);
    let listed = succeed(place.path(), &["engines"]).out;
    assert!(listed.contains("Available with graymark engines --fetch") && listed.contains("mysql@8.0"), "{listed}");
    if Package::named("postgres@18").is_ok() {
        let mut without = graymark(place.path(), &["engines", "--fetch", "postgres@18"]);
        without.env("PATH", place.path()).env("GRAYMARK_ENGINES", place.path().join("engines"));
        let refused = crate::support::command::end(without);
        assert_eq!(refused.code, Some(3), "{refused:?}");
        assert!(refused.err.contains("mvn") && refused.err.contains("apt-get install maven"), "{refused:?}");
    }
    if let Some(()) = support::found(postgres::available_of("18").map_err(|why| why.to_string())) {
        assert!(listed.contains("postgres:local?version=18 starts it"), "{listed}");
    }
}
