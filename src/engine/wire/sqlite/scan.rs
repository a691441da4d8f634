//! The serial read of a table, with cold and warm caches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::Connection;

use crate::engine::Error;
use crate::engine::scan::drop_pages;
use crate::engine::sql::WorkloadSql;
use crate::result::scan::{CacheState, Scanned};
use crate::workload::Table;

/// Drops a file and its log from the system's page cache. SQLite's own cache ends with each connection, and none must
/// be open: closing the file would release its locks.
pub(super) fn empty_caches(file: &Path, all: bool) -> Result<CacheState, Error> {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    let dropped = drop_pages(&[file.to_owned(), PathBuf::from(log)], all)?;
    let (Ok(what) | Err(what)) = &dropped;
    Ok(CacheState { cold: dropped.is_ok(), how: format!("every connection is new, with an empty cache, and {what}") })
}

/// Scans a table.
pub(super) fn scan(connection: &Connection, table: &Table) -> rusqlite::Result<Scanned> {
    // Testing the last column makes SQLite read the rows and not only their keys.
    let last = table.columns.last().map_or("rowid", |column| column.name);
    let sql = format!("SELECT count(*), total({last} IS NULL) FROM {} NOT INDEXED", table.name);
    let began = Instant::now();
    let rows = connection.query_row(&sql, (), |row| row.get::<_, i64>(0))?.unsigned_abs();
    let seconds = began.elapsed().as_secs_f64();
    Ok(Scanned { rows, bytes: None, seconds })
}

/// Bytes of each table, determined by reading all of its pages.
pub(super) fn table_bytes(sql: &WorkloadSql, connection: &Connection) -> rusqlite::Result<BTreeMap<String, u64>> {
    let mut size = connection.prepare("SELECT pgsize FROM dbstat WHERE name = ? AND aggregate = TRUE")?;
    let mut bytes = |name: &str| size.query_row([name], |row| row.get::<_, i64>(0));
    sql.tables.iter().map(|table| Ok((table.name.to_owned(), bytes(table.name)?.unsigned_abs()))).collect()
}
