//! Maintenance: checkpoints, and reading everything once.

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::failure::{self, of_command};
use super::query::Read;
use crate::engine::sql::WorkloadSql;
use crate::engine::{Error, MaintenanceOutcome};
use crate::result::maintenance::MaintenanceKind;

/// The error for an unknown system variable.
const UNKNOWN_VARIABLE: u16 = 1193;
/// The error for a missing privilege.
const NO_PRIVILEGE: u16 = 1227;

/// Runs a maintenance operation.
pub async fn maintain(conn: &mut Conn, sql: &WorkloadSql, kind: MaintenanceKind) -> Result<MaintenanceOutcome, Error> {
    match kind {
        MaintenanceKind::Checkpoint => checkpoint(conn, sql).await,
        MaintenanceKind::Vacuum => Ok(MaintenanceOutcome::Absent(
            "InnoDB purges old row versions continuously; there is no statement for it".to_owned(),
        )),
        MaintenanceKind::WarmUp => warm_up(conn, sql).await,
    }
}

/// Writes all dirty pages, so that the log before them is no longer needed.
async fn checkpoint(conn: &mut Conn, sql: &WorkloadSql) -> Result<MaintenanceOutcome, Error> {
    let Some(statement) = sql.dialect.checkpoint else {
        return Ok(MaintenanceOutcome::Absent("this dialect has no statement for a checkpoint".to_owned()));
    };
    let before = written(conn).await;
    match conn.query_drop(statement).await {
        Ok(()) => {}
        Err(error) if failure::code(&error) == Some(UNKNOWN_VARIABLE) => {
            return Ok(MaintenanceOutcome::Absent(
                "this server has no innodb_log_checkpoint_now; InnoDB writes changed pages all the time, as its log \
                 fills"
                    .to_owned(),
            ));
        }
        Err(error) if failure::code(&error) == Some(NO_PRIVILEGE) => {
            return Ok(MaintenanceOutcome::Absent(
                "this user may not set innodb_log_checkpoint_now: grant it SUPER".to_owned(),
            ));
        }
        Err(error) => return Err(of_command("cannot ask for a checkpoint", &error)),
    }
    Ok(MaintenanceOutcome::Done(match before.zip(written(conn).await) {
        Some((before, after)) => format!("{} pages written", after.saturating_sub(before)),
        None => "done".to_owned(),
    }))
}

async fn written(conn: &mut Conn) -> Option<u64> {
    let row: Option<(String, u64)> = conn.first("SHOW GLOBAL STATUS LIKE 'Innodb_pages_written'").await.ok()?;
    row.map(|(_, pages)| pages)
}

/// Scans all tables in the order of their primary keys.
async fn warm_up(conn: &mut Conn, sql: &WorkloadSql) -> Result<MaintenanceOutcome, Error> {
    let mut rows = 0_u64;
    for table in sql.tables {
        let read: Option<u64> = conn
            .first(format!("SELECT count(*) FROM {} USE INDEX ()", table.name))
            .await
            .map_err(|error| of_command(&format!("cannot read {}", table.name), &error))?;
        rows += read.unwrap_or_default();
    }
    let work = format!("{rows} rows of {} tables read from end to end", sql.tables.len());
    Ok(MaintenanceOutcome::Read { rows, work })
}
