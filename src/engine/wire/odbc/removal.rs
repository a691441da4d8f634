//! Removing the workload's tables: only those that the manifest proves to be Graymark's, and nothing that hangs on
//! them.

use super::catalog::{TABLES, database_state, dependents, failed, there};
use super::dialect::Dialect;
use super::driver::Connection;
use super::failure::Diagnostic;
use super::{begin, commit, procedures, program, rollback};
use crate::engine::dialect::Texts;
use crate::engine::sql::WorkloadSql;
use crate::engine::{Error, ownership};

/// Removes the workload's tables and Graymark's own, if the manifest proves that they are.
pub(super) fn drop_tables(sql: &WorkloadSql, connection: &Connection, dialect: Dialect) -> Result<(), Error> {
    if !ownership::can_drop(database_state(sql, connection, dialect)?)? {
        return Ok(());
    }
    let cannot = |error: Diagnostic| failed("cannot remove the tables", &error);
    let there = there(sql, connection)?;
    ownership::ensure_no_dependents(&dependents(connection, dialect, &there).map_err(cannot)?)?;
    let columns = columns(sql, connection, &there).map_err(cannot)?;
    ownership::ensure_no_added_columns(columns.iter().map(|(table, column)| (*table, &**column)), sql)?;
    for sql in dialect.before_drop {
        connection.execute(sql).map_err(cannot)?;
    }
    begin(connection, dialect).map_err(cannot)?;
    match remove(sql, connection, dialect, &there) {
        Ok(()) => commit(connection, dialect).map_err(cannot),
        Err(error) => {
            // The first error is the one to tell.
            let _ = rollback(connection, dialect);
            // Dependent objects still exist.
            Err(if error.state() == "2BP01" { ownership::needed_by(&error.to_string()) } else { cannot(error) })
        }
    }
}

/// The columns of the workload's tables, as table and column.
fn columns(
    sql: &WorkloadSql,
    connection: &Connection,
    there: &[&'static str],
) -> Result<Vec<(&'static str, String)>, Diagnostic> {
    let mut found = Vec::new();
    for table in sql.tables.iter().map(|table| table.name).filter(|name| there.contains(name)) {
        let reply = connection.query(&format!("SELECT * FROM {table} WHERE 1 = 0"))?;
        found.extend(reply.columns.into_iter().map(|column| (table, column)));
    }
    Ok(found)
}

fn remove(sql: &WorkloadSql, connection: &Connection, dialect: Dialect, there: &[&str]) -> Result<(), Diagnostic> {
    procedures::drop_all(sql, connection, dialect)?;
    let prefix = dialect.prefix.replace("{schema}", sql.name);
    // What proves the others to be Graymark's goes last.
    let order = sql.children_first().into_iter().chain(TABLES.into_iter().rev());
    let tables: Vec<String> = order.filter(|name| there.contains(name)).map(|name| format!("{prefix}{name}")).collect();
    if dialect.drop.contains("{tables}") {
        connection.execute(&dialect.drop.replace("{tables}", &tables.join(", ")))?;
    } else {
        for table in &tables {
            connection.execute(&dialect.drop.replace("{table}", table))?;
        }
    }
    if dialect.texts == Texts::Postgres {
        for step in program::steps(sql.drop_procedures()) {
            connection.execute(&step.sql)?;
        }
    }
    Ok(())
}
