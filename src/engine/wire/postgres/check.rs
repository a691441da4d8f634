//! Consistency conditions, cumulative totals and settings of a loaded database.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Instant;

use futures_util::TryStreamExt;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, SimpleQueryMessage, SimpleQueryRow};

use super::failure::of_command;
use super::schema::Schema;
use crate::engine::Error;
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::lookup::{self, Amounts, Rows};
use crate::engine::sql::script::{self, Named};
use crate::result::{CheckStep, Finding};
use crate::workload::trace::Trace;

/// Offending rows that a finding shows.
const EXAMPLES: usize = 5;

/// Settings that affect the result or were changed; excluded are passwords, paths and display formats.
const SETTINGS: &str = "SELECT name, current_setting(name) AS value \
    FROM pg_catalog.pg_settings \
    WHERE name IN ('shared_buffers', 'fsync', 'synchronous_commit', 'full_page_writes', 'wal_level', 'max_wal_size', \
                   'checkpoint_timeout', 'default_transaction_isolation', 'effective_cache_size', 'max_connections', \
                   'autovacuum', \
                   'data_checksums', 'block_size', 'wal_compression', 'jit') \
       OR (source NOT IN ('default', 'override', 'client', 'session') \
           AND category NOT IN ('File Locations', 'Client Connection Defaults / Locale and Formatting') \
           AND category NOT LIKE 'Reporting and Logging%' AND category NOT LIKE 'Connections and Authentication%' \
           AND name !~ '(command|conninfo|passphrase|password|application_name)') \
    ORDER BY name";

/// Unlogged tables of a schema: a crash empties them. Null if there are none.
const UNLOGGED: &str = "SELECT string_agg(relname::text, ', ' ORDER BY relname) \
    FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace \
    WHERE nspname::text = $1::text AND relname::text = ANY ($2::text[]) AND relkind IN ('r', 'p') AND relpersistence \
    <> 'p'";

/// Checks the workload's conditions one after the other.
pub async fn check(
    client: &Client,
    schema: &Schema,
    sql: &WorkloadSql,
    on_step: &mut dyn FnMut(CheckStep<'_>),
) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    let conditions = script::statements(sql.consistency());
    on_step(CheckStep::Conditions(conditions.len()));
    for condition in conditions {
        on_step(CheckStep::Began(condition.name));
        let finding = condition_holds(client, schema, &condition).await?;
        on_step(CheckStep::Ended(&finding));
        findings.push(finding);
    }
    Ok(findings)
}

/// Checks one condition on a snapshot.
pub async fn condition_holds(client: &Client, schema: &Schema, condition: &Named<'_>) -> Result<Finding, Error> {
    let finding = find(client, schema, condition).await;
    finding.map_err(|error| of_command(&format!("cannot check condition {}", condition.name), &error))
}

async fn find(client: &Client, schema: &Schema, condition: &Named<'_>) -> Result<Finding, tokio_postgres::Error> {
    let began = Instant::now();
    let (mut offending, mut examples) = (0, Vec::new());
    let mut rows = pin!(client.simple_query_raw(&reading(schema, condition.sql)).await?);
    while let Some(message) = rows.try_next().await? {
        let SimpleQueryMessage::Row(row) = message else { continue };
        offending += 1;
        if examples.len() < EXAMPLES {
            examples.push(show(&row));
        }
    }
    Ok(Finding {
        id: condition.name.to_owned(),
        title: condition.notes.get("title").copied().unwrap_or(condition.name).to_owned(),
        offending,
        examples,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// A query as one read-only transaction with one snapshot, in the workload's schema. It is sent as one message, so that
/// it works with any pooler.
pub(super) fn reading(schema: &Schema, sql: &str) -> String {
    let sql = schema.sql(sql);
    format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path TO {schema};\n{sql};\nCOMMIT")
}

fn show(row: &SimpleQueryRow) -> String {
    let pair = |(at, column): (usize, &tokio_postgres::SimpleColumn)| {
        format!("{}={}", column.name(), row.try_get(at).ok().flatten().unwrap_or("null").trim_end())
    };
    row.columns().iter().enumerate().map(pair).collect::<Vec<_>>().join(" ")
}

/// The cumulative totals of the workload's effects.
pub async fn effects(client: &Client, schema: &Schema, sql: &WorkloadSql) -> Result<Vec<i64>, Error> {
    let messages = client.simple_query(&reading(schema, sql.effects_query()?)).await;
    let messages = messages.map_err(|error| of_command("cannot count what was done", &error))?;
    let row = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let total = |name: &&str| {
        let text = row.and_then(|row| row.try_get(*name).ok().flatten());
        let total = text.and_then(|text| text.parse().ok());
        total.ok_or_else(|| Error::Database(format!("the database has no total of {name}: is it loaded?")))
    };
    sql.effects.iter().map(total).collect()
}

/// The number of rows that match each trace.
pub async fn count_traces(client: &Client, schema: &Schema, traces: &[Trace]) -> Result<Option<Vec<i64>>, Error> {
    let mut found = vec![0; traces.len()];
    for query in lookup::queries(traces, lookup::TOGETHER, Rows::Values, Amounts::Decimal) {
        let messages = client.simple_query(&reading(schema, &query.sql)).await;
        for message in messages.map_err(|error| of_command("cannot look for committed rows", &error))? {
            let SimpleQueryMessage::Row(row) = message else { continue };
            let whole = |at| row.try_get(at).ok().flatten().and_then(|text| text.parse::<i64>().ok());
            if let Some((number, count)) = whole(0).zip(whole(1)) {
                query.note(number, count, &mut found);
            }
        }
    }
    Ok(Some(found))
}

/// The settings of a session that affect the result.
pub async fn settings(client: &Client, schema: &Schema, sql: &WorkloadSql) -> Result<BTreeMap<String, String>, Error> {
    let failed = |error| of_command("cannot read the settings", &error);
    let rows = client.query_typed(SETTINGS, &[]).await.map_err(failed)?;
    let settings = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Result<_, _>>();
    let mut settings: BTreeMap<String, String> = settings.map_err(failed)?;
    let tables: Vec<&str> = sql.tables.iter().map(|table| table.name).collect();
    let parameters: [(&(dyn ToSql + Sync), Type); 2] = [(&schema.name(), Type::TEXT), (&tables, Type::TEXT_ARRAY)];
    let rows = client.query_typed(UNLOGGED, &parameters).await.map_err(failed)?;
    let unlogged: Option<String> = rows.first().map(|row| row.try_get(0)).transpose().map_err(failed)?.flatten();
    settings.extend(unlogged.map(|tables| ("unlogged_tables".to_owned(), tables)));
    Ok(settings)
}
