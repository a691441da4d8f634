//! What Graymark keeps in a database about the workload that it loaded there, and what it finds there.

use std::collections::HashSet;

use super::target::{QueryError, Target};
use crate::engine::odbc::connection::Connection;
use crate::engine::odbc::diagnostic::Diagnostic;
use crate::engine::odbc::parameter::Param;
use crate::engine::odbc::row::Row;
use crate::engine::sql::{WorkloadSql, script};
use crate::engine::{DatabaseState, Error, Failure, ownership};
use crate::result::Manifest;
use crate::result::Procedures;
use crate::result::procedures::Source;

/// The version of [`Manifest`] that this program writes and understands.
const FORMAT: u32 = 1;

const MANIFEST: &str = "graymark_manifest";

/// Makes the table, with a manifest of a load that has not ended.
pub(super) fn write(sql: &WorkloadSql, connection: &Connection, manifest: &str) -> Result<(), Diagnostic> {
    let name = sql.name;
    // One row: how the population was made, as JSON, and whether all of it is there.
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

/// All of the population is there.
pub(super) fn complete(sql: &WorkloadSql, connection: &Connection) -> Result<(), Diagnostic> {
    connection.execute(&format!("UPDATE {}.DBA.graymark_manifest SET complete = 1", sql.name)).map(|_| ())
}

/// The names in the first column of a query's rows, in lower case, as a server may keep them otherwise.
fn names(connection: &Connection, sql: &str) -> Result<HashSet<String>, QueryError> {
    let reply = connection.query(sql)?;
    reply.rows.iter().map(|row| Ok(row.text(0)?.to_lowercase())).collect()
}

/// The names of all tables in the workload's catalog.
fn tables(sql: &WorkloadSql, connection: &Connection) -> Result<HashSet<String>, QueryError> {
    let query = format!(
        "SELECT DISTINCT name_part (KEY_TABLE, 2) FROM DB.DBA.SYS_KEYS WHERE KEY_TABLE LIKE '{}.DBA.%'",
        sql.name
    );
    names(connection, &query)
}

/// What the database holds of the workload.
pub(super) fn database_state(sql: &WorkloadSql, connection: &Connection) -> Result<DatabaseState, QueryError> {
    let name = sql.name;
    let there = tables(sql, connection)?;
    let foreign = |what: String| {
        let look = format!("`SELECT DISTINCT KEY_TABLE FROM DB.DBA.SYS_KEYS WHERE KEY_TABLE LIKE '{name}.DBA.%'`");
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
    let columns = |table: &str| {
        names(connection, &format!("SELECT \"COLUMN\" FROM DB.DBA.SYS_COLS WHERE \"TABLE\" = '{name}.DBA.{table}'"))
    };
    let has = columns(MANIFEST)?;
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
        let columns = columns(table.name)?;
        if let Some(column) = table.columns.iter().find(|column| !columns.contains(column.name)) {
            let (table, column) = (table.name, column.name);
            return foreign(format!("the table {table} has no column {column}, so that it is none that was loaded"));
        }
    }
    // Tables are made one by one, and a load that has not ended begins anew.
    if row.int(1)? == 0 {
        return Ok(DatabaseState::Unfinished(manifest));
    }
    let keys = names(connection, &format!("SELECT KEY_NAME FROM DB.DBA.SYS_KEYS WHERE KEY_TABLE LIKE '{name}.DBA.%'"))?;
    let index = || sql.keys().iter().find(|made| !keys.contains(made.name)).map(|made| made.name.to_owned());
    Ok(match missing.or_else(|| index().map(|name| format!("the index {name} is missing"))) {
        Some(why) => DatabaseState::Damaged { why },
        None => DatabaseState::Complete(manifest),
    })
}

/// The names of the procedures in the catalog.
fn procedures(sql: &WorkloadSql, connection: &Connection) -> Result<HashSet<String>, QueryError> {
    let query =
        format!("SELECT name_part (P_NAME, 2) FROM DB.DBA.SYS_PROCEDURES WHERE P_NAME LIKE '{}.DBA.%'", sql.name);
    names(connection, &query)
}

/// Makes the procedures, or makes them anew.
pub(super) fn make_procedures(sql: &WorkloadSql, connection: &Connection) -> Result<(), Diagnostic> {
    for procedure in script::statements(sql.procedures()) {
        connection.execute(procedure.sql)?;
    }
    Ok(())
}

/// Compares the procedures with those that this program makes. The server keeps their whole text.
pub(super) fn compare_procedures(sql: &WorkloadSql, connection: &Connection) -> Result<Procedures, QueryError> {
    let mut found = Vec::new();
    for procedure in script::statements(sql.procedures()) {
        let name = procedure.name;
        let query = format!(
            "SELECT P_TEXT, blob_to_string (P_MORE) FROM DB.DBA.SYS_PROCEDURES WHERE lower (P_NAME) = '{}.dba.{name}'",
            sql.name
        );
        let reply = match connection.query(&query) {
            Ok(reply) => reply,
            // A user of the server who may not read its catalog.
            Err(diagnostic) if diagnostic.state() == "42000" => {
                found.push((name, Source::Unread));
                continue;
            }
            Err(diagnostic) => return Err(diagnostic.into()),
        };
        let text = |row: &Row| -> Result<String, Failure> {
            Ok(row.optional_text(0)?.or(row.optional_text(1)?).unwrap_or_default().to_owned())
        };
        let own = match &reply.rows[..] {
            [row] => text(row)?.trim() == procedure.sql.trim(),
            _ => false,
        };
        found.push((name, if own { Source::Own } else { Source::Other }));
    }
    Ok(Procedures::of(found))
}

/// Removes the workload's tables and procedures, and Graymark's own table at the end, if its manifest proves that they
/// are its own. The server takes no dropped table back: what else hangs on them is looked for first.
pub(super) fn drop_tables(sql: &WorkloadSql, target: &Target, connection: &Connection) -> Result<(), Error> {
    let cannot = |error| target.explain_query("cannot drop the tables", error);
    if !ownership::droppable(database_state(sql, connection).map_err(cannot)?)? {
        return Ok(());
    }
    let dependents = dependents(sql, connection).map_err(cannot)?;
    if !dependents.is_empty() {
        return Err(ownership::needed_by(&dependents.join(", ")));
    }
    remove(sql, connection).map_err(cannot)
}

fn remove(sql: &WorkloadSql, connection: &Connection) -> Result<(), QueryError> {
    let procedures = procedures(sql, connection)?;
    for procedure in script::statements(sql.procedures()).iter().filter(|made| procedures.contains(made.name)) {
        connection.execute(&format!("DROP PROCEDURE {}.DBA.{}", sql.name, procedure.name))?;
    }
    let there = tables(sql, connection)?;
    for table in sql.tables.iter().map(|table| table.name).chain([MANIFEST]).filter(|name| there.contains(*name)) {
        connection.execute(&format!("DROP TABLE {}.DBA.{table}", sql.name))?;
    }
    Ok(())
}

/// Foreign keys of other tables, and views, that hang on the workload's tables.
fn dependents(sql: &WorkloadSql, connection: &Connection) -> Result<Vec<String>, QueryError> {
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
