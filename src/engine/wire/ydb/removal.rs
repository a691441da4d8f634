//! Removing the workload's tables: only those that the manifest proves to be Graymark's.

use super::catalog::{Link, METADATA};
use super::failure::YdbError;
use crate::engine::sql::WorkloadSql;
use crate::engine::{Error, ownership};

/// Removes the workload's tables and Graymark's own, and their directory if nothing else is in it. What proves the
/// others to be Graymark's goes last: if this is interrupted, the next drop goes on. YDB does not tell which views name
/// a table, so that views of others stay, and name tables that are gone.
pub async fn drop_tables(link: &mut Link, sql: &WorkloadSql) -> Result<(), Error> {
    let failed = |error: YdbError| error.of_command("cannot remove the tables");
    if !ownership::can_drop(link.database_state(sql).await?)? {
        return Ok(());
    }
    let columns = link.columns(sql).await?;
    ownership::ensure_no_added_columns(columns.iter().map(|(table, column)| (*table, &**column)), sql)?;
    for table in sql.tables.iter().map(|table| table.name).chain(METADATA.into_iter().rev()) {
        link.define(&format!("DROP TABLE IF EXISTS {table}")).await.map_err(failed)?;
    }
    link.remove_directory().await.map_err(failed)
}
