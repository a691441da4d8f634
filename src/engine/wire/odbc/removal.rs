//! Removing the workload's tables: only those that the manifest proves to be Graymark's, and nothing that hangs on
//! them.

use super::catalog::{TABLES, database_state, dependents, failed, there};
use super::dialect::Dialect;
use super::driver::Connection;
use super::failure::Diagnostic;
use super::{begin, commit, procedures, rollback};
use crate::engine::sql::WorkloadSql;
use crate::engine::{Error, ownership};

/// Removes the workload's tables, its procedures and Graymark's own tables, if the manifest proves that they are.
/// Returns the procedures that it left alone.
pub(super) fn drop_tables(sql: &WorkloadSql, connection: &Connection, dialect: Dialect) -> Result<Vec<String>, Error> {
    if !ownership::can_drop(database_state(sql, connection, dialect)?)? {
        return Ok(Vec::new());
    }
    let cannot = |error: Diagnostic| failed("cannot remove the tables", &error);
    let before = there(sql, connection)?;
    ownership::ensure_no_dependents(&dependents(connection, dialect, &before).map_err(cannot)?)?;
    let columns = columns(sql, connection, &before).map_err(cannot)?;
    ownership::ensure_no_added_columns(columns.iter().map(|(table, column)| (*table, &**column)), sql)?;
    let (routines, kept) = procedures::proven(sql, connection, dialect)?;
    for sql in dialect.before_drop {
        connection.execute(sql).map_err(cannot)?;
    }
    begin(connection, dialect).map_err(cannot)?;
    match remove(sql, connection, dialect, &before, &routines) {
        Ok(()) => commit(connection, dialect).map_err(cannot)?,
        Err(error) => {
            // The first error is the one to tell.
            let _ = rollback(connection, dialect);
            // Dependent objects still exist.
            if error.state() == "2BP01" {
                return Err(ownership::needed_by(&error.to_string()));
            }
            // Not every database takes the drop of a table back.
            let left = there(sql, connection).unwrap_or_else(|_| before.clone());
            let gone: Vec<&str> = before.into_iter().filter(|table| !left.contains(table)).collect();
            return Err(match &gone[..] {
                [] => cannot(error),
                gone => failed(&ownership::cannot_drop("the other tables", gone), &error),
            });
        }
    }
    Ok(kept.into_iter().map(str::to_owned).collect())
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

/// Tables first: a user who may not drop them has lost no procedure. What proves the others to be Graymark's goes last:
/// if this is interrupted, the next drop continues.
fn remove(
    sql: &WorkloadSql,
    connection: &Connection,
    dialect: Dialect,
    there: &[&str],
    routines: &[String],
) -> Result<(), Diagnostic> {
    let prefix = dialect.prefix.replace("{schema}", sql.name);
    let drop = |tables: Vec<&str>| {
        let mut tables = tables.into_iter().filter(|name| there.contains(name)).map(|name| format!("{prefix}{name}"));
        if dialect.drop.contains("{tables}") {
            let tables: Vec<String> = tables.collect();
            let drop = || connection.execute(&dialect.drop.replace("{tables}", &tables.join(", "))).map(|_| ());
            return if tables.is_empty() { Ok(()) } else { drop() };
        }
        tables.try_for_each(|table| connection.execute(&dialect.drop.replace("{table}", &table)).map(|_| ()))
    };
    drop(sql.children_first())?;
    for routine in routines {
        connection.execute(routine)?;
    }
    drop(TABLES.into_iter().rev().collect())
}
