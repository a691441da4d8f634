//! Takes back what transactions did to a loaded population, in one transaction; then verifies it.

use std::time::Instant;

use super::catalog::{self, failed};
use super::connection::Connection;
use super::diagnostic::Diagnostic;
use super::dialect::Dialect;
use super::insert::Insert;
use super::port::{self, Port};
use super::{Odbc, check, program};
use crate::engine::sql::restore::{Generated, Parts, Progress, Script, Step, restorable};
use crate::engine::{Error, sqlite};
use crate::result::{LoadStep, Manifest, RestoreReport};
use crate::workload::{Column, Population, Rows};

/// Restores the population of `manifest`.
pub(super) async fn restore<W: Port>(
    odbc: &Odbc,
    manifest: &Manifest,
    population: &W::Population,
    told: &(dyn Fn(LoadStep) + Send + Sync),
) -> Result<RestoreReport, Error> {
    let dialect = odbc.dialect;
    let Some(text) = port::restore::<W>(dialect) else {
        return Err(Error::Usage(format!(
            "over ODBC, Graymark has no restore for {}: remove the tables with graymark drop and load again",
            odbc.identity.name
        )));
    };
    let script = Script::of::<W>(text, <W as sqlite::Port>::CONSISTENCY)?;
    let connection = odbc.connect::<W>()?;
    restorable(&catalog::database_state::<W>(&connection, dialect)?, manifest)?;
    let parts = Parts::of(population);
    let mut progress = Progress::new::<W>(told);
    undo::<W>(&connection, dialect, &script, &parts, &mut population.rows(), &mut progress)
        .await
        .map_err(|error| failed("cannot restore", &error))?;
    progress.phase("undo");
    if let Some(statistics) = dialect.statistics {
        progress.step("statistics");
        for table in W::TABLES {
            tokio::task::yield_now().await;
            let done = connection.execute(&statistics.replace("{table}", table.name));
            done.map_err(|error| failed("cannot make statistics", &error))?;
        }
        progress.phase("statistics");
    }
    progress.step("verify");
    let began = Instant::now();
    let mut counted = Vec::new();
    for table in W::TABLES {
        tokio::task::yield_now().await;
        counted.push(super::load::count(&connection, table.name)?);
    }
    progress.found(parts.cardinality::<W>(&counted, began.elapsed().as_secs_f64()));
    for condition in &script.conditions {
        tokio::task::yield_now().await;
        let finding = check::find(&connection, condition);
        progress.found(finding.map_err(|error| failed(&format!("cannot check {}", condition.name), &error))?);
    }
    progress.phase("verify");
    Ok(progress.end())
}

async fn undo<W: Port>(
    connection: &Connection,
    dialect: &'static Dialect,
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
            Step::Generate(made) => generate::<W>(connection, dialect, statement.sql, made, parts, rows)?,
        }
    }
    super::commit(connection, dialect)
}

fn generate<W: Port>(
    connection: &Connection,
    dialect: &'static Dialect,
    sql: &str,
    made: &Generated,
    parts: &Parts,
    rows: &mut impl Rows,
) -> Result<(), Diagnostic> {
    let into = format!("{}{}", dialect.temporary, made.into);
    let columns = W::TABLES.get(made.table).map(|table| table.columns).unwrap_or_default();
    let columns: Vec<Column> = columns.iter().filter(|column| made.columns.contains(&column.name)).copied().collect();
    let mut sink = Insert::new(connection, dialect, &into, &columns)?;
    for key in &connection.query(sql)?.rows {
        let unit = key.int(0).ok().zip(key.int(1).ok());
        let Some((part, unit)) = unit.and_then(|(number, unit)| parts.find(made.table, number, unit)) else { continue };
        rows.write(part, unit, &mut made.pick(&mut sink));
    }
    sink.end().map(|_| ())
}
