//! Loads a population: parallel binary copies, then keys, statistics and a count of every table.
//!
//! Each part of the population is one transaction that also notes the part, so that an interrupted load goes on where
//! it was. Two advisory locks keep loads apart: one is held by the loading process, the other is shared by each of its
//! writing transactions, which may outlive it at the server for a while.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::SinkExt;
use futures_util::future::try_join_all;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use super::Port;
use super::catalog;
use super::connect::Target;
use super::copy::{self, CopyRows};
use super::failure::of_command;
use super::routine;
use super::schema::Schema;
use crate::engine::Error;
use crate::engine::load::{LoadObserver, Phases, Share, counted_among_others, goes_on, rows_of_tables, side_by_side};
use crate::engine::sql::script::{self, Named};
use crate::result::{LoadReport, Manifest, Procedures};
use crate::workload::{Part, Population, Rows, Table};

/// Creates and fills the tables, or goes on with an interrupted load of the same manifest.
pub async fn load<W: Port>(
    target: &Target,
    manifest: &Manifest,
    population: &W::Population,
    jobs: usize,
    told: LoadObserver<'_>,
) -> Result<LoadReport, Error> {
    let jobs = jobs.max(1);
    let mut phases = Phases::new(told);
    let guard = target.connect(&[]).await?;
    let schema = target.schema(W::NAME);
    claim(&guard, &schema).await?;
    let client = target.connect(&[]).await?;

    phases.begin("schema");
    // Transactions of a load that was killed may still be at work.
    step(&client, &schema, Lock::Alone, "cannot begin to load", async || Ok(())).await?;
    prepare::<W>(&client, &schema, manifest).await?;

    let parts = population.parts();
    let open = phases.open_parts(W::TABLES, &parts, &catalog::parts(&client, &schema).await?)?;
    phases.begin("rows");
    let (to, from) = (target.clone(), population.clone());
    phases.bring(open, jobs, async move |share: &Share| copy_parts::<W>(&to, &from, share).await).await?;

    phases.begin("keys");
    let mut clients = try_join_all((0..jobs).map(|_| target.connect(&[]))).await?;
    let keys = script::statements(W::KEYS);
    let make = async |client: &mut Client, key: &Named<'_>| declare(client, &schema, key, Declared::Index).await;
    side_by_side(&mut clients, &keys, make).await?;
    if manifest.foreign_keys {
        phases.begin("foreign keys");
        // Each locks two tables, so side by side they would only get in each other's way.
        for key in &script::statements(W::FOREIGN_KEYS) {
            declare(&client, &schema, key, Declared::Constraint).await?;
        }
    }
    phases.begin("procedures");
    let create = async || client.batch_execute(&schema.sql(W::PROCEDURES)).await;
    step(&client, &schema, Lock::Shared, "cannot create the procedures", create).await?;

    phases.begin("statistics");
    // The rows' visibility is settled now, or it would be by the first readers and by autovacuum, in the middle of a
    // run.
    let vacuum = async |client: &mut Client, (_, table): &(usize, &str)| {
        let done = client.batch_execute(&format!("VACUUM (ANALYZE) {schema}.{table}")).await;
        done.map_err(|error| of_command(&format!("cannot analyze {table}"), &error))
    };
    let expected = rows_of_tables(&parts);
    let expected = |table: usize| expected.get(&table).copied().unwrap_or(0);
    let mut tables: Vec<(usize, &str)> = W::TABLES.iter().map(|table| table.name).enumerate().collect();
    tables.sort_by_key(|(number, _)| std::cmp::Reverse(expected(*number)));
    side_by_side(&mut clients, &tables, vacuum).await?;

    phases.begin("verify");
    for (number, table) in W::TABLES.iter().enumerate() {
        let rows = count(&client, &schema, table.name).await?;
        counted_among_others(table.name, rows, expected(number))?;
        phases.report.tables.push((table.name.to_owned(), rows));
    }
    phases.report.database_bytes = catalog::bytes(&client, &schema).await?;
    catalog::complete(&client, &schema).await?;
    release(&guard).await?;
    Ok(phases.end())
}

/// Makes this process the one that loads or restores, for as long as the client lives. The lock is a transaction's, not
/// a session's, so that a pooler keeps it too; the transaction has no snapshot and holds nothing else back.
pub(super) async fn claim(guard: &Client, schema: &Schema) -> Result<(), Error> {
    let failed = |error| of_command("cannot begin", &error);
    // A loader that has just ended may hold it for a moment.
    let settings = "SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL lock_timeout = '1s'";
    guard.batch_execute(&format!("BEGIN; {settings}")).await.map_err(failed)?;
    let lock = format!("SELECT pg_advisory_xact_lock(hashtext('graymark load'), hashtext({}))", schema.literal());
    match guard.batch_execute(&lock).await {
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => Err(Error::Database(format!(
            "another load or restore of {} is running in this database: wait for it or stop it",
            schema.name()
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
pub(super) async fn begin(client: &Client, schema: &Schema, lock: Lock) -> Result<(), tokio_postgres::Error> {
    let function = match lock {
        Lock::Shared => "pg_advisory_xact_lock_shared",
        Lock::Alone => "pg_advisory_xact_lock",
    };
    client
        .batch_execute(&format!("BEGIN; SELECT {function}(hashtext('graymark step'), hashtext({}))", schema.literal()))
        .await
}

/// Does something in a transaction that holds the lock of a load's steps. `what` it cannot do is said in the error.
pub(super) async fn step(
    client: &Client,
    schema: &Schema,
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
async fn prepare<W: Port>(client: &Client, schema: &Schema, manifest: &Manifest) -> Result<(), Error> {
    if goes_on(catalog::database_state::<W>(client, schema).await?, manifest)? {
        return Ok(());
    }
    let profile = W::profile(&manifest.parameters).unwrap_or_default();
    catalog::create::<W>(client, schema, W::schema(profile), manifest).await
}

/// Copies parts of the population until there are no more, or the load is stopped.
async fn copy_parts<W: Port>(target: &Target, population: &W::Population, share: &Share) -> Result<(), Error> {
    let client = target.connect(&[]).await?;
    let schema = target.schema(W::NAME);
    let (mut rows, tables) = (population.rows(), population.tables());
    while let Some(part) = share.take() {
        let Some(bytes) = copy_part::<W>(&client, &schema, &mut rows, &tables[part.table], part, &share.stop).await?
        else {
            break;
        };
        share.brought(part, bytes);
    }
    Ok(())
}

/// Copies one part in one transaction, and notes it. The bytes that were sent, or none if the load was stopped.
async fn copy_part<W: Port>(
    client: &Client,
    schema: &Schema,
    rows: &mut <W::Population as Population>::Rows,
    table: &Table,
    part: &Part,
    stop: &AtomicBool,
) -> Result<Option<u64>, Error> {
    let name = table.name;
    let mut work = async || {
        begin(client, schema, Lock::Shared).await?;
        let sent = send_rows::<W>(client, schema, rows, table, part, stop).await?;
        let whole = sent.is_some_and(|(_, rows)| rows == part.rows);
        if whole {
            let note = format!("INSERT INTO {schema}.graymark_parts (table_name, number, rows) VALUES ($1, $2, $3)");
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
    schema: &Schema,
    rows: &mut <W::Population as Population>::Rows,
    table: &Table,
    part: &Part,
    stop: &AtomicBool,
) -> Result<Option<(u64, u64)>, tokio_postgres::Error> {
    let mut bytes = 0;
    let mut encoder = CopyRows::new(table.columns.len());
    let mut sink = pin!(client.copy_in(&copy::statement(schema, table)).await?);
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
async fn declare(client: &Client, schema: &Schema, key: &Named<'_>, kind: Declared) -> Result<(), Error> {
    let failed = |error| of_command(&format!("cannot declare {}", key.name), &error);
    let there = match kind {
        Declared::Index => catalog::has_index(client, schema.name(), key.name).await,
        Declared::Constraint => catalog::has_constraint(client, schema.name(), key.name).await,
    };
    if there.map_err(failed)? {
        return Ok(());
    }
    let make = async || {
        // Sorting in memory is much of an index's making.
        let memory = "SELECT set_config('maintenance_work_mem', '256MB', true) \
                      WHERE pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes('256MB')";
        client.batch_execute(memory).await?;
        client.batch_execute(&schema.sql(key.sql)).await
    };
    step(client, schema, Lock::Shared, &format!("cannot declare {}", key.name), make).await
}

/// Rows of a table, counted.
pub(super) async fn count(client: &Client, schema: &Schema, table: &str) -> Result<u64, Error> {
    let failed = |error| of_command(&format!("cannot count {table}"), &error);
    let rows = client.query_typed(&format!("SELECT count(*) FROM {schema}.{table}"), &[]).await.map_err(failed)?;
    let count: Option<i64> = rows.first().map(|row| row.try_get(0)).transpose().map_err(failed)?;
    Ok(count.unwrap_or(0).unsigned_abs())
}

/// Makes the procedures of a complete load anew, in one transaction. They are dropped first, for one that returns
/// something else cannot be replaced.
pub async fn renew_procedures<W: Port>(target: &Target) -> Result<(), Error> {
    let schema = target.schema(W::NAME);
    let guard = target.connect(&[]).await?;
    claim(&guard, &schema).await?;
    let client = target.connect(&[]).await?;
    let sql = format!("{}\n{}", schema.sql(W::DROP), schema.sql(W::PROCEDURES));
    let renew = async || client.batch_execute(&sql).await;
    step(&client, &schema, Lock::Alone, "cannot make the procedures anew", renew).await?;
    release(&guard).await?;
    match routine::compare::<W>(&client, &schema).await? {
        Procedures::Other(names) => Err(Error::Database(format!(
            "Graymark's procedures are there, and others of the same names beside them ({}), which might be called instead: look at \
             `\\df {schema}.*` in psql, and remove or rename those",
            names.join(", ")
        ))),
        _ => Ok(()),
    }
}
