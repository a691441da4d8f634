//! Loads a population: parallel binary copies, then keys, statistics and a count of every table.
//!
//! Each part of the population is one transaction that also notes the part, so that an interrupted load goes on where it was. Two
//! advisory locks keep loads apart: one is held by the loading process, the other is shared by each of its writing transactions,
//! which may outlive it at the server for a while.

use std::cell::Cell;
use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use futures_util::SinkExt;
use futures_util::future::try_join_all;
use tokio::sync::mpsc;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use super::Port;
use super::catalog;
use super::connect::Target;
use super::copy::{self, CopyRows};
use super::failure::of_command;
use crate::engine::sql::script::{self, Named};
use crate::engine::{Error, Holding, LoadReport, LoadStep, Manifest};
use crate::workload::{Part, Population, Rows, Table};

/// Whom a load tells what it does.
pub type Told<'a> = &'a (dyn Fn(LoadStep) + Send + Sync);

/// Creates and fills the tables, or goes on with an interrupted load of the same manifest.
pub async fn load<W: Port>(
    target: &Target,
    manifest: &Manifest,
    population: &W::Population,
    jobs: usize,
    told: Told<'_>,
) -> Result<LoadReport, Error> {
    let begun = Instant::now();
    let jobs = jobs.max(1);
    let mut phases = Phases::new(told);
    let guard = target.connect(&[]).await?;
    claim::<W>(&guard).await?;
    let client = target.connect(&[]).await?;

    phases.begin("schema");
    // Transactions of a load that was killed may still be at work.
    step(&client, W::NAME, Lock::Alone, "cannot begin to load", async || Ok(())).await?;
    prepare::<W>(&client, manifest).await?;

    let parts = population.parts();
    let done: HashSet<(String, u32)> = told_parts::<W>(&client, &parts, told, &mut phases.report).await?;
    phases.begin("rows");
    let open = parts.iter().filter(|part| !done.contains(&(W::TABLES[part.table].name.to_owned(), part.number)));
    copy_parts::<W>(target, population, open.copied().collect(), jobs, told, &mut phases.report).await?;

    phases.begin("keys");
    let clients = try_join_all((0..jobs).map(|_| target.connect(&[]))).await?;
    let keys = script::statements(W::KEYS);
    let make = async |client: &Client, key: &Named<'_>| declare::<W>(client, key, Declared::Index).await;
    side_by_side(&clients, &keys, make).await?;
    if manifest.foreign_keys {
        phases.begin("foreign keys");
        // Each locks two tables, so side by side they would only get in each other's way.
        for key in &script::statements(W::FOREIGN_KEYS) {
            declare::<W>(&client, key, Declared::Constraint).await?;
        }
    }
    phases.begin("procedures");
    let create = async || client.batch_execute(W::PROCEDURES).await;
    step(&client, W::NAME, Lock::Shared, "cannot create the procedures", create).await?;

    phases.begin("statistics");
    // The rows' visibility is settled now, or it would be by the first readers and by autovacuum, in the middle of a run.
    let vacuum = async |client: &Client, table: &&str| {
        let done = client.batch_execute(&format!("VACUUM (ANALYZE) {}.{table}", W::NAME)).await;
        done.map_err(|error| of_command(&format!("cannot analyze {table}"), &error))
    };
    let mut tables: Vec<&str> = W::TABLES.iter().map(|table| table.name).collect();
    let expected = |name: &str| parts.iter().filter(|part| W::TABLES[part.table].name == name).map(|part| part.rows).sum::<u64>();
    tables.sort_by_key(|name| std::cmp::Reverse(expected(name)));
    side_by_side(&clients, &tables, vacuum).await?;

    phases.begin("verify");
    for table in W::TABLES {
        let count = count(&client, W::NAME, table.name).await?;
        if count != expected(table.name) {
            let expected = expected(table.name);
            let name = table.name;
            return Err(Error::Database(format!(
                "{name} has {count} rows instead of {expected}: someone else wrote to it; remove the tables with graymark drop and load again"
            )));
        }
        phases.report.tables.push((table.name.to_owned(), count));
    }
    phases.report.database_bytes = catalog::bytes::<W>(&client).await?;
    catalog::complete::<W>(&client).await?;
    release(&guard).await?;
    let mut report = phases.end();
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(report)
}

/// Times the phases and tells them.
struct Phases<'a> {
    told: Told<'a>,
    report: LoadReport,
    current: Option<(&'static str, Instant)>,
}

impl<'a> Phases<'a> {
    fn new(told: Told<'a>) -> Self {
        Phases { told, report: LoadReport::default(), current: None }
    }

    fn begin(&mut self, name: &'static str) {
        self.finish();
        (self.told)(LoadStep::Phase(name));
        self.current = Some((name, Instant::now()));
    }

    fn finish(&mut self) {
        if let Some((name, begun)) = self.current.take() {
            self.report.phases.push((name.to_owned(), begun.elapsed().as_secs_f64()));
        }
    }

    fn end(mut self) -> LoadReport {
        self.finish();
        self.report
    }
}

/// Makes this process the one that loads or restores, for as long as the client lives. The lock is a transaction's, not a session's, so that a
/// pooler keeps it too; the transaction has no snapshot and holds nothing else back.
pub(super) async fn claim<W: Port>(guard: &Client) -> Result<(), Error> {
    let failed = |error| of_command("cannot begin", &error);
    // A loader that has just ended may hold it for a moment.
    let settings = "SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL lock_timeout = '1s'";
    guard.batch_execute(&format!("BEGIN; {settings}")).await.map_err(failed)?;
    let lock = format!("SELECT pg_advisory_xact_lock(hashtext('graymark load'), hashtext('{}'))", W::NAME);
    match guard.batch_execute(&lock).await {
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => Err(Error::Database(format!(
            "another load or restore of {} is running in this database: wait for it or stop it",
            W::NAME
        ))),
        done => done.map_err(failed),
    }
}

/// Lets others load or restore, before the client is gone.
pub(super) async fn release(guard: &Client) -> Result<(), Error> {
    guard.batch_execute("COMMIT").await.map_err(|error| of_command("cannot end", &error))
}

/// How a transaction holds the lock of a load's steps.
#[derive(Clone, Copy)]
pub(super) enum Lock {
    /// As one of the steps.
    Shared,
    /// When all of them have ended.
    Alone,
}

/// Begins a transaction that holds the lock of a load's steps.
pub(super) async fn begin(client: &Client, schema: &str, lock: Lock) -> Result<(), tokio_postgres::Error> {
    let function = match lock {
        Lock::Shared => "pg_advisory_xact_lock_shared",
        Lock::Alone => "pg_advisory_xact_lock",
    };
    client.batch_execute(&format!("BEGIN; SELECT {function}(hashtext('graymark step'), hashtext('{schema}'))")).await
}

/// Does something in a transaction that holds the lock of a load's steps. `what` it cannot do is said in the error.
async fn step(
    client: &Client,
    schema: &str,
    lock: Lock,
    what: &str,
    work: impl AsyncFnOnce() -> Result<(), tokio_postgres::Error>,
) -> Result<(), Error> {
    let whole = async || {
        begin(client, schema, lock).await?;
        work().await?;
        client.batch_execute("COMMIT").await
    };
    whole().await.map_err(|error| of_command(what, &error))
}

/// Creates the tables, or sees that what is there is of the same manifest and unfinished.
async fn prepare<W: Port>(client: &Client, manifest: &Manifest) -> Result<(), Error> {
    match catalog::holding::<W>(client).await? {
        Holding::Nothing => {
            let profile = W::profile(&manifest.parameters).unwrap_or_default();
            catalog::create::<W>(client, W::schema(profile), manifest).await
        }
        Holding::Unfinished(there) if there == *manifest => Ok(()),
        Holding::Unfinished(there) => Err(Error::Usage(format!(
            "an unfinished load is there with other parameters (scale {}, seed {}): go on with these, or remove it with graymark drop",
            there.scale, there.seed
        ))),
        Holding::Complete(there) => Err(Error::Usage(format!(
            "a complete load is there (scale {}, seed {}): remove it with graymark drop to load anew",
            there.scale, there.seed
        ))),
        Holding::Other { workload } => Err(Error::Usage(format!("it holds the workload {workload}: use another database"))),
        Holding::Foreign { why } => {
            Err(Error::Usage(format!("tables are there that Graymark did not load ({why}): remove them, or use another database")))
        }
    }
}

/// The parts that an earlier load has brought; their rows are told as resumed.
async fn told_parts<W: Port>(
    client: &Client,
    parts: &[Part],
    told: Told<'_>,
    report: &mut LoadReport,
) -> Result<HashSet<(String, u32)>, Error> {
    let done = catalog::parts::<W>(client).await?;
    let known = |table: &str, number: u32, rows: u64| {
        parts.iter().any(|part| W::TABLES[part.table].name == table && part.number == number && part.rows == rows)
    };
    if let Some((table, number, rows)) = done.iter().find(|(table, number, rows)| !known(table, *number, *rows)) {
        return Err(Error::Usage(format!(
            "part {number} of {table} was loaded with {rows} rows by another Graymark: remove the tables with graymark drop and load again"
        )));
    }
    report.resumed_rows = done.iter().map(|(_, _, rows)| rows).sum();
    if report.resumed_rows > 0 {
        told(LoadStep::Rows { rows: report.resumed_rows, bytes: 0, resumed: true });
    }
    Ok(done.into_iter().map(|(table, number, _)| (table, number)).collect())
}

/// Tells the loading threads to stop, at the latest when the load is given up.
struct Stopper(Arc<AtomicBool>);

impl Drop for Stopper {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Copies the parts, the biggest first, by `jobs` threads with a connection each: making the rows takes a processor, too.
async fn copy_parts<W: Port>(
    target: &Target,
    population: &W::Population,
    mut parts: Vec<Part>,
    jobs: usize,
    told: Told<'_>,
    report: &mut LoadReport,
) -> Result<(), Error> {
    parts.sort_by_key(|part| std::cmp::Reverse(part.rows));
    let stop = Stopper(Arc::default());
    let next = Arc::new(AtomicUsize::new(0));
    let parts: Arc<[Part]> = parts.into();
    let (sender, mut steps) = mpsc::unbounded_channel();
    for number in 0..jobs.min(parts.len()) {
        let (target, population, parts) = (target.clone(), population.clone(), parts.clone());
        let (next, stop, sender) = (next.clone(), stop.0.clone(), sender.clone());
        let work = move || {
            let copier = async {
                let client = target.connect(&[]).await?;
                let mut rows = population.rows();
                let tables = population.tables();
                while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Some(bytes) = copy_part::<W>(&client, &mut rows, &tables[part.table], part, &stop).await? else { break };
                    let _ = sender.send(Ok((part.rows, bytes)));
                }
                Ok(())
            };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|error| Error::Database(format!("cannot start a loading thread: {error}")));
            if let Err(error) = runtime.and_then(|runtime| runtime.block_on(copier)) {
                let _ = sender.send(Err(error));
            }
        };
        let thread = std::thread::Builder::new().name(format!("load-{number}")).spawn(work);
        thread.map_err(|error| Error::Database(format!("cannot start a loading thread: {error}")))?;
    }
    drop(sender);
    let mut failure = None;
    while let Some(step) = steps.recv().await {
        match step {
            Ok((rows, bytes)) => {
                report.rows += rows;
                report.bytes += bytes;
                told(LoadStep::Rows { rows, bytes, resumed: false });
            }
            Err(error) => {
                stop.0.store(true, Ordering::Relaxed);
                failure.get_or_insert(error);
            }
        }
    }
    failure.map_or(Ok(()), Err)
}

/// Copies one part in one transaction, and notes it. The bytes that were sent, or none if the load was stopped.
async fn copy_part<W: Port>(
    client: &Client,
    rows: &mut <W::Population as Population>::Rows,
    table: &Table,
    part: &Part,
    stop: &AtomicBool,
) -> Result<Option<u64>, Error> {
    let name = table.name;
    let mut work = async || {
        begin(client, W::NAME, Lock::Shared).await?;
        let sent = send_rows::<W>(client, rows, table, part, stop).await?;
        let whole = sent.is_some_and(|(_, rows)| rows == part.rows);
        if whole {
            let note = format!("INSERT INTO {}.graymark_parts (table_name, number, rows) VALUES ($1, $2, $3)", W::NAME);
            let (number, rows) = (part.number.cast_signed(), part.rows.cast_signed());
            client.execute_typed(&note, &[(&name, Type::TEXT), (&number, Type::INT4), (&rows, Type::INT8)]).await?;
        }
        client.batch_execute(if whole { "COMMIT" } else { "ROLLBACK" }).await?;
        Ok(sent)
    };
    match work().await.map_err(|error| of_command(&format!("cannot load {name}"), &error))? {
        Some((_, rows)) if rows != part.rows => {
            Err(Error::Database(format!("part {} of {name} came to {rows} rows instead of {}", part.number, part.rows)))
        }
        sent => Ok(sent.map(|(bytes, _)| bytes)),
    }
}

/// Sends the rows of a part. Bytes sent and rows taken, or none if the load was stopped, which aborts the copy.
async fn send_rows<W: Port>(
    client: &Client,
    rows: &mut <W::Population as Population>::Rows,
    table: &Table,
    part: &Part,
    stop: &AtomicBool,
) -> Result<Option<(u64, u64)>, tokio_postgres::Error> {
    let mut bytes = 0;
    let mut encoder = CopyRows::new(table.columns.len());
    let mut sink = pin!(client.copy_in(&copy::statement(W::NAME, table)).await?);
    for unit in 0..part.units {
        rows.write(part, unit, &mut encoder);
        if let Some(chunk) = encoder.chunk() {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            bytes += chunk.len() as u64;
            sink.feed(chunk).await?;
        }
    }
    let last = encoder.finish();
    bytes += last.len() as u64;
    sink.feed(last).await?;
    Ok(Some((bytes, sink.finish().await?)))
}

#[derive(Clone, Copy)]
enum Declared {
    Index,
    Constraint,
}

/// Makes a key, unless it is there already.
async fn declare<W: Port>(client: &Client, key: &Named<'_>, kind: Declared) -> Result<(), Error> {
    let failed = |error| of_command(&format!("cannot declare {}", key.name), &error);
    let there = match kind {
        Declared::Index => catalog::has_index(client, W::NAME, key.name).await,
        Declared::Constraint => catalog::has_constraint(client, W::NAME, key.name).await,
    };
    if there.map_err(failed)? {
        return Ok(());
    }
    let make = async || {
        // Sorting in memory is much of an index's making.
        let memory = "SELECT set_config('maintenance_work_mem', '256MB', true) \
                      WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes('256MB')";
        client.batch_execute(memory).await?;
        client.batch_execute(key.sql).await
    };
    step(client, W::NAME, Lock::Shared, &format!("cannot declare {}", key.name), make).await
}

/// Works through a list with several clients at a time.
pub(super) async fn side_by_side<T>(
    clients: &[Client],
    items: &[T],
    work: impl AsyncFn(&Client, &T) -> Result<(), Error>,
) -> Result<(), Error> {
    let next = Cell::new(0);
    let worker = async |client| {
        while let Some(item) = items.get(next.replace(next.get() + 1)) {
            work(client, item).await?;
        }
        Ok(())
    };
    try_join_all(clients.iter().map(worker)).await.map(|_| ())
}

/// Rows of a table, counted.
pub(super) async fn count(client: &Client, schema: &str, table: &str) -> Result<u64, Error> {
    let failed = |error| of_command(&format!("cannot count {table}"), &error);
    let rows = client.query_typed(&format!("SELECT count(*) FROM {schema}.{table}"), &[]).await.map_err(failed)?;
    let count: Option<i64> = rows.first().map(|row| row.try_get(0)).transpose().map_err(failed)?;
    Ok(count.unwrap_or(0).unsigned_abs())
}

/// Removes the workload's tables, its procedures and what Graymark keeps with them; the schema too, if nothing else is in it.
pub async fn drop_tables<W: Port>(target: &Target) -> Result<(), Error> {
    let guard = target.connect(&[]).await?;
    claim::<W>(&guard).await?;
    let client = target.connect(&[]).await?;
    let failed = |error| of_command("cannot remove the tables", &error);
    let tables = W::TABLES.iter().map(|table| table.name).chain(catalog::METADATA);
    let tables: Vec<String> = tables.map(|name| format!("{}.{name}", W::NAME)).collect();
    let remove = async || client.batch_execute(&format!("DROP TABLE IF EXISTS {} CASCADE;\n{}", tables.join(", "), W::DROP)).await;
    step(&client, W::NAME, Lock::Alone, "cannot remove the tables", remove).await?;
    match client.batch_execute(&format!("DROP SCHEMA IF EXISTS {}", W::NAME)).await {
        // Someone keeps other things in it.
        Err(error) if error.code() == Some(&SqlState::DEPENDENT_OBJECTS_STILL_EXIST) => {}
        done => done.map_err(failed)?,
    }
    release(&guard).await
}
