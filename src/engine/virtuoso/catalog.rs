//! What Graymark keeps in a database about the workload that it loaded there, and what it finds there.

use std::collections::HashSet;

use super::tpcc::{KEYS, PROCEDURES};
use crate::engine::odbc::connection::Connection;
use crate::engine::odbc::diagnostic::Diagnostic;
use crate::engine::odbc::parameter::Param;
use crate::engine::sql::script;
use crate::engine::{Failure, Holding, Manifest};
use crate::workload::Workload;
use crate::workload::tpcc::Tpcc;

/// The version of [`Manifest`] that this program writes and understands.
const FORMAT: u32 = 1;

/// One row: how the population was made, as JSON, and whether all of it is there.
const CREATE: &str = "CREATE TABLE tpcc.DBA.graymark_manifest (workload VARCHAR(40) NOT NULL, manifest VARCHAR(2000) NOT NULL, \
                      complete INTEGER NOT NULL, PRIMARY KEY (workload))";
const MANIFEST: &str = "graymark_manifest";

/// Why the database could not be asked.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It refused.
    Refused(Diagnostic),
    /// It answered something else.
    Unreadable(Failure),
}

impl From<Diagnostic> for Trouble {
    fn from(diagnostic: Diagnostic) -> Self {
        Trouble::Refused(diagnostic)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Trouble::Unreadable(failure)
    }
}

/// Makes the table, with a manifest of a load that has not ended.
pub(super) fn write(connection: &Connection, manifest: &str) -> Result<(), Diagnostic> {
    connection.execute(CREATE)?;
    let mut insert =
        connection.prepare("INSERT INTO tpcc.DBA.graymark_manifest (workload, manifest, complete) VALUES (?, ?, 0)")?;
    insert.set(0, 0, Param::Text(Tpcc::NAME))?;
    insert.set(0, 1, Param::Text(manifest))?;
    insert.execute(1)
}

/// All of the population is there.
pub(super) fn complete(connection: &Connection) -> Result<(), Diagnostic> {
    connection.execute("UPDATE tpcc.DBA.graymark_manifest SET complete = 1").map(|_| ())
}

/// The names in the first column of a query's rows, in lower case, as a server may keep them otherwise.
fn names(connection: &Connection, sql: &str) -> Result<HashSet<String>, Trouble> {
    let reply = connection.query(sql)?;
    reply.rows.iter().map(|row| Ok(row.text(0)?.to_lowercase())).collect()
}

/// What the database holds of the workload.
pub(super) fn holding(connection: &Connection) -> Result<Holding, Trouble> {
    let tables = "SELECT DISTINCT name_part (KEY_TABLE, 2) FROM DB.DBA.SYS_KEYS WHERE KEY_TABLE LIKE 'tpcc.DBA.%'";
    let there = names(connection, tables)?;
    let foreign = |why: String| Ok(Holding::Foreign { why });
    if !there.contains(MANIFEST) {
        let ours: Vec<&str> = Tpcc::TABLES.iter().map(|table| table.name).filter(|name| there.contains(*name)).collect();
        return match ours[..] {
            [] => Ok(Holding::Nothing),
            _ => foreign(format!("it has {} but no {MANIFEST}: something else made them", ours.join(", "))),
        };
    }
    let reply = connection.query("SELECT manifest, complete FROM tpcc.DBA.graymark_manifest WHERE workload = 'tpcc'")?;
    let [row] = &reply.rows[..] else {
        return foreign(format!("its {MANIFEST} has {} rows instead of one", reply.rows.len()));
    };
    let manifest: Manifest = match serde_json::from_str(row.text(0)?) {
        Ok(manifest) => manifest,
        Err(error) => return foreign(format!("its {MANIFEST} cannot be read: {error}")),
    };
    if manifest.format != FORMAT {
        return foreign(format!("its manifest has format {}, and this program understands format {FORMAT}", manifest.format));
    }
    if row.int(1)? == 0 {
        return Ok(Holding::Unfinished(manifest));
    }
    for table in Tpcc::TABLES {
        let columns = format!("SELECT \"COLUMN\" FROM DB.DBA.SYS_COLS WHERE \"TABLE\" = 'tpcc.DBA.{}'", table.name);
        let columns = names(connection, &columns)?;
        if let Some(column) = table.columns.iter().find(|column| !columns.contains(column.name)) {
            return foreign(format!("the table {} has no column {}, or is missing", table.name, column.name));
        }
    }
    let keys = names(connection, "SELECT KEY_NAME FROM DB.DBA.SYS_KEYS WHERE KEY_TABLE LIKE 'tpcc.DBA.%'")?;
    if let Some(missing) = script::statements(KEYS).iter().find(|made| !keys.contains(made.name)) {
        return foreign(format!("the index {} is missing", missing.name));
    }
    Ok(Holding::Complete(manifest))
}

/// Makes the procedures, or makes them anew.
pub(super) fn make_procedures(connection: &Connection) -> Result<(), Diagnostic> {
    for procedure in script::statements(PROCEDURES) {
        connection.execute(procedure.sql)?;
    }
    Ok(())
}

/// Removes the workload's tables and procedures, and Graymark's own table at the end.
pub(super) fn drop_tables(connection: &Connection) -> Result<(), Trouble> {
    let procedures = names(connection, "SELECT name_part (P_NAME, 2) FROM DB.DBA.SYS_PROCEDURES WHERE P_NAME LIKE 'tpcc.DBA.%'")?;
    for procedure in script::statements(PROCEDURES).iter().filter(|made| procedures.contains(made.name)) {
        connection.execute(&format!("DROP PROCEDURE tpcc.DBA.{}", procedure.name))?;
    }
    let tables = "SELECT DISTINCT name_part (KEY_TABLE, 2) FROM DB.DBA.SYS_KEYS WHERE KEY_TABLE LIKE 'tpcc.DBA.%'";
    let there = names(connection, tables)?;
    for table in Tpcc::TABLES.iter().map(|table| table.name).chain([MANIFEST]).filter(|name| there.contains(*name)) {
        connection.execute(&format!("DROP TABLE tpcc.DBA.{table}"))?;
    }
    Ok(())
}
