//! MaintenanceOutcome, and reading tables from end to end.

use std::collections::BTreeMap;
use std::time::Instant;

use super::catalog::QueryError;
use super::database::Virtuoso;
use super::load::explain;
use super::target::Target;
use crate::engine::odbc::connection::Connection;
use crate::engine::odbc::parameter::Param;
use crate::engine::odbc::statement::Statement;
use crate::engine::scan::{empty_caches_by_restart, empty_caches_of_others};
use crate::engine::server::virtuoso::PAGE;
use crate::engine::warm::{self, Reader};
use crate::engine::{Error, MaintenanceOutcome};
use crate::measure::maintenance::MaintenanceKind;
use crate::result::scan::{CacheState, Scanned};
use crate::workload::tpcc::Tpcc;
use crate::workload::tpcc::population::Population;
use crate::workload::{Table, Workload};

/// Does some upkeep.
pub(super) fn maintain(target: &Target, kind: MaintenanceKind) -> Result<MaintenanceOutcome, Error> {
    match kind {
        MaintenanceKind::Checkpoint => {
            let connection = target.connect()?;
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
            for table in Tpcc::TABLES {
                rows += scan(target, table)?.rows;
            }
            let work = format!("{rows} rows of {} tables read from end to end", Tpcc::TABLES.len());
            Ok(MaintenanceOutcome::Read { rows, work })
        }
    }
}

/// Empties the caches as far as they are in our hands: a private server's own by a restart, and the system's.
pub(super) fn empty_caches(virtuoso: &Virtuoso, all: bool) -> Result<CacheState, Error> {
    let Some(server) = virtuoso.server() else { return empty_caches_of_others(None, all) };
    // What stands in the log would be worked again by the new server, which warms its cache.
    maintain(virtuoso.target(), MaintenanceKind::Checkpoint)?;
    empty_caches_by_restart(server, all)
}

/// Reads all of a table, row by row of its primary key.
pub(super) fn scan(target: &Target, table: &Table) -> Result<Scanned, Error> {
    let failed = |error| explain(target, &format!("cannot read {}", table.name), error);
    let connection = target.connect()?;
    // A comparison of the last column makes the server read the rows, not an index of some of their columns.
    let last = table.columns.last().map_or("*", |column| column.name);
    let sql = format!("SELECT COUNT (*), MAX ({last}) FROM tpcc.DBA.{0} TABLE OPTION (INDEX {0})", table.name);
    let began = Instant::now();
    let rows = number(&connection, &sql).map_err(failed)?.unwrap_or_default();
    let seconds = began.elapsed().as_secs_f64();
    Ok(Scanned { rows, bytes: None, seconds })
}

/// Bytes of the pages of each table without its secondary indexes. The server reads all tables for it.
pub(super) fn table_bytes(target: &Target) -> Result<BTreeMap<String, u64>, Error> {
    let sql = "SELECT name_part (ISS_KEY_TABLE, 2), ISS_PAGES FROM DB.DBA.SYS_INDEX_SPACE_STATS \
               WHERE ISS_KEY_TABLE LIKE 'tpcc.DBA.%' AND ISS_KEY_NAME = ISS_KEY_TABLE";
    let connection = target.connect()?;
    let sizes = || -> Result<BTreeMap<String, u64>, QueryError> {
        let reply = connection.query(sql)?;
        reply.rows.iter().map(|row| Ok((row.text(0)?.to_owned(), row.long(1)?.unsigned_abs() * PAGE))).collect()
    };
    sizes().map_err(|error| explain(target, "cannot tell the size of the tables", error))
}

/// The first figure of the first row.
pub(super) fn number(connection: &Connection, sql: &str) -> Result<Option<u64>, QueryError> {
    let reply = connection.query(sql)?;
    let number = reply.rows.first().map(|row| row.optional_long(0)).transpose()?.flatten();
    Ok(number.map(i64::unsigned_abs))
}

/// Reads rows at random until it helps no more.
pub(super) async fn at_random(
    target: &Target,
    population: &Population,
    seed: u64,
    told: &(dyn Fn(u64, u64) + Send + Sync),
) -> Result<MaintenanceOutcome, Error> {
    let connection = target.connect()?;
    let mut reader = Rows { target, statements: Tpcc::TABLES.iter().map(|_| None).collect(), connection };
    warm::at_random::<Tpcc>(population, seed, &mut reader, told).await
}

struct Rows<'a> {
    target: &'a Target,
    statements: Vec<Option<Statement>>,
    connection: Connection,
}

impl Rows<'_> {
    fn read_rows(&mut self, number: usize, keys: &[i32]) -> Result<u64, QueryError> {
        let (Some(table), Some(place)) = (Tpcc::TABLES.get(number), self.statements.get_mut(number)) else {
            return Ok(0);
        };
        let statement = match place {
            Some(statement) => statement,
            None => {
                let last = table.columns.last().map_or("*", |column| column.name);
                let key: Vec<String> = table.primary_key.iter().map(|column| format!("{column} = ?")).collect();
                let sql = format!("SELECT {last} FROM tpcc.DBA.{} WHERE {}", table.name, key.join(" AND "));
                place.insert(self.connection.prepare(&sql)?)
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
        self.read_rows(table, keys).map_err(|error| explain(target, "cannot read rows at random", error))
    }
}
