//! Graymark's own table in a Virtuoso database, and the state of the workload's tables.

use std::collections::HashSet;
use std::time::Duration;

use super::connect::{QueryError, Target};
use crate::engine::server::virtuoso::PAGE;
use crate::engine::sql::{WorkloadSql, script};
use crate::engine::wire::odbc::driver::Connection;
use crate::engine::wire::odbc::failure::Diagnostic;
use crate::engine::wire::odbc::parameter::Param;
use crate::engine::{DatabaseState, Error, ownership};
use crate::result::Manifest;

/// The version of [`Manifest`] that this program reads and writes.
const FORMAT: u32 = 1;

pub(super) const MANIFEST: &str = "graymark_manifest";

/// How long a command waits for the lock: the session of a load that has just ended may hold it for a moment.
const CLAIM: Duration = Duration::from_secs(10);
/// The SQLSTATE of a statement that took too long.
const TIMED_OUT: &str = "HYT00";

/// Creates the table, with the manifest of an unfinished load.
pub(super) fn write(sql: &WorkloadSql, connection: &Connection, manifest: &str) -> Result<(), Diagnostic> {
    let name = sql.name;
    // One row: the parameters of the population, as JSON, and whether it is complete.
    connection.execute(&format!(
        "CREATE TABLE {name}.DBA.graymark_manifest (workload VARCHAR(40) NOT NULL, manifest VARCHAR(2000) NOT NULL, \
         complete INTEGER NOT NULL, PRIMARY KEY (workload))"
    ))?;
    let mut insert = connection.prepare(&format!(
        "INSERT INTO {name}.DBA.graymark_manifest (workload, manifest, complete) VALUES (?, ?, 0)"
    ))?;
    insert.set(0, 0, Param::Text(name))?;
    insert.set(0, 1, Param::Text(manifest))?;
    insert.execute(1)
}

/// The lock of loads and drops, for as long as it lives: a change of the manifest that is never committed. A table that
/// is dropped during a load crashes version 7.2.5.
pub(super) struct Claim {
    connection: Connection,
}

impl Claim {
    /// Acquires the lock, for which the manifest has to exist.
    ///
    /// # Errors
    /// If another command holds it.
    pub(super) fn acquire(sql: &WorkloadSql, target: &Target) -> Result<Claim, Error> {
        let connection = target.connect(sql.name)?;
        let prepare = || {
            connection.set_autocommit(false)?;
            let change = format!("UPDATE {}.DBA.graymark_manifest SET complete = complete", sql.name);
            let mut lock = connection.prepare(&change)?;
            lock.limit(CLAIM).map(|()| lock)
        };
        let cannot = |diagnostic: Diagnostic| target.explain("cannot begin", &diagnostic);
        let mut lock = prepare().map_err(cannot)?;
        match lock.execute(1) {
            Ok(()) => Ok(Claim { connection }),
            Err(diagnostic) if diagnostic.state() == TIMED_OUT => {
                // The driver has given up, but version 7.2.5 often goes on waiting, and answers nothing meanwhile:
                // closing the statement or the connection would wait for the lock, too.
                std::mem::forget((lock, connection));
                let why = "another load or drop is running: wait for it or stop it";
                Err(Error::Database(format!("{}: {why}", target.url())))
            }
            Err(diagnostic) => Err(cannot(diagnostic)),
        }
    }

    /// Releases the lock.
    ///
    /// # Errors
    /// If the connection is lost.
    pub(super) fn release(self) -> Result<(), Diagnostic> {
        self.connection.rollback()
    }
}

/// Marks the load as complete.
pub(super) fn complete(sql: &WorkloadSql, connection: &Connection) -> Result<(), Diagnostic> {
    connection.execute(&format!("UPDATE {}.DBA.graymark_manifest SET complete = 1", sql.name)).map(|_| ())
}

/// The names in the first column of a query's rows, in lower case: the server may store another case.
pub(super) fn column(connection: &Connection, sql: &str) -> Result<HashSet<String>, QueryError> {
    let reply = connection.query(sql)?;
    reply.rows.iter().map(|row| Ok(row.text(0)?.to_lowercase())).collect()
}

/// The condition that the name in a column is one of the workload's catalog. The server finds a catalog in any case of
/// letters, and keeps the one in which it was first named.
pub(super) fn within(sql: &WorkloadSql, column: &str) -> String {
    format!("lower ({column}) LIKE '{}.dba.%'", sql.name)
}

/// The names of all tables in the workload's catalog.
pub(super) fn tables(sql: &WorkloadSql, connection: &Connection) -> Result<HashSet<String>, QueryError> {
    let within = within(sql, "KEY_TABLE");
    column(connection, &format!("SELECT DISTINCT name_part (KEY_TABLE, 2) FROM DB.DBA.SYS_KEYS WHERE {within}"))
}

/// The names of a table's columns in lower case; none if there is no such table.
fn columns(sql: &WorkloadSql, connection: &Connection, table: &str) -> Result<HashSet<String>, QueryError> {
    let name = sql.name;
    let query = format!("SELECT \"COLUMN\" FROM DB.DBA.SYS_COLS WHERE lower (\"TABLE\") = '{name}.dba.{table}'");
    column(connection, &query)
}

/// The state of the workload's tables.
pub(super) fn database_state(sql: &WorkloadSql, connection: &Connection) -> Result<DatabaseState, QueryError> {
    let name = sql.name;
    // With another CaseMode, names without quotes are kept in upper case, and would not be found below.
    let reply = connection.query("SELECT 1 AS lower_case")?;
    if reply.columns.first().is_none_or(|label| label != "lower_case") {
        let why = "this server keeps names in upper case: set CaseMode = 2 in [Parameters] of its virtuoso.ini, before \
                   tables are created, or give another Virtuoso, or virtuoso:local";
        return Ok(DatabaseState::Foreign { why: why.to_owned() });
    }
    let there = tables(sql, connection)?;
    let foreign = |what: String| {
        let look = format!("`SELECT DISTINCT KEY_TABLE FROM DB.DBA.SYS_KEYS WHERE {}`", within(sql, "KEY_TABLE"));
        Ok(ownership::foreign(&format!("its catalog {name}: {what}"), &look, "another Virtuoso, or virtuoso:local"))
    };
    if !there.contains(MANIFEST) {
        let procedures = procedures(sql, connection)?;
        let made = script::statements(sql.procedures());
        let made = made.iter().map(|made| made.name).filter(|name| procedures.contains(*name));
        let unproven = sql.tables.iter().map(|table| table.name).filter(|name| there.contains(*name)).chain(made);
        let unproven: Vec<&str> = unproven.collect();
        return if unproven.is_empty() { Ok(DatabaseState::Nothing) } else { foreign(ownership::unproven(&unproven)) };
    }
    let has = columns(sql, connection, MANIFEST)?;
    if !["workload", "manifest", "complete"].iter().all(|column| has.contains(*column)) {
        return foreign(format!("its {MANIFEST} is none of Graymark's"));
    }
    let query = format!("SELECT manifest, complete FROM {name}.DBA.graymark_manifest WHERE workload = '{name}'");
    let reply = connection.query(&query)?;
    let [row] = &reply.rows[..] else {
        return foreign(format!("its {MANIFEST} has {} rows instead of one", reply.rows.len()));
    };
    let manifest: Manifest = match serde_json::from_str(row.optional_text(0)?.unwrap_or_default()) {
        Ok(manifest) => manifest,
        Err(error) => return foreign(format!("its {MANIFEST} cannot be read: {error}")),
    };
    if manifest.format != FORMAT {
        return foreign(format!(
            "its manifest has format {}, and this program understands format {FORMAT}",
            manifest.format
        ));
    }
    let mut missing = None;
    for table in sql.tables {
        if !there.contains(table.name) {
            missing = missing.or_else(|| Some(format!("the table {} is missing", table.name)));
            continue;
        }
        let columns = columns(sql, connection, table.name)?;
        if let Some(column) = table.columns.iter().find(|column| !columns.contains(column.name)) {
            let (table, column) = (table.name, column.name);
            return foreign(format!("the table {table} has no column {column}, so that it is none that was loaded"));
        }
    }
    // Tables are created one by one, and an unfinished load is repeated from the start.
    if row.int(1)? == 0 {
        return Ok(DatabaseState::Unfinished(manifest));
    }
    let within = within(sql, "KEY_TABLE");
    let keys = column(connection, &format!("SELECT KEY_NAME FROM DB.DBA.SYS_KEYS WHERE {within}"))?;
    let index = || sql.keys().iter().find(|made| !keys.contains(made.name)).map(|made| made.name.to_owned());
    Ok(match missing.or_else(|| index().map(|name| format!("the index {name} is missing"))) {
        Some(why) => DatabaseState::Damaged { why },
        None => DatabaseState::Complete(manifest),
    })
}

/// The first number of the first row.
pub(super) fn number(connection: &Connection, sql: &str) -> Result<Option<u64>, QueryError> {
    let reply = connection.query(sql)?;
    let number = reply.rows.first().map(|row| row.optional_long(0)).transpose()?.flatten();
    Ok(number.map(i64::unsigned_abs))
}

/// Bytes of used pages of the whole database.
pub(super) fn database_bytes(connection: &Connection) -> Result<u64, QueryError> {
    // The figures are as of the last call of status().
    connection.execute("status ()")?;
    let reply = connection.query("SELECT sys_stat ('st_db_pages') - sys_stat ('st_db_free_pages')")?;
    let pages = reply.rows.first().map(|row| row.long(0)).transpose()?.unwrap_or_default();
    Ok(u64::try_from(pages).unwrap_or_default() * PAGE)
}

/// The names of the procedures in the catalog.
pub(super) fn procedures(sql: &WorkloadSql, connection: &Connection) -> Result<HashSet<String>, QueryError> {
    let within = within(sql, "P_NAME");
    column(connection, &format!("SELECT name_part (P_NAME, 2) FROM DB.DBA.SYS_PROCEDURES WHERE {within}"))
}
