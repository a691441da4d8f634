//! Maintenance: checkpoints, vacuums, and reading everything once.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::failure::of_command;
use super::schema::Schema;
use crate::engine::sql::WorkloadSql;
use crate::engine::{Error, MaintenanceOutcome};
use crate::result::maintenance::MaintenanceKind;

/// Runs a maintenance operation.
pub async fn maintain(
    client: &Client,
    schema: &Schema,
    sql: &WorkloadSql,
    kind: MaintenanceKind,
) -> Result<MaintenanceOutcome, Error> {
    match kind {
        MaintenanceKind::Checkpoint => checkpoint(client, sql).await,
        MaintenanceKind::Vacuum => vacuum(client, schema, sql).await,
        MaintenanceKind::WarmUp => warm_up(client, schema, sql).await,
    }
}

/// Executes an immediate checkpoint.
async fn checkpoint(client: &Client, sql: &WorkloadSql) -> Result<MaintenanceOutcome, Error> {
    let Some(statement) = sql.dialect.checkpoint else {
        return Ok(MaintenanceOutcome::Absent("this dialect has no statement for a checkpoint".to_owned()));
    };
    let before = written(client).await;
    match client.batch_execute(statement).await {
        Ok(()) => {}
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            return Ok(MaintenanceOutcome::Absent(
                "this user may not ask for checkpoints: grant it pg_checkpoint, or rely on the server's \
                 checkpoint_timeout"
                    .to_owned(),
            ));
        }
        Err(error) => return Err(of_command("cannot ask for a checkpoint", &error)),
    }
    Ok(MaintenanceOutcome::Done(match before.zip(written(client).await) {
        Some((before, after)) => format!("{} buffers written by checkpoints", after - before),
        None => "done".to_owned(),
    }))
}

/// Buffers written by checkpoints so far. The view was renamed in version 17; statistics may arrive a little late.
async fn written(client: &Client) -> Option<i64> {
    for sql in ["SELECT buffers_written FROM pg_stat_checkpointer", "SELECT buffers_checkpoint FROM pg_stat_bgwriter"] {
        if let Ok(messages) = client.simple_query(sql).await {
            return number(&messages);
        }
    }
    None
}

fn number(messages: &[SimpleQueryMessage]) -> Option<i64> {
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.try_get(0).ok()??.parse().ok(),
        _ => None,
    })
}

async fn vacuum(client: &Client, schema: &Schema, sql: &WorkloadSql) -> Result<MaintenanceOutcome, Error> {
    let Some(statement) = sql.dialect.vacuum else {
        return Ok(MaintenanceOutcome::Absent("this dialect has no statement for a vacuum".to_owned()));
    };
    for table in sql.tables {
        let vacuum = statement.replace("{table}", &format!("{schema}.{}", table.name));
        client
            .batch_execute(&vacuum)
            .await
            .map_err(|error| of_command(&format!("cannot vacuum {}", table.name), &error))?;
    }
    Ok(MaintenanceOutcome::Done(format!("{} tables vacuumed", sql.tables.len())))
}

/// Scans all tables. Large ones use only a few buffers of the server, but stay in the system's page cache.
async fn warm_up(client: &Client, schema: &Schema, sql: &WorkloadSql) -> Result<MaintenanceOutcome, Error> {
    let mut rows = 0_u64;
    for table in sql.tables {
        let count = format!("SELECT count(*) FROM {schema}.{}", table.name);
        let messages = client.simple_query(&count).await;
        let messages = messages.map_err(|error| of_command(&format!("cannot read {}", table.name), &error))?;
        rows += number(&messages).unwrap_or_default().unsigned_abs();
    }
    let work = format!("{rows} rows of {} tables read from end to end", sql.tables.len());
    Ok(MaintenanceOutcome::Read { rows, work })
}
