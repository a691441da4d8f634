//! Drops the workload's tables: only those that the manifest proves to be Graymark's, in one transaction, and only
//! without dependents. The tables are locked before that is checked, so that they stay what they are.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::connect::Target;
use super::failure::of_command;
use super::load::{Lock, begin, claim, release};
use super::locks::{self, Tables};
use super::schema::Schema;
use super::{catalog, holders, procedures};
use crate::engine::dialect::Guard;
use crate::engine::ownership::DependentKind;
use crate::engine::sql::{Removal, WorkloadSql};
use crate::engine::{Error, ownership};
use crate::visible::one_line;

const CANNOT: &str = "cannot remove the tables";

/// Drops the workload's tables, its procedures and Graymark's own tables; the schema too, if Graymark created it and
/// nothing else is in it. Returns the names of the routines that it left alone.
pub async fn drop_tables(target: &Target, sql: &WorkloadSql) -> Result<Vec<String>, Error> {
    let schema = target.schema(sql.name);
    let guard = target.connect(&[]).await?;
    claim(&guard, &schema, sql.dialect).await?;
    if sql.dialect.guard == Guard::Row {
        // The lock is a row of a table that is going to be dropped.
        release(&guard).await?;
    }
    let client = target.connect(&[]).await?;
    if sql.dialect.schema_alone {
        if ownership::can_drop(catalog::database_state(&client, &schema, sql).await?)? {
            only_own_columns(&client, &schema, sql).await?;
            executed(&client, &schema, catalog::remove_alone(&client, &schema, sql)).await?;
        }
        return Ok(Vec::new());
    }
    let mut kept = Vec::new();
    executed(&client, &schema, begin(&client, &schema, sql.dialect, Lock::Alone)).await?;
    // Tables of others are not even locked.
    if ownership::can_drop(catalog::database_state(&client, &schema, sql).await?)? {
        let locked = lock(&client, &schema, sql).await?;
        if ownership::can_drop(catalog::database_state(&client, &schema, sql).await?)? {
            only_own_columns(&client, &schema, sql).await?;
            no_sequences(&client, &schema, sql).await?;
            let (routines, unproven) = procedures::proven(&client, &schema, sql).await?;
            executed(&client, &schema, remove(&client, &schema, sql, &routines)).await?;
            locks::ensure_gone(&client, &schema, &locked).await?;
            kept.extend(unproven.into_iter().map(str::to_owned));
        }
    }
    executed(&client, &schema, client.batch_execute("COMMIT")).await?;
    release(&guard).await?;
    Ok(kept)
}

/// Locks the tables that exist, as DROP TABLE does. A dialect without such locks drops what has the names then.
async fn lock(client: &Client, schema: &Schema, sql: &WorkloadSql) -> Result<Tables, Error> {
    if !sql.dialect.table_locks {
        return Ok(Tables::new());
    }
    let statement = |there: &Tables| locks::statement(schema, there, "ACCESS EXCLUSIVE");
    let names: Vec<&str> = catalog::names(sql).collect();
    match locks::lock(client, schema, &names, statement).await {
        Ok(locked) => Ok(locked),
        Err(error) => Err(holders::explain(client, schema, CANNOT, &error).await),
    }
}

/// An error if somebody has attached sequences to the tables: they would be dropped with them, even without CASCADE.
async fn no_sequences(client: &Client, schema: &Schema, sql: &WorkloadSql) -> Result<(), Error> {
    let mut dependents = catalog::dependents(client, schema, sql).await?;
    dependents.retain(|dependent| dependent.kind == DependentKind::Sequence);
    ownership::ensure_no_dependents(&dependents)
}

/// An error if somebody has added columns to the tables.
async fn only_own_columns(client: &Client, schema: &Schema, sql: &WorkloadSql) -> Result<(), Error> {
    let columns = catalog::columns(client, schema).await.map_err(|error| of_command(CANNOT, &error))?;
    ownership::ensure_no_added_columns(columns.iter().map(|(table, column)| (&**table, &**column)), sql)
}

/// Without CASCADE: if another object depends on it, the server refuses, and the whole transaction is rolled back.
async fn remove(
    client: &Client,
    schema: &Schema,
    sql: &WorkloadSql,
    routines: &[Removal],
) -> Result<(), tokio_postgres::Error> {
    let tables: Vec<String> = catalog::names(sql).map(|name| format!("{schema}.{name}")).collect();
    let own = catalog::is_own_schema(client, schema).await?;
    client.batch_execute(&format!("DROP TABLE IF EXISTS {}", tables.join(", "))).await?;
    for routine in routines {
        client.batch_execute(&schema.sql(routine.sql)).await?;
    }
    if !own {
        return Ok(());
    }
    match client.batch_execute(&format!("SAVEPOINT emptied; DROP SCHEMA {schema}")).await {
        // The schema contains objects of others.
        Err(error) if error.code() == Some(&SqlState::DEPENDENT_OBJECTS_STILL_EXIST) => {
            client.batch_execute("ROLLBACK TO emptied").await
        }
        done => done,
    }
}

/// Executes a part of the drop, and explains why it failed.
async fn executed(
    client: &Client,
    schema: &Schema,
    part: impl Future<Output = Result<(), tokio_postgres::Error>>,
) -> Result<(), Error> {
    let Err(error) = part.await else { return Ok(()) };
    Err(match error.as_db_error() {
        Some(refusal) if *refusal.code() == SqlState::DEPENDENT_OBJECTS_STILL_EXIST => {
            let dependents: Vec<&str> = refusal.detail().unwrap_or(refusal.message()).lines().collect();
            ownership::needed_by(&one_line(&dependents.join("; ")))
        }
        _ => holders::explain(client, schema, CANNOT, &error).await,
    })
}
