//! A database must do with any input what the standard says: engines against a reference model.

#[path = "support/model.rs"]
mod model;
#[path = "support/suite.rs"]
mod suite;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use graymark::engine::sql::tpcc::{Statement, Statements};
use graymark::engine::sqlite::{Connection, Options, Sqlite, Synchronous, TPCC_STATEMENTS, Writer};
use graymark::engine::{Engine, Manifest, Session};
use graymark::workload::tpcc::output::Output;
use graymark::workload::tpcc::{Tpcc, input};
use graymark::workload::value::{Money, Rate, RowSink, Timestamp, Value};
use graymark::workload::{ColumnKind, Table, Terminal as _, Workload};
use model::Model;
use suite::{Step, WAREHOUSES, conforms, population, session_conforms};
use tempfile::TempDir;

/// A loaded SQLite database, of which each test gets a copy.
static LOADED: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("loaded.db");
    let engine = Sqlite::open(Options::new(&file)).unwrap();
    block_on(Engine::<Tpcc>::load(&engine, &manifest(), &population(), 1, &|_| {})).unwrap();
    (directory, file)
});

static MODEL: LazyLock<Model> = LazyLock::new(|| Model::new(&population()));

fn manifest() -> Manifest {
    let population = population();
    Manifest {
        format: 1,
        scale: population.warehouses,
        seed: population.seed,
        date: population.date.0,
        foreign_keys: false,
        parameters: Tpcc::parameters(&population),
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A fresh copy of the loaded database. Nothing of it needs to outlive the test, so commits do not wait for the disk.
fn fresh() -> (TempDir, Options) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tpcc.db");
    std::fs::copy(&LOADED.1, &file).unwrap();
    (directory, Options { synchronous: Synchronous::Off, ..Options::new(file) })
}

/// Writes the rows of a table in a SQLite file.
fn dump(file: &Path, table: &Table, sink: &mut dyn RowSink) {
    let connection = rusqlite::Connection::open(file).unwrap();
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    let order = if table.primary_key.is_empty() { String::new() } else { format!(" ORDER BY {}", table.primary_key.join(", ")) };
    let mut select = connection.prepare(&format!("SELECT {} FROM {}{order}", columns.join(", "), table.name)).unwrap();
    let mut rows = select.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        for (at, column) in table.columns.iter().enumerate() {
            let value = row.get_ref(at).unwrap();
            let number = if let rusqlite::types::ValueRef::Integer(number) = value { Some(number) } else { None };
            sink.put(match (column.kind, number) {
                (ColumnKind::Text, _) => Value::Text(value.as_str().unwrap()),
                (_, None) => {
                    assert_eq!(value, rusqlite::types::ValueRef::Null);
                    Value::Null
                }
                (ColumnKind::Int, Some(number)) => Value::Int(number.try_into().unwrap()),
                (ColumnKind::Money, Some(cents)) => Value::Money(Money(cents)),
                (ColumnKind::Rate, Some(parts)) => Value::Rate(Rate(parts.try_into().unwrap())),
                (ColumnKind::Time, Some(micros)) => Value::Time(Timestamp(micros)),
            });
        }
        sink.end_row();
    }
}

#[test]
fn sqlite_conforms() {
    let (_directory, options) = fresh();
    let engine = Sqlite::open(options.clone()).unwrap();
    let outcome = block_on(conforms(&engine, MODEL.clone(), suite::SCRIPT, async |table, sink| dump(&options.file, table, sink)));
    if let Err(why) = outcome {
        panic!("{why}");
    }
    let findings = block_on(Engine::<Tpcc>::check(&engine, &mut |_| {})).unwrap();
    let broken: Vec<_> = findings.iter().filter(|finding| !finding.held()).collect();
    assert!(!findings.is_empty() && broken.is_empty(), "{broken:#?}");
}

/// The suite is worth something only if it sees what is wrong: a dialect with one thing changed must not pass.
#[test]
fn a_wrong_statement_does_not_pass() {
    let wrong: &[(&str, &str, Step, &str)] = &[
        // Appendix A's rule: more than 10 must remain.
        ("s_quantity >= ?5 + 10", "s_quantity > ?5 + 10", ("border", suite::stock_at_the_border), "border"),
        ("- ?5 + 91", "- ?5 + 90", ("border", suite::stock_at_the_border), "border"),
        ("s_remote_cnt + ?6", "s_remote_cnt + ?6 * 0", ("remote", suite::remote_lines), "table stock"),
        ("(count(*) - 1) / 2", "count(*) / 2", ("names", suite::payments_by_name), "names"),
        ("c_data, 1, 500", "c_data, 1, 499", ("bad credit", suite::bad_credit), "table customer"),
        ("c_balance - ?6", "c_balance + ?6", ("names", suite::payments_by_name), "names"),
        ("c_delivery_cnt + 1", "c_delivery_cnt", ("deliveries", suite::deliveries), "table customer"),
        ("SELECT min(no_o_id)", "SELECT max(no_o_id)", ("deliveries", suite::deliveries), "deliveries"),
        ("d_next_o_id - 20", "d_next_o_id - 19", ("levels", suite::stock_levels), "levels"),
    ];
    for (right, broken, step, told) in wrong {
        assert!(TPCC_STATEMENTS.contains(right), "the statements have no `{right}` to break");
        let statements = TPCC_STATEMENTS.replace(right, broken);
        let (_directory, options) = fresh();
        let statements = Statement::load(&statements).unwrap().into_iter().map(|sql| Cow::Owned(sql.to_owned())).collect();
        let mut session = Statements::new(Connection::open(&options, false, Writer::default(), statements).unwrap());
        let outcome =
            block_on(session_conforms(&mut session, MODEL.clone(), &[*step], async |table, sink| dump(&options.file, table, sink)));
        let why = outcome.expect_err(&format!("`{broken}` passed"));
        assert!(why.starts_with(told), "`{broken}` is told otherwise: {why}");
    }
}

/// What several sessions were told together is what the database holds.
#[test]
fn sessions_side_by_side_agree_with_sqlite() {
    const SESSIONS: u64 = 4;
    const TRANSACTIONS: usize = 500;
    let (_directory, options) = fresh();
    let engine = Arc::new(Sqlite::open(options).unwrap());
    let before = block_on(Engine::<Tpcc>::effects(&*engine)).unwrap();
    let terminals = Tpcc::terminals(WAREHOUSES, &Tpcc::parameters(&population()), 42).unwrap();
    let delivered = Mutex::new(BTreeSet::new());
    let told: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|number| {
                let (engine, delivered, mut terminal) = (Arc::clone(&engine), &delivered, Tpcc::terminal(&terminals, number));
                scope.spawn(move || {
                    block_on(async {
                        let mut session = Engine::<Tpcc>::open_session(&*engine).await.unwrap();
                        let mut effects = vec![0; Tpcc::EFFECTS.len()];
                        for _ in 0..TRANSACTIONS {
                            let input = terminal.next_input();
                            let output = session.execute(&input).await.unwrap();
                            Tpcc::count(&output, &mut effects);
                            if let (input::Input::Delivery(input), Output::Delivery(output)) = (&input, &output) {
                                for (district, order) in output.orders.iter().enumerate() {
                                    let order = order.expect("there are open orders enough");
                                    assert!(
                                        delivered.lock().unwrap().insert((input.w_id, district, order)),
                                        "order {order} was delivered twice"
                                    );
                                }
                            }
                        }
                        effects
                    })
                })
            })
            .collect();
        sessions.into_iter().map(|session| session.join().unwrap()).collect()
    });
    let after = block_on(Engine::<Tpcc>::effects(&*engine)).unwrap();
    for (number, name) in Tpcc::EFFECTS.iter().enumerate() {
        let grown = after[number] - before[number];
        assert!(grown > 0, "no {name} at all");
        assert_eq!(grown, told.iter().map(|told| told[number] as i64).sum::<i64>(), "{name}");
    }
    let findings = block_on(Engine::<Tpcc>::check(&*engine, &mut |_| {})).unwrap();
    let broken: Vec<_> = findings.iter().filter(|finding| !finding.held()).collect();
    assert!(!findings.is_empty() && broken.is_empty(), "{broken:#?}");
}
