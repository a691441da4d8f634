//! Questions to a loaded database: its consistency, its running totals, its settings.

use std::collections::BTreeMap;
use std::time::Instant;

use super::catalog::QueryError;
use super::load::explain;
use super::target::Target;
use super::tpcc::{CONSISTENCY, EFFECTS};
use crate::engine::Error;
use crate::engine::odbc::connection::Connection;
use crate::engine::odbc::row::Row;
use crate::engine::server::virtuoso::PAGE;
use crate::engine::sql::lookup::{self, Amounts};
use crate::engine::sql::script::{self, Named};
use crate::result::Finding;
use crate::workload::Workload;
use crate::workload::tpcc::Tpcc;
use crate::workload::trace::Trace;

/// Offending rows that a finding shows.
const EXAMPLES: usize = 5;

/// Settings that the server's ini file states, by section.
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

/// Runs the workload's conditions one after the other.
pub(super) fn check(target: &Target, told: &mut dyn FnMut(&Finding)) -> Result<Vec<Finding>, Error> {
    let connection = target.connect()?;
    let mut findings = Vec::new();
    for condition in script::statements(CONSISTENCY) {
        let finding = find(&connection, &condition);
        let finding = finding.map_err(|error| explain(target, &format!("cannot check {}", condition.name), error))?;
        told(&finding);
        findings.push(finding);
    }
    Ok(findings)
}

fn find(connection: &Connection, condition: &Named<'_>) -> Result<Finding, QueryError> {
    let began = Instant::now();
    let reply = connection.query(condition.sql)?;
    let show = |row: &Row| {
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

/// The running totals of the workload's effects.
pub(super) fn effects(target: &Target) -> Result<Vec<i64>, Error> {
    let sql = script::select(EFFECTS, &["effects"]).map_err(|why| Error::Database(format!("effects.sql: {why}")))?;
    let connection = target.connect()?;
    let totals = || -> Result<Vec<i64>, QueryError> {
        let reply = connection.query(sql[0])?;
        let row = reply.rows.first().cloned().unwrap_or_default();
        (0..Tpcc::EFFECTS.len()).map(|column| Ok(row.long(column)?)).collect()
    };
    totals().map_err(|error| explain(target, "cannot count what was done", error))
}

/// Virtuoso knows no union of rows without a table: each trace has its own query.
const ONE: usize = 1;

/// How many rows there are for each trace.
pub(super) fn rows_of(target: &Target, traces: &[Trace]) -> Result<Option<Vec<i64>>, Error> {
    let connection = target.connect()?;
    let mut found = vec![0; traces.len()];
    let mut seek = |query: &lookup::Query| -> Result<(), QueryError> {
        for row in &connection.query(&query.sql)?.rows {
            query.note(row.long(0)?, row.long(1)?, &mut found);
        }
        Ok(())
    };
    for query in lookup::queries(traces, ONE, Amounts::Decimal) {
        seek(&query).map_err(|error| explain(target, "cannot look for committed rows", error))?;
    }
    Ok(Some(found))
}

/// The settings that matter to the result.
pub(super) fn settings(target: &Target) -> Result<BTreeMap<String, String>, Error> {
    let connection = target.connect()?;
    let mut settings = BTreeMap::new();
    for (section, name) in SETTINGS {
        let sql = format!("SELECT cfg_item_value (virtuoso_ini_path (), '{section}', '{name}')");
        let reply = connection
            .query(&sql)
            .map_err(|diagnostic| target.explain("cannot read the server's settings", &diagnostic))?;
        // What the file leaves out is null.
        if let Some(Ok(Some(value))) = reply.rows.first().map(|row| row.optional_text(0)) {
            settings.insert(name.to_owned(), value.to_owned());
        }
    }
    Ok(settings)
}

/// Bytes of the pages in use, of the whole database.
pub(super) fn database_bytes(connection: &Connection) -> Result<u64, QueryError> {
    // The figures are as of the last call of status().
    connection.execute("status ()")?;
    let reply = connection.query("SELECT sys_stat ('st_db_pages') - sys_stat ('st_db_free_pages')")?;
    let pages = reply.rows.first().map(|row| row.long(0)).transpose()?.unwrap_or_default();
    Ok(u64::try_from(pages).unwrap_or_default() * PAGE)
}
