//! Removing the workload's tables: only those that the manifest proves to be Graymark's, and nothing that hangs on
//! them.

use super::catalog::{TABLES, columns, database_state, dependents, failed, there};
use super::dialect::Dialect;
use super::driver::Connection;
use super::failure::Diagnostic;
use super::{begin, commit, procedures, rollback};
use crate::engine::sql::WorkloadSql;
use crate::engine::{Error, ownership};

/// Why a removal ended.
enum Stopped {
    /// The database refused a statement.
    Refused(Diagnostic),
    /// Something else.
    Other(Error),
}

impl From<Diagnostic> for Stopped {
    fn from(error: Diagnostic) -> Stopped {
        Stopped::Refused(error)
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Stopped {
        Stopped::Other(error)
    }
}

fn cannot(error: &Diagnostic) -> Error {
    failed("cannot remove the tables", error)
}

/// Removes the workload's tables, its procedures and Graymark's own tables, if the manifest proves that they are.
/// Returns the procedures that it left alone.
pub(super) fn drop_tables(sql: &WorkloadSql, connection: &Connection, dialect: Dialect) -> Result<Vec<String>, Error> {
    // Reading the tables waits for the locks of others, too.
    for sql in dialect.before_drop {
        connection.execute(sql).map_err(|error| cannot(&error))?;
    }
    if !ownership::can_drop(database_state(sql, connection, dialect)?)? {
        return Ok(Vec::new());
    }
    let before = lock_own(sql, connection, dialect)?;
    let (routines, kept) = procedures::proven(sql, connection, dialect)?;
    begin(connection, dialect).map_err(|error| cannot(&error))?;
    match remove(sql, connection, dialect, &before, &routines) {
        Ok(()) => {
            let ended = commit(connection, dialect).and_then(|()| release(connection, dialect));
            ended.map_err(|error| cannot(&error))?;
        }
        Err(stopped) => {
            // The first error is the one to tell. With locked tables MariaDB does not tell which ones are left.
            let _ = rollback(connection, dialect);
            let _ = release(connection, dialect);
            return Err(explain(stopped, sql, connection, before));
        }
    }
    Ok(kept.into_iter().map(str::to_owned).collect())
}

/// Why a removal ended, and what it had dropped: not every database takes the drop of a table back.
fn explain(stopped: Stopped, sql: &WorkloadSql, connection: &Connection, before: Vec<&'static str>) -> Error {
    let error = match stopped {
        Stopped::Other(error) => return error,
        Stopped::Refused(error) => error,
    };
    // Dependent objects still exist.
    if error.state() == "2BP01" {
        return ownership::needed_by(&error.to_string());
    }
    let left = there(sql, connection).unwrap_or_else(|_| before.clone());
    let gone: Vec<&str> = before.into_iter().filter(|table| !left.contains(table)).collect();
    match &gone[..] {
        [] => cannot(&error),
        gone => failed(&ownership::cannot_drop("the other tables", gone), &error),
    }
}

/// Locks the tables of the workload and of Graymark, where the dialect can. Returns their names. While this waits,
/// others may put tables of their own in the place of these, or add columns: it checks before and after.
fn lock_own(sql: &WorkloadSql, connection: &Connection, dialect: Dialect) -> Result<Vec<&'static str>, Error> {
    let before = ensure_own(sql, connection, dialect)?;
    let Some(locks) = dialect.locks else { return Ok(before) };
    let each: Vec<String> = before.iter().map(|table| locks.each.replace("{table}", table)).collect();
    let locked = connection.execute(&locks.lock.replace("{tables}", &each.join(", ")));
    locked.map_err(|error| failed("nothing was dropped: cannot lock the tables", &error))?;
    if ensure_own(sql, connection, dialect)? != before {
        return Err(ownership::changed_meanwhile("dropped"));
    }
    Ok(before)
}

/// Releases the locks of tables.
fn release(connection: &Connection, dialect: Dialect) -> Result<(), Diagnostic> {
    dialect.locks.map_or(Ok(()), |locks| connection.execute(locks.release).map(|_| ()))
}

/// The tables of the workload and of Graymark that are there; an error unless they may be dropped.
fn ensure_own(sql: &WorkloadSql, connection: &Connection, dialect: Dialect) -> Result<Vec<&'static str>, Error> {
    if !ownership::can_drop(database_state(sql, connection, dialect)?)? {
        return Err(ownership::changed_meanwhile("dropped"));
    }
    let there = there(sql, connection)?;
    ownership::ensure_no_dependents(&dependents(connection, dialect, &there).map_err(|error| cannot(&error))?)?;
    let columns = columns(sql, connection, dialect, &there).map_err(|error| cannot(&error))?;
    ownership::ensure_no_added_columns(columns.iter().map(|(table, column)| (&**table, &**column)), sql)?;
    Ok(there)
}

/// Tables first: a user who may not drop them has lost no procedure. What proves the others to be Graymark's goes last:
/// if this is interrupted, the next drop continues.
fn remove(
    sql: &WorkloadSql,
    connection: &Connection,
    dialect: Dialect,
    there: &[&str],
    routines: &[String],
) -> Result<(), Stopped> {
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
    if !routines.is_empty() && dialect.locks.is_some() {
        // With locked tables MariaDB drops no procedure.
        release(connection, dialect)?;
    }
    for routine in routines {
        connection.execute(routine)?;
    }
    if !routines.is_empty() && dialect.locks.is_some() {
        lock_own(sql, connection, dialect)?;
    }
    drop(TABLES.into_iter().rev().collect())?;
    Ok(())
}
