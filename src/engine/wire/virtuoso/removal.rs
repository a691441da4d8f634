//! Drops the workload's tables: only those that the manifest proves to be Graymark's, and only without dependents.

use super::catalog::{Claim, MANIFEST, database_state, procedures, tables};
use super::connect::{QueryError, Target};
use crate::engine::ownership::Dependent;
use crate::engine::sql::{WorkloadSql, script};
use crate::engine::wire::odbc::driver::Connection;
use crate::engine::{Error, ownership};

/// Drops the workload's tables and procedures, and Graymark's own table at the end, if its manifest proves that they
/// are Graymark's. DROP TABLE cannot be rolled back: dependents are checked first.
pub(super) fn drop_tables(sql: &WorkloadSql, target: &Target, connection: &Connection) -> Result<(), Error> {
    let cannot = |error| target.explain_query("cannot drop the tables", error);
    let state = database_state(sql, connection).map_err(cannot)?;
    if !ownership::can_drop(state.clone())? {
        return Ok(());
    }
    let claim = Claim::acquire(sql, target)?;
    if database_state(sql, connection).map_err(cannot)? != state {
        let why = "another load or drop has just ended: check what the database holds, then run this again";
        return Err(Error::Database(format!("{}: {why}", target.url())));
    }
    ownership::ensure_no_dependents(&dependents(sql, connection).map_err(cannot)?)?;
    let there = tables(sql, connection).map_err(cannot)?;
    for table in sql.tables.iter().filter(|table| there.contains(table.name)) {
        // The catalog also has columns that were dropped, and those that Virtuoso itself adds.
        let query = format!("SELECT * FROM {}.DBA.{} WHERE 1 = 0", sql.name, table.name);
        let reply = connection.query(&query).map_err(|error| cannot(error.into()))?;
        ownership::ensure_no_added_columns(reply.columns.iter().map(|column| (table.name, &**column)), sql)?;
    }
    // It is a lock on a table that is dropped.
    claim.release().map_err(|diagnostic| cannot(diagnostic.into()))?;
    remove(sql, connection).map_err(cannot)
}

fn remove(sql: &WorkloadSql, connection: &Connection) -> Result<(), QueryError> {
    let kept = procedures(sql, connection)?;
    for procedure in script::statements(sql.procedures()).iter().filter(|made| kept.contains(made.name)) {
        connection.execute(&format!("DROP PROCEDURE {}.DBA.{}", sql.name, procedure.name))?;
    }
    let there = tables(sql, connection)?;
    for table in sql.tables.iter().map(|table| table.name).chain([MANIFEST]).filter(|name| there.contains(*name)) {
        connection.execute(&format!("DROP TABLE {}.DBA.{table}", sql.name))?;
    }
    Ok(())
}

/// Foreign keys of other tables, and views, that depend on the workload's tables.
fn dependents(sql: &WorkloadSql, connection: &Connection) -> Result<Vec<Dependent>, QueryError> {
    let ours: Vec<String> = sql.tables.iter().map(|table| format!("{}.DBA.{}", sql.name, table.name)).collect();
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for row in &connection.query("SELECT DISTINCT FK_TABLE, PK_TABLE FROM DB.DBA.SYS_FOREIGN_KEYS")?.rows {
        found.extend(ownership::dependents([("table", row.text(0)?, row.text(1)?)], &ours));
    }
    for row in &connection.query("SELECT V_NAME, blob_to_string (coalesce (V_TEXT, V_EXT)) FROM DB.DBA.SYS_VIEWS")?.rows
    {
        let text = row.optional_text(1)?.unwrap_or_default().to_lowercase();
        let named = |name: &&&str| {
            [name.to_lowercase(), name.to_lowercase().replace(".dba.", "..")].iter().any(|name| text.contains(name))
        };
        if let Some(table) = ours.iter().find(named) {
            found.extend(ownership::dependents([("view", row.text(0)?, *table)], &ours));
        }
    }
    Ok(found)
}
