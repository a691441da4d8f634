//! Takes back what transactions did to a loaded population, in one transaction; then verifies it.

use std::time::Instant;

use super::bulk::Insert;
use super::catalog::{self, failed};
use super::dialect::Dialect;
use super::driver::Connection;
use super::failure::Diagnostic;
use super::{Odbc, check, program};
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::restore::{Generated, Parts, Progress, Script, Step, restorable};
use crate::engine::{Error, ownership};
use crate::result::{LoadStep, Manifest, RestoreReport};
use crate::workload::{Column, Population, Rows};

/// Restores the population of `manifest`.
pub(super) async fn restore(
    sql: &WorkloadSql,
    odbc: &Odbc,
    manifest: &Manifest,
    population: &impl Population,
    on_step: &(dyn Fn(LoadStep) + Send + Sync),
) -> Result<RestoreReport, Error> {
    let dialect = odbc.dialect;
    let Ok(text) = sql.restore() else {
        return Err(Error::Usage(format!(
            "over ODBC, Graymark has no restore for {}: remove the tables with graymark drop and load again",
            odbc.identity.name
        )));
    };
    let script = Script::of(sql.tables, text, sql.consistency())?;
    let _guard = catalog::claim(sql, odbc).await?;
    let connection = odbc.connect(sql.name)?;
    restorable(&catalog::database_state(sql, &connection, dialect)?, manifest)?;
    let ours: Vec<&str> = sql.tables.iter().map(|table| table.name).collect();
    let dependents = catalog::dependents(&connection, dialect, &ours);
    let dependents = dependents.map_err(|error| failed("cannot see what refers to the tables", &error))?;
    ownership::ensure_not_referenced(&dependents)?;
    let parts = Parts::of(population);
    let mut progress = Progress::new(sql.tables, on_step);
    undo(sql, &connection, dialect, &script, &parts, &mut population.rows(), &mut progress)
        .await
        .map_err(|error| failed("cannot restore", &error))?;
    progress.phase("undo");
    if dialect.statistics("").is_some() {
        progress.step("statistics");
        for statement in sql.tables.iter().filter_map(|table| dialect.statistics(table.name)) {
            tokio::task::yield_now().await;
            let done = connection.execute(&statement);
            done.map_err(|error| failed("cannot make statistics", &error))?;
        }
        progress.phase("statistics");
    }
    progress.step("verify");
    let began = Instant::now();
    let mut counted = Vec::new();
    for table in sql.tables {
        tokio::task::yield_now().await;
        counted.push(super::load::count(&connection, table.name)?);
    }
    progress.found(parts.cardinality(sql.tables, &counted, began.elapsed().as_secs_f64()));
    for condition in &script.conditions {
        tokio::task::yield_now().await;
        let finding = check::find(&connection, condition);
        progress.found(finding.map_err(|error| failed(&format!("cannot check {}", condition.name), &error))?);
    }
    progress.phase("verify");
    Ok(progress.end())
}

async fn undo(
    sql: &WorkloadSql,
    connection: &Connection,
    dialect: Dialect,
    script: &Script,
    parts: &Parts,
    rows: &mut impl Rows,
    progress: &mut Progress<'_>,
) -> Result<(), Diagnostic> {
    super::begin(connection, dialect)?;
    for (statement, step) in &script.steps {
        progress.step(statement.name);
        tokio::task::yield_now().await;
        match step {
            Step::Prepare => {
                for part in program::steps(statement.sql) {
                    connection.execute(&part.sql)?;
                }
            }
            Step::Undo(table) => {
                for part in program::steps(statement.sql) {
                    progress.undone(*table, connection.execute(&part.sql)?);
                }
            }
            Step::Generate(made) => generate(sql, connection, dialect, statement.sql, made, parts, rows)?,
        }
    }
    super::commit(connection, dialect)
}

fn generate(
    sql: &WorkloadSql,
    connection: &Connection,
    dialect: Dialect,
    query: &str,
    made: &Generated,
    parts: &Parts,
    rows: &mut impl Rows,
) -> Result<(), Diagnostic> {
    let into = format!("{}{}", dialect.temporary, made.into);
    let columns = sql.tables.get(made.table).map(|table| table.columns).unwrap_or_default();
    let columns: Vec<Column> = columns.iter().filter(|column| made.columns.contains(&column.name)).copied().collect();
    let mut sink = Insert::new(connection, dialect, &into, &columns)?;
    for key in &connection.query(query)?.rows {
        let unit = key.int(0).ok().zip(key.int(1).ok());
        let Some((part, unit)) = unit.and_then(|(number, unit)| parts.find(made.table, number, unit)) else { continue };
        rows.write(part, unit, &mut made.pick(&mut sink));
    }
    sink.end().map(|_| ())
}
