//! Removing the workload's tables: only those that the manifest proves to be Graymark's, and nothing that hangs on
//! them.

use super::catalog::{MANIFEST, database_state, procedures, tables};
use super::connect::{QueryError, Target};
use crate::engine::ownership::Dependent;
use crate::engine::sql::{WorkloadSql, script};
use crate::engine::wire::odbc::driver::Connection;
use crate::engine::{Error, ownership};

/// Removes the workload's tables and procedures, and Graymark's own table at the end, if its manifest proves that they
/// are its own. The server takes no dropped table back: what else hangs on them is looked for first.
pub(super) fn drop_tables(sql: &WorkloadSql, target: &Target, connection: &Connection) -> Result<(), Error> {
    let cannot = |error| target.explain_query("cannot drop the tables", error);
    if !ownership::droppable(database_state(sql, connection).map_err(cannot)?)? {
        return Ok(());
    }
    ownership::undisturbed(&dependents(sql, connection).map_err(cannot)?)?;
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

/// Foreign keys of other tables, and views, that hang on the workload's tables.
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
