//! Consistency conditions, cumulative totals and settings of a loaded database.

use std::collections::BTreeMap;
use std::time::Instant;

use super::connect::{QueryError, Target};
use crate::engine::Error;
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::lookup::{self, Amounts, Rows};
use crate::engine::sql::script::{self, Named};
use crate::engine::wire::odbc::driver::Connection;
use crate::engine::wire::odbc::reply::OdbcRow;
use crate::result::{CheckStep, Finding};
use crate::workload::trace::Trace;

/// Offending rows that a finding shows.
const EXAMPLES: usize = 5;

/// Settings of the server's ini file, by section.
const SETTINGS: [(&str, &str); 10] = [
    ("Parameters", "NumberOfBuffers"),
    ("Parameters", "MaxDirtyBuffers"),
    ("Parameters", "CheckpointInterval"),
    ("Parameters", "DefaultIsolation"),
    ("Parameters", "ServerThreads"),
    ("Parameters", "ThreadsPerQuery"),
    ("Parameters", "FDsPerFile"),
    ("Parameters", "O_DIRECT"),
    ("Database", "MaxCheckpointRemap"),
    ("Database", "Striping"),
];

/// Checks the workload's conditions one after the other.
pub(super) fn check(
    sql: &WorkloadSql,
    target: &Target,
    on_step: &mut dyn FnMut(CheckStep<'_>),
) -> Result<Vec<Finding>, Error> {
    let connection = target.connect(sql.name)?;
    let mut findings = Vec::new();
    let conditions = script::statements(sql.consistency());
    on_step(CheckStep::Conditions(conditions.len()));
    for condition in conditions {
        on_step(CheckStep::Began(condition.name));
        let finding = find(&connection, &condition);
        let finding =
            finding.map_err(|error| target.explain_query(&format!("cannot check {}", condition.name), error))?;
        on_step(CheckStep::Ended(&finding));
        findings.push(finding);
    }
    Ok(findings)
}

fn find(connection: &Connection, condition: &Named<'_>) -> Result<Finding, QueryError> {
    let began = Instant::now();
    let reply = connection.query(condition.sql)?;
    let show = |row: &OdbcRow| {
        let pair = |(at, name): (usize, &String)| {
            let value = row.optional_text(at)?;
            Ok(format!("{}={}", name.to_lowercase(), value.unwrap_or("null")))
        };
        reply
            .columns
            .iter()
            .enumerate()
            .map(pair)
            .collect::<Result<Vec<String>, QueryError>>()
            .map(|pairs| pairs.join(" "))
    };
    Ok(Finding {
        id: condition.name.to_owned(),
        title: condition.notes.get("title").copied().unwrap_or(condition.name).to_owned(),
        offending: reply.rows.len() as u64,
        examples: reply.rows.iter().take(EXAMPLES).map(show).collect::<Result<_, _>>()?,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// The cumulative totals of the workload's effects.
pub(super) fn effects(sql: &WorkloadSql, target: &Target) -> Result<Vec<i64>, Error> {
    let query = sql.effects_query()?;
    let connection = target.connect(sql.name)?;
    let totals = || -> Result<Vec<i64>, QueryError> {
        let reply = connection.query(query)?;
        let row = reply.rows.first().cloned().unwrap_or_default();
        (0..sql.effects.len()).map(|column| Ok(row.long(column)?)).collect()
    };
    totals().map_err(|error| target.explain_query("cannot count what was done", error))
}

/// Virtuoso has no union of rows without a table: each trace has its own query.
const ONE: usize = 1;

/// The number of rows that match each trace.
pub(super) fn count_traces(sql: &WorkloadSql, target: &Target, traces: &[Trace]) -> Result<Option<Vec<i64>>, Error> {
    let connection = target.connect(sql.name)?;
    let mut found = vec![0; traces.len()];
    let mut seek = |query: &lookup::Query| -> Result<(), QueryError> {
        for row in &connection.query(&query.sql)?.rows {
            query.note(row.long(0)?, row.long(1)?, &mut found);
        }
        Ok(())
    };
    for query in lookup::queries(traces, ONE, Rows::Selects, Amounts::Decimal) {
        seek(&query).map_err(|error| target.explain_query("cannot look for committed rows", error))?;
    }
    Ok(Some(found))
}

/// The settings that affect the result.
pub(super) fn settings(sql: &WorkloadSql, target: &Target) -> Result<BTreeMap<String, String>, Error> {
    let connection = target.connect(sql.name)?;
    let mut settings = BTreeMap::new();
    for (section, name) in SETTINGS {
        let query = format!("SELECT cfg_item_value (virtuoso_ini_path (), '{section}', '{name}')");
        let reply = connection
            .query(&query)
            .map_err(|diagnostic| target.explain("cannot read the server's settings", &diagnostic))?;
        // Settings that are not in the file are null.
        if let Some(Ok(Some(value))) = reply.rows.first().map(|row| row.optional_text(0)) {
            settings.insert(name.to_owned(), value.to_owned());
        }
    }
    Ok(settings)
}
