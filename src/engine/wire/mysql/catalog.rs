//! The state of a workload's tables, from the server's catalog and Graymark's own tables.

use std::collections::{BTreeMap, HashSet};

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::failure::{UNKNOWN_DATABASE, UNKNOWN_TABLE, code, of_command};
use super::query::Read;
use crate::engine::ownership::Dependent;
use crate::engine::sql::{WorkloadSql, script};
use crate::engine::{DatabaseState, Error, ownership};
use crate::result::Manifest;

/// Graymark's own tables in a workload's database.
pub const METADATA: [&str; 2] = ["graymark_manifest", "graymark_parts"];
const METADATA_SQL: &str = include_str!("metadata.sql");
const FORMAT: u32 = 1;
/// The kind of a table that is no view.
const BASE_TABLE: &str = "BASE TABLE";

/// The comment of the manifest's table if Graymark created the database. It has the database's name: a copy of the
/// tables in another database does not prove that Graymark created that one.
fn own_database(database: &str) -> String {
    format!("in the database {database} that Graymark made")
}

/// The tables and views of a database, with their kinds.
async fn kinds(conn: &mut Conn, database: &str) -> Result<BTreeMap<String, String>, mysql_async::Error> {
    let query = "SELECT CAST(table_name AS CHAR), CAST(table_type AS CHAR) FROM information_schema.tables WHERE \
        table_schema = ?";
    Ok(conn.rows_of::<(String, String)>(query, (database,)).await?.into_iter().collect())
}

/// The tables of the workload and of Graymark that exist: those that refer to others before these, the manifest last.
pub async fn own_tables(
    conn: &mut Conn,
    database: &str,
    sql: &WorkloadSql,
) -> Result<Vec<&'static str>, mysql_async::Error> {
    let there = kinds(conn, database).await?;
    let all = sql.children_first().into_iter().chain(METADATA.into_iter().rev());
    Ok(all.filter(|name| there.get(*name).is_some_and(|kind| kind == BASE_TABLE)).collect())
}

/// The state of a database, which need not exist. The connection need not use it.
pub async fn database_state(conn: &mut Conn, database: &str, sql: &WorkloadSql) -> Result<DatabaseState, Error> {
    let failed = |error| of_command("cannot read the state of the database", &error);
    let there = kinds(conn, database).await.map_err(failed)?;
    let foreign = |what: String| {
        let look = format!("SHOW TABLES FROM {database} and SHOW PROCEDURE STATUS");
        Ok(ownership::foreign(
            &format!("the database {database}: {what}"),
            &look,
            "a database of its own: mysql://USER@HOST/NAME",
        ))
    };
    let is_table = |name: &str| there.get(name).is_some_and(|kind| kind == BASE_TABLE);
    if !is_table(METADATA[0]) {
        let names = sql.tables.iter().map(|table| table.name).chain(METADATA).filter(|name| there.contains_key(*name));
        let names: Vec<&str> = names.chain(procedures(conn, database, sql).await.map_err(failed)?).collect();
        if !names.is_empty() {
            return foreign(ownership::unproven(&names));
        }
        return may_look(conn, database).await.map(|()| DatabaseState::Nothing);
    }
    let columns = columns(conn, database).await.map_err(failed)?;
    let has = |table: &str, column: &str| columns.contains(&(table.to_owned(), column.to_owned()));
    if !["workload", "manifest", "state"].iter().all(|column| has(METADATA[0], column)) {
        return foreign(format!("its {} is none of Graymark's", METADATA[0]));
    }
    let query = format!("SELECT workload, manifest, state FROM `{database}`.graymark_manifest");
    let rows: Vec<(Option<String>, Option<String>, Option<String>)> = conn.rows(query).await.map_err(failed)?;
    // A load that was killed before it wrote the manifest.
    if rows.is_empty() && !sql.tables.iter().any(|table| there.contains_key(table.name)) {
        let names = procedures(conn, database, sql).await.map_err(failed)?;
        return if names.is_empty() { Ok(DatabaseState::Nothing) } else { foreign(ownership::unproven(&names)) };
    }
    let [(Some(workload), manifest, state)] = rows.as_slice() else {
        return foreign(format!("its {} has {} rows instead of one that names a workload", METADATA[0], rows.len()));
    };
    if workload != sql.name {
        return Ok(DatabaseState::Other { workload: workload.clone() });
    }
    let manifest = match serde_json::from_str::<Manifest>(manifest.as_deref().unwrap_or_default()) {
        Ok(manifest) if manifest.format == FORMAT => manifest,
        Ok(manifest) => {
            return foreign(format!(
                "it was loaded by another Graymark (format {}), which may remove it",
                manifest.format
            ));
        }
        Err(error) => return foreign(format!("its {} cannot be read: {error}", METADATA[0])),
    };
    let mut missing = METADATA.into_iter().find(|name| !is_table(name));
    for table in sql.tables {
        match there.get(table.name).map(String::as_str) {
            None => missing = missing.or(Some(table.name)),
            Some(BASE_TABLE) => {
                if let Some(column) = table.columns.iter().find(|column| !has(table.name, column.name)) {
                    let (table, column) = (table.name, column.name);
                    return foreign(format!(
                        "the table {table} has no column {column}, so that it is none that was loaded"
                    ));
                }
            }
            Some(kind) => return foreign(format!("{} is no table, but a {kind}", table.name)),
        }
    }
    Ok(match missing {
        Some(missing) if state.as_deref() == Some("complete") => {
            DatabaseState::Damaged { why: format!("database {database} has tables of the workload, but no {missing}") }
        }
        None if state.as_deref() == Some("complete") => DatabaseState::Complete(manifest),
        _ => DatabaseState::Unfinished(manifest),
    })
}

/// The procedures of a database that have names of the workload's. Names of procedures are not case-sensitive.
async fn procedures(
    conn: &mut Conn,
    database: &str,
    sql: &WorkloadSql,
) -> Result<Vec<&'static str>, mysql_async::Error> {
    let query = "SELECT CAST(routine_name AS CHAR) FROM information_schema.routines WHERE routine_schema = ? AND \
        routine_type = 'PROCEDURE'";
    let there: Vec<String> = conn.rows_of(query, (database,)).await?;
    let is_there = |name: &&str| there.iter().any(|there| there.eq_ignore_ascii_case(name));
    Ok(sql.procedure_names().into_iter().filter(is_there).collect())
}

/// The text of the manifest in the connection's database.
pub async fn manifest_text(conn: &mut Conn) -> Result<String, Error> {
    let text: Result<Option<Option<String>>, _> = conn.first("SELECT manifest FROM graymark_manifest").await;
    let text = text.map_err(|error| of_command("cannot read the manifest", &error))?;
    Ok(text.flatten().unwrap_or_default())
}

/// Checks that an empty catalog means an empty database: it hides objects without privileges. An error for a table
/// distinguishes the two.
async fn may_look(conn: &mut Conn, database: &str) -> Result<(), Error> {
    match conn.rows::<Option<String>>(format!("SELECT workload FROM `{database}`.{} LIMIT 1", METADATA[0])).await {
        Ok(_) => Ok(()),
        Err(error) if matches!(code(&error), Some(UNKNOWN_DATABASE | UNKNOWN_TABLE)) => Ok(()),
        Err(error) => Err(of_command(&format!("this user may not see what the database {database} holds"), &error)),
    }
}

/// The columns of all tables, as table and column.
pub async fn columns(conn: &mut Conn, database: &str) -> Result<HashSet<(String, String)>, mysql_async::Error> {
    let sql = "SELECT CAST(table_name AS CHAR), LOWER(CAST(column_name AS CHAR)) FROM information_schema.columns WHERE \
        table_schema = ?";
    Ok(conn.rows_of::<(String, String)>(sql, (database,)).await?.into_iter().collect())
}

/// Other objects that depend on the workload's tables, as far as this user may see them.
pub async fn dependents(conn: &mut Conn, sql: &WorkloadSql) -> Result<Vec<Dependent>, Error> {
    let tables: Vec<&str> = sql.tables.iter().map(|table| table.name).collect();
    let found: Result<Vec<(String, String, String)>, _> = conn.rows(sql.dependents()?).await;
    let found = found.map_err(|error| of_command("cannot query dependents of the tables", &error))?;
    Ok(ownership::dependents(found.iter().map(|(kind, name, needed)| (&**kind, &**name, &**needed)), &tables))
}

/// Stores that Graymark created the connection's database for these tables. Its name is the workload's.
pub async fn note_own_database(conn: &mut Conn, database: &str) -> Result<(), Error> {
    let note = format!("ALTER TABLE {} COMMENT = '{}'", METADATA[0], own_database(database));
    conn.query_drop(note).await.map_err(|error| of_command("cannot create the tables", &error))
}

/// Whether Graymark created the database.
pub async fn is_own_database(conn: &mut Conn, database: &str) -> Result<bool, mysql_async::Error> {
    let sql =
        "SELECT CAST(table_comment AS CHAR) FROM information_schema.tables WHERE table_schema = ? AND table_name = ?";
    let comment: Option<String> = conn.first_of(sql, (database, METADATA[0])).await?;
    Ok(comment == Some(own_database(database)))
}

/// Creates missing tables of the workload and of Graymark, empty. Each statement is its own transaction, and the
/// manifest comes first: an interruption leaves an unfinished load.
pub async fn create(conn: &mut Conn, sql: &WorkloadSql, manifest: &Manifest) -> Result<(), Error> {
    let json = serde_json::to_string(manifest)
        .map_err(|error| Error::Usage(format!("the manifest cannot be written: {error}")))?;
    let create = async || {
        for table in script::statements(METADATA_SQL) {
            conn.query_drop(table.sql).await?;
        }
        let insert = "INSERT IGNORE INTO graymark_manifest (workload, manifest, state) VALUES (?, ?, 'loading')";
        conn.exec_drop(insert, (sql.name, json)).await?;
        for table in script::statements(sql.schema(manifest)) {
            conn.query_drop(table.sql).await?;
        }
        Ok(())
    };
    create().await.map_err(|error| of_command("cannot create the tables", &error))
}

/// Marks the load as complete.
pub async fn complete(conn: &mut Conn) -> Result<(), Error> {
    let done = conn.query_drop("UPDATE graymark_manifest SET state = 'complete'").await;
    done.map_err(|error| of_command("cannot end the load", &error))
}

/// Loaded parts of the population: table, number, rows.
pub async fn parts(conn: &mut Conn) -> Result<Vec<(String, u32, u64)>, Error> {
    let parts = conn.rows("SELECT table_name, number, row_count FROM graymark_parts").await;
    parts.map_err(|error| of_command("cannot read which parts are loaded", &error))
}

/// Bytes of all tables and indexes of the database, as estimated by the storage engine.
pub async fn bytes(conn: &mut Conn) -> Result<Option<u64>, Error> {
    let sql = "SELECT CAST(sum(data_length + index_length) AS UNSIGNED) FROM information_schema.tables WHERE \
        table_schema = DATABASE()";
    let bytes: Option<Option<u64>> =
        conn.first(sql).await.map_err(|error| of_command("cannot measure the tables", &error))?;
    Ok(bytes.flatten())
}

/// Whether the connection's database has an index with this name.
pub async fn has_index(conn: &mut Conn, name: &str) -> Result<bool, mysql_async::Error> {
    let sql = "SELECT count(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name = ?";
    let found: Option<u64> = conn.first_of(sql, (name,)).await?;
    Ok(found.is_some_and(|found| found > 0))
}

/// Whether the connection's database has a constraint with this name.
pub async fn has_constraint(conn: &mut Conn, name: &str) -> Result<bool, mysql_async::Error> {
    let sql = "SELECT count(*) FROM information_schema.table_constraints WHERE constraint_schema = DATABASE() AND \
        constraint_name = ?";
    let found: Option<u64> = conn.first_of(sql, (name,)).await?;
    Ok(found.is_some_and(|found| found > 0))
}
