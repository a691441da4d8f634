//! What a database holds of a workload, as its catalog and Graymark's own tables say.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::failure::of_command;
use crate::engine::{Error, Holding, Manifest};
use crate::workload::Workload;

/// The tables of Graymark's own in a workload's schema.
pub const METADATA: [&str; 2] = ["graymark_manifest", "graymark_parts"];
const METADATA_SQL: &str = include_str!("metadata.sql");
const FORMAT: u32 = 1;

/// What the workload's schema holds.
pub async fn holding<W: Workload>(client: &Client) -> Result<Holding, Error> {
    let failed = |error| of_command("cannot look at the database", &error);
    let sql = "SELECT relname::text FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace \
               WHERE nspname = $1 AND relkind IN ('r', 'p', 'v', 'm', 'f')";
    let rows = client.query_typed(sql, &[(&W::NAME, Type::TEXT)]).await.map_err(failed)?;
    let there: Vec<String> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>().map_err(failed)?;
    let has = |name: &str| there.iter().any(|there| there == name);
    let missing = W::TABLES.iter().map(|table| table.name).chain(METADATA).find(|name| !has(name));
    if !METADATA.iter().chain(W::TABLES.iter().map(|table| &table.name)).any(|name| has(name)) {
        return Ok(Holding::Nothing);
    }
    if let Some(missing) = missing {
        return Ok(Holding::Foreign { why: format!("schema {} has tables of the workload, but no {missing}", W::NAME) });
    }
    let sql = format!("SELECT manifest, state FROM {}.graymark_manifest", W::NAME);
    let rows = client.query_typed(&sql, &[]).await.map_err(failed)?;
    let [row] = rows.as_slice() else {
        return Ok(Holding::Foreign { why: format!("{}.graymark_manifest has {} rows instead of one", W::NAME, rows.len()) });
    };
    let (manifest, state): (&str, &str) = (row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?);
    match serde_json::from_str::<Manifest>(manifest) {
        Ok(manifest) if manifest.format != FORMAT => {
            Ok(Holding::Foreign { why: format!("it was loaded by another Graymark (format {})", manifest.format) })
        }
        Ok(manifest) if state == "complete" => Ok(Holding::Complete(manifest)),
        Ok(manifest) => Ok(Holding::Unfinished(manifest)),
        Err(error) => Ok(Holding::Foreign { why: format!("{}.graymark_manifest cannot be read: {error}", W::NAME) }),
    }
}

/// Creates the workload's tables and Graymark's own, empty, in one transaction.
pub async fn create<W: Workload>(client: &Client, schema_sql: &str, manifest: &Manifest) -> Result<(), Error> {
    let json = serde_json::to_string(manifest).map_err(|error| Error::Usage(format!("the manifest cannot be written: {error}")))?;
    let create = async || {
        client.batch_execute(&format!("BEGIN;\n{schema_sql}\nSET LOCAL search_path TO {};\n{METADATA_SQL}", W::NAME)).await?;
        let insert = "INSERT INTO graymark_manifest (manifest, state) VALUES ($1, 'loading')";
        client.execute_typed(insert, &[(&json, Type::TEXT)]).await?;
        client.batch_execute("COMMIT").await
    };
    create().await.map_err(|error| of_command("cannot create the tables", &error))
}

/// Marks the load as ended.
pub async fn complete<W: Workload>(client: &Client) -> Result<(), Error> {
    let sql = format!("UPDATE {}.graymark_manifest SET state = 'complete'", W::NAME);
    client.execute_typed(&sql, &[]).await.map(|_| ()).map_err(|error| of_command("cannot end the load", &error))
}

/// Parts of the population that are loaded: table, number, rows.
pub async fn parts<W: Workload>(client: &Client) -> Result<Vec<(String, u32, u64)>, Error> {
    let failed = |error| of_command("cannot read what is loaded already", &error);
    let sql = format!("SELECT table_name, number, rows FROM {}.graymark_parts", W::NAME);
    let rows = client.query_typed(&sql, &[]).await.map_err(failed)?;
    let part = |row: &tokio_postgres::Row| {
        let (number, count): (i32, i64) = (row.try_get(1)?, row.try_get(2)?);
        Ok((row.try_get(0)?, number.unsigned_abs(), count.unsigned_abs()))
    };
    rows.iter().map(part).collect::<Result<_, _>>().map_err(failed)
}

/// Bytes of all tables and indexes of the workload's schema.
pub async fn bytes<W: Workload>(client: &Client) -> Result<Option<u64>, Error> {
    let failed = |error| of_command("cannot measure the tables", &error);
    let sql = "SELECT sum(pg_total_relation_size(pg_class.oid))::bigint FROM pg_catalog.pg_class \
               JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1 AND relkind = 'r'";
    let rows = client.query_typed(sql, &[(&W::NAME, Type::TEXT)]).await.map_err(failed)?;
    let bytes = rows.first().map(|row| row.try_get::<_, Option<i64>>(0)).transpose().map_err(failed)?;
    Ok(bytes.flatten().map(i64::unsigned_abs))
}

/// Whether an index of this name is in the schema.
pub async fn has_index(client: &Client, schema: &str, name: &str) -> Result<bool, tokio_postgres::Error> {
    let sql = "SELECT EXISTS (SELECT FROM pg_catalog.pg_indexes WHERE schemaname = $1 AND indexname = $2)";
    exists(client, sql, schema, name).await
}

/// Whether a constraint of this name is in the schema.
pub async fn has_constraint(client: &Client, schema: &str, name: &str) -> Result<bool, tokio_postgres::Error> {
    let sql = "SELECT EXISTS (SELECT FROM pg_catalog.pg_constraint JOIN pg_catalog.pg_namespace ON pg_namespace.oid = connamespace \
               WHERE nspname = $1 AND conname = $2)";
    exists(client, sql, schema, name).await
}

async fn exists(client: &Client, sql: &str, schema: &str, name: &str) -> Result<bool, tokio_postgres::Error> {
    let rows = client.query_typed(sql, &[(&schema, Type::TEXT), (&name, Type::TEXT)]).await?;
    rows.first().map_or(Ok(false), |row| row.try_get(0))
}
