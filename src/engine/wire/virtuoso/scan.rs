//! The serial read of a table, with cold and warm caches.

use std::collections::BTreeMap;
use std::time::Instant;

use super::catalog::{number, within};
use super::checkpoint::checkpoint;
use super::connect::{QueryError, Target};
use crate::engine::Error;
use crate::engine::scan::{empty_caches_by_restart, empty_caches_of_others};
use crate::engine::server::virtuoso::{PAGE, Server};
use crate::engine::sql::WorkloadSql;
use crate::result::scan::{CacheState, Scanned};
use crate::workload::Table;

/// Empties the caches as far as possible: a private server's own by a restart, and the system's.
pub(super) fn empty_caches(
    sql: &WorkloadSql,
    target: &Target,
    server: Option<&Server>,
    all: bool,
) -> Result<CacheState, Error> {
    let Some(server) = server else { return empty_caches_of_others(None, all) };
    // The restarted server would replay its log, which warms its cache.
    checkpoint(sql, target)?;
    empty_caches_by_restart(server, all)
}

/// Scans a table in the order of its primary key.
pub(super) fn scan(sql: &WorkloadSql, target: &Target, table: &Table) -> Result<Scanned, Error> {
    let failed = |error| target.explain_query(&format!("cannot read {}", table.name), error);
    let connection = target.connect(sql.name)?;
    // Using the last column makes the server read the rows, not an index with some of their columns.
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
        "SELECT lower (name_part (ISS_KEY_TABLE, 2)), ISS_PAGES FROM DB.DBA.SYS_INDEX_SPACE_STATS \
         WHERE {} AND ISS_KEY_NAME = ISS_KEY_TABLE",
        within(sql, "ISS_KEY_TABLE")
    );
    let connection = target.connect(sql.name)?;
    let sizes = || -> Result<BTreeMap<String, u64>, QueryError> {
        let reply = connection.query(&query)?;
        reply.rows.iter().map(|row| Ok((row.text(0)?.to_owned(), row.long(1)?.unsigned_abs() * PAGE))).collect()
    };
    sizes().map_err(|error| target.explain_query("cannot read the size of the tables", error))
}
