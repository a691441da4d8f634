//! Loads a population: one writer, one transaction per part, resumable after an interruption at any time.
//!
//! During a load, the file has a rollback journal and is locked exclusively. New pages are then written once, where a
//! write-ahead log would write them twice; and if the program is killed, the next one rolls back the part in progress.
//! The requested journal mode is set at the end.

use std::path::Path;
use std::sync::mpsc::Receiver;

use rusqlite::{CachedStatement, Connection};

use super::Sqlite;
use super::bulk::{self, Batch};
use super::catalog::{self, Loaded};
use super::connection::{self, Bound};
use crate::engine::Error;
use crate::engine::load::{LoadObserver, Phases, counted, resumes_load_or_suggests, rows_of_tables};
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::script::{self, Named};
use crate::result::{LoadReport, Manifest};
use crate::workload::value::{RowSink, Value};
use crate::workload::{Part, Population, Table};

/// Page cache during a load, in KiB. Rows come in key order, so a large cache would only contain pages that are written
/// once; indexes are sorted in as much memory again.
const CACHE_KIB: i64 = 16 * 1_024;

/// Rows of each index that ANALYZE reads: enough for the planner at any scale.
const ANALYSIS_LIMIT: i64 = 1_000;

/// Marks the lines of a schema that apply only with foreign keys.
const FOREIGN_KEY_LINE: &str = "-- only with foreign keys";

/// Why a load stopped.
enum Stop {
    Sqlite(rusqlite::Error),
    Said(Error),
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Stop::Sqlite(error)
    }
}

/// Loads a population into a file, or continues an interrupted load.
pub(super) async fn load(
    sql: &WorkloadSql,
    sqlite: &Sqlite,
    manifest: &Manifest,
    population: &impl Population,
    on_step: LoadObserver<'_>,
) -> Result<LoadReport, Error> {
    let connection = connection::create(&sqlite.options)?;
    let mut load = Load { connection: &connection, file: &sqlite.options.file, phases: Phases::new(on_step) };
    let done = load.run(sql, manifest, population).await;
    let report = load.phases.end();
    // Closing releases the file.
    let closed = connection.close().map_err(|(_, error)| Stop::from(error));
    match done.and(closed) {
        Ok(()) => {}
        Err(Stop::Said(Error::Usage(why))) => {
            return Err(Error::Usage(format!("{}: {why}", sqlite.options.file.display())));
        }
        Err(Stop::Said(Error::Database(why))) => {
            return Err(Error::Database(format!("{}: {why}", sqlite.options.file.display())));
        }
        Err(Stop::Said(error)) => return Err(error),
        Err(Stop::Sqlite(error)) => return Err(sqlite.explain(error)),
    }
    connection::configure(&connection::open(&sqlite.options)?, &sqlite.options, manifest.foreign_keys)?;
    Ok(report)
}

struct Load<'a> {
    connection: &'a Connection,
    file: &'a Path,
    phases: Phases<'a>,
}

impl Load<'_> {
    async fn run(&mut self, sql: &WorkloadSql, manifest: &Manifest, population: &impl Population) -> Result<(), Stop> {
        let database_state = catalog::database_state(sql, self.connection, self.file)?;
        let resumes = resumes_load_or_suggests(&database_state, manifest, "another file").map_err(Stop::Said)?;
        self.connection.pragma_update_and_check(None, "journal_mode", "truncate", |_| Ok(()))?;
        self.connection.pragma_update_and_check(None, "locking_mode", "exclusive", |_| Ok(()))?;
        self.connection.pragma_update(None, "synchronous", "full")?;
        self.connection.pragma_update(None, "foreign_keys", false)?;
        self.connection.pragma_update(None, "cache_size", -CACHE_KIB)?;

        let (tables, keys): (Vec<_>, Vec<_>) = script::statements(sql.schema(manifest))
            .into_iter()
            .partition(|statement| !statement.notes.contains_key("phase"));
        if !resumes {
            self.phases.begin("schema");
            self.create(sql, &tables, manifest)?;
        }
        self.phases.begin("rows");
        self.parts(sql, population).await?;
        self.phases.begin("keys");
        self.keys(&keys)?;
        if manifest.foreign_keys {
            self.phases.begin("foreign keys");
            self.foreign_keys()?;
        }
        self.phases.begin("statistics");
        self.statistics(sql)?;
        self.phases.begin("verify");
        self.verify(sql, population)?;
        self.phases.finish();
        Ok(catalog::complete(self.connection)?)
    }

    fn create(&mut self, sql: &WorkloadSql, tables: &[Named<'_>], manifest: &Manifest) -> Result<(), Stop> {
        let transaction = self.connection.unchecked_transaction()?;
        for table in tables {
            let kept = |line: &&str| manifest.foreign_keys || !line.contains(FOREIGN_KEY_LINE);
            let sql: Vec<&str> = table.sql.lines().filter(kept).collect();
            transaction.execute_batch(&sql.join("\n"))?;
        }
        catalog::write(sql, &transaction, manifest)?;
        Ok(transaction.commit()?)
    }

    async fn parts(&mut self, sql: &WorkloadSql, population: &impl Population) -> Result<(), Stop> {
        let loaded = catalog::parts(self.connection)?;
        self.phases.resumed(loaded.values().map(|part| part.rows).sum(), loaded.values().map(|part| part.bytes).sum());
        let is_open = |part: &Part| {
            let table = table(sql, population.tables(), part.table)?;
            Ok::<_, Stop>((!loaded.contains_key(&(table.name.to_owned(), part.number))).then_some((table, *part)))
        };
        let open: Vec<(&Table, Part)> =
            population.parts().iter().filter_map(|part| is_open(part).transpose()).collect::<Result<_, _>>()?;
        let made = bulk::start(population, open.iter().map(|(_, part)| *part).collect()).map_err(Stop::Said)?;
        for (table, part) in &open {
            let Loaded { rows, bytes } = self.part(table, part, &made).await?;
            self.phases.loaded(rows, bytes);
        }
        Ok(())
    }

    async fn part(&self, table: &Table, part: &Part, made: &Receiver<Batch>) -> Result<Loaded, Stop> {
        let transaction = self.connection.unchecked_transaction()?;
        let mut sink = Insert::new(self.connection.prepare_cached(&insert(table))?);
        loop {
            let gone = |_| Stop::Said(Error::Database("the thread that makes rows has ended: load again".to_owned()));
            let batch = made.recv().map_err(gone)?;
            batch.pour(&mut sink);
            if let Some(error) = sink.failed.take() {
                return Err(error.into());
            }
            if batch.is_last {
                break;
            }
            self.phases.sent();
            // Lets other tasks on this thread run, such as an interrupt.
            tokio::task::yield_now().await;
        }
        let loaded = sink.loaded;
        drop(sink);
        catalog::add_part(self.connection, table.name, part.number, loaded)?;
        transaction.commit()?;
        Ok(loaded)
    }

    fn keys(&mut self, keys: &[Named<'_>]) -> Result<(), Stop> {
        for key in keys {
            let there = self.connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?1")?.exists([key.name])?;
            if !there {
                self.connection.execute_batch(key.sql)?;
            }
        }
        Ok(())
    }

    fn foreign_keys(&mut self) -> Result<(), Stop> {
        let mut check = self.connection.prepare("SELECT \"table\", parent FROM pragma_foreign_key_check LIMIT 1")?;
        let mut broken = check.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        match broken.next().transpose()? {
            None => Ok(()),
            Some((child, parent)) => Err(Stop::Said(Error::Database(format!(
                "a row of {child} refers to a row of {parent} that is not there: drop the tables and load again"
            )))),
        }
    }

    /// Of the workload's tables only: other tables in the file keep the statistics that they have.
    fn statistics(&mut self, sql: &WorkloadSql) -> Result<(), Stop> {
        self.connection.pragma_update_and_check(None, "analysis_limit", ANALYSIS_LIMIT, |_| Ok(()))?;
        for table in sql.tables {
            self.connection.execute_batch(&format!("ANALYZE main.{}", table.name))?;
        }
        Ok(())
    }

    fn verify(&mut self, sql: &WorkloadSql, population: &impl Population) -> Result<(), Stop> {
        for (number, wanted) in rows_of_tables(&population.parts()) {
            let table = table(sql, population.tables(), number)?;
            let sql = format!("SELECT count(*) FROM {}", table.name);
            let found = self.connection.query_row(&sql, [], |row| row.get::<_, i64>(0))? as u64;
            counted(table.name, found, wanted).map_err(Stop::Said)?;
            self.phases.report.tables.push((table.name.to_owned(), found));
        }
        let pages: i64 = self.connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
        let page_size: i64 = self.connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        self.phases.report.database_bytes = Some((pages * page_size) as u64);
        Ok(())
    }
}

fn table(sql: &WorkloadSql, tables: &'static [Table], number: usize) -> Result<&'static Table, Stop> {
    let why = || {
        Stop::Said(Error::Database(format!(
            "the population has rows for table {number}, which {} does not have",
            sql.name
        )))
    };
    tables.get(number).ok_or_else(why)
}

fn insert(table: &Table) -> String {
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
    format!("INSERT INTO {} ({}) VALUES ({})", table.name, columns.join(", "), places.join(", "))
}

/// Inserts rows with a prepared statement. After a failure it ignores further rows.
pub(super) struct Insert<'a> {
    statement: CachedStatement<'a>,
    column: usize,
    loaded: Loaded,
    pub(super) failed: Option<rusqlite::Error>,
}

impl<'a> Insert<'a> {
    /// With a statement that has a parameter for each column.
    pub(super) fn new(statement: CachedStatement<'a>) -> Self {
        Insert { statement, column: 0, loaded: Loaded { rows: 0, bytes: 0 }, failed: None }
    }
}

impl RowSink for Insert<'_> {
    fn put(&mut self, value: Value<'_>) {
        self.column += 1;
        self.loaded.bytes += value.bytes();
        if self.failed.is_none() {
            self.failed = self.statement.raw_bind_parameter(self.column, Bound(value)).err();
        }
    }

    fn end_row(&mut self) {
        self.column = 0;
        self.loaded.rows += 1;
        if self.failed.is_none() {
            self.failed = self.statement.raw_execute().err();
        }
    }
}
