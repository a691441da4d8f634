//! Consistency conditions, cumulative totals and settings of a loaded database.

use std::collections::BTreeMap;
use std::time::Instant;

use rusqlite::types::ValueRef;

use super::Sqlite;
use crate::engine::Error;
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::lookup::{self, Amounts, Rows};
use crate::engine::sql::script::{self, Named};
use crate::result::{CheckStep, Finding};
use crate::workload::trace::Trace;

/// Offending rows that a finding shows.
const EXAMPLES: usize = 5;

/// Settings reported by SQLite.
const PRAGMAS: [&str; 8] = [
    "journal_mode",
    "synchronous",
    "page_size",
    "cache_size",
    "foreign_keys",
    "wal_autocheckpoint",
    "mmap_size",
    "busy_timeout",
];

/// Checks the workload's conditions one after the other.
pub(super) fn check(
    sql: &WorkloadSql,
    sqlite: &Sqlite,
    on_step: &mut dyn FnMut(CheckStep<'_>),
) -> Result<Vec<Finding>, Error> {
    let connection = sqlite.connect()?;
    let mut findings = Vec::new();
    let conditions = script::statements(sql.consistency());
    on_step(CheckStep::Conditions(conditions.len()));
    for condition in conditions {
        on_step(CheckStep::Began(condition.name));
        let finding = find(&connection, &condition).map_err(|error| sqlite.explain(error))?;
        on_step(CheckStep::Ended(&finding));
        findings.push(finding);
    }
    Ok(findings)
}

/// Checks one condition.
pub(super) fn find(connection: &rusqlite::Connection, condition: &Named<'_>) -> rusqlite::Result<Finding> {
    let began = Instant::now();
    let mut statement = connection.prepare(condition.sql)?;
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let (mut offending, mut examples) = (0, Vec::new());
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        offending += 1;
        if examples.len() < EXAMPLES {
            let pairs: Vec<String> = columns
                .iter()
                .enumerate()
                .map(|(at, name)| Ok(format!("{name}={}", show(row.get_ref(at)?))))
                .collect::<rusqlite::Result<_>>()?;
            examples.push(pairs.join(" "));
        }
    }
    let title = condition.notes.get("title").copied().unwrap_or(condition.name);
    Ok(Finding {
        id: condition.name.to_owned(),
        title: title.to_owned(),
        offending,
        examples,
        seconds: began.elapsed().as_secs_f64(),
    })
}

fn show(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "null".to_owned(),
        ValueRef::Integer(value) => value.to_string(),
        ValueRef::Real(value) => value.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}

/// The cumulative totals of the workload's effects.
pub(super) fn effects(sql: &WorkloadSql, sqlite: &Sqlite) -> Result<Vec<i64>, Error> {
    let query = sql.effects_query()?;
    let total = |row: &rusqlite::Row, name: &&str| row.get::<_, i64>(*name);
    let totals = |row: &rusqlite::Row| sql.effects.iter().map(|name| total(row, name)).collect();
    sqlite.connect()?.query_row(query, [], totals).map_err(|error| sqlite.explain(error))
}

/// The number of rows that match each trace.
pub(super) fn count_traces(sqlite: &Sqlite, traces: &[Trace]) -> Result<Option<Vec<i64>>, Error> {
    let connection = sqlite.connect()?;
    let mut found = vec![0; traces.len()];
    let mut seek = |query: &lookup::Query| -> rusqlite::Result<()> {
        let mut statement = connection.prepare(&query.sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            query.note(row.get(0)?, row.get(1)?, &mut found);
        }
        Ok(())
    };
    for query in lookup::queries(traces, lookup::TOGETHER, Rows::Values, Amounts::Cents) {
        seek(&query).map_err(|error| sqlite.explain(error))?;
    }
    Ok(Some(found))
}

/// The settings of a session that affect the result.
pub(super) fn settings(connection: &rusqlite::Connection) -> rusqlite::Result<BTreeMap<String, String>> {
    let mut settings = BTreeMap::new();
    for name in PRAGMAS {
        let value = connection.pragma_query_value(None, name, |row| Ok(show(row.get_ref(0)?)))?;
        let value = match (name, value.as_str()) {
            ("synchronous", "0") => "off".to_owned(),
            ("synchronous", "1") => "normal".to_owned(),
            ("synchronous", "2") => "full".to_owned(),
            ("synchronous", "3") => "extra".to_owned(),
            _ => value,
        };
        settings.insert(name.to_owned(), value);
    }
    settings.insert("isolation".to_owned(), "serializable".to_owned());
    settings.insert("writers".to_owned(), "one at a time, in the order of asking".to_owned());
    Ok(settings)
}
