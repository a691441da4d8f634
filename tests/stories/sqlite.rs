//! A SQLite database is loaded, found again, refused with a reason, and emptied.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use graymark::engine::wire::sqlite::{Journal, Sqlite, SqliteOptions, Synchronous};
use graymark::engine::{DatabaseState, Engine, Error, Failure, RetryReason, Session, Sessions};
use graymark::result::{Finding, LoadReport, LoadStep, Manifest};
use graymark::workload::Workload;
use graymark::workload::tpcc::input::{Customer, Delivery, Input, Line, NewOrder, OrderStatus, Payment, StockLevel};
use graymark::workload::tpcc::population::Population;
use graymark::workload::tpcc::schema::TABLES;
use graymark::workload::tpcc::{FIRST_OPEN_ORDER, Tpcc};
use graymark::workload::value::{Money, Timestamp};
use tempfile::TempDir;

use crate::support::private::for_all_tests;

fn population() -> Population {
    Population::new(1, 1_998, Timestamp(1_000_000_000_000_000))
}

fn manifest(foreign_keys: bool) -> Manifest {
    let population = population();
    Manifest {
        format: 1,
        scale: population.warehouses,
        seed: population.seed,
        date: population.date.0,
        foreign_keys,
        parameters: Tpcc::parameters(&population),
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn open(options: &SqliteOptions) -> Sqlite {
    Sqlite::open(options.clone()).unwrap()
}

fn load(
    engine: &Sqlite,
    manifest: &Manifest,
    reported: &(dyn Fn(LoadStep) + Send + Sync),
) -> Result<LoadReport, Error> {
    block_on(Engine::<Tpcc>::load(engine, manifest, &population(), 1, reported))
}

fn database_state(engine: &Sqlite) -> DatabaseState {
    block_on(Engine::<Tpcc>::database_state(engine)).unwrap()
}

fn check(engine: &Sqlite) -> Vec<Finding> {
    block_on(Engine::<Tpcc>::check(engine, &mut |_| {})).unwrap()
}

fn execute(engine: &Sqlite, input: Input) -> Result<<Tpcc as Workload>::Output, Failure> {
    block_on(async { Sessions::<Tpcc>::open_session(engine).await.unwrap().execute(&input).await })
}

/// A database with foreign keys, how it was loaded, and what was told meanwhile.
static LOADED: LazyLock<(PathBuf, LoadReport, Vec<LoadStep>)> = LazyLock::new(|| {
    let file = for_all_tests("sqlite-with-foreign-keys").join("loaded.db");
    let steps = Mutex::new(Vec::new());
    let report =
        load(&open(&SqliteOptions::new(&file)), &manifest(true), &|step| steps.lock().unwrap().push(step)).unwrap();
    (file, report, steps.into_inner().unwrap())
});

/// A copy of it.
fn loaded() -> (TempDir, SqliteOptions) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tpcc.db");
    std::fs::copy(&LOADED.0, &file).unwrap();
    (directory, SqliteOptions { synchronous: Synchronous::Off, ..SqliteOptions::new(file) })
}

fn an_order() -> NewOrder {
    let lines = (1..=5).map(|i_id| Line { i_id, supply_w_id: 1, quantity: 1 }).collect();
    NewOrder { w_id: 1, d_id: 1, c_id: 1, lines }
}

fn one_of_each() -> [Input; 5] {
    let customer = Customer::Id(1);
    [
        Input::NewOrder(an_order()),
        Input::Payment(Payment { w_id: 1, d_id: 1, c_w_id: 1, c_d_id: 1, customer, h_amount: Money::new(1, 0) }),
        Input::OrderStatus(OrderStatus { w_id: 1, d_id: 1, customer }),
        Input::Delivery(Delivery { w_id: 1, o_carrier_id: 1 }),
        Input::StockLevel(StockLevel { w_id: 1, d_id: 1, threshold: 15 }),
    ]
}

#[test]
fn a_load_tells_its_steps_and_leaves_a_complete_database() {
    let (file, report, steps) = &*LOADED;
    let phases: Vec<_> =
        steps.iter().filter_map(|step| if let LoadStep::Phase(name) = step { Some(*name) } else { None }).collect();
    assert_eq!(phases, ["schema", "rows", "keys", "foreign keys", "statistics", "verify"]);
    assert_eq!(report.phases.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), phases);
    let expected: Vec<_> = TABLES.iter().map(|table| table.name.to_owned()).zip(population().table_rows()).collect();
    assert_eq!(report.tables, expected);
    let total: u64 = population().table_rows().iter().sum();
    let reported: u64 =
        steps.iter().map(|step| if let LoadStep::Rows { rows, resumed: false, .. } = step { *rows } else { 0 }).sum();
    assert_eq!((report.rows, reported, report.resumed_rows), (total, total, 0));
    assert_eq!(report.database_bytes, Some(std::fs::metadata(file).unwrap().len()));

    let (_directory, options) = loaded();
    let engine = open(&options);
    assert_eq!(database_state(&engine), DatabaseState::Complete(manifest(true)));
    assert!(check(&engine).iter().all(Finding::held));
}

#[test]
fn settings_say_what_a_session_has() {
    let (_directory, options) = loaded();
    let of = |options: SqliteOptions| block_on(Engine::<Tpcc>::settings(&open(&options))).unwrap();
    let by_default = of(SqliteOptions::new(&options.file));
    assert_eq!((by_default["journal_mode"].as_str(), by_default["synchronous"].as_str()), ("wal", "full"));
    assert_eq!(by_default["foreign_keys"], "1");
    let other = of(SqliteOptions { journal: Journal::Delete, cache_mib: Some(64), ..options.clone() });
    assert_eq!((other["journal_mode"].as_str(), other["synchronous"].as_str()), ("delete", "off"));
    assert_eq!(other["cache_size"], "-65536");
    for input in one_of_each() {
        execute(&open(&options), input.clone()).unwrap();
        execute(&open(&SqliteOptions { journal: Journal::Delete, ..options.clone() }), input).unwrap();
    }
}

#[test]
fn what_is_loaded_is_not_loaded_over() {
    let (_directory, options) = loaded();
    let engine = open(&options);
    let Err(Error::Usage(why)) = load(&engine, &manifest(true), &|_| {}) else { panic!("loaded twice") };
    assert!(why.contains("already loaded (scale 1, seed 1998"), "{why}");
    block_on(Engine::<Tpcc>::drop_tables(&engine)).unwrap();
    assert_eq!(database_state(&engine), DatabaseState::Nothing);
    assert!(std::fs::metadata(&options.file).unwrap().len() < 100_000, "the space is given back");
}

/// Runs in a process of its own, which dies once it has told a step so many times.
#[test]
#[ignore = "the body of a process that another test starts and that is killed"]
fn a_load_to_be_killed() {
    let given = |name| std::env::var(name).expect("the test that starts this one says where, and when");
    let (file, step, count) = (given("GRAYMARK_TEST_FILE"), given("GRAYMARK_TEST_STEP"), given("GRAYMARK_TEST_COUNT"));
    let left = AtomicUsize::new(count.parse().unwrap());
    let tell = |reported: LoadStep| {
        if format!("{reported:?}").contains(&step) && left.fetch_sub(1, Ordering::SeqCst) == 1 {
            nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL).unwrap();
        }
    };
    load(&open(&SqliteOptions::new(file)), &manifest(false), &tell).unwrap();
}

/// Starts a load that is killed at the moment at which it has told `step` `count` times.
fn kill_load(file: &Path, step: &str, count: usize) {
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "sqlite::a_load_to_be_killed"])
        .env("GRAYMARK_TEST_FILE", file)
        .env("GRAYMARK_TEST_STEP", step)
        .env("GRAYMARK_TEST_COUNT", count.to_string())
        .output()
        .unwrap();
    assert_eq!(ended.status.signal(), Some(nix::libc::SIGKILL), "the load told `{step}`: {ended:?}");
}

#[test]
fn a_killed_load_goes_on_where_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let options = SqliteOptions::new(directory.path().join("killed.db"));
    for (step, count) in [("Phase(\"rows\")", 1), ("resumed: false", 2), ("resumed: false", 3), ("Phase(\"keys\")", 1)]
    {
        kill_load(&options.file, step, count);
        assert_eq!(
            database_state(&open(&options)),
            DatabaseState::Unfinished(manifest(false)),
            "after a kill at {step}"
        );
    }
    let engine = open(&options);
    let Err(Error::Usage(why)) = load(&engine, &Manifest { seed: 5, ..manifest(false) }, &|_| {}) else {
        panic!("another load went on")
    };
    assert!(
        why.contains("unfinished load (scale 1, seed 1998") && why.contains("requested one (scale 1, seed 5"),
        "{why}"
    );
    assert!(
        block_on(Sessions::<Tpcc>::open_session(&engine))
            .is_err_and(|error| error.to_string().contains("load has not ended"))
    );

    let report = load(&engine, &manifest(false), &|_| {}).unwrap();
    let total: u64 = population().table_rows().iter().sum();
    assert!(report.resumed_rows > 0);
    assert_eq!(report.rows + report.resumed_rows, total);
    let connection = rusqlite::Connection::open(&options.file).unwrap();
    let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    assert_eq!(foreign_keys(&options.file), 0);
    // Row for row what a load in one go brings.
    connection.execute("ATTACH ?1 AS whole", [LOADED.0.to_str().unwrap()]).unwrap();
    for table in &TABLES {
        let sql = format!("SELECT count(*) FROM (SELECT * FROM main.{0} EXCEPT SELECT * FROM whole.{0})", table.name);
        assert_eq!(connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "{}", table.name);
    }
}

/// Foreign keys that the tables of a file declare (clause 1.3).
fn foreign_keys(file: &Path) -> i64 {
    let sql = "SELECT count(DISTINCT t.name || k.id) FROM sqlite_schema t JOIN pragma_foreign_key_list(t.name) k WHERE \
        t.type = 'table'";
    rusqlite::Connection::open(file).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn foreign_keys_are_declared_if_asked_for_and_hold_in_transactions() {
    let (_directory, options) = loaded();
    assert_eq!(foreign_keys(&options.file), 10);
    for input in one_of_each() {
        execute(&open(&options), input).unwrap();
    }
    // A session refuses an order that refers to stock of an item that is gone.
    let connection = rusqlite::Connection::open(&options.file).unwrap();
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    connection
        .execute_batch("CREATE TRIGGER lose AFTER INSERT ON orders BEGIN DELETE FROM stock WHERE s_i_id = 4; END")
        .unwrap();
    let Err(Failure::Invalid(why)) = execute(&open(&options), Input::NewOrder(an_order())) else {
        panic!("a line refers to nothing")
    };
    assert!(why.contains("FOREIGN KEY"), "{why}");
}

#[test]
fn a_missing_row_leaves_nothing_behind() {
    let (_directory, options) = loaded();
    let connection = rusqlite::Connection::open(&options.file).unwrap();
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    let engine = open(&options);
    let totals = || block_on(Engine::<Tpcc>::effects(&engine)).unwrap();
    let open_orders =
        || connection.query_row("SELECT count(*) FROM new_order", [], |row| row.get::<_, i64>(0)).unwrap();
    let sold = || connection.query_row("SELECT sum(s_ytd) FROM stock", [], |row| row.get::<_, i64>(0)).unwrap();
    for (damage, input, reported) in [
        ("DELETE FROM stock WHERE s_i_id = 4".to_owned(), Input::NewOrder(an_order()), "no stock of item 4"),
        (
            "DELETE FROM warehouse".to_owned(),
            one_of_each()[1].clone(),
            "Payment: district 1 of warehouse 1 is missing, or",
        ),
        (
            format!(
                "DELETE FROM customer WHERE c_d_id = 3 AND c_id = (SELECT o_c_id FROM orders WHERE o_d_id = 3 AND o_id \
                 = {FIRST_OPEN_ORDER})"
            ),
            one_of_each()[3].clone(),
            "a customer of warehouse 1 whose order is delivered is missing",
        ),
        (
            format!("DELETE FROM order_line WHERE ol_d_id = 7 AND ol_o_id = {FIRST_OPEN_ORDER}"),
            one_of_each()[3].clone(),
            "order 2101 of district 7 of warehouse 1 or its lines are missing",
        ),
    ] {
        let deleted = connection.execute(&damage, []).unwrap();
        assert!(deleted > 0, "{damage}");
        let before = (totals(), open_orders(), sold());
        let Err(Failure::Invalid(why)) = execute(&engine, input) else { panic!("worked in spite of {damage}") };
        assert!(why.contains(reported), "{why}");
        assert_eq!((totals(), open_orders(), sold()), before, "after {damage}");
    }
    // The lock is free again.
    connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").unwrap();
}

#[test]
fn a_lock_of_another_process_is_worth_another_try() {
    let (_directory, options) = loaded();
    let engine = open(&SqliteOptions { busy_timeout: Duration::from_millis(20), ..options.clone() });
    let other = rusqlite::Connection::open(&options.file).unwrap();
    block_on(async {
        let mut session = Sessions::<Tpcc>::open_session(&engine).await.unwrap();
        let input = Input::NewOrder(an_order());
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let refused = session.execute(&input).await;
        assert!(matches!(refused, Err(Failure::Retry { reason: RetryReason::LockTimeout, .. })), "{refused:?}");
        other.execute_batch("ROLLBACK").unwrap();
        session.execute(&input).await.unwrap();
    });
}

#[test]
fn what_cannot_be_used_is_refused_in_one_line_that_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let refused = |file: PathBuf, reported: &str| {
        let options = SqliteOptions { busy_timeout: Duration::from_millis(20), ..SqliteOptions::new(file) };
        let outcome = Sqlite::open(options).and_then(|engine| block_on(Engine::<Tpcc>::check(&engine, &mut |_| {})));
        let Err(Error::Database(why)) = outcome else { panic!("{outcome:?} instead of: {reported}") };
        assert!(why.contains(reported) && !why.contains('\n'), "{why}");
    };
    std::fs::write(
        at("text.db"),
        "a text of more than a hundred characters, which is what SQLite reads first of any file ".repeat(20),
    )
    .unwrap();
    refused(at("text.db"), "is not a SQLite database: name another file");
    refused(at("no/x.db"), "create it, or name a file elsewhere");
    refused(directory.path().to_owned(), "is a directory: name a file in it");
    refused(at("none.db"), "load it first, or name another file");
    assert!(!at("none.db").exists(), "asking makes no file");

    let locking = rusqlite::Connection::open(at("locked.db")).unwrap();
    locking.execute_batch("CREATE TABLE t (x); PRAGMA locking_mode = exclusive; BEGIN EXCLUSIVE").unwrap();
    refused(at("locked.db"), "is locked by another process: wait");
}

#[test]
fn tables_of_somebody_else_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let options = SqliteOptions::new(directory.path().join("foreign.db"));
    rusqlite::Connection::open(&options.file)
        .unwrap()
        .execute_batch("CREATE TABLE stock (x); CREATE TABLE t (x)")
        .unwrap();
    let engine = open(&options);
    let DatabaseState::Foreign { why } = database_state(&engine) else { panic!("not seen") };
    assert!(why.contains("it has stock but no manifest of Graymark's"), "{why}");
    assert!(matches!(block_on(Engine::<Tpcc>::drop_tables(&engine)), Err(Error::Database(_))));
    assert!(matches!(load(&engine, &manifest(false), &|_| {}), Err(Error::Usage(_))));

    let (_directory, options) = loaded();
    for (damage, reported) in [
        ("DROP INDEX customer_name", "the index customer_name is missing"),
        ("DROP TABLE history", "the table history is missing"),
        ("ALTER TABLE item DROP COLUMN i_data", "the table item has no column i_data"),
        ("UPDATE graymark_manifest SET manifest = json_set(manifest, '$.format', 2)", "format 2"),
        ("UPDATE graymark_manifest SET manifest = 'x'", "cannot be read"),
    ] {
        rusqlite::Connection::open(&options.file).unwrap().execute_batch(damage).unwrap();
        let engine = open(&options);
        let (DatabaseState::Foreign { why } | DatabaseState::Damaged { why }) = database_state(&engine) else {
            panic!("`{damage}` not seen")
        };
        assert!(why.contains(reported), "{why}");
        let session = block_on(Sessions::<Tpcc>::open_session(&engine)).err().expect("no session");
        assert!(session.to_string().contains(reported), "{session}");
    }

    // A table that someone else made may hold anything.
    let (_directory, options) = loaded();
    let nothing = "CREATE TABLE other AS SELECT workload, NULL AS manifest, complete FROM graymark_manifest; DROP \
        TABLE graymark_manifest; \
                   ALTER TABLE other RENAME TO graymark_manifest";
    rusqlite::Connection::open(&options.file).unwrap().execute_batch(nothing).unwrap();
    let DatabaseState::Foreign { why } = database_state(&open(&options)) else {
        panic!("a manifest of nothing is not seen")
    };
    assert!(why.contains("graymark_manifest cannot be read"), "{why}");

    let (_directory, options) = loaded();
    let other = "UPDATE graymark_manifest SET workload = 'debitcredit'";
    rusqlite::Connection::open(&options.file).unwrap().execute_batch(other).unwrap();
    let engine = open(&options);
    let DatabaseState::Other { workload } = database_state(&engine) else { panic!("another workload is not seen") };
    assert_eq!(workload, "debitcredit");
    let session = block_on(Sessions::<Tpcc>::open_session(&engine)).err().expect("no session");
    assert!(session.to_string().contains("debitcredit"), "{session}");
}
