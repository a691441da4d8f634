//! Locks of tables. A table can be renamed and another one given its name while a command waits for a lock, so the
//! tables that a command may change are those that have the names once the locks are held.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};

use super::failure::of_command;
use super::schema::Schema;
use crate::engine::Error;

/// Tables with their names and the server's numbers (OIDs), which stay the same when a table is renamed.
pub type Tables = Vec<(String, u32)>;

/// The tables of a schema that have these names, in this order; those that do not exist are left out.
pub async fn named(client: &Client, schema: &Schema, tables: &[&str]) -> Result<Tables, tokio_postgres::Error> {
    let sql = "SELECT relname::text, pg_class.oid FROM pg_catalog.pg_class \
               JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace \
               WHERE nspname = $1 AND relname::text = ANY($2) AND relkind IN ('r', 'p') \
               ORDER BY array_position($2, relname::text)";
    let values: [(&(dyn ToSql + Sync), Type); 2] = [(&schema.name(), Type::TEXT), (&tables, Type::TEXT_ARRAY)];
    let rows = client.query_typed(sql, &values).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// The statement that locks tables in a mode; empty without tables.
pub fn statement(schema: &Schema, tables: &Tables, mode: &str) -> String {
    let tables: Vec<String> = tables.iter().map(|(name, _)| format!("{schema}.{name}")).collect();
    if tables.is_empty() { String::new() } else { format!("LOCK TABLE {} IN {mode} MODE", tables.join(", ")) }
}

/// Executes a statement that locks tables by name, until the names mean the same before and after it. The transaction
/// must see what others commit (READ COMMITTED).
pub async fn lock(
    client: &Client,
    schema: &Schema,
    tables: &[&str],
    statement: impl Fn(&Tables) -> String,
) -> Result<Tables, tokio_postgres::Error> {
    let mut before = named(client, schema, tables).await?;
    loop {
        let statement = format!("SAVEPOINT unlocked; {}; RELEASE SAVEPOINT unlocked", statement(&before));
        let done = client.batch_execute(&statement).await;
        match &done {
            // Renamed during the wait, or its schema was.
            Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => {
                client.batch_execute("ROLLBACK TO SAVEPOINT unlocked").await?;
            }
            Err(_) => return done.map(|()| before),
            Ok(()) => {}
        }
        let after = named(client, schema, tables).await?;
        if after == before {
            return done.map(|()| after);
        }
        before = after;
    }
}

/// An error if the names no longer mean these tables: a lock of a table does not keep its schema from being renamed.
/// `undone` is what was not done.
pub async fn ensure_same(client: &Client, schema: &Schema, tables: &Tables, undone: &str) -> Result<(), Error> {
    if tables.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = tables.iter().map(|(name, _)| name.as_str()).collect();
    let now = named(client, schema, &names).await.map_err(cannot_read)?;
    if now == *tables { Ok(()) } else { Err(renamed(schema, undone)) }
}

/// An error if one of these tables still exists, so that another one was dropped in its place.
pub async fn ensure_gone(client: &Client, schema: &Schema, tables: &Tables) -> Result<(), Error> {
    if tables.is_empty() {
        return Ok(());
    }
    let numbers: Vec<u32> = tables.iter().map(|(_, number)| *number).collect();
    let sql = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = ANY($1))";
    let rows = client.query_typed(sql, &[(&numbers, Type::OID_ARRAY)]).await.map_err(cannot_read)?;
    match rows.first().map_or(Ok(false), |row| row.try_get(0)).map_err(cannot_read)? {
        true => Err(renamed(schema, "nothing was dropped")),
        false => Ok(()),
    }
}

fn cannot_read(error: tokio_postgres::Error) -> Error {
    of_command("cannot read the names of the tables", &error)
}

fn renamed(schema: &Schema, undone: &str) -> Error {
    Error::Database(format!(
        "{undone}, for somebody renamed the schema {} or tables in it in the meantime: look which ones are \
         Graymark's, then start the same command again",
        schema.name()
    ))
}
