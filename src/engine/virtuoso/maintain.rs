//! Maintenance, and reading tables from end to end.

use std::collections::BTreeMap;
use std::time::Instant;

use super::target::{QueryError, Target};
use crate::engine::odbc::connection::Connection;
use crate::engine::odbc::parameter::Param;
use crate::engine::odbc::statement::Statement;
use crate::engine::scan::{empty_caches_by_restart, empty_caches_of_others};
use crate::engine::server::virtuoso::{PAGE, Server};
use crate::engine::sql::{SqlWorkload, WorkloadSql};
use crate::engine::warm::{self, Reader};
use crate::engine::{Error, MaintenanceOutcome};
use crate::measure::maintenance::MaintenanceKind;
use crate::result::scan::{CacheState, Scanned};
use crate::workload::Table;

/// Does some upkeep.
pub(super) fn maintain(sql: &WorkloadSql, target: &Target, kind: MaintenanceKind) -> Result<MaintenanceOutcome, Error> {
    match kind {
        MaintenanceKind::Checkpoint => {
            let connection = target.connect(sql.name)?;
            let written = || number(&connection, "SELECT sys_stat ('disk_writess')").ok().flatten();
            let before = written();
            connection
                .execute("checkpoint")
                .map_err(|diagnostic| target.explain("cannot ask for a checkpoint", &diagnostic))?;
            let pages = before
                .zip(written())
                .map(|(before, after)| format!("{} pages written meanwhile", after.saturating_sub(before)));
            Ok(MaintenanceOutcome::Done(pages.unwrap_or_else(|| "done".to_owned())))
        }
        MaintenanceKind::Vacuum => Ok(MaintenanceOutcome::Absent(
            "Virtuoso keeps no dead row versions in its tables: there is nothing to vacuum".to_owned(),
        )),
        MaintenanceKind::WarmUp => {
            let mut rows = 0;
            for table in sql.tables {
                rows += scan(sql, target, table)?.rows;
            }
            let work = format!("{rows} rows of {} tables read from end to end", sql.tables.len());
            Ok(MaintenanceOutcome::Read { rows, work })
        }
    }
}

/// Empties the caches as far as they are in our hands: a private server's own by a restart, and the system's.
pub(super) fn empty_caches(
    sql: &WorkloadSql,
    target: &Target,
    server: Option<&Server>,
    all: bool,
) -> Result<CacheState, Error> {
    let Some(server) = server else { return empty_caches_of_others(None, all) };
    // What stands in the log would be worked again by the new server, which warms its cache.
    maintain(sql, target, MaintenanceKind::Checkpoint)?;
    empty_caches_by_restart(server, all)
}

/// Reads all of a table, row by row of its primary key.
pub(super) fn scan(sql: &WorkloadSql, target: &Target, table: &Table) -> Result<Scanned, Error> {
    let failed = |error| target.explain_query(&format!("cannot read {}", table.name), error);
    let connection = target.connect(sql.name)?;
    // A comparison of the last column makes the server read the rows, not an index of some of their columns.
    let last = table.columns.last().map_or("*", |column| column.name);
    let name = sql.name;
    let query = format!("SELECT COUNT (*), MAX ({last}) FROM {name}.DBA.{0} TABLE OPTION (INDEX {0})", table.name);
    let began = Instant::now();
    let rows = number(&connection, &query).map_err(failed)?.unwrap_or_default();
    let seconds = began.elapsed().as_secs_f64();
    Ok(Scanned { rows, bytes: None, seconds })
}

/// Bytes of the pages of each table without its secondary indexes. The server reads all tables for it.
pub(super) fn table_bytes(sql: &WorkloadSql, target: &Target) -> Result<BTreeMap<String, u64>, Error> {
    let query = format!(
        "SELECT name_part (ISS_KEY_TABLE, 2), ISS_PAGES FROM DB.DBA.SYS_INDEX_SPACE_STATS \
         WHERE ISS_KEY_TABLE LIKE '{}.DBA.%' AND ISS_KEY_NAME = ISS_KEY_TABLE",
        sql.name
    );
    let connection = target.connect(sql.name)?;
    let sizes = || -> Result<BTreeMap<String, u64>, QueryError> {
        let reply = connection.query(&query)?;
        reply.rows.iter().map(|row| Ok((row.text(0)?.to_owned(), row.long(1)?.unsigned_abs() * PAGE))).collect()
    };
    sizes().map_err(|error| target.explain_query("cannot tell the size of the tables", error))
}

/// The first figure of the first row.
pub(super) fn number(connection: &Connection, sql: &str) -> Result<Option<u64>, QueryError> {
    let reply = connection.query(sql)?;
    let number = reply.rows.first().map(|row| row.optional_long(0)).transpose()?.flatten();
    Ok(number.map(i64::unsigned_abs))
}

/// Reads rows at random until it helps no more.
pub(super) async fn at_random<W: SqlWorkload>(
    sql: &WorkloadSql,
    target: &Target,
    population: &W::Population,
    seed: u64,
    told: &(dyn Fn(u64, u64) + Send + Sync),
) -> Result<MaintenanceOutcome, Error> {
    let connection = target.connect(sql.name)?;
    let mut reader = Rows { sql, target, statements: sql.tables.iter().map(|_| None).collect(), connection };
    warm::at_random::<W>(population, seed, &mut reader, told).await
}

struct Rows<'a> {
    sql: &'a WorkloadSql,
    target: &'a Target,
    statements: Vec<Option<Statement>>,
    connection: Connection,
}

impl Rows<'_> {
    fn read_rows(&mut self, number: usize, keys: &[i32]) -> Result<u64, QueryError> {
        let (Some(table), Some(place)) = (self.sql.tables.get(number), self.statements.get_mut(number)) else {
            return Ok(0);
        };
        let statement = match place {
            Some(statement) => statement,
            None => {
                let last = table.columns.last().map_or("*", |column| column.name);
                let key: Vec<String> = table.primary_key.iter().map(|column| format!("{column} = ?")).collect();
                let (name, table, wanted) = (self.sql.name, table.name, key.join(" AND "));
                let query = format!("SELECT {last} FROM {name}.DBA.{table} WHERE {wanted}");
                place.insert(self.connection.prepare(&query)?)
            }
        };
        let mut found = 0;
        for key in keys.chunks(table.primary_key.len().max(1)) {
            for (number, value) in key.iter().enumerate() {
                statement.set(0, number, Param::Int(*value))?;
            }
            statement.execute(1)?;
            found += u64::from(statement.fetch()?.is_some());
        }
        Ok(found)
    }
}

impl Reader for Rows<'_> {
    async fn read(&mut self, table: usize, keys: &[i32]) -> Result<u64, Error> {
        let target = self.target;
        self.read_rows(table, keys).map_err(|error| target.explain_query("cannot read rows at random", error))
    }
}

/// Bytes of the pages in use, of the whole database.
pub(super) fn database_bytes(connection: &Connection) -> Result<u64, QueryError> {
    // The figures are as of the last call of status().
    connection.execute("status ()")?;
    let reply = connection.query("SELECT sys_stat ('st_db_pages') - sys_stat ('st_db_free_pages')")?;
    let pages = reply.rows.first().map(|row| row.long(0)).transpose()?.unwrap_or_default();
    Ok(u64::try_from(pages).unwrap_or_default() * PAGE)
}
