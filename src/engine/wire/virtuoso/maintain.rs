//! Maintenance: checkpoints, and reading everything once.

use super::checkpoint::checkpoint;
use super::connect::Target;
use super::scan::scan;
use crate::engine::sql::WorkloadSql;
use crate::engine::{Error, MaintenanceOutcome};
use crate::result::maintenance::MaintenanceKind;

/// Runs a maintenance operation.
pub(super) fn maintain(sql: &WorkloadSql, target: &Target, kind: MaintenanceKind) -> Result<MaintenanceOutcome, Error> {
    match kind {
        MaintenanceKind::Checkpoint => checkpoint(sql, target),
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
