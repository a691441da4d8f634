//! Loads a population: parallel binary copies, then keys, statistics and a count of every table.
//!
//! Each part of the population is one transaction that first inserts a note of the part, so that an interrupted load is
//! continued, and no part is loaded twice. Two advisory locks exclude other loads: one is held by the loading process,
//! the other is shared by each of its writing transactions, which may outlive it at the server for a while. If a
//! dialect has no such locks, the loading process holds an uncommitted row, and its successor's notes wait for
//! transactions that outlive it.

use std::pin::pin;
use std::sync::atomic::Ordering;

use futures_util::SinkExt;
use futures_util::future::try_join_all;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

use super::alone;
use super::bulk::{self, CopyRows};
use super::catalog;
use super::connect::Target;
use super::failure::of_command;
use super::holders;
use super::locks::{self, Tables};
use super::procedures;
use super::schema::Schema;
use super::slices;
use super::stripes;
use crate::engine::dialect::{Dialect, Guard};
use crate::engine::load::{
    LoadObserver, Phases, Share, counted_among_others, resumes_load, rows_of_tables, side_by_side,
};
use crate::engine::server::postgres::Server;
use crate::engine::sql::script::Named;
use crate::engine::sql::{Removal, WorkloadSql};
use crate::engine::{Error, ownership};
use crate::result::{LoadReport, Manifest, Procedures};
use crate::workload::{Part, Population, Rows, Table};

/// Creates and fills the tables, or continues an interrupted load of the same manifest.
pub async fn load<P: Population>(
    target: &Target,
    sql: &WorkloadSql,
    manifest: &Manifest,
    population: &P,
    jobs: usize,
    on_step: LoadObserver<'_>,
    server: Option<&Server>,
) -> Result<LoadReport, Error> {
    let jobs = jobs.max(1);
    sql.has_foreign_keys(manifest)?;
    let mut phases = Phases::new(on_step);
    let guard = target.connect(&[]).await?;
    let (schema, dialect) = (target.schema(sql.name), sql.dialect);
    let claimed = claim(&guard, &schema, dialect).await?;
    let client = target.connect(&[]).await?;

    phases.begin("schema");
    // Transactions of a killed load may still be running.
    step(&client, &schema, dialect, Lock::Alone, "cannot begin to load", async || Ok(())).await?;
    prepare(&client, &schema, sql, manifest).await?;
    let own = checked(&client, &schema, sql, manifest).await?;
    if !claimed {
        claim(&guard, &schema, dialect).await?;
    }

    let parts = population.parts();
    let noted = catalog::parts(&client, &schema).await?;
    let (begun, whole): (Vec<_>, Vec<_>) =
        noted.into_iter().partition(|noted| dialect.transaction_rows.is_some() && slices::is_begun(sql, &parts, noted));
    let open = phases.open_parts(sql.tables, &parts, &whole)?;
    phases.resumed(begun.iter().map(|(_, _, rows)| rows).sum(), 0);
    phases.begin("rows");
    let (to, name, from) = (target.clone(), sql.name, population.clone());
    match dialect.transaction_rows {
        None => {
            let own = own.clone();
            let copy = async move |share: &Share| copy_parts(&to, name, dialect, &own, &from, share).await;
            phases.load_parts(open, jobs, copy).await?;
        }
        Some(most) => {
            let copy = async move |share: &Share| slices::copy(&to, name, &from, share, &begun, most).await;
            phases.load_parts(open, jobs, copy).await?;
        }
    }

    phases.begin("keys");
    let mut clients = try_join_all((0..jobs).map(|_| target.connect(&[]))).await?;
    let keys = sql.keys();
    let make = async |client: &mut Client, key: &Named<'_>| {
        declare(client, &schema, dialect, &own, key, Declared::Index).await
    };
    side_by_side(&mut clients, &keys, make).await?;
    if manifest.foreign_keys {
        phases.begin("foreign keys");
        // Each locks two tables, so in parallel they would only block each other.
        for key in &sql.foreign_keys() {
            declare(&client, &schema, dialect, &own, key, Declared::Constraint).await?;
        }
    }
    if dialect.procedures {
        phases.begin("procedures");
        create_procedures(&client, &schema, sql, Lock::Shared, &[]).await?;
    }

    if let Some(server) = server.filter(|server| server.stripes().is_some()) {
        phases.begin("stripes");
        stripes::spread(&client, &schema, server).await?;
    }

    phases.begin("statistics");
    let analyze = async |client: &mut Client, (_, table): &(usize, &str)| {
        let done = client.batch_execute(&statistics(dialect, &schema, table)).await;
        done.map_err(|error| of_command(&format!("cannot analyze {table}"), &error))
    };
    let expected = rows_of_tables(&parts);
    let expected = |table: usize| expected.get(&table).copied().unwrap_or(0);
    let mut tables: Vec<(usize, &str)> = sql.tables.iter().map(|table| table.name).enumerate().collect();
    tables.sort_by_key(|(number, _)| std::cmp::Reverse(expected(*number)));
    side_by_side(&mut clients, &tables, analyze).await?;

    phases.begin("verify");
    for (number, table) in sql.tables.iter().enumerate() {
        let rows = count(&client, &schema, table.name).await?;
        counted_among_others(table.name, rows, expected(number))?;
        phases.report.tables.push((table.name.to_owned(), rows));
    }
    phases.report.database_bytes = catalog::bytes(&client, &schema, sql).await?;
    catalog::complete(&client, &schema).await?;
    release(&guard).await?;
    Ok(phases.end())
}

/// Acquires the lock of loads and restores, for as long as the client lives. The lock belongs to a transaction, not a
/// session, so that it works with a pooler; the transaction has no snapshot and does not hold back vacuum.
///
/// Returns whether it was acquired: if a row of Graymark's own tables is the lock, there is none until the tables
/// exist.
pub(super) async fn claim(guard: &Client, schema: &Schema, dialect: &Dialect) -> Result<bool, Error> {
    if dialect.guard == Guard::None {
        return Ok(true);
    }
    let failed = |error| of_command("cannot begin", &error);
    // A loader that has just ended may hold it for a moment.
    let settings = "SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL lock_timeout = '10s'";
    guard.batch_execute(&format!("BEGIN; {settings}")).await.map_err(failed)?;
    let lock = match dialect.guard {
        Guard::AdvisoryLock => {
            format!("SELECT pg_advisory_xact_lock(hashtext('graymark load'), hashtext({}))", schema.literal())
        }
        Guard::Row | Guard::None => {
            format!("INSERT INTO {schema}.graymark_parts (table_name, number, rows) VALUES ('graymark guard', 0, 0)")
        }
    };
    match guard.batch_execute(&lock).await {
        Ok(()) => Ok(true),
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => Err(Error::Database(format!(
            "another load or restore of {} is running in this database: wait for it or stop it",
            schema.name()
        ))),
        Err(error)
            if dialect.guard == Guard::Row
                && [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME]
                    .iter()
                    .any(|missing| error.code() == Some(missing)) =>
        {
            guard.batch_execute("ROLLBACK").await.map(|()| false).map_err(failed)
        }
        Err(error) => Err(failed(error)),
    }
}

/// The statement that updates the optimizer's statistics of a table.
pub(super) fn statistics(dialect: &Dialect, schema: &Schema, table: &str) -> String {
    dialect.statistics.replace("{table}", &format!("{schema}.{table}"))
}

/// Releases the lock, while the client remains.
pub(super) async fn release(guard: &Client) -> Result<(), Error> {
    guard.batch_execute("ROLLBACK").await.map_err(|error| of_command("cannot end", &error))
}

/// How a transaction holds the lock of a load's steps.
#[derive(Clone, Copy)]
pub(super) enum Lock {
    /// As one of several steps.
    Shared,
    /// Exclusively, after all steps have ended.
    Alone,
}

/// Begins a transaction that holds the lock of a load's steps.
pub(super) async fn begin(
    client: &Client,
    schema: &Schema,
    dialect: &Dialect,
    lock: Lock,
) -> Result<(), tokio_postgres::Error> {
    // What others commit during a wait for a lock is seen after it.
    let begin = if dialect.table_locks { "BEGIN ISOLATION LEVEL READ COMMITTED" } else { "BEGIN" };
    if dialect.guard != Guard::AdvisoryLock {
        return client.batch_execute(begin).await;
    }
    let function = match lock {
        Lock::Shared => "pg_advisory_xact_lock_shared",
        Lock::Alone => "pg_advisory_xact_lock",
    };
    client
        .batch_execute(&format!(
            "{begin}; SELECT {function}(hashtext('graymark step'), hashtext({}))",
            schema.literal()
        ))
        .await
}

/// Executes `work` in a transaction that holds the lock of a load's steps. `what` describes it in the error.
pub(super) async fn step(
    client: &Client,
    schema: &Schema,
    dialect: &Dialect,
    lock: Lock,
    what: &str,
    work: impl AsyncFnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let failed = |error| of_command(what, &error);
    begin(client, schema, dialect, lock).await.map_err(failed)?;
    work().await?;
    client.batch_execute("COMMIT").await.map_err(failed)
}

/// Creates the tables, or checks that existing ones are an unfinished load of the same manifest.
async fn prepare(client: &Client, schema: &Schema, sql: &WorkloadSql, manifest: &Manifest) -> Result<(), Error> {
    if resumes_load(catalog::database_state(client, schema, sql).await?, manifest)? {
        return if sql.dialect.procedures { procedures::ensure_own(client, schema, sql).await } else { Ok(()) };
    }
    catalog::create(client, schema, sql, manifest).await
}

/// The tables that a load has created or continues: they are checked while nobody can rename or change them. None, if
/// the dialect has no locks for that.
async fn checked(client: &Client, schema: &Schema, sql: &WorkloadSql, manifest: &Manifest) -> Result<Tables, Error> {
    let mut own = Tables::new();
    if !sql.dialect.table_locks {
        return Ok(own);
    }
    let what = "cannot lock the tables";
    let check = async || {
        let names: Vec<&str> = sql.tables.iter().map(|table| table.name).collect();
        let statement = |there: &Tables| locks::statement(schema, there, "ACCESS SHARE");
        own = match locks::lock(client, schema, &names, statement).await {
            Ok(locked) => locked,
            Err(error) => return Err(holders::explain(client, schema, what, &error).await),
        };
        resumes_load(catalog::database_state(client, schema, sql).await?, manifest).map(|_| ())
    };
    step(client, schema, sql.dialect, Lock::Shared, what, check).await?;
    Ok(own)
}

/// Copies parts of the population until there are no more, or the load is aborted.
async fn copy_parts<P: Population>(
    target: &Target,
    workload: &'static str,
    dialect: &Dialect,
    own: &Tables,
    population: &P,
    share: &Share,
) -> Result<(), Error> {
    let client = target.connect(&[]).await?;
    let schema = target.schema(workload);
    let (mut rows, tables) = (population.rows(), population.tables());
    while let Some(part) = share.take() {
        let to = Copying { client: &client, schema: &schema, dialect, own, table: &tables[part.table], share };
        match to.part(&mut rows, part).await? {
            Copied::Now { bytes } => share.loaded(part, bytes),
            Copied::Before => share.resumed(part),
            Copied::Stopped => break,
        }
    }
    Ok(())
}

/// The result of copying a part.
enum Copied {
    /// Loaded by this load.
    Now { bytes: u64 },
    /// Loaded by a killed load, whose transaction has just committed.
    Before,
    /// The load was aborted.
    Stopped,
}

/// The destination of the rows of a part.
struct Copying<'a> {
    client: &'a Client,
    schema: &'a Schema,
    dialect: &'a Dialect,
    /// The tables of this load, as they were checked.
    own: &'a Tables,
    table: &'a Table,
    share: &'a Share,
}

impl Copying<'_> {
    /// Copies one part in one transaction, which inserts its note first.
    async fn part(&self, rows: &mut impl Rows, part: &Part) -> Result<Copied, Error> {
        let name = self.table.name;
        let failed = |error| of_command(&format!("cannot load {name}"), &error);
        let noted = self.note(part).await.map_err(failed)?;
        if !noted {
            return Ok(Copied::Before);
        }
        let sent = self.send_rows(rows, part).await.map_err(failed)?;
        let whole = sent.is_some_and(|(_, rows)| rows == part.rows);
        if whole {
            locks::ensure_same(self.client, self.schema, self.own, "nothing more was loaded").await?;
        }
        self.client.batch_execute(if whole { "COMMIT" } else { "ROLLBACK" }).await.map_err(failed)?;
        match sent {
            None => Ok(Copied::Stopped),
            Some((bytes, _)) if whole => Ok(Copied::Now { bytes }),
            Some((_, rows)) => Err(Error::Database(format!(
                "part {} of {name} came to {rows} rows instead of {}",
                part.number, part.rows
            ))),
        }
    }

    /// Begins a transaction with the note of a part. False, without a transaction, if the part is noted already.
    async fn note(&self, part: &Part) -> Result<bool, tokio_postgres::Error> {
        begin(self.client, self.schema, self.dialect, Lock::Shared).await?;
        let note = format!("INSERT INTO {}.graymark_parts (table_name, number, rows) VALUES ($1, $2, $3)", self.schema);
        let (name, number, rows) = (self.table.name, part.number.cast_signed(), part.rows.cast_signed());
        let values: [(&(dyn ToSql + Sync), Type); 3] =
            [(&name, Type::TEXT), (&number, Type::INT4), (&rows, Type::INT8)];
        match self.client.execute_typed(&note, &values).await {
            Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
                self.client.batch_execute("ROLLBACK").await.map(|()| false)
            }
            done => done.map(|_| true),
        }
    }

    /// Sends the rows of a part. Returns bytes sent and rows inserted, or `None` if the load was aborted, which aborts
    /// the copy.
    async fn send_rows(&self, rows: &mut impl Rows, part: &Part) -> Result<Option<(u64, u64)>, tokio_postgres::Error> {
        let mut bytes = 0;
        let mut encoder = CopyRows::new(self.table.columns.len());
        let mut sink = pin!(self.client.copy_in(&bulk::statement(self.schema, self.table)).await?);
        for unit in 0..part.units {
            rows.write(part, unit, &mut encoder);
            if let Some(chunk) = encoder.chunk() {
                if self.share.stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                bytes += chunk.len() as u64;
                sink.feed(chunk).await?;
                self.share.sent();
            }
        }
        let last = encoder.finish();
        bytes += last.len() as u64;
        sink.feed(last).await?;
        Ok(Some((bytes, sink.finish().await?)))
    }
}

#[derive(Clone, Copy)]
enum Declared {
    Index,
    Constraint,
}

/// Creates a key unless it exists.
async fn declare(
    client: &Client,
    schema: &Schema,
    dialect: &Dialect,
    own: &Tables,
    key: &Named<'_>,
    kind: Declared,
) -> Result<(), Error> {
    let failed = |error| of_command(&format!("cannot declare {}", key.name), &error);
    let is_there = async || match kind {
        Declared::Index => catalog::has_index(client, schema.name(), key.name).await,
        Declared::Constraint => catalog::has_constraint(client, schema.name(), key.name).await,
    };
    if is_there().await.map_err(failed)? {
        return if dialect.schema_alone { alone::made(client, schema, dialect, key.name).await } else { Ok(()) };
    }
    if dialect.schema_alone {
        alone::change(client, &schema.sql(key.sql)).await.map_err(failed)?;
        return alone::made(client, schema, dialect, key.name).await;
    }
    let make = async || {
        client.batch_execute(dialect.before_index).await.map_err(failed)?;
        client.batch_execute(&schema.sql(key.sql)).await.map_err(failed)?;
        locks::ensure_same(client, schema, own, &format!("{} was not declared", key.name)).await
    };
    step(client, schema, dialect, Lock::Shared, &format!("cannot declare {}", key.name), make).await
}

/// Counts the rows of a table.
pub(super) async fn count(client: &Client, schema: &Schema, table: &str) -> Result<u64, Error> {
    let failed = |error| of_command(&format!("cannot count {table}"), &error);
    let rows = client.query_typed(&format!("SELECT count(*) FROM {schema}.{table}"), &[]).await.map_err(failed)?;
    let count: Option<i64> = rows.first().map(|row| row.try_get(0)).transpose().map_err(failed)?;
    Ok(count.unwrap_or(0).unsigned_abs())
}

/// Creates the procedures and notes that in the manifest, in one transaction, which first checks whose they are, and
/// drops `former` routines.
async fn create_procedures(
    client: &Client,
    schema: &Schema,
    sql: &WorkloadSql,
    lock: Lock,
    former: &[Removal],
) -> Result<(), Error> {
    let what = "cannot create the procedures";
    let failed = |error| of_command(what, &error);
    let create = async || {
        procedures::ensure_own(client, schema, sql).await?;
        let noted = ownership::note_procedures(&catalog::manifest_text(client, schema).await?, sql.procedure_names())?;
        for routine in former {
            client.batch_execute(&schema.sql(routine.sql)).await.map_err(failed)?;
        }
        client.batch_execute(&schema.sql(sql.procedures())).await.map_err(failed)?;
        catalog::change_manifest(client, schema, &noted).await.map_err(failed)
    };
    step(client, schema, sql.dialect, lock, what, create).await
}

/// Replaces the procedures of a complete load, in one transaction. They are dropped first, because a routine with
/// another return type cannot be replaced.
pub async fn renew_procedures(target: &Target, sql: &WorkloadSql) -> Result<(), Error> {
    let (schema, dialect) = (target.schema(sql.name), sql.dialect);
    let guard = target.connect(&[]).await?;
    claim(&guard, &schema, dialect).await?;
    let client = target.connect(&[]).await?;
    let (former, _) = procedures::proven(&client, &schema, sql).await?;
    create_procedures(&client, &schema, sql, Lock::Alone, &former).await?;
    release(&guard).await?;
    match procedures::compare(&client, &schema, sql).await? {
        Procedures::Other(names) => Err(Error::Database(format!(
            "Graymark's procedures are there, and others of the same names beside them ({}), which might be called \
             instead: look at \
             `\\df {schema}.*` in psql, and remove or rename those",
            names.join(", ")
        ))),
        _ => Ok(()),
    }
}
