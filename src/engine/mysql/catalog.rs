//! What a database holds of a workload, as the server's catalog and Graymark's own tables say.

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::Port;
use super::failure::of_command;
use crate::engine::sql::script;
use crate::engine::{Error, Holding, Manifest};
use crate::workload::Workload;

/// The tables of Graymark's own in a workload's database.
pub const METADATA: [&str; 2] = ["graymark_manifest", "graymark_parts"];
const METADATA_SQL: &str = include_str!("metadata.sql");
const FORMAT: u32 = 1;

/// What a database holds. The connection need not be to that database, which need not exist.
pub async fn holding<W: Workload>(conn: &mut Conn, database: &str) -> Result<Holding, Error> {
    let failed = |error| of_command("cannot look at the database", &error);
    let sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = ?";
    let there: Vec<String> = conn.exec(sql, (database,)).await.map_err(failed)?;
    let has = |name: &str| there.iter().any(|there| there == name);
    let ours = W::TABLES.iter().map(|table| table.name).find(|name| has(name));
    let without = |why: &str| match ours {
        Some(table) => Holding::Foreign { why: format!("database {database} has a table {table}, {why}") },
        None => Holding::Nothing,
    };
    if !METADATA.iter().all(|name| has(name)) {
        return Ok(without("but not what Graymark keeps beside it"));
    }
    let sql = format!("SELECT workload, manifest, state FROM `{database}`.graymark_manifest");
    let rows: Vec<(String, String, String)> = conn.query(sql).await.map_err(failed)?;
    let [(workload, manifest, state)] = rows.as_slice() else {
        return Ok(match rows.len() {
            0 => without("but an empty graymark_manifest"),
            rows => Holding::Foreign { why: format!("graymark_manifest of database {database} has {rows} rows instead of one") },
        });
    };
    if workload != W::NAME {
        return Ok(Holding::Other { workload: workload.clone() });
    }
    let missing = W::TABLES.iter().map(|table| table.name).find(|name| !has(name));
    Ok(match (serde_json::from_str::<Manifest>(manifest), missing) {
        (Ok(manifest), _) if manifest.format != FORMAT => {
            Holding::Foreign { why: format!("it was loaded by another Graymark (format {})", manifest.format) }
        }
        (Ok(manifest), None) if state == "complete" => Holding::Complete(manifest),
        (Ok(_), Some(missing)) if state == "complete" => {
            Holding::Foreign { why: format!("database {database} has tables of the workload, but no {missing}") }
        }
        (Ok(manifest), _) => Holding::Unfinished(manifest),
        (Err(error), _) => Holding::Foreign { why: format!("graymark_manifest of database {database} cannot be read: {error}") },
    })
}

/// Creates the workload's tables and Graymark's own, empty, so far as they are not there. Each statement is a transaction of its own, and
/// the manifest comes first: what was interrupted here is an unfinished load.
pub async fn create<W: Port>(conn: &mut Conn, manifest: &Manifest) -> Result<(), Error> {
    let json = serde_json::to_string(manifest).map_err(|error| Error::Usage(format!("the manifest cannot be written: {error}")))?;
    let profile = W::profile(&manifest.parameters).unwrap_or_default();
    let create = async || {
        for table in script::statements(METADATA_SQL) {
            conn.query_drop(table.sql).await?;
        }
        let insert = "INSERT IGNORE INTO graymark_manifest (workload, manifest, state) VALUES (?, ?, 'loading')";
        conn.exec_drop(insert, (W::NAME, json)).await?;
        for table in script::statements(W::schema(profile)) {
            conn.query_drop(table.sql).await?;
        }
        Ok(())
    };
    create().await.map_err(|error| of_command("cannot create the tables", &error))
}

/// Marks the load as ended.
pub async fn complete(conn: &mut Conn) -> Result<(), Error> {
    let done = conn.query_drop("UPDATE graymark_manifest SET state = 'complete'").await;
    done.map_err(|error| of_command("cannot end the load", &error))
}

/// Parts of the population that are loaded: table, number, rows.
pub async fn parts(conn: &mut Conn) -> Result<Vec<(String, u32, u64)>, Error> {
    let parts = conn.query("SELECT table_name, number, row_count FROM graymark_parts").await;
    parts.map_err(|error| of_command("cannot read what is loaded already", &error))
}

/// Bytes of all tables and indexes of the database, as the storage engine estimates them.
pub async fn bytes(conn: &mut Conn) -> Result<Option<u64>, Error> {
    let sql =
        "SELECT CAST(sum(data_length + index_length) AS UNSIGNED) FROM information_schema.tables WHERE table_schema = DATABASE()";
    let bytes: Option<Option<u64>> =
        conn.query_first(sql).await.map_err(|error| of_command("cannot measure the tables", &error))?;
    Ok(bytes.flatten())
}

/// Whether an index of this name is in the connection's database.
pub async fn has_index(conn: &mut Conn, name: &str) -> Result<bool, mysql_async::Error> {
    let sql = "SELECT count(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name = ?";
    let found: Option<u64> = conn.exec_first(sql, (name,)).await?;
    Ok(found.is_some_and(|found| found > 0))
}

/// Whether a constraint of this name is in the connection's database.
pub async fn has_constraint(conn: &mut Conn, name: &str) -> Result<bool, mysql_async::Error> {
    let sql =
        "SELECT count(*) FROM information_schema.table_constraints WHERE constraint_schema = DATABASE() AND constraint_name = ?";
    let found: Option<u64> = conn.exec_first(sql, (name,)).await?;
    Ok(found.is_some_and(|found| found > 0))
}
