//! Loads a population: parts in parallel, rows in arrays, without the transaction log.
//!
//! Nothing is logged during the load; a checkpoint at the end writes it to disk, and only then is the load complete. An
//! interrupted load is repeated from the start.

use std::collections::VecDeque;
use std::sync::Mutex;

use super::catalog::database_bytes;
use super::connect::{QueryError, Target};
use super::{catalog, procedures, removal};
use crate::engine::load::{LoadObserver, Phases, counted, rows_of_tables};
use crate::engine::sql::{WorkloadSql, script};
use crate::engine::wire::odbc::driver::Connection;
use crate::engine::wire::odbc::failure::Diagnostic;
use crate::engine::wire::odbc::parameter::Param;
use crate::engine::wire::odbc::statement::Statement;
use crate::engine::{DatabaseState, Error, ownership};
use crate::result::{LoadReport, LoadStep, Manifest};
use crate::workload::value::{RowSink, Timestamp, Value};
use crate::workload::{Column, ColumnKind, Part, Population, Rows, Table};

/// Rows per array. Larger arrays were not faster.
const ARRAY: usize = 200;
/// Each row is committed by itself, and none is written to the transaction log.
const UNLOGGED: &str = "log_enable (2, 1)";

/// Loads a population into an empty database, or again over an unfinished load.
pub(super) fn load(
    sql: &WorkloadSql,
    target: &Target,
    manifest: &Manifest,
    population: &impl Population,
    jobs: usize,
    on_step: LoadObserver<'_>,
) -> Result<LoadReport, Error> {
    if manifest.foreign_keys {
        return Err(Error::Usage("foreign keys cannot be declared on Virtuoso: leave --foreign-keys out".to_owned()));
    }
    let mut phases = Phases::new(on_step);
    let connection = target.connect(sql.name)?;
    let refused = |what: &'static str| move |diagnostic: Diagnostic| target.explain(what, &diagnostic);
    let state = || {
        let state = catalog::database_state(sql, &connection);
        state.map_err(|error| target.explain_query("cannot read the state of the tables", error))
    };
    let ensure_own = || {
        let (_, unproven) = procedures::proven(sql, &connection, false)
            .map_err(|error| target.explain_query("cannot read the procedures", error))?;
        ownership::ensure_own_procedures(&unproven)
    };
    if let DatabaseState::Unfinished(found) = state()?
        && found == *manifest
    {
        ensure_own()?;
        removal::drop_tables(sql, target, &connection)?;
    }
    match state()? {
        DatabaseState::Nothing => {}
        DatabaseState::Foreign { why } => return Err(Error::Database(format!("{}: {why}", target.url()))),
        _ => {
            let url = target.url();
            return Err(Error::Usage(format!(
                "{url} holds another population: remove it first with graymark drop {}",
                sql.name
            )));
        }
    }
    phases.begin("schema");
    let text =
        serde_json::to_string(manifest).map_err(|error| Error::Usage(format!("the manifest is no JSON: {error}")))?;
    catalog::write(sql, &connection, &text).map_err(refused("cannot make a table"))?;
    let claim = catalog::Claim::acquire(sql, target)?;
    for table in script::statements(sql.schema(manifest)) {
        connection.execute(table.sql).map_err(refused("cannot make a table"))?;
    }
    phases.begin("rows");
    (phases.report.rows, phases.report.bytes) = rows(sql, target, population, jobs, on_step)?;
    phases.finish();
    connection.execute(UNLOGGED).map_err(refused("cannot turn the log off"))?;
    phases.begin("keys");
    for key in sql.keys() {
        connection.execute(key.sql).map_err(refused("cannot make an index"))?;
    }
    phases.begin("procedures");
    ensure_own()?;
    procedures::make(sql, &connection).map_err(refused("cannot make a procedure"))?;
    phases.begin("checkpoint");
    connection.execute("checkpoint").map_err(refused("cannot make a checkpoint"))?;
    phases.begin("verify");
    phases.report.tables = verify(sql, target, &connection, population)?;
    phases.finish();
    // From here on the log is on again.
    let connection = target.connect(sql.name)?;
    claim.release().map_err(refused("cannot end the load"))?;
    catalog::complete(sql, &connection).map_err(refused("cannot end the load"))?;
    connection.execute("checkpoint").map_err(refused("cannot make a checkpoint"))?;
    phases.report.database_bytes = database_bytes(&connection).ok();
    Ok(phases.end())
}

/// Loads all parts, with one connection per job. Returns rows and bytes.
fn rows(
    sql: &WorkloadSql,
    target: &Target,
    population: &impl Population,
    jobs: usize,
    on_step: LoadObserver<'_>,
) -> Result<(u64, u64), Error> {
    let mut parts = population.parts();
    // The largest first, so that all connections end at about the same time.
    parts.sort_by_key(|part| std::cmp::Reverse(part.rows));
    let parts = Mutex::new(VecDeque::from(parts));
    let take = || parts.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop_front();
    let work = || -> Result<(u64, u64), Error> {
        let mut sum = (0, 0);
        while let Some(part) = take() {
            let loaded = load_part(sql, target, population, &part, on_step);
            if loaded.is_err() {
                // The others need not continue.
                parts.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
            }
            let (rows, bytes) = loaded?;
            on_step(LoadStep::Rows { rows, bytes, resumed: false });
            sum = (sum.0 + rows, sum.1 + bytes);
        }
        Ok(sum)
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        let ended = started.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(Error::Database("a loading thread ended; see the messages above".to_owned())))
        });
        ended
            .collect::<Vec<_>>()
            .into_iter()
            .try_fold((0, 0), |sum, of_one| of_one.map(|one| (sum.0 + one.0, sum.1 + one.1)))
    })
}

fn load_part(
    sql: &WorkloadSql,
    target: &Target,
    population: &impl Population,
    part: &Part,
    on_step: LoadObserver<'_>,
) -> Result<(u64, u64), Error> {
    let Some(table) = population.tables().get(part.table) else {
        return Err(Error::Database(format!(
            "the population has rows for table {}, which {} does not have",
            part.table, sql.name
        )));
    };
    let what = format!("cannot load {}", table.name);
    let failed = |diagnostic: Diagnostic| target.explain(&what, &diagnostic);
    let connection = target.connect(sql.name)?;
    connection.execute(UNLOGGED).map_err(failed)?;
    let mut insert = Insert::new(connection.prepare(&insert(sql, table)).map_err(failed)?, on_step);
    let mut writer = population.rows();
    for unit in 0..part.units {
        writer.write(part, unit, &mut insert);
        if let Some(diagnostic) = insert.failed.take() {
            return Err(failed(diagnostic));
        }
    }
    insert.flush();
    match insert.failed.take() {
        Some(diagnostic) => Err(failed(diagnostic)),
        None => Ok((insert.rows, insert.bytes)),
    }
}

fn insert(sql: &WorkloadSql, table: &Table) -> String {
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    // Without the cast, the server uses the bytes of the text as a date.
    let place = |column: &Column| if column.kind == ColumnKind::Time { "CAST (? AS DATETIME)" } else { "?" };
    let places: Vec<&str> = table.columns.iter().map(place).collect();
    format!("INSERT INTO {}.DBA.{} ({}) VALUES ({})", sql.name, table.name, columns.join(", "), places.join(", "))
}

/// Collects rows and sends them in arrays. After a failure it ignores further rows.
struct Insert<'a> {
    statement: Statement,
    on_step: LoadObserver<'a>,
    set: usize,
    column: usize,
    rows: u64,
    bytes: u64,
    failed: Option<Diagnostic>,
}

impl<'a> Insert<'a> {
    fn new(statement: Statement, on_step: LoadObserver<'a>) -> Insert<'a> {
        Insert { statement, on_step, set: 0, column: 0, rows: 0, bytes: 0, failed: None }
    }

    fn flush(&mut self) {
        let sets = std::mem::take(&mut self.set);
        if sets > 0 && self.failed.is_none() {
            match self.statement.execute(sets) {
                Ok(()) => (self.on_step)(LoadStep::Sent),
                Err(diagnostic) => self.failed = Some(diagnostic),
            }
        }
    }
}

impl RowSink for Insert<'_> {
    fn put(&mut self, value: Value<'_>) {
        self.bytes += value.bytes();
        if self.failed.is_none() {
            let (set, column) = (self.set, self.column);
            self.failed = match value {
                // The driver handles arrays of dates incorrectly.
                Value::Time(time) => self.statement.set(set, column, Param::Text(&text(time))).err(),
                value => self.statement.set(set, column, Param::from(value)).err(),
            };
        }
        self.column += 1;
    }

    fn end_row(&mut self) {
        self.column = 0;
        self.rows += 1;
        self.set += 1;
        if self.set == ARRAY {
            self.flush();
        }
    }
}

/// Date and time as text for the server; an invalid time becomes the first valid one.
fn text(time: Timestamp) -> String {
    let time = jiff::Timestamp::from_microsecond(time.0).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M:%S%.6f").to_string()
}

fn verify(
    sql: &WorkloadSql,
    target: &Target,
    connection: &Connection,
    population: &impl Population,
) -> Result<Vec<(String, u64)>, Error> {
    let mut tables = Vec::new();
    for (table, wanted) in sql.tables.iter().zip(rows_of_tables(&population.parts()).into_values()) {
        let found = count(sql, connection, table.name);
        let found = found.map_err(|error| target.explain_query("cannot count rows", error))?;
        counted(table.name, found, wanted)?;
        tables.push((table.name.to_owned(), found));
    }
    Ok(tables)
}

pub(super) fn count(sql: &WorkloadSql, connection: &Connection, table: &str) -> Result<u64, QueryError> {
    let reply = connection.query(&format!("SELECT COUNT (*) FROM {}.DBA.{table}", sql.name))?;
    let count = reply.rows.first().map(|row| row.long(0)).transpose()?;
    Ok(count.unwrap_or_default().unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_to_the_microsecond() {
        assert_eq!(text(Timestamp(1_000_000_000_123_456)), "2001-09-09 01:46:40.123456");
        assert_eq!(text(Timestamp(0)), "1970-01-01 00:00:00.000000");
    }
}
