//! The serial read of a table, with cold and warm caches.

use std::collections::BTreeMap;
use std::time::Instant;

use mysql_async::Conn;

use super::Mysql;
use super::failure::of_command;
use super::query::Read;
use crate::engine::Error;
use crate::engine::scan;
use crate::result::scan::{CacheState, Scanned};
use crate::workload::Table;

/// Empties the caches as far as possible: a private server's own by a restart, and the system's.
pub(super) fn empty_caches(mysql: &Mysql, all: bool) -> Result<CacheState, Error> {
    match mysql.server() {
        Some(server) => scan::empty_caches_by_restart(server, all),
        None => scan::empty_caches_of_others(mysql.neighbour.as_ref().map(|(_, data)| data.as_path()), all),
    }
}

/// Scans a table in the order of its primary key.
pub(super) async fn scan(conn: &mut Conn, table: &Table) -> Result<Scanned, Error> {
    // Counting the last column makes the server read each row; without any index, only the table itself is left.
    let last = table.columns.last().map_or("*", |column| column.name);
    let sql = format!("SELECT greatest(count(*), count({last})) FROM {} USE INDEX ()", table.name);
    let began = Instant::now();
    let rows: Option<u64> =
        conn.first(sql).await.map_err(|error| of_command(&format!("cannot read {}", table.name), &error))?;
    Ok(Scanned { rows: rows.unwrap_or_default(), bytes: None, seconds: began.elapsed().as_secs_f64() })
}

/// Bytes of each table with its primary key, as estimated by InnoDB.
pub(super) async fn table_bytes(conn: &mut Conn, tables: &[Table]) -> Result<BTreeMap<String, u64>, Error> {
    let sql = "SELECT CAST(table_name AS CHAR), CAST(data_length AS UNSIGNED) FROM information_schema.tables WHERE \
        table_schema = DATABASE()";
    let sizes: Vec<(String, u64)> =
        conn.rows(sql).await.map_err(|error| of_command("cannot read the size of the tables", &error))?;
    Ok(sizes.into_iter().filter(|(name, _)| tables.iter().any(|table| table.name == name)).collect())
}
