//! Loading a population: one writer, a transaction a part, resumable after an end at any moment.
//!
//! While it loads, the file has a rollback journal and is this program's alone. New pages are then written once, where a write-ahead log
//! would write them twice; and whatever kills the program, the next one rolls back the part that was under way. The journal that was
//! asked for is set at the end.

use std::collections::BTreeMap;
use std::time::Instant;

use rusqlite::{CachedStatement, Connection};

use super::connection::{self, Bound};
use super::manifest::{self, Loaded};
use super::{Port, Sqlite};
use crate::engine::sql::script::{self, Named};
use crate::engine::{Error, Holding, LoadReport, LoadStep, Manifest};
use crate::workload::value::{RowSink, Value};
use crate::workload::{Part, Population, Rows, Table};

/// Units written before others on this thread, such as an interrupt, get their turn.
const UNITS_PER_TURN: u32 = 5_000;

/// Page cache while loading, in KiB. Rows come in the order of their keys, so a large one would only hold what is written once; indexes
/// are sorted in as much memory again.
const CACHE_KIB: i64 = 16 * 1_024;

/// Rows of each index that the statistics look at: enough for the planner at any scale.
const ANALYSIS_LIMIT: i64 = 1_000;

/// Marks the lines of a schema that stand only if foreign keys are asked for.
const FOREIGN_KEY_LINE: &str = "-- only with foreign keys";

/// Why a load cannot go on.
enum Stop {
    Sqlite(rusqlite::Error),
    Said(Error),
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Stop::Sqlite(error)
    }
}

/// Loads a population into a file, or goes on with one that was interrupted.
pub(super) async fn load<W: Port>(
    sqlite: &Sqlite,
    manifest: &Manifest,
    population: &W::Population,
    told: &(dyn Fn(LoadStep) + Send + Sync),
) -> Result<LoadReport, Error> {
    let connection = connection::create(&sqlite.options)?;
    let mut load = Load { connection: &connection, told, report: LoadReport::default(), phase_began: Instant::now() };
    let done = load.run::<W>(manifest, population).await;
    let report = load.report;
    // Closing gives the file free again.
    let closed = connection.close().map_err(|(_, error)| Stop::from(error));
    match done.and(closed) {
        Ok(()) => {}
        Err(Stop::Said(Error::Usage(why))) => return Err(Error::Usage(format!("{}: {why}", sqlite.options.file.display()))),
        Err(Stop::Said(Error::Database(why))) => return Err(Error::Database(format!("{}: {why}", sqlite.options.file.display()))),
        Err(Stop::Sqlite(error)) => return Err(sqlite.explain(error)),
    }
    connection::configure(&connection::open(&sqlite.options)?, &sqlite.options, manifest.foreign_keys)?;
    Ok(report)
}

struct Load<'a> {
    connection: &'a Connection,
    told: &'a (dyn Fn(LoadStep) + Send + Sync),
    report: LoadReport,
    phase_began: Instant,
}

impl Load<'_> {
    async fn run<W: Port>(&mut self, manifest: &Manifest, population: &W::Population) -> Result<(), Stop> {
        let began = Instant::now();
        let resumes = match manifest::holding::<W>(self.connection)? {
            Holding::Nothing => false,
            Holding::Unfinished(found) if found == *manifest => true,
            other => return Err(Stop::Said(refuse(&other, manifest))),
        };
        self.connection.pragma_update_and_check(None, "journal_mode", "truncate", |_| Ok(()))?;
        self.connection.pragma_update_and_check(None, "locking_mode", "exclusive", |_| Ok(()))?;
        self.connection.pragma_update(None, "synchronous", "full")?;
        self.connection.pragma_update(None, "foreign_keys", false)?;
        self.connection.pragma_update(None, "cache_size", -CACHE_KIB)?;

        let (tables, keys): (Vec<_>, Vec<_>) = script::statements(W::schema(W::profile(&manifest.parameters).unwrap_or_default()))
            .into_iter()
            .partition(|statement| !statement.notes.contains_key("phase"));
        if !resumes {
            self.phase("schema", |load| load.create::<W>(&tables, manifest))?;
        }
        self.begin("rows");
        self.parts::<W>(population).await?;
        self.end("rows");
        self.phase("keys", |load| load.keys(&keys))?;
        if manifest.foreign_keys {
            self.phase("foreign keys", Self::foreign_keys)?;
        }
        self.phase("statistics", Self::statistics)?;
        self.phase("verify", |load| load.verify::<W>(population))?;
        manifest::complete(self.connection)?;
        self.report.seconds = began.elapsed().as_secs_f64();
        Ok(())
    }

    fn begin(&mut self, phase: &'static str) {
        (self.told)(LoadStep::Phase(phase));
        self.phase_began = Instant::now();
    }

    fn end(&mut self, phase: &'static str) {
        self.report.phases.push((phase.to_owned(), self.phase_began.elapsed().as_secs_f64()));
    }

    fn phase(&mut self, name: &'static str, work: impl FnOnce(&mut Self) -> Result<(), Stop>) -> Result<(), Stop> {
        self.begin(name);
        work(self)?;
        self.end(name);
        Ok(())
    }

    fn create<W: Port>(&mut self, tables: &[Named<'_>], manifest: &Manifest) -> Result<(), Stop> {
        let transaction = self.connection.unchecked_transaction()?;
        for table in tables {
            let kept = |line: &&str| manifest.foreign_keys || !line.contains(FOREIGN_KEY_LINE);
            let sql: Vec<&str> = table.sql.lines().filter(kept).collect();
            transaction.execute_batch(&sql.join("\n"))?;
        }
        manifest::write::<W>(&transaction, manifest)?;
        Ok(transaction.commit()?)
    }

    async fn parts<W: Port>(&mut self, population: &W::Population) -> Result<(), Stop> {
        let loaded = manifest::parts(self.connection)?;
        let (rows, bytes) = loaded.values().fold((0, 0), |(rows, bytes), part| (rows + part.rows, bytes + part.bytes));
        if rows > 0 {
            self.report.resumed_rows = rows;
            (self.told)(LoadStep::Rows { rows, bytes, resumed: true });
        }
        let mut writer = population.rows();
        for part in population.parts() {
            let table = table::<W>(population.tables(), part.table)?;
            if loaded.contains_key(&(table.name.to_owned(), part.number)) {
                continue;
            }
            let Loaded { rows, bytes } = self.part(table, &part, &mut writer).await?;
            self.report.rows += rows;
            self.report.bytes += bytes;
            (self.told)(LoadStep::Rows { rows, bytes, resumed: false });
        }
        Ok(())
    }

    async fn part(&self, table: &Table, part: &Part, writer: &mut impl Rows) -> Result<Loaded, Stop> {
        let transaction = self.connection.unchecked_transaction()?;
        let mut sink = Insert::new(self.connection.prepare_cached(&insert(table))?);
        for unit in 0..part.units {
            writer.write(part, unit, &mut sink);
            if let Some(error) = sink.failed.take() {
                return Err(error.into());
            }
            if unit % UNITS_PER_TURN == UNITS_PER_TURN - 1 {
                tokio::task::yield_now().await;
            }
        }
        let loaded = sink.loaded;
        drop(sink);
        manifest::add_part(self.connection, table.name, part.number, loaded)?;
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

    fn statistics(&mut self) -> Result<(), Stop> {
        self.connection.pragma_update_and_check(None, "analysis_limit", ANALYSIS_LIMIT, |_| Ok(()))?;
        Ok(self.connection.execute_batch("ANALYZE")?)
    }

    fn verify<W: Port>(&mut self, population: &W::Population) -> Result<(), Stop> {
        let mut wanted: BTreeMap<usize, u64> = BTreeMap::new();
        for part in population.parts() {
            *wanted.entry(part.table).or_default() += part.rows;
        }
        for (number, wanted) in wanted {
            let table = table::<W>(population.tables(), number)?;
            let sql = format!("SELECT count(*) FROM {}", table.name);
            let found = self.connection.query_row(&sql, [], |row| row.get::<_, i64>(0))? as u64;
            if found != wanted {
                return Err(Stop::Said(Error::Database(format!(
                    "table {} has {found} rows instead of {wanted} after the load: drop the tables and load again",
                    table.name
                ))));
            }
            self.report.tables.push((table.name.to_owned(), found));
        }
        let pages: i64 = self.connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
        let page_size: i64 = self.connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        self.report.database_bytes = Some((pages * page_size) as u64);
        Ok(())
    }
}

fn table<W: Port>(tables: &'static [Table], number: usize) -> Result<&'static Table, Stop> {
    let why =
        || Stop::Said(Error::Database(format!("the population has rows for table {number}, which {} does not have", W::NAME)));
    tables.get(number).ok_or_else(why)
}

fn insert(table: &Table) -> String {
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
    format!("INSERT INTO {} ({}) VALUES ({})", table.name, columns.join(", "), places.join(", "))
}

/// Writes rows through an `INSERT`. After a failure it takes nothing more.
pub(super) struct Insert<'a> {
    statement: CachedStatement<'a>,
    column: usize,
    loaded: Loaded,
    pub(super) failed: Option<rusqlite::Error>,
}

impl<'a> Insert<'a> {
    /// Over a statement with a parameter for each column.
    pub(super) fn new(statement: CachedStatement<'a>) -> Self {
        Insert { statement, column: 0, loaded: Loaded { rows: 0, bytes: 0 }, failed: None }
    }
}

impl RowSink for Insert<'_> {
    fn put(&mut self, value: Value<'_>) {
        self.column += 1;
        self.loaded.bytes += match value {
            Value::Null => 0,
            Value::Int(_) | Value::Rate(_) => 4,
            Value::Money(_) | Value::Time(_) => 8,
            Value::Text(text) => text.len() as u64,
        };
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

fn refuse(holding: &Holding, wanted: &Manifest) -> Error {
    Error::Usage(match holding {
        Holding::Nothing => "it was emptied just now: try again".to_owned(),
        Holding::Other { workload } => format!("it holds the workload {workload}; name another file"),
        Holding::Foreign { why } => format!("{why}; drop the workload's tables first, or name another file"),
        Holding::Complete(found) => {
            format!("it is loaded already ({}); use it as it is, drop its tables first, or name another file", describe(found))
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
