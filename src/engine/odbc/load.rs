//! Loading a population by arrays of rows: several sessions side by side, a transaction a part, resumable after an end at any moment.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::mpsc;

use super::catalog::{self, Loaded, failed};
use super::connection::Connection;
use super::diagnostic::Diagnostic;
use super::dialect::{Dialect, Texts};
use super::insert::Insert;
use super::port::{self, Port};
use super::{Odbc, program};
use crate::engine::{Error, Holding, LoadReport, LoadStep, Manifest};
use crate::workload::{Part, Population, Rows, Table};

/// Loads a population, or goes on with one that was interrupted.
pub(super) async fn load<W: Port>(
    odbc: &Odbc,
    manifest: &Manifest,
    population: &W::Population,
    jobs: usize,
    told: &(dyn Fn(LoadStep) + Send + Sync),
) -> Result<LoadReport, Error> {
    let (began, dialect) = (Instant::now(), odbc.dialect);
    let connection = odbc.connect::<W>()?;
    let mut load = Load { told, report: LoadReport::default(), phase_began: Instant::now() };
    let profile = W::profile(&manifest.parameters).unwrap_or_default();
    match catalog::holding::<W>(&connection, dialect)? {
        Holding::Nothing => {
            load.begin("schema");
            create::<W>(&connection, dialect, manifest, profile)?;
            load.end("schema");
        }
        Holding::Unfinished(found) if found == *manifest => {}
        other => return Err(refuse(&other, manifest)),
    }
    load.begin("rows");
    let jobs = if dialect.begin.is_some() { 1 } else { jobs };
    load.rows::<W>(odbc, &connection, population, jobs).await?;
    load.end("rows");

    load.begin("keys");
    for (name, sql) in port::keys::<W>(dialect, profile) {
        make(&connection, name, sql)?;
        tokio::task::yield_now().await;
    }
    load.end("keys");
    if manifest.foreign_keys {
        load.begin("foreign keys");
        for (name, sql) in port::foreign_keys::<W>(dialect) {
            make(&connection, name, &sql)?;
            tokio::task::yield_now().await;
        }
        if dialect.texts == Texts::Sqlite {
            see_parents(&connection)?;
        }
        load.end("foreign keys");
    }
    if let Some(statistics) = dialect.statistics {
        load.begin("statistics");
        for table in population.tables() {
            let done = connection.execute(&statistics.replace("{table}", table.name));
            done.map_err(|error| failed("cannot make statistics", &error))?;
            tokio::task::yield_now().await;
        }
        load.end("statistics");
    }
    load.begin("verify");
    load.verify(&connection, population).await?;
    catalog::complete(&connection, dialect)?;
    load.end("verify");
    load.report.seconds = began.elapsed().as_secs_f64();
    Ok(load.report)
}

fn create<W: Port>(connection: &Connection, dialect: &Dialect, manifest: &Manifest, profile: usize) -> Result<(), Error> {
    let cannot = |error: &Diagnostic| failed("cannot create the tables", error);
    // Where tables belong to transactions, there are all of them or none.
    super::begin(connection, dialect).map_err(|error| cannot(&error))?;
    for text in port::tables::<W>(dialect, profile, manifest.foreign_keys) {
        for step in program::steps(&text) {
            connection.execute(&step.sql).map_err(|error| cannot(&error))?;
        }
    }
    catalog::write::<W>(connection, dialect, manifest)?;
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

struct Load<'a> {
    told: &'a (dyn Fn(LoadStep) + Send + Sync),
    report: LoadReport,
    phase_began: Instant,
}

impl Load<'_> {
    fn begin(&mut self, phase: &'static str) {
        (self.told)(LoadStep::Phase(phase));
        self.phase_began = Instant::now();
    }

    fn end(&mut self, phase: &'static str) {
        self.report.phases.push((phase.to_owned(), self.phase_began.elapsed().as_secs_f64()));
    }

    async fn rows<W: Port>(
        &mut self,
        odbc: &Odbc,
        connection: &Connection,
        population: &W::Population,
        jobs: usize,
    ) -> Result<(), Error> {
        let loaded = catalog::parts(connection, odbc.dialect)?;
        let (rows, bytes) = loaded.values().fold((0, 0), |(rows, bytes), part| (rows + part.rows, bytes + part.bytes));
        if rows > 0 {
            self.report.resumed_rows = rows;
            (self.told)(LoadStep::Rows { rows, bytes, resumed: true });
        }
        let tables = population.tables();
        let is_missing =
            |part: &Part| tables.get(part.table).is_some_and(|table| !loaded.contains_key(&(table.name.to_owned(), part.number)));
        let parts: VecDeque<Part> = population.parts().into_iter().filter(is_missing).collect();
        let jobs = jobs.clamp(1, parts.len().max(1));
        let (tell, mut hear) = mpsc::unbounded_channel();
        let mut loaders = Loaders { stop: Arc::default(), threads: Vec::new() };
        let parts = Arc::new(Mutex::new(parts));
        for _ in 0..jobs {
            let (odbc, population, parts) = (odbc.clone(), population.clone(), Arc::clone(&parts));
            let (stop, tell) = (Arc::clone(&loaders.stop), tell.clone());
            let work = move || {
                let done = work::<W>(&odbc, &population, &parts, &stop, &tell);
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
        while let Some(part) = hear.recv().await {
            let Loaded { rows, bytes } = part?;
            self.report.rows += rows;
            self.report.bytes += bytes;
            (self.told)(LoadStep::Rows { rows, bytes, resumed: false });
        }
        Ok(())
    }

    async fn verify(&mut self, connection: &Connection, population: &impl Population) -> Result<(), Error> {
        let mut wanted: BTreeMap<usize, u64> = BTreeMap::new();
        for part in population.parts() {
            *wanted.entry(part.table).or_default() += part.rows;
        }
        for (number, wanted) in wanted {
            let Some(table) = population.tables().get(number) else { continue };
            let found = count(connection, table.name)?;
            if found != wanted {
                return Err(Error::Database(format!(
                    "table {} has {found} rows instead of {wanted} after the load: drop the tables and load again",
                    table.name
                )));
            }
            self.report.tables.push((table.name.to_owned(), found));
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}

/// Threads that load. When this is dropped they end with the rows that they are at, and what is not committed is taken back.
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
fn work<W: Port>(
    odbc: &Odbc,
    population: &W::Population,
    parts: &Mutex<VecDeque<Part>>,
    stop: &AtomicBool,
    tell: &mpsc::UnboundedSender<Result<Loaded, Error>>,
) -> Result<(), Error> {
    let connection = odbc.connect::<W>()?;
    let mut rows = population.rows();
    loop {
        let part = parts.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(part) = part.filter(|_| !stop.load(Ordering::Relaxed)) else { return Ok(()) };
        let Some(table) = population.tables().get(part.table) else { continue };
        let loaded = load_part(&connection, odbc.dialect, table, &part, &mut rows, stop);
        match loaded.map_err(|error| failed(&format!("cannot load {}", table.name), &error))? {
            Some(loaded) if tell.send(Ok(loaded)).is_ok() => {}
            _ => return Ok(()),
        }
    }
}

/// Loads a part in one transaction; none if it was stopped.
fn load_part(
    connection: &Connection,
    dialect: &'static Dialect,
    table: &Table,
    part: &Part,
    rows: &mut impl Rows,
    stop: &AtomicBool,
) -> Result<Option<Loaded>, Diagnostic> {
    super::begin(connection, dialect)?;
    let mut sink = Insert::new(connection, dialect, table.name, table.columns)?;
    for unit in 0..part.units {
        rows.write(part, unit, &mut sink);
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

fn refuse(holding: &Holding, wanted: &Manifest) -> Error {
    Error::Usage(match holding {
        Holding::Nothing => "it was emptied just now: try again".to_owned(),
        Holding::Other { workload } => format!("it holds the workload {workload}; name another database"),
        Holding::Foreign { why } => format!("{why}; drop the workload's tables first, or name another database"),
        Holding::Complete(found) => {
            format!("it is loaded already ({}); use it as it is, drop its tables first, or name another database", describe(found))
        }
        Holding::Unfinished(found) => format!(
            "it holds an unfinished load of {}, not of {}; ask for the former to go on with it, or drop its tables first",
            describe(found),
            describe(wanted)
        ),
    })
}

fn describe(manifest: &Manifest) -> String {
    let keys = if manifest.foreign_keys { "with" } else { "without" };
    format!("scale {}, seed {}, date {}, {keys} foreign keys", manifest.scale, manifest.seed, manifest.date)
}
