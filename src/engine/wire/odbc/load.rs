//! Loading a population by arrays of rows: several sessions side by side, a transaction a part, resumable after an end
//! at any moment.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::mpsc;

use super::bulk::Insert;
use super::catalog::{self, Loaded, failed};
use super::dialect::Dialect;
use super::driver::Connection;
use super::failure::Diagnostic;
use super::schema;
use super::{Odbc, procedures, program};
use crate::engine::Error;
use crate::engine::dialect::Texts;
use crate::engine::load::{LoadObserver, Phases, counted, resumes_load_or_suggests, rows_of_tables};
use crate::engine::sql::WorkloadSql;
use crate::result::{LoadReport, Manifest, Via};
use crate::workload::{Part, Population, Rows, Table};

/// Loads a population, or goes on with one that was interrupted.
pub(super) async fn load(
    sql: &WorkloadSql,
    odbc: &Odbc,
    manifest: &Manifest,
    population: &impl Population,
    jobs: usize,
    on_step: LoadObserver<'_>,
) -> Result<LoadReport, Error> {
    let (mut phases, dialect) = (Phases::new(on_step), odbc.dialect);
    let _guard = catalog::claim(sql, odbc).await?;
    let connection = odbc.connect(sql.name)?;
    let resumes_load =
        resumes_load_or_suggests(&catalog::database_state(sql, &connection, dialect)?, manifest, "another database")?;
    if resumes_load && odbc.via == Via::Procedures {
        procedures::ensure_own(sql, &connection, dialect)?;
    }
    if !resumes_load || dialect.texts == Texts::Plain {
        phases.begin("schema");
        create(sql, &connection, dialect, manifest, resumes_load)?;
    }
    phases.begin("rows");
    let jobs = if dialect.begin.is_some() { 1 } else { jobs };
    rows(sql, &mut phases, odbc, &connection, population, jobs).await?;

    phases.begin("keys");
    for (name, text) in schema::keys(sql, dialect, manifest) {
        make(&connection, name, text)?;
        tokio::task::yield_now().await;
    }
    if manifest.foreign_keys {
        phases.begin("foreign keys");
        for (name, text) in schema::foreign_keys(sql, dialect) {
            make(&connection, name, &text)?;
            tokio::task::yield_now().await;
        }
        if dialect.texts == Texts::Sqlite {
            see_parents(&connection)?;
        }
    }
    if odbc.via == Via::Procedures {
        phases.begin("procedures");
        procedures::create(sql, &connection, dialect)?;
    }
    if dialect.statistics("").is_some() {
        phases.begin("statistics");
        for statement in population.tables().iter().filter_map(|table| dialect.statistics(table.name)) {
            let done = connection.execute(&statement);
            done.map_err(|error| failed("cannot make statistics", &error))?;
            tokio::task::yield_now().await;
        }
    }
    phases.begin("verify");
    verify(&mut phases, &connection, population).await?;
    catalog::complete(&connection, dialect)?;
    Ok(phases.end())
}

/// Makes the tables, or those of them that an interrupted load has not made. What proves them to be Graymark's comes
/// first, for not every database takes tables back.
fn create(
    sql: &WorkloadSql,
    connection: &Connection,
    dialect: Dialect,
    manifest: &Manifest,
    resumes_load: bool,
) -> Result<(), Error> {
    let cannot = |error: &Diagnostic| failed("cannot create the tables", error);
    // Where tables belong to transactions, there are all of them or none.
    super::begin(connection, dialect).map_err(|error| cannot(&error))?;
    if let Some(schema) = dialect.schema {
        connection.execute(&schema.replace("{schema}", sql.name)).map_err(|error| cannot(&error))?;
    }
    if !resumes_load {
        catalog::write(sql, connection, dialect, manifest)?;
    }
    for text in schema::tables(sql, dialect, manifest) {
        for step in program::steps(&text) {
            match connection.execute(&step.sql) {
                Err(error) if resumes_load && catalog::is_there(&error) => {}
                done => done.map(|_| ()).map_err(|error| cannot(&error))?,
            }
        }
    }
    super::commit(connection, dialect).map_err(|error| cannot(&error))
}

/// Makes a key or an index that an interrupted load may have made already.
fn make(connection: &Connection, name: &str, sql: &str) -> Result<(), Error> {
    match connection.execute(sql) {
        Err(error) if catalog::is_there(&error) => Ok(()),
        done => done.map(|_| ()).map_err(|error| failed(&format!("cannot make {name}"), &error)),
    }
}

/// SQLite does not look at foreign keys while rows are loaded.
fn see_parents(connection: &Connection) -> Result<(), Error> {
    let reply = connection.query("SELECT \"table\", parent FROM pragma_foreign_key_check LIMIT 1");
    let reply = reply.map_err(|error| failed("cannot check the foreign keys", &error))?;
    match reply.rows.first() {
        None => Ok(()),
        Some(row) => Err(Error::Database(format!(
            "a row of {} refers to a row of {} that is not there: drop the tables and load again",
            row.text(0).unwrap_or_default(),
            row.text(1).unwrap_or_default()
        ))),
    }
}

/// Rows of a table.
pub(super) fn count(connection: &Connection, table: &str) -> Result<u64, Error> {
    let what = format!("cannot count {table}");
    let reply = connection.query(&format!("SELECT COUNT(*) FROM {table}")).map_err(|error| failed(&what, &error))?;
    let count = reply.rows.first().and_then(|row| row.long(0).ok());
    count.map(i64::unsigned_abs).ok_or_else(|| Error::Database(format!("{what}: the database gives no number")))
}

async fn rows(
    sql: &WorkloadSql,
    phases: &mut Phases<'_>,
    odbc: &Odbc,
    connection: &Connection,
    population: &impl Population,
    jobs: usize,
) -> Result<(), Error> {
    let loaded = catalog::parts(connection, odbc.dialect)?;
    phases.resumed(loaded.values().map(|part| part.rows).sum(), loaded.values().map(|part| part.bytes).sum());
    let tables = population.tables();
    let is_missing = |part: &Part| {
        tables.get(part.table).is_some_and(|table| !loaded.contains_key(&(table.name.to_owned(), part.number)))
    };
    let parts: VecDeque<Part> = population.parts().into_iter().filter(is_missing).collect();
    let jobs = jobs.clamp(1, parts.len().max(1));
    let (tell, mut hear) = mpsc::unbounded_channel();
    let mut loaders = Loaders { stop: Arc::default(), threads: Vec::new() };
    let parts = Arc::new(Mutex::new(parts));
    for _ in 0..jobs {
        let (sql, odbc, population, parts) = (*sql, odbc.clone(), population.clone(), Arc::clone(&parts));
        let (stop, tell) = (Arc::clone(&loaders.stop), tell.clone());
        let work = move || {
            let done = work(&sql, &odbc, &population, &parts, &stop, &tell);
            if let Err(error) = done {
                // Nobody hears it if another loader's error came first.
                let _ = tell.send(Err(error));
            }
        };
        let thread = std::thread::Builder::new().name("loader".to_owned()).spawn(work);
        let thread = thread.map_err(|error| Error::Database(format!("cannot start a loading thread: {error}")))?;
        loaders.threads.push(thread);
    }
    drop(tell);
    while let Some(step) = hear.recv().await {
        match step? {
            Step::Sent => phases.sent(),
            Step::Part(Loaded { rows, bytes }) => phases.loaded(rows, bytes),
        }
    }
    Ok(())
}

async fn verify(phases: &mut Phases<'_>, connection: &Connection, population: &impl Population) -> Result<(), Error> {
    for (number, wanted) in rows_of_tables(&population.parts()) {
        let Some(table) = population.tables().get(number) else { continue };
        let found = count(connection, table.name)?;
        counted(table.name, found, wanted)?;
        phases.report.tables.push((table.name.to_owned(), found));
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// What a loader reports.
enum Step {
    /// The database has accepted an array of rows.
    Sent,
    /// A part is committed.
    Part(Loaded),
}

/// Where a loader reports its steps and its error.
type Reporter = mpsc::UnboundedSender<Result<Step, Error>>;

/// Threads that load. When this is dropped they end with the rows that they are at, and what is not committed is taken
/// back.
struct Loaders {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Loaders {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A loader that panicked has loaded nothing more, which the verification finds.
            let _ = thread.join();
        }
    }
}

/// Loads one part after the other.
fn work(
    sql: &WorkloadSql,
    odbc: &Odbc,
    population: &impl Population,
    parts: &Mutex<VecDeque<Part>>,
    stop: &AtomicBool,
    tell: &Reporter,
) -> Result<(), Error> {
    let connection = odbc.connect(sql.name)?;
    let mut rows = population.rows();
    loop {
        let part = parts.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(part) = part.filter(|_| !stop.load(Ordering::Relaxed)) else { return Ok(()) };
        let Some(table) = population.tables().get(part.table) else { continue };
        let loaded = load_part(&connection, odbc.dialect, table, &part, &mut rows, stop, tell);
        match loaded.map_err(|error| failed(&format!("cannot load {}", table.name), &error))? {
            Some(loaded) if tell.send(Ok(Step::Part(loaded))).is_ok() => {}
            _ => return Ok(()),
        }
    }
}

/// Loads a part in one transaction; none if it was stopped.
fn load_part(
    connection: &Connection,
    dialect: Dialect,
    table: &Table,
    part: &Part,
    rows: &mut impl Rows,
    stop: &AtomicBool,
    tell: &Reporter,
) -> Result<Option<Loaded>, Diagnostic> {
    super::begin(connection, dialect)?;
    let mut sink = Insert::new(connection, dialect, table.name, table.columns)?;
    let mut told = 0;
    for unit in 0..part.units {
        rows.write(part, unit, &mut sink);
        if sink.arrays_sent() > told {
            told = sink.arrays_sent();
            // The receiver is gone if another loader's error came first, which also sets `stop`.
            let _ = tell.send(Ok(Step::Sent));
        }
        if sink.has_failed() || stop.load(Ordering::Relaxed) {
            break;
        }
    }
    if stop.load(Ordering::Relaxed) {
        super::rollback(connection, dialect)?;
        return Ok(None);
    }
    let loaded = sink.end()?;
    catalog::add_part(connection, dialect, table.name, part.number, loaded)?;
    super::commit(connection, dialect)?;
    Ok(Some(loaded))
}
