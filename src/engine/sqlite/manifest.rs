//! What Graymark keeps in a SQLite file about the workload that it loaded there, and what it finds there.

use std::collections::{BTreeMap, HashSet};

use rusqlite::{Connection, params};

use super::Port;
use crate::engine::sql::script;
use crate::engine::{Holding, Manifest};

/// The version of [`Manifest`] that this program writes and understands.
const FORMAT: u32 = 1;

/// One row: how the population was made, as JSON, and whether all of it is there.
const CREATE_MANIFEST: &str =
    "CREATE TABLE graymark_manifest (workload TEXT PRIMARY KEY, manifest TEXT NOT NULL, complete INTEGER NOT NULL) STRICT";

/// The parts of the population that are loaded. A part's row is written in one transaction with its rows.
const CREATE_PARTS: &str = "CREATE TABLE graymark_parts (
    table_name TEXT NOT NULL, number INTEGER NOT NULL, rows INTEGER NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY (table_name, number)) STRICT, WITHOUT ROWID";

/// Graymark's own tables.
const TABLES: [&str; 2] = ["graymark_manifest", "graymark_parts"];

/// A loaded part of the population.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loaded {
    pub rows: u64,
    pub bytes: u64,
}

/// Makes Graymark's tables.
pub(super) fn write<W: Port>(connection: &Connection, manifest: &Manifest) -> rusqlite::Result<()> {
    connection.execute(CREATE_MANIFEST, [])?;
    connection.execute(CREATE_PARTS, [])?;
    let text = serde_json::to_string(manifest).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    connection
        .execute("INSERT INTO graymark_manifest (workload, manifest, complete) VALUES (?1, ?2, 0)", params![W::NAME, text])?;
    Ok(())
}

/// All of the population is there.
pub(super) fn complete(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("UPDATE graymark_manifest SET complete = 1", []).map(|_| ())
}

/// A part's rows are there.
pub(super) fn add_part(connection: &Connection, table: &str, number: u32, loaded: Loaded) -> rusqlite::Result<()> {
    let mut insert =
        connection.prepare_cached("INSERT INTO graymark_parts (table_name, number, rows, bytes) VALUES (?1, ?2, ?3, ?4)")?;
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

/// What the file holds of the workload.
pub(super) fn holding<W: Port>(connection: &Connection) -> rusqlite::Result<Holding> {
    let there: HashSet<String> =
        connection.prepare("SELECT name FROM sqlite_schema")?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let foreign = |why: String| Ok(Holding::Foreign { why });
    if !there.contains(TABLES[0]) {
        let ours: Vec<&str> = W::TABLES.iter().map(|table| table.name).filter(|name| there.contains(*name)).collect();
        return match ours[..] {
            [] => Ok(Holding::Nothing),
            _ => foreign(format!("it has {} but no graymark_manifest: something else made them", ours.join(", "))),
        };
    }
    let rows: Vec<(String, String, bool)> = connection
        .prepare("SELECT workload, manifest, complete FROM graymark_manifest")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let [(workload, text, complete)] = &rows[..] else {
        return foreign(format!("its graymark_manifest has {} rows instead of one", rows.len()));
    };
    if workload != W::NAME {
        return Ok(Holding::Other { workload: workload.clone() });
    }
    let manifest: Manifest = match serde_json::from_str(text) {
        Ok(manifest) => manifest,
        Err(error) => return foreign(format!("its graymark_manifest cannot be read: {error}")),
    };
    if manifest.format != FORMAT {
        return foreign(format!("its manifest has format {}, and this program understands format {FORMAT}", manifest.format));
    }
    if !there.contains(TABLES[1]) {
        return foreign(format!("the table {} is missing", TABLES[1]));
    }
    for table in W::TABLES {
        let columns: HashSet<String> = connection
            .prepare("SELECT name FROM pragma_table_info(?1)")?
            .query_map([table.name], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        if columns.is_empty() {
            return foreign(format!("the table {} is missing", table.name));
        }
        if let Some(column) = table.columns.iter().find(|column| !columns.contains(column.name)) {
            return foreign(format!("the table {} has no column {}", table.name, column.name));
        }
    }
    if !complete {
        return Ok(Holding::Unfinished(manifest));
    }
    let profile = W::profile(&manifest.parameters).unwrap_or_default();
    match script::statements(W::schema(profile)).iter().find(|made| !there.contains(made.name)) {
        Some(missing) => foreign(format!("the index {} is missing", missing.name)),
        None => Ok(Holding::Complete(manifest)),
    }
}

/// Removes the workload's tables, their indexes and Graymark's own tables, in one transaction; then gives the space back if nothing else
/// is in the file.
pub(super) fn drop_tables<W: Port>(connection: &Connection) -> rusqlite::Result<()> {
    // What refers to a dropped table is dropped too.
    connection.pragma_update(None, "foreign_keys", false)?;
    let transaction = connection.unchecked_transaction()?;
    for name in W::TABLES.iter().map(|table| table.name).chain(TABLES) {
        transaction.execute_batch(&format!("DROP TABLE IF EXISTS {name}"))?;
    }
    transaction.commit()?;
    let left: i64 =
        connection
            .query_row("SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'", [], |row| row.get(0))?;
    if left == 0 {
        connection.execute_batch("VACUUM")?;
        connection.pragma_update_and_check(None, "wal_checkpoint", "truncate", |_| Ok(()))?;
    }
    Ok(())
}
