//! The state of a workload's tables, from the database's catalog and Graymark's own tables.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::alone;
use super::failure::of_command;
use super::schema::Schema;
use crate::engine::ownership::Dependent;
use crate::engine::sql::WorkloadSql;
use crate::engine::{DatabaseState, Error, ownership};
use crate::result::Manifest;

/// Graymark's own tables in a workload's schema.
pub const METADATA: [&str; 2] = ["graymark_manifest", "graymark_parts"];
const METADATA_SQL: &str = include_str!("metadata.sql");
const FORMAT: u32 = 1;
const INSERT_MANIFEST: &str = "INSERT INTO graymark_manifest (manifest, state) VALUES ($1, 'loading')";
/// The comment of a schema that Graymark created.
const OWN_SCHEMA: &str = "made by Graymark";

/// A row of `graymark_manifest`. Older loads do not name their workload: they are in a schema with its name.
#[derive(Serialize, Deserialize)]
struct Kept {
    workload: Option<String>,
    #[serde(flatten)]
    manifest: Manifest,
}

/// The names of the workload's tables and of Graymark's own.
pub fn names(sql: &WorkloadSql) -> impl Iterator<Item = &'static str> {
    sql.tables.iter().map(|table| table.name).chain(METADATA)
}

/// The state of the workload's schema.
pub async fn database_state(client: &Client, schema: &Schema, sql: &WorkloadSql) -> Result<DatabaseState, Error> {
    let failed = |error| of_command("cannot read the state of the database", &error);
    let there = relations(client, schema).await.map_err(failed)?;
    let foreign = |what: String| {
        let look = format!("`\\d {schema}.*` in psql");
        let own = "a schema of its own: ?schema=NAME in the URL";
        Ok(ownership::foreign(&format!("the schema {}: {what}", schema.name()), &look, own))
    };
    if !there.get(METADATA[0]).is_some_and(|relation| relation.is_table) {
        let routines = routines(client, schema).await.map_err(failed)?;
        let tables = names(sql).filter(|name| there.contains_key(*name));
        let made = sql.procedure_names().into_iter().filter(|name| routines.contains(*name));
        let unproven: Vec<&str> = tables.chain(made).collect();
        return if unproven.is_empty() { Ok(DatabaseState::Nothing) } else { foreign(ownership::unproven(&unproven)) };
    }
    let lacks = |table: &str, columns: &[&'static str]| {
        let relation = there.get(table)?;
        columns.iter().find(|column| !relation.columns.contains(**column)).copied()
    };
    if lacks(METADATA[0], &["manifest", "state"]).is_some() {
        return foreign(format!("its {} is none of Graymark's", METADATA[0]));
    }
    let query = format!("SELECT manifest::text, state::text FROM {schema}.graymark_manifest");
    let rows = client.query_typed(&query, &[]).await.map_err(failed)?;
    let [row] = rows.as_slice() else {
        return foreign(format!("its {} has {} rows instead of one", METADATA[0], rows.len()));
    };
    let text = |column| row.try_get::<_, Option<&str>>(column).map(Option::unwrap_or_default).map_err(failed);
    let (manifest, state) = (text(0)?, text(1)?);
    let Kept { workload, manifest } = match serde_json::from_str::<Kept>(manifest) {
        Ok(kept) => kept,
        Err(error) => return foreign(format!("its {} cannot be read: {error}", METADATA[0])),
    };
    let workload = workload.unwrap_or_else(|| schema.name().to_owned());
    if workload != sql.name {
        return Ok(DatabaseState::Other { workload });
    }
    if manifest.format != FORMAT {
        return foreign(format!("it was loaded by another Graymark (format {}), which may remove it", manifest.format));
    }
    for table in sql.tables.iter().filter(|table| there.contains_key(table.name)) {
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        if let Some(column) = lacks(table.name, &columns) {
            return foreign(format!(
                "the table {} has no column {column}, so that it is none that was loaded",
                table.name
            ));
        }
        if !there.get(table.name).is_some_and(|relation| relation.is_table) {
            return foreign(format!("{} is no table", table.name));
        }
    }
    // Whatever changes rows of a table changes those of its children, too.
    let children = children(client, schema).await.map_err(failed)?;
    if let Some(Child { name, bond, .. }) = children.iter().find(|child| names(sql).any(|ours| ours == child.parent)) {
        return foreign(format!("the table {name} {bond} one of Graymark's, so that its rows would change"));
    }
    let missing = names(sql).find(|name| !there.contains_key(*name));
    Ok(match missing {
        Some(missing) => DatabaseState::Damaged {
            why: format!("schema {} has tables of the workload, but no {missing}", schema.name()),
        },
        None if state == "complete" => DatabaseState::Complete(manifest),
        None => DatabaseState::Unfinished(manifest),
    })
}

/// A table, view or the like.
#[derive(Default)]
struct Relation {
    is_table: bool,
    columns: HashSet<String>,
}

/// Relations with rows and columns in a schema, by name.
async fn relations(client: &Client, schema: &Schema) -> Result<HashMap<String, Relation>, tokio_postgres::Error> {
    let sql = "SELECT relname::text, relkind IN ('r', 'p'), attname::text \
               FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace \
               LEFT JOIN pg_catalog.pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped \
               WHERE nspname = $1 AND relkind IN ('r', 'p', 'v', 'm', 'f')";
    let mut found: HashMap<String, Relation> = HashMap::new();
    for row in client.query_typed(sql, &[(&schema.name(), Type::TEXT)]).await? {
        let relation = found.entry(row.try_get(0)?).or_default();
        relation.is_table = row.try_get(1)?;
        relation.columns.extend(row.try_get::<_, Option<String>>(2)?);
    }
    Ok(found)
}

/// The columns of all relations in a schema, as relation and column.
pub async fn columns(client: &Client, schema: &Schema) -> Result<Vec<(String, String)>, tokio_postgres::Error> {
    let relations = relations(client, schema).await?.into_iter();
    Ok(relations.flat_map(|(name, of)| of.columns.into_iter().map(move |column| (name.clone(), column))).collect())
}

/// The names of the functions and procedures in a schema.
async fn routines(client: &Client, schema: &Schema) -> Result<HashSet<String>, tokio_postgres::Error> {
    let sql = "SELECT proname::text FROM pg_catalog.pg_proc JOIN pg_catalog.pg_namespace ON pg_namespace.oid = \
        pronamespace \
               WHERE nspname = $1";
    let rows = client.query_typed(sql, &[(&schema.name(), Type::TEXT)]).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Creates the workload's tables and Graymark's own, empty, in one transaction; the schema too, unless it exists.
pub async fn create(client: &Client, schema: &Schema, sql: &WorkloadSql, manifest: &Manifest) -> Result<(), Error> {
    let kept = Kept { workload: Some(sql.name.to_owned()), manifest: manifest.clone() };
    let json = serde_json::to_string(&kept)
        .map_err(|error| Error::Usage(format!("the manifest cannot be written: {error}")))?;
    if sql.dialect.schema_alone {
        let failed = |error| of_command("cannot create the tables", &error);
        return create_alone(client, schema, sql, manifest, &json).await.map_err(failed);
    }
    let create = async || {
        client.batch_execute("BEGIN").await?;
        let query = "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)";
        let rows = client.query_typed(query, &[(&schema.name(), Type::TEXT)]).await?;
        if !rows.first().map_or(Ok(false), |row| row.try_get(0))? {
            let make = format!("CREATE SCHEMA {schema}; COMMENT ON SCHEMA {schema} IS '{OWN_SCHEMA}'");
            client.batch_execute(&make).await?;
        }
        client
            .batch_execute(&format!(
                "{}\n{}\nSET LOCAL search_path TO {schema};\n{METADATA_SQL}",
                schema.sql(sql.schema(manifest)),
                schema.sql(sql.distribution())
            ))
            .await?;
        client.execute_typed(INSERT_MANIFEST, &[(&json, Type::TEXT)]).await?;
        client.batch_execute("COMMIT").await
    };
    create().await.map_err(|error| of_command("cannot create the tables", &error))
}

/// The same with a transaction for each statement: the manifest is created before the workload's tables, so that the
/// remains of an interrupted load are known to be Graymark's. That Graymark created the schema is not stored: it
/// remains after a drop.
async fn create_alone(
    client: &Client,
    schema: &Schema,
    sql: &WorkloadSql,
    manifest: &Manifest,
    json: &str,
) -> Result<(), tokio_postgres::Error> {
    alone::change(client, &format!("CREATE SCHEMA IF NOT EXISTS {schema}")).await?;
    client.batch_execute(&format!("SET search_path TO {schema}")).await?;
    alone::changes(client, METADATA_SQL).await?;
    client.execute_typed(INSERT_MANIFEST, &[(&json, Type::TEXT)]).await?;
    alone::changes(client, &schema.sql(sql.schema(manifest))).await
}

/// Drops tables one by one; the manifest last, because it proves that the others are Graymark's.
pub async fn remove_alone(client: &Client, schema: &Schema, sql: &WorkloadSql) -> Result<(), tokio_postgres::Error> {
    let [manifest, parts] = METADATA;
    for table in sql.tables.iter().map(|table| table.name).chain([parts, manifest]) {
        alone::change(client, &format!("DROP TABLE IF EXISTS {schema}.{table}")).await?;
    }
    Ok(())
}

/// Objects of others that depend on the workload's tables. Needs a transaction, whose settings stay as they are.
pub async fn dependents(client: &Client, schema: &Schema, sql: &WorkloadSql) -> Result<Vec<Dependent>, Error> {
    let query = sql.dependents()?;
    let query = format!("SAVEPOINT asked; SET LOCAL search_path TO {schema}; {query}; ROLLBACK TO SAVEPOINT asked");
    let found = client.simple_query(&query).await;
    let found = found.map_err(|error| of_command("cannot query what depends on the tables", &error))?;
    let ours: Vec<&str> = names(sql).collect();
    let keys = found.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some((row.get(0)?, row.get(1)?, row.get(2)?)),
        _ => None,
    });
    Ok(ownership::dependents(keys, &ours))
}

/// A table that inherits from a table of the schema, or is a partition of it.
struct Child {
    name: String,
    /// Its relation to the parent, in words.
    bond: &'static str,
    parent: String,
}

/// Tables that inherit from tables of the schema, and their partitions.
async fn children(client: &Client, schema: &Schema) -> Result<Vec<Child>, tokio_postgres::Error> {
    let sql = "SELECT n.nspname || '.' || c.relname, t.relkind = 'p', t.relname::text FROM pg_catalog.pg_inherits i \
               JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid \
               JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
               JOIN pg_catalog.pg_class t ON t.oid = i.inhparent AND t.relkind IN ('r', 'p') \
               JOIN pg_catalog.pg_namespace s ON s.oid = t.relnamespace WHERE s.nspname = $1 ORDER BY 1";
    let child = |row: &tokio_postgres::Row| {
        let bond = if row.try_get(1)? { "is a partition of" } else { "inherits from" };
        Ok(Child { name: row.try_get(0)?, bond, parent: row.try_get(2)? })
    };
    client.query_typed(sql, &[(&schema.name(), Type::TEXT)]).await?.iter().map(child).collect()
}

/// Whether Graymark created the schema.
pub async fn is_own_schema(client: &Client, schema: &Schema) -> Result<bool, tokio_postgres::Error> {
    let sql = "SELECT obj_description(oid, 'pg_namespace') = $2 FROM pg_catalog.pg_namespace WHERE nspname = $1";
    let rows = client.query_typed(sql, &[(&schema.name(), Type::TEXT), (&OWN_SCHEMA, Type::TEXT)]).await?;
    Ok(rows.first().map_or(Ok(None), |row| row.try_get::<_, Option<bool>>(0))?.unwrap_or(false))
}

/// The text of the manifest.
pub async fn manifest_text(client: &Client, schema: &Schema) -> Result<String, Error> {
    let failed = |error| of_command("cannot read the manifest", &error);
    let query = format!("SELECT manifest FROM {schema}.graymark_manifest");
    let rows = client.query_typed(&query, &[]).await.map_err(failed)?;
    let text = rows.first().map(|row| row.try_get::<_, Option<String>>(0)).transpose().map_err(failed)?;
    Ok(text.flatten().unwrap_or_default())
}

/// Replaces the text of the manifest.
pub async fn change_manifest(client: &Client, schema: &Schema, text: &str) -> Result<(), tokio_postgres::Error> {
    let sql = format!("UPDATE {schema}.graymark_manifest SET manifest = $1");
    client.execute_typed(&sql, &[(&text, Type::TEXT)]).await.map(|_| ())
}

/// Marks the load as complete.
pub async fn complete(client: &Client, schema: &Schema) -> Result<(), Error> {
    let sql = format!("UPDATE {schema}.graymark_manifest SET state = 'complete'");
    client.execute_typed(&sql, &[]).await.map(|_| ()).map_err(|error| of_command("cannot end the load", &error))
}

/// Loaded parts of the population: table, number, rows.
pub async fn parts(client: &Client, schema: &Schema) -> Result<Vec<(String, u32, u64)>, Error> {
    let failed = |error| of_command("cannot read which parts are loaded", &error);
    let sql = format!("SELECT table_name, number, rows FROM {schema}.graymark_parts");
    let rows = client.query_typed(&sql, &[]).await.map_err(failed)?;
    let part = |row: &tokio_postgres::Row| {
        let (number, count): (i32, i64) = (row.try_get(1)?, row.try_get(2)?);
        Ok((row.try_get(0)?, number.unsigned_abs(), count.unsigned_abs()))
    };
    rows.iter().map(part).collect::<Result<_, _>>().map_err(failed)
}

/// The queries of sizes, in the dialect's folder.
pub const SIZES: &str = "sizes.sql";

/// Bytes of all tables and indexes of the workload's schema.
pub async fn bytes(client: &Client, schema: &Schema, sql: &WorkloadSql) -> Result<Option<u64>, Error> {
    let failed = |error| of_command("cannot measure the tables", &error);
    let query = sql.own_query(SIZES, "schema")?;
    let rows = client.query_typed(query, &[(&schema.name(), Type::TEXT)]).await.map_err(failed)?;
    let bytes = rows.first().map(|row| row.try_get::<_, Option<i64>>(0)).transpose().map_err(failed)?;
    Ok(bytes.flatten().map(i64::unsigned_abs))
}

/// Whether the schema has an index with this name.
pub async fn has_index(client: &Client, schema: &str, name: &str) -> Result<bool, tokio_postgres::Error> {
    let sql = "SELECT EXISTS (SELECT FROM pg_catalog.pg_indexes WHERE schemaname = $1 AND indexname = $2)";
    exists(client, sql, schema, name).await
}

/// Whether the schema has a constraint with this name.
pub async fn has_constraint(client: &Client, schema: &str, name: &str) -> Result<bool, tokio_postgres::Error> {
    let sql = "SELECT EXISTS (SELECT FROM pg_catalog.pg_constraint JOIN pg_catalog.pg_namespace ON pg_namespace.oid = \
        connamespace \
               WHERE nspname = $1 AND conname = $2)";
    exists(client, sql, schema, name).await
}

async fn exists(client: &Client, sql: &str, schema: &str, name: &str) -> Result<bool, tokio_postgres::Error> {
    let rows = client.query_typed(sql, &[(&schema, Type::TEXT), (&name, Type::TEXT)]).await?;
    rows.first().map_or(Ok(false), |row| row.try_get(0))
}
