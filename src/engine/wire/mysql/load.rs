//! Loads a population: parallel `LOAD DATA LOCAL` from memory, then keys, statistics and a count of every table.
//!
//! Each part of the population is one transaction that first inserts a note of the part, so that an interrupted load is
//! continued, and a part whose transaction outlives its loader at the server is not loaded twice: the second loader
//! waits at the note. A named lock excludes other loads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use futures_util::future::try_join_all;
use futures_util::stream;
use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::bulk::{self, Chunks};
use super::connect::Target;
use super::failure::{DEADLOCK, DUPLICATE_KEY, code, of_command};
use super::query::Read;
use super::{catalog, procedures};
use crate::engine::Error;
use crate::engine::dialect::Dialect;
use crate::engine::load::{
    LoadObserver, Phases, Share, counted_among_others, resumes_load, rows_of_tables, side_by_side,
};
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::script::Named;
use crate::result::{LoadReport, Manifest};
use crate::workload::{Part, Population, Table};

/// Foreign keys are declared after the rows; remaining transactions of a killed load are waited for.
const SETTINGS: [&str; 3] = ["foreign_key_checks = 0", "innodb_lock_wait_timeout = 600", "lock_wait_timeout = 600"];

/// Creates and fills the tables, or continues an interrupted load of the same manifest.
pub async fn load<P: Population>(
    target: &Target,
    sql: &WorkloadSql,
    manifest: &Manifest,
    population: &P,
    jobs: usize,
    on_step: LoadObserver<'_>,
) -> Result<LoadReport, Error> {
    let jobs = jobs.max(1);
    let database = target.database(sql.name);
    let mut phases = Phases::new(on_step);
    let guard = claim(target, database).await?;

    phases.begin("schema");
    let made = target.own_database() && create_database(target, database).await?;
    let mut conn = target.connect(Some(database), &SETTINGS).await?;
    prepare(&mut conn, database, sql, manifest).await?;
    if made {
        catalog::note_own_database(&mut conn, database).await?;
    }

    let parts = population.parts();
    let open = phases.open_parts(sql.tables, &parts, &catalog::parts(&mut conn).await?)?;
    phases.begin("rows");
    let (to, of, from) = (target.clone(), database.to_owned(), population.clone());
    phases.load_parts(open, jobs, async move |share: &Share| copy_parts(&to, &of, &from, share).await).await?;

    phases.begin("keys");
    let mut conns = try_join_all((0..jobs).map(|_| target.connect(Some(database), &SETTINGS))).await?;
    let keys = sql.keys();
    side_by_side(&mut conns, &keys, async |conn: &mut Conn, key: &Named<'_>| declare(conn, key, Declared::Index).await)
        .await?;
    if manifest.foreign_keys {
        phases.begin("foreign keys");
        // Each locks two tables, so in parallel they would only block each other.
        for key in &sql.foreign_keys() {
            declare(&mut conn, key, Declared::Constraint).await?;
        }
    }
    if sql.dialect.procedures {
        phases.begin("procedures");
        procedures::create(&mut conn, sql).await?;
    }

    phases.begin("statistics");
    let expected = rows_of_tables(&parts);
    let expected = |table: usize| expected.get(&table).copied().unwrap_or(0);
    let mut tables: Vec<(usize, &str)> = sql.tables.iter().map(|table| table.name).enumerate().collect();
    tables.sort_by_key(|(number, _)| std::cmp::Reverse(expected(*number)));
    side_by_side(&mut conns, &tables, async |conn: &mut Conn, (_, table): &(usize, &str)| {
        analyze(conn, sql.dialect, table).await
    })
    .await?;

    phases.begin("verify");
    let counted = Mutex::new(vec![0; sql.tables.len()]);
    let count = async |conn: &mut Conn, (number, table): &(usize, &str)| {
        let rows = count(conn, table).await?;
        counted.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[*number] = rows;
        Ok(())
    };
    side_by_side(&mut conns, &tables, count).await?;
    let counted = counted.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (number, (table, rows)) in sql.tables.iter().zip(counted).enumerate() {
        counted_among_others(table.name, rows, expected(number))?;
        phases.report.tables.push((table.name.to_owned(), rows));
    }
    phases.report.database_bytes = catalog::bytes(&mut conn).await?;
    catalog::complete(&mut conn).await?;
    release(guard).await?;
    Ok(phases.end())
}

/// Acquires the lock of loads and restores, for as long as the connection lives.
pub(super) async fn claim(target: &Target, database: &str) -> Result<Conn, Error> {
    let mut guard = target.connect(None, &["wait_timeout = 31536000"]).await?;
    // A loader that has just ended may hold it for a moment. Names of locks are short, and shared by all databases of a
    // server.
    let lock = guard.first_of("SELECT GET_LOCK(CONCAT('graymark ', SHA1(?)), 10)", (database,)).await;
    match lock.map_err(|error| of_command("cannot begin", &error))? {
        Some(Some(1)) => Ok(guard),
        _ => Err(Error::Database(format!(
            "another load or restore is running in the database {database}: wait for it or stop it"
        ))),
    }
}

/// Releases the lock.
pub(super) async fn release(mut guard: Conn) -> Result<(), Error> {
    guard.query_drop("DO RELEASE_ALL_LOCKS()").await.map_err(|error| of_command("cannot end", &error))
}

/// Creates the database unless it exists. Returns whether it was created.
async fn create_database(target: &Target, database: &str) -> Result<bool, Error> {
    let failed = |error| of_command(&format!("cannot create the database {database}"), &error);
    let mut conn = target.connect(None, &[]).await?;
    let sql = "SELECT count(*) FROM information_schema.schemata WHERE schema_name = ?";
    if conn.first_of(sql, (database,)).await.map_err(failed)? != Some(0) {
        return Ok(false);
    }
    conn.query_drop(format!("CREATE DATABASE `{database}`")).await.map(|()| true).map_err(failed)
}

/// Creates the tables, or checks that existing ones are an unfinished load of the same manifest.
async fn prepare(conn: &mut Conn, database: &str, sql: &WorkloadSql, manifest: &Manifest) -> Result<(), Error> {
    // What an interrupted load has not created is created, too.
    if resumes_load(catalog::database_state(conn, database, sql).await?, manifest)? && sql.dialect.procedures {
        procedures::ensure_own(conn, sql).await?;
    }
    catalog::create(conn, sql, manifest).await
}

/// Sends parts of the population until there are no more, or the load is aborted.
async fn copy_parts<P: Population>(
    target: &Target,
    database: &str,
    population: &P,
    share: &Share,
) -> Result<(), Error> {
    let mut conn = target.connect(Some(database), &SETTINGS).await?;
    let tables = population.tables();
    while let Some(part) = share.take() {
        match copy_part(&mut conn, population, &tables[part.table], *part, share).await? {
            Some(Sent::Now { bytes }) => share.loaded(part, bytes),
            Some(Sent::Before) => share.resumed(part),
            None => break,
        }
    }
    Ok(())
}

/// Who sent a part's rows.
enum Sent {
    /// By this load.
    Now { bytes: u64 },
    /// A killed load whose transaction has just committed.
    Before,
}

/// Sends one part in one transaction with its note. `None` if the load was aborted.
async fn copy_part<P: Population>(
    conn: &mut Conn,
    population: &P,
    table: &Table,
    part: Part,
    share: &Share,
) -> Result<Option<Sent>, Error> {
    let name = table.name;
    let failed = |error| of_command(&format!("cannot load {name}"), &error);
    if !note(conn, name, part).await.map_err(failed)? {
        return Ok(Some(Sent::Before));
    }
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    let reporter = share.clone();
    // The driver takes a chunk when it has sent the one before.
    let chunks = Chunks::new(population.rows(), part).inspect(move |_| reporter.sent());
    let sent = match send(conn, &bulk::statement(name, &columns), chunks, &share.stop).await {
        Err(_) if share.stop.load(Ordering::Relaxed) => return Ok(None),
        sent => sent.map_err(failed)?,
    };
    // LOAD DATA LOCAL reports a row that does not fit as a warning.
    if sent.rows != part.rows || sent.warnings > 0 {
        let why: Option<(String, u16, String)> = conn.first("SHOW WARNINGS LIMIT 1").await.map_err(failed)?;
        let why = why.map(|(_, _, text)| format!(": {text}")).unwrap_or_default();
        return Err(Error::Database(format!(
            "part {} of {name} came to {} rows instead of {}, with {} warnings{why}",
            part.number, sent.rows, part.rows, sent.warnings
        )));
    }
    conn.query_drop("COMMIT").await.map_err(failed)?;
    Ok(Some(Sent::Now { bytes: sent.bytes }))
}

/// Begins a transaction with the note of a part. False, without a transaction, if the part is noted already.
async fn note(conn: &mut Conn, table: &str, part: Part) -> Result<bool, mysql_async::Error> {
    let note = "INSERT INTO graymark_parts (table_name, number, row_count) VALUES (?, ?, ?)";
    loop {
        conn.query_drop("START TRANSACTION").await?;
        let Err(error) = conn.exec_drop(note, (table, part.number, part.rows)).await else { return Ok(true) };
        match code(&error) {
            Some(DUPLICATE_KEY) => {
                conn.query_drop("ROLLBACK").await?;
                return Ok(false);
            }
            // Two threads waited for notes of a killed load. When the server rolls these back, both hold the gap, and
            // neither can insert. The server has ended this one's transaction, and the other continues.
            Some(DEADLOCK) => {}
            _ => return Err(error),
        }
    }
}

/// The result of a `LOAD DATA`.
pub(super) struct Loaded {
    /// Inserted rows.
    pub rows: u64,
    /// Warnings about rows or values that were changed or rejected.
    pub warnings: u16,
    /// Bytes sent.
    pub bytes: u64,
}

/// Runs a `LOAD DATA LOCAL` with generated text.
pub(super) async fn send(
    conn: &mut Conn,
    statement: &str,
    chunks: impl Iterator<Item = bytes::Bytes> + Send + 'static,
    stop: &Arc<AtomicBool>,
) -> Result<Loaded, mysql_async::Error> {
    let sent = Arc::new(AtomicUsize::new(0));
    let (counter, stop) = (sent.clone(), stop.clone());
    // The driver requires `Sync`, which a mutex provides.
    let chunks = Mutex::new(chunks);
    conn.set_infile_handler(async move {
        let chunks = chunks.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let chunks = chunks.map(move |chunk| {
            if stop.load(Ordering::Relaxed) {
                return Err(std::io::Error::other("the load was stopped"));
            }
            counter.fetch_add(chunk.len(), Ordering::Relaxed);
            Ok(chunk)
        });
        Ok(stream::iter(chunks).boxed())
    });
    conn.query_drop(statement).await?;
    let bytes = sent.load(Ordering::Relaxed) as u64;
    Ok(Loaded { rows: conn.affected_rows(), warnings: conn.get_warnings(), bytes })
}

#[derive(Clone, Copy)]
enum Declared {
    Index,
    Constraint,
}

/// Creates a key unless it exists.
async fn declare(conn: &mut Conn, key: &Named<'_>, kind: Declared) -> Result<(), Error> {
    let failed = |error| of_command(&format!("cannot declare {}", key.name), &error);
    let is_there = async |conn: &mut Conn| match kind {
        Declared::Index => catalog::has_index(conn, key.name).await,
        Declared::Constraint => catalog::has_constraint(conn, key.name).await,
    };
    if is_there(conn).await.map_err(failed)? {
        return Ok(());
    }
    match conn.query_drop(key.sql).await {
        Ok(()) => Ok(()),
        // The server may have just completed the statement of a killed load.
        Err(_) if is_there(conn).await.is_ok_and(|there| there) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Updates the optimizer's statistics of a table.
pub(super) async fn analyze(conn: &mut Conn, dialect: &Dialect, table: &str) -> Result<(), Error> {
    let messages: Vec<(String, String, String, String)> = conn
        .rows(dialect.statistics.replace("{table}", table))
        .await
        .map_err(|error| of_command(&format!("cannot analyze {table}"), &error))?;
    match messages.iter().find(|(_, _, kind, _)| kind.eq_ignore_ascii_case("error")) {
        Some((_, _, _, text)) => Err(Error::Database(format!("cannot analyze {table}: {text}"))),
        None => Ok(()),
    }
}

/// Counts the rows of a table.
pub(super) async fn count(conn: &mut Conn, table: &str) -> Result<u64, Error> {
    let rows: Option<u64> = conn
        .first(format!("SELECT count(*) FROM {table}"))
        .await
        .map_err(|error| of_command(&format!("cannot count {table}"), &error))?;
    Ok(rows.unwrap_or(0))
}
