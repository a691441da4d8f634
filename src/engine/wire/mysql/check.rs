//! Consistency conditions, cumulative totals and settings of a loaded database.

use std::collections::BTreeMap;
use std::time::Instant;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row, Value as Wire};

use super::failure::of_command;
use super::query::Read;
use super::value::whole;
use crate::engine::Error;
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::lookup::{self, Amounts, Rows};
use crate::engine::sql::script::{self, Named};
use crate::result::{CheckStep, Finding};
use crate::workload::trace::Trace;

/// Offending rows that a finding shows.
const EXAMPLES: usize = 5;

/// System variables that affect the result.
const SETTINGS: [&str; 23] = [
    "binlog_format",
    "default_storage_engine",
    "innodb_adaptive_hash_index",
    "innodb_buffer_pool_size",
    "innodb_doublewrite",
    "innodb_file_per_table",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_io_capacity",
    "innodb_lock_wait_timeout",
    "innodb_log_file_size",
    "innodb_page_size",
    "innodb_redo_log_capacity",
    "innodb_rollback_on_timeout",
    "innodb_snapshot_isolation",
    "log_bin",
    "max_connections",
    "performance_schema",
    "sync_binlog",
    "thread_handling",
    "transaction_isolation",
    "tx_isolation",
    "version_comment",
];

/// MariaDB reports which variables were changed; excluded are passwords, paths, addresses and display formats.
const CHANGED: &str = "SELECT LOWER(variable_name), global_value FROM information_schema.system_variables \
    WHERE global_value_origin IN ('CONFIG', 'COMMAND-LINE', 'SQL') AND variable_name NOT REGEXP \
    '(PASSWORD|KEY|AUTH|DIR$|FILE$|SOCKET|^PORT$|BIND_ADDRESS|HOSTNAME|CHARACTER_SET|COLLATION|^PID|\
     LOG_ERROR|TIMESTAMP|USER|SSL|TLS|\
    SECURE_FILE_PRIV|SKIP_NETWORKING)'";

/// Tables of a database with another storage engine than InnoDB.
const ENGINES: &str = "SELECT table_name AS name, engine AS kept_by FROM information_schema.tables \
    WHERE table_schema = ? AND table_type = 'BASE TABLE' AND (engine IS NULL OR engine <> 'InnoDB') ORDER BY \
    table_name";

/// One copy of the database: a private cluster has several.
pub struct Replica {
    /// The node's name; empty for a single server.
    pub node: String,
    /// A connection to it.
    pub conn: Conn,
}

/// Checks the workload's conditions one after the other. Each has to hold in every copy.
pub async fn check(
    copies: &mut [Replica],
    sql: &WorkloadSql,
    on_step: &mut dyn FnMut(CheckStep<'_>),
) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    let conditions = script::statements(sql.consistency());
    on_step(CheckStep::Conditions(conditions.len()));
    for condition in conditions {
        on_step(CheckStep::Began(condition.name));
        let mut whole: Option<Finding> = None;
        for copy in copies.iter_mut() {
            let mut finding = condition_holds(&mut copy.conn, &condition).await?;
            if !copy.node.is_empty() {
                finding.examples.iter_mut().for_each(|example| *example = format!("{}: {example}", copy.node));
            }
            match &mut whole {
                None => whole = Some(finding),
                Some(whole) => add(whole, finding),
            }
        }
        if let Some(finding) = whole {
            on_step(CheckStep::Ended(&finding));
            findings.push(finding);
        }
    }
    Ok(findings)
}

/// Merges the finding of another copy.
fn add(whole: &mut Finding, other: Finding) {
    whole.offending += other.offending;
    whole.seconds += other.seconds;
    whole.examples.extend(other.examples);
    whole.examples.truncate(EXAMPLES);
}

/// Checks one condition: a statement is one snapshot.
pub async fn condition_holds(conn: &mut Conn, condition: &Named<'_>) -> Result<Finding, Error> {
    let finding = find(conn, condition).await;
    finding.map_err(|error| of_command(&format!("cannot check condition {}", condition.name), &error))
}

async fn find(conn: &mut Conn, condition: &Named<'_>) -> Result<Finding, mysql_async::Error> {
    let began = Instant::now();
    let (mut offending, mut examples) = (0, Vec::new());
    let mut rows = conn.query_iter(condition.sql).await?;
    while !rows.is_empty() {
        let Some(row) = rows.next().await? else { continue };
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

fn show(row: &Row) -> String {
    let value = |at: usize| match row.as_ref(at) {
        None | Some(Wire::NULL) => "null".to_owned(),
        Some(Wire::Bytes(text)) => String::from_utf8_lossy(text).trim_end().to_owned(),
        Some(value) => value.as_sql(false),
    };
    let pairs = row.columns_ref().iter().enumerate().map(|(at, column)| format!("{}={}", column.name_str(), value(at)));
    pairs.collect::<Vec<_>>().join(" ")
}

/// The cumulative totals of the workload's effects, which have to be the same in every copy.
pub async fn effects(copies: &mut [Replica], sql: &WorkloadSql) -> Result<Vec<i64>, Error> {
    let mut first: Option<(String, Vec<i64>)> = None;
    for Replica { node, conn } in copies {
        let totals = effects_of(conn, sql).await?;
        match &first {
            None => first = Some((node.clone(), totals)),
            Some((other, before)) if *before != totals => {
                let names = sql.effects.join(", ");
                return Err(Error::Database(format!(
                    "the nodes do not hold the same ({names}): {other} has {before:?}, {node} {totals:?}"
                )));
            }
            Some(_) => {}
        }
    }
    Ok(first.map(|(_, totals)| totals).unwrap_or_default())
}

async fn effects_of(conn: &mut Conn, sql: &WorkloadSql) -> Result<Vec<i64>, Error> {
    let query = sql.effects_query()?;
    let row: Option<Row> = conn.first(query).await.map_err(|error| of_command("cannot count what was done", &error))?;
    let total = |name: &&str| {
        let place = row.as_ref().and_then(|row| row.columns_ref().iter().position(|column| column.name_str() == *name));
        let total = place.and_then(|place| row.as_ref()?.as_ref(place)).and_then(whole);
        total.ok_or_else(|| Error::Database(format!("the database has no total of {name}: is it loaded?")))
    };
    sql.effects.iter().map(total).collect()
}

/// The number of rows that match each trace.
pub async fn count_traces(conn: &mut Conn, traces: &[Trace]) -> Result<Option<Vec<i64>>, Error> {
    let mut found = vec![0; traces.len()];
    for query in lookup::queries(traces, lookup::TOGETHER, Rows::Selects, Amounts::Decimal) {
        let rows: Vec<(i64, i64)> =
            conn.query(&query.sql).await.map_err(|error| of_command("cannot look for committed rows", &error))?;
        rows.into_iter().for_each(|(number, count)| query.note(number, count, &mut found));
    }
    Ok(Some(found))
}

/// The settings of a session that affect the result.
pub async fn settings(conn: &mut Conn, database: &str, sql: &WorkloadSql) -> Result<BTreeMap<String, String>, Error> {
    let failed = |error| of_command("cannot read the settings", &error);
    let names = SETTINGS.map(|name| format!("'{name}'")).join(", ");
    let query = format!("SHOW SESSION VARIABLES WHERE variable_name IN ({names})");
    let mut settings: BTreeMap<String, String> = conn.rows(query).await.map_err(failed)?.into_iter().collect();
    // MySQL has no such table.
    let changed: Vec<(String, Option<String>)> = conn.rows(CHANGED).await.unwrap_or_default();
    for (name, value) in changed {
        settings.entry(name).or_insert_with(|| value.unwrap_or_default());
    }
    let kept: Vec<(String, Option<String>)> = conn.rows_of(ENGINES, (database,)).await.map_err(failed)?;
    let foreign = kept.into_iter().filter(|(table, _)| sql.tables.iter().any(|known| known.name == *table));
    let foreign: Vec<String> =
        foreign.map(|(table, engine)| format!("{table} ({})", engine.unwrap_or_default())).collect();
    if !foreign.is_empty() {
        settings.insert("tables_of_other_engines".to_owned(), foreign.join(", "));
    }
    Ok(settings)
}
