//! Checkpoints.

use super::catalog::number;
use super::connect::Target;
use crate::engine::sql::WorkloadSql;
use crate::engine::{Error, MaintenanceOutcome};

/// Writes all changed pages.
pub(super) fn checkpoint(sql: &WorkloadSql, target: &Target) -> Result<MaintenanceOutcome, Error> {
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
