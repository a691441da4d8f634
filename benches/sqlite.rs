//! The overhead of Graymark over SQLite, embedded, one warehouse: `cargo bench --bench sqlite -- [ROUNDS=5]
//! [TRANSACTIONS=5000]`.
//!
//! Load: Graymark's loader against a loop written by hand that binds the same constant texts and amounts in every row,
//! with the same tables, keys and settings. Transactions: a session of Graymark, and its whole driver, against a bare
//! loop that executes exactly the statements that such a session sent, with the same values in the same order, on an
//! equal file; with and without waiting for the disk, each from opening the file to closing it. The programs run in
//! turn. The file is in `GRAYMARK_BENCH_DIR`, or in the temporary directory: it has to be on a disk if waiting for it
//! is to be measured.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a bench ends with a panic")]

use std::borrow::Cow;
use std::cell::RefCell;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use graymark::drive::{self, Controllers, Load, LoadTarget, Schedule, Stages, Stop};
use graymark::engine::sql::tpcc::{Statement, Statements};
use graymark::engine::sql::{self, Arg, Call, Counts, script};
use graymark::engine::wire::sqlite::{Connection, Sqlite, SqliteOptions, Synchronous, Writer};
use graymark::engine::{Engine, Failure, Session};
use graymark::measure::process::{Usage, usage};
use graymark::plan::Factor;
use graymark::result::Manifest;
use graymark::workload::tpcc::Tpcc;
use graymark::workload::tpcc::input::Input;
use graymark::workload::tpcc::population::Population;
use graymark::workload::value::{Money, Rate, Timestamp, Value};
use graymark::workload::{Terminal as _, Workload};
use rusqlite::config::DbConfig;
use rusqlite::types::Value as Owned;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const SEED: u64 = 7;
const SCHEMA: &str = include_str!("../src/engine/dialect/sqlite/tpcc/schema.sql");
const TPCC_STATEMENTS: &str = include_str!("../src/engine/dialect/sqlite/tpcc/statements.sql");

fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let rounds: usize = numbers.next().map_or(Ok(5), |rounds| rounds.parse())?;
    let transactions: usize = numbers.next().map_or(Ok(5_000), |transactions| transactions.parse())?;
    let parent = std::env::var_os("GRAYMARK_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = tempfile::tempdir_in(parent)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bench = Bench { directory: directory.path(), runtime, inputs: inputs(transactions)? };
    bench.load(rounds)?;
    let tape = bench.record()?;
    for synchronous in [Synchronous::Full, Synchronous::Off] {
        bench.transactions(rounds, synchronous, &tape)?;
    }
    Ok(())
}

fn manifest() -> Manifest {
    let population = Population::new(1, SEED, Timestamp(0));
    let parameters = Tpcc::parameters(&population);
    Manifest { format: 1, scale: 1, seed: SEED, date: 0, foreign_keys: false, parameters }
}

fn inputs(count: usize) -> Result<Vec<Input>> {
    let terminals = Tpcc::terminals(1, &manifest().parameters, SEED)?;
    let mut terminal = Tpcc::terminal(&terminals, 0);
    Ok((0..count).map(|_| terminal.next_input()).collect())
}

struct Bench<'a> {
    directory: &'a Path,
    runtime: tokio::runtime::Runtime,
    inputs: Vec<Input>,
}

impl Bench<'_> {
    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A copy of the loaded file.
    fn fresh(&self) -> Result<PathBuf> {
        let file = self.file("worked.db");
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(self.file(&format!("worked.db{end}")));
        }
        fs::copy(self.file("loaded.db"), &file)?;
        fs::File::open(&file)?.sync_all()?;
        Ok(file)
    }

    fn load(&self, rounds: usize) -> Result<()> {
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let file = self.file("loaded.db");
            let _ = fs::remove_file(&file);
            let engine = Sqlite::open(SqliteOptions::new(&file))?;
            let population = Population::new(1, SEED, Timestamp(0));
            let manifest = manifest();
            let load = Engine::<Tpcc>::load(&engine, &manifest, &population, 1, &|_| {});
            ours.push(spend(|| Ok(self.runtime.block_on(load)?))?.1);

            let file = self.file("by_hand.db");
            let _ = fs::remove_file(&file);
            bare.push(spend(|| load_by_hand(&file))?.1);
        }
        tell("load of 1 warehouse", "s", 1.0, &[("by hand", bare), ("loader", ours)]);
        Ok(())
    }

    /// Executes the inputs once and records what was sent.
    fn record(&self) -> Result<Vec<Step>> {
        let tape = Rc::default();
        let recorder = Recorder { inner: connect(&self.fresh()?, Synchronous::Off)?, tape: Rc::clone(&tape) };
        self.runtime.block_on(self.work(Statements::new(recorder)))?;
        Ok(tape.take())
    }

    async fn work<C: sql::Connection>(&self, mut session: Statements<C>) -> Result<()> {
        for input in &self.inputs {
            session.execute(input).await.map_err(|failure| failure.to_string())?;
        }
        Ok(())
    }

    fn transactions(&self, rounds: usize, synchronous: Synchronous, tape: &[Step]) -> Result<()> {
        let (mut session, mut driver, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let count = self.inputs.len() as f64;
            let file = self.fresh()?;
            bare.push(spend(|| replay(&file, synchronous, tape))?.1.per(count));

            let file = self.fresh()?;
            let work = || self.runtime.block_on(self.work(Statements::new(connect(&file, synchronous)?)));
            session.push(spend(work)?.1.per(count));

            // The driver runs for a fixed time: about as long as the others.
            let seconds = session.last().map_or(1.0, |spent| spent.clock * count).round().max(1.0);
            driver.push(drive_for(&self.fresh()?, synchronous, seconds as u32)?);
        }
        let rows = [("bare loop", bare), ("session", session), ("driver", driver)];
        tell(&format!("a transaction, synchronous={synchronous:?}"), "us", 1e6, &rows);
        Ok(())
    }
}

fn connect(file: &Path, synchronous: Synchronous) -> Result<Connection> {
    let options = SqliteOptions { synchronous, ..SqliteOptions::new(file) };
    let statements = Statement::load(TPCC_STATEMENTS)?.into_iter().map(Cow::Borrowed).collect();
    Ok(Connection::open(&options, false, Writer::default(), statements)?)
}

/// One transaction of a run of the whole driver with one client.
fn drive_for(file: &Path, synchronous: Synchronous, duration: u32) -> Result<Spent> {
    let engine: Arc<dyn LoadTarget<Tpcc>> =
        Arc::new(Sqlite::open(SqliteOptions { synchronous, ..SqliteOptions::new(file) })?);
    let terminals = Tpcc::terminals(1, &manifest().parameters, SEED)?;
    let schedule = Schedule {
        history: 0,
        tenths: false,
        load: Load::ClosedLoop,
        clients: 1,
        terminals: 1,
        at_home: false,
        pass: 0,
        shown: None,
        seed: SEED,
        threads: None,
        keying: Factor::ONE,
        think: Factor::ONE,
        ramp_up: 0,
        settles: false,
        duration,
        patience: 60,
        connect_rate: None,
    };
    let run = || {
        Ok(drive::run(
            &engine,
            &terminals,
            schedule,
            &Stages::default(),
            Controllers::default(),
            &Stop::new(),
            &mut |_| {},
        )?)
    };
    let (totals, spent) = spend(run)?;
    Ok(spent.per(totals.completed as f64))
}

/// A statement as sent to SQLite, by its number: `BEGIN IMMEDIATE`, `COMMIT` and `ROLLBACK` come after the others.
struct Step {
    statement: usize,
    values: Vec<Owned>,
}

struct Recorder {
    inner: Connection,
    tape: Rc<RefCell<Vec<Step>>>,
}

impl sql::Connection for Recorder {
    async fn exchange(
        &mut self,
        calls: &[Call<'_>],
        on_row: &mut dyn FnMut(usize, &dyn sql::Row) -> std::result::Result<(), Failure>,
    ) -> std::result::Result<Counts, Failure> {
        for call in calls {
            let mut tape = self.tape.borrow_mut();
            let ends = Statement::ALL.len();
            match call {
                Call::Begin => tape.push(Step { statement: ends, values: Vec::new() }),
                Call::Commit => tape.push(Step { statement: ends + 1, values: Vec::new() }),
                Call::Rollback => tape.push(Step { statement: ends + 2, values: Vec::new() }),
                Call::Statement(statement, arguments) => {
                    let places = arguments.iter().find_map(places).unwrap_or(1);
                    tape.extend((0..places).map(|place| Step {
                        statement: *statement,
                        values: arguments.iter().map(|argument| at(argument, place)).collect(),
                    }));
                }
            }
        }
        self.inner.exchange(calls, on_row).await
    }

    fn unreadable(&mut self, why: &Failure) -> Failure {
        self.inner.unreadable(why)
    }
}

fn places(argument: &Arg<'_>) -> Option<usize> {
    match argument {
        Arg::One(_) => None,
        Arg::Ints(values) => Some(values.len()),
        Arg::Moneys(values) => Some(values.len()),
        Arg::Texts(values) => Some(values.len()),
    }
}

fn at(argument: &Arg<'_>, place: usize) -> Owned {
    match argument {
        Arg::One(value) => owned(*value),
        Arg::Ints(values) => owned(Value::Int(values[place])),
        Arg::Moneys(values) => owned(Value::Money(values[place])),
        Arg::Texts(values) => owned(Value::Text(values[place])),
    }
}

fn owned(value: Value<'_>) -> Owned {
    match value {
        Value::Null => Owned::Null,
        Value::Int(value) => Owned::Integer(value.into()),
        Value::Money(Money(value)) => Owned::Integer(value),
        Value::Rate(Rate(value)) => Owned::Integer(value.into()),
        Value::Time(Timestamp(value)) => Owned::Integer(value),
        Value::Text(value) => Owned::Text(value.to_owned()),
    }
}

/// The bare loop: every statement prepared once, its values bound, its rows stepped through.
fn replay(file: &Path, synchronous: Synchronous, tape: &[Step]) -> Result<()> {
    let connection = rusqlite::Connection::open(file)?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", if synchronous == Synchronous::Full { "full" } else { "off" })?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?; // as a session of Graymark
    let texts = Statement::load(TPCC_STATEMENTS)?.into_iter().chain(["BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"]);
    let mut statements = texts.map(|sql| connection.prepare(sql)).collect::<rusqlite::Result<Vec<_>>>()?;
    for step in tape {
        let statement = &mut statements[step.statement];
        for (column, value) in step.values.iter().enumerate() {
            statement.raw_bind_parameter(column + 1, value)?;
        }
        let mut rows = statement.raw_query();
        while rows.next()?.is_some() {}
    }
    Ok(())
}

/// A warehouse with ascending keys, and constants in all other columns, of the mean lengths of clause 4.3.3.1.
fn load_by_hand(file: &Path) -> Result<()> {
    let connection = rusqlite::Connection::open(file)?;
    connection.execute_batch(
        "PRAGMA journal_mode = truncate; PRAGMA locking_mode = exclusive; PRAGMA synchronous = full; PRAGMA cache_size \
         = -16384",
    )?;
    let (tables, keys): (Vec<_>, Vec<_>) =
        script::statements(SCHEMA).into_iter().partition(|statement| !statement.notes.contains_key("phase"));
    for table in tables {
        let sql: Vec<&str> = table.sql.lines().filter(|line| !line.contains("only with foreign keys")).collect();
        connection.execute_batch(&sql.join("\n"))?;
    }
    let text = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".repeat(8);
    let t = |length: usize| &text[..length];
    let insert = |table: &str, columns: usize| {
        let places = vec!["?"; columns].join(", ");
        connection.prepare(&format!("INSERT INTO {table} VALUES ({places})"))
    };
    let transaction = connection.unchecked_transaction()?;
    insert("warehouse", 9)?.execute((1, t(8), t(15), t(15), t(15), t(2), t(9), 1_000, 30_000_000))?;
    let mut district = insert("district", 11)?;
    for d in 1..=10 {
        district.execute((d, 1, t(8), t(15), t(15), t(15), t(2), t(9), 1_000, 3_000_000, 3_001))?;
    }
    transaction.commit()?;

    let transaction = connection.unchecked_transaction()?;
    let mut item = insert("item", 5)?;
    for i in 1..=100_000 {
        item.execute((i, 5_000, t(19), 5_000, t(38)))?;
    }
    transaction.commit()?;

    let transaction = connection.unchecked_transaction()?;
    let mut stock = insert("stock", 17)?;
    for i in 1..=100_000 {
        // More columns than a tuple of parameters can have.
        for (column, value) in [i, 1, 50].into_iter().enumerate() {
            stock.raw_bind_parameter(column + 1, value)?;
        }
        for column in 4..=13 {
            stock.raw_bind_parameter(column, t(24))?;
        }
        for column in 14..=16 {
            stock.raw_bind_parameter(column, 0)?;
        }
        stock.raw_bind_parameter(17, t(38))?;
        stock.raw_execute()?;
    }
    transaction.commit()?;

    let transaction = connection.unchecked_transaction()?;
    let (mut customer, mut history) = (insert("customer", 21)?, insert("history", 8)?);
    for (d, c) in (1..=10).flat_map(|d| (1..=3_000).map(move |c| (d, c))) {
        for (column, value) in [c, d, 1].into_iter().enumerate() {
            customer.raw_bind_parameter(column + 1, value)?;
        }
        for (column, length) in
            [(4, 12), (5, 2), (6, 11), (7, 15), (8, 15), (9, 15), (10, 2), (11, 9), (12, 16), (14, 2), (21, 400)]
        {
            customer.raw_bind_parameter(column, t(length))?;
        }
        for (column, value) in
            [(13, 1_000_000_000_000_i64), (15, 5_000_000), (16, 2_500), (17, -1_000), (18, 1_000), (19, 1), (20, 0)]
        {
            customer.raw_bind_parameter(column, value)?;
        }
        customer.raw_execute()?;
        history.execute((c, d, 1, d, 1, 1_000_000_000_000_i64, 1_000, t(18)))?;
    }
    transaction.commit()?;

    let transaction = connection.unchecked_transaction()?;
    let (mut orders, mut line, mut open) = (insert("orders", 8)?, insert("order_line", 10)?, insert("new_order", 3)?);
    for (d, o) in (1..=10).flat_map(|d| (1..=3_000).map(move |o| (d, o))) {
        let date = 1_000_000_000_000_i64;
        // A step of 1,861 through the 3,000 customers meets each once.
        orders.execute((o, d, 1, (o * 1_861) % 3_000 + 1, date, 5, 10, 1))?;
        for number in 1..=10 {
            line.execute((o, d, 1, number, 50_000, 1, date, 5, 500_000, t(24)))?;
        }
        if o > 2_100 {
            open.execute((o, d, 1))?;
        }
    }
    transaction.commit()?;
    for key in keys {
        connection.execute_batch(key.sql)?;
    }
    Ok(())
}

/// Seconds by the clock and of CPU time.
#[derive(Clone, Copy)]
struct Spent {
    clock: f64,
    cpu: f64,
}

impl Spent {
    fn per(self, count: f64) -> Spent {
        Spent { clock: self.clock / count, cpu: self.cpu / count }
    }
}

fn spend<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Spent)> {
    let cpu = |usage: Usage| usage.user_s + usage.system_s;
    let (began, before) = (Instant::now(), cpu(usage()));
    let done = work()?;
    Ok((done, Spent { clock: began.elapsed().as_secs_f64(), cpu: cpu(usage()) - before }))
}

/// Prints medians, and the medians of the ratios to the hand-written loop.
fn tell(what: &str, unit: &str, scale: f64, rows: &[(&str, Vec<Spent>)]) {
    println!("{what} (medians of {})", rows[0].1.len());
    let floor = &rows[0].1;
    for (name, spent) in rows {
        let of = |part: fn(&Spent) -> f64| median(&spent.iter().map(part).collect::<Vec<_>>()) * scale;
        let ratio = |part: fn(&Spent) -> f64| {
            median(&spent.iter().zip(floor).map(|(a, b)| part(a) / part(b)).collect::<Vec<_>>())
        };
        println!(
            "  {name:<12} {:>8.2} {unit}, ratio {:.2}; CPU {:>8.2} {unit}, ratio {:.2}",
            of(|spent| spent.clock),
            ratio(|spent| spent.clock),
            of(|spent| spent.cpu),
            ratio(|spent| spent.cpu)
        );
    }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) { (values[middle - 1] + values[middle]) / 2.0 } else { values[middle] }
}
