//! Graymark's own tables in a SQLite file, and the state of the workload's tables.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use rusqlite::{Connection, params};

use crate::engine::sql::WorkloadSql;
use crate::engine::sql::script;
use crate::engine::{DatabaseState, ownership};
use crate::result::Manifest;

/// The version of [`Manifest`] that this program reads and writes.
const FORMAT: u32 = 1;

/// One row: the parameters of the population, as JSON, and whether it is complete.
const CREATE_MANIFEST: &str = "CREATE TABLE graymark_manifest (workload TEXT PRIMARY KEY, manifest TEXT NOT NULL, \
    complete INTEGER NOT NULL) STRICT";

/// The loaded parts of the population. A part's row is written in one transaction with its rows.
const CREATE_PARTS: &str = "CREATE TABLE graymark_parts (
    table_name TEXT NOT NULL, number INTEGER NOT NULL, rows INTEGER NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY (table_name, number)) STRICT, WITHOUT ROWID";

/// Graymark's own tables.
pub(super) const TABLES: [&str; 2] = [MANIFEST, "graymark_parts"];
const MANIFEST: &str = "graymark_manifest";

/// A loaded part of the population.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loaded {
    pub rows: u64,
    pub bytes: u64,
}

/// Creates Graymark's tables.
pub(super) fn write(sql: &WorkloadSql, connection: &Connection, manifest: &Manifest) -> rusqlite::Result<()> {
    connection.execute(CREATE_MANIFEST, [])?;
    connection.execute(CREATE_PARTS, [])?;
    let text =
        serde_json::to_string(manifest).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    connection.execute(
        "INSERT INTO graymark_manifest (workload, manifest, complete) VALUES (?1, ?2, 0)",
        params![sql.name, text],
    )?;
    Ok(())
}

/// Marks the load as complete.
pub(super) fn complete(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("UPDATE graymark_manifest SET complete = 1", []).map(|_| ())
}

/// Notes a loaded part.
pub(super) fn add_part(connection: &Connection, table: &str, number: u32, loaded: Loaded) -> rusqlite::Result<()> {
    let mut insert = connection
        .prepare_cached("INSERT INTO graymark_parts (table_name, number, rows, bytes) VALUES (?1, ?2, ?3, ?4)")?;
    insert.execute(params![table, number, loaded.rows as i64, loaded.bytes as i64]).map(|_| ())
}

/// The loaded parts by table and number.
pub(super) fn parts(connection: &Connection) -> rusqlite::Result<BTreeMap<(String, u32), Loaded>> {
    let mut select = connection.prepare("SELECT table_name, number, rows, bytes FROM graymark_parts")?;
    let part = |row: &rusqlite::Row| {
        let loaded = Loaded { rows: row.get::<_, i64>(2)? as u64, bytes: row.get::<_, i64>(3)? as u64 };
        Ok(((row.get(0)?, row.get(1)?), loaded))
    };
    select.query_map([], part)?.collect()
}

/// Objects in the file by name in lower case, because SQLite ignores case: each with its kind, `table`, `index`, `view`
/// or `trigger`.
pub(super) type There = BTreeMap<String, String>;

/// The objects in the file.
pub(super) fn there(connection: &Connection) -> rusqlite::Result<There> {
    let mut select = connection.prepare("SELECT lower(name), type FROM sqlite_schema")?;
    select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// The columns of all tables in the file, as table and column, also generated ones. Virtual tables, whose module may be
/// missing, are left out.
pub(super) fn columns(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let sql = "SELECT tables.name, columns.name \
        FROM sqlite_schema AS tables, pragma_table_xinfo(tables.name) AS columns \
        WHERE tables.type = 'table' AND tables.sql NOT LIKE 'CREATE VIRTUAL TABLE%'";
    connection.prepare(sql)?.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// The state of the workload's tables in the file.
pub(super) fn database_state(
    sql: &WorkloadSql,
    connection: &Connection,
    file: &Path,
) -> rusqlite::Result<DatabaseState> {
    let there = there(connection)?;
    let foreign = |what: String| {
        let look = format!("`sqlite3 {} .schema`", file.display());
        Ok(ownership::foreign(&what, &look, "a file of its own: --db sqlite:OTHER.db"))
    };
    let is_table = |name: &str| there.get(name).is_some_and(|kind| kind == "table");
    if !is_table(MANIFEST) {
        let names = script::statements(sql.schema_of(0)).into_iter().map(|made| made.name).chain(TABLES);
        let unproven: Vec<&str> = names.filter(|name| there.contains_key(*name)).collect();
        return if unproven.is_empty() { Ok(DatabaseState::Nothing) } else { foreign(ownership::unproven(&unproven)) };
    }
    let lacks = |table: &str, columns: &[&str]| -> rusqlite::Result<Option<String>> {
        let mut select = connection.prepare("SELECT lower(name) FROM pragma_table_info(?1)")?;
        let has: HashSet<String> = select.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(columns.iter().find(|column| !has.contains(**column)).map(|column| (*column).to_owned()))
    };
    if lacks(MANIFEST, &["workload", "manifest", "complete"])?.is_some() {
        return foreign(format!("its {MANIFEST} is none of Graymark's"));
    }
    let rows: Vec<(Option<String>, Option<String>, bool)> = connection
        .prepare("SELECT CAST(workload AS TEXT), CAST(manifest AS TEXT), complete IS 1 FROM graymark_manifest")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let [(workload, text, complete)] = &rows[..] else {
        return foreign(format!("its {MANIFEST} has {} rows instead of one", rows.len()));
    };
    match workload.as_deref() {
        Some(name) if name == sql.name => {}
        Some(name) => return Ok(DatabaseState::Other { workload: name.to_owned() }),
        None => return foreign(format!("its {MANIFEST} names no workload")),
    }
    let manifest: Manifest = match serde_json::from_str(text.as_deref().unwrap_or_default()) {
        Ok(manifest) => manifest,
        Err(error) => return foreign(format!("its {MANIFEST} cannot be read: {error}")),
    };
    if manifest.format != FORMAT {
        return foreign(format!(
            "its manifest has format {}, and this program understands format {FORMAT}",
            manifest.format
        ));
    }
    let mut missing =
        TABLES.into_iter().find(|name| !is_table(name)).map(|name| format!("the table {name} is missing"));
    for table in sql.tables {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        match there.get(table.name).map(String::as_str) {
            None => missing = missing.or_else(|| Some(format!("the table {} is missing", table.name))),
            Some("table") => {
                if let Some(column) = lacks(table.name, &columns)? {
                    return foreign(format!(
                        "the table {} has no column {column}, so that it is none that was loaded",
                        table.name
                    ));
                }
            }
            Some(kind) => return foreign(format!("{} is no table, but something called {kind}", table.name)),
        }
    }
    if *complete && missing.is_none() {
        let made = script::statements(sql.schema(&manifest));
        missing = made
            .iter()
            .find(|made| !there.contains_key(made.name))
            .map(|made| format!("the index {} is missing", made.name));
    }
    Ok(match missing {
        Some(why) => DatabaseState::Damaged { why },
        None if *complete => DatabaseState::Complete(manifest),
        None => DatabaseState::Unfinished(manifest),
    })
}
