//! Questions to a loaded database: its consistency, its running totals, its settings.

use std::collections::BTreeMap;
use std::time::Instant;

use super::catalog::{self, failed};
use super::dialect::Dialect;
use super::driver::Connection;
use super::failure::Diagnostic;
use crate::engine::Error;
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::lookup::{self, Amounts, Rows};
use crate::engine::sql::script::{self, Named};
use crate::result::{CheckStep, Finding};
use crate::workload::trace::Trace;

/// Offending rows that a finding shows.
const EXAMPLES: usize = 5;

/// Runs the workload's conditions one after the other.
pub(super) fn check(
    sql: &WorkloadSql,
    connection: &Connection,
    on_step: &mut dyn FnMut(CheckStep<'_>),
) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    let conditions = script::statements(sql.consistency());
    on_step(CheckStep::Conditions(conditions.len()));
    for condition in conditions {
        on_step(CheckStep::Began(condition.name));
        let finding = find(connection, &condition);
        let finding = finding.map_err(|error| failed(&format!("cannot check condition {}", condition.name), &error))?;
        on_step(CheckStep::Ended(&finding));
        findings.push(finding);
    }
    Ok(findings)
}

/// Runs one condition.
pub(super) fn find(connection: &Connection, condition: &Named<'_>) -> Result<Finding, Diagnostic> {
    let began = Instant::now();
    let reply = connection.query(condition.sql)?;
    let show = |row: &super::reply::OdbcRow| {
        let pair = |(at, name): (usize, &String)| {
            let value = row.optional_text(at).ok().flatten();
            format!("{}={}", name.to_lowercase(), value.unwrap_or("null"))
        };
        reply.columns.iter().enumerate().map(pair).collect::<Vec<_>>().join(" ")
    };
    Ok(Finding {
        id: condition.name.to_owned(),
        title: condition.notes.get("title").copied().unwrap_or(condition.name).to_owned(),
        offending: reply.rows.len() as u64,
        examples: reply.rows.iter().take(EXAMPLES).map(show).collect(),
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// The running totals of the workload's effects.
pub(super) fn effects(sql: &WorkloadSql, connection: &Connection) -> Result<Vec<i64>, Error> {
    let reply = connection.query(sql.effects_query()?).map_err(|error| failed("cannot count what was done", &error))?;
    let row = reply.rows.first();
    let total = |name: &&str| {
        let column = reply.columns.iter().position(|column| column.eq_ignore_ascii_case(name));
        let total = row.zip(column).and_then(|(row, column)| row.long(column).ok());
        total.ok_or_else(|| Error::Database(format!("the database has no total of {name}: is it loaded?")))
    };
    sql.effects.iter().map(total).collect()
}

/// How many rows there are for each trace.
pub(super) fn count_traces(
    connection: &Connection,
    dialect: Dialect,
    traces: &[Trace],
) -> Result<Option<Vec<i64>>, Error> {
    let mut found = vec![0; traces.len()];
    let together = if dialect.rows_without_table { lookup::TOGETHER } else { 1 };
    for query in lookup::queries(traces, together, Rows::Selects, Amounts::Decimal) {
        let reply = connection.query(&query.sql).map_err(|error| failed("cannot look for committed rows", &error))?;
        for row in &reply.rows {
            if let (Ok(number), Ok(count)) = (row.long(0), row.long(1)) {
                query.note(number, count, &mut found);
            }
        }
    }
    Ok(Some(found))
}

/// What driver and database tell, and the settings that matter to the result.
pub(super) fn settings(
    connection: &Connection,
    dialect: Dialect,
    isolation: &str,
) -> Result<BTreeMap<String, String>, Error> {
    let capabilities = connection.capabilities();
    let mut settings: BTreeMap<String, String> = [
        ("isolation", isolation.to_owned()),
        ("odbc_dialect", dialect.whole.name.to_owned()),
        ("odbc_driver", capabilities.driver),
        ("odbc_driver_version", capabilities.driver_version),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let reply =
        catalog::ask(connection, dialect, "settings").map_err(|error| failed("cannot read the settings", &error))?;
    for row in &reply.unwrap_or_default().rows {
        if let (Ok(name), Ok(value)) = (row.text(0), row.text(1)) {
            settings.insert(name.to_lowercase(), value.to_owned());
        }
    }
    Ok(settings)
}
