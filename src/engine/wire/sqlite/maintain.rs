//! Maintenance: checkpoints of the write-ahead log, and reading everything once.

use rusqlite::Connection;

use super::connect::Journal;
use crate::engine::MaintenanceOutcome;
use crate::engine::sql::WorkloadSql;
use crate::result::maintenance::MaintenanceKind;

/// Runs a maintenance operation.
pub(super) fn maintain(
    sql: &WorkloadSql,
    connection: &Connection,
    journal: Journal,
    kind: MaintenanceKind,
) -> rusqlite::Result<MaintenanceOutcome> {
    match kind {
        MaintenanceKind::Checkpoint if journal != Journal::Wal => Ok(MaintenanceOutcome::Absent(
            "SQLite writes every page at each commit: without a write-ahead log there is nothing to checkpoint"
                .to_owned(),
        )),
        MaintenanceKind::Checkpoint => {
            // PASSIVE waits for nobody: pages that readers need stay in the log until the next checkpoint.
            let (log, done) = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |row| {
                Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
            })?;
            Ok(MaintenanceOutcome::Done(format!("{done} of {log} pages of the log written to the database")))
        }
        MaintenanceKind::Vacuum => {
            Ok(MaintenanceOutcome::Absent("SQLite keeps no dead row versions: there is nothing to vacuum".to_owned()))
        }
        MaintenanceKind::WarmUp => {
            let mut rows = 0_u64;
            for table in sql.tables {
                // Testing the last column makes SQLite read the rows and not only their keys.
                let last = table.columns.last().map_or("rowid", |column| column.name);
                let sql = format!("SELECT count(*), total({last} IS NULL) FROM {} NOT INDEXED", table.name);
                rows += connection.query_row(&sql, (), |row| row.get::<_, i64>(0))?.unsigned_abs();
            }
            let work = format!("{rows} rows of {} tables read from end to end", sql.tables.len());
            Ok(MaintenanceOutcome::Read { rows, work })
        }
    }
}
