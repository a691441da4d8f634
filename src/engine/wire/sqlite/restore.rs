//! Undoes the effects of transactions on a loaded population.
//!
//! As during a load, the file has a rollback journal and is locked exclusively: no other program uses it, and if this
//! one is killed, the next one to open the file rolls the transaction back. The requested journal mode is set at the
//! end.

use std::time::Instant;

use rusqlite::Connection;

use super::load::Insert;
use super::{Sqlite, catalog, check, connection};
use crate::engine::Error;
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::restore::{Generated, Parts, Progress, Script, Step, restorable};
use crate::result::{LoadStep, Manifest, RestoreReport};
use crate::workload::{Population, Rows};

/// Units to generate before other tasks on this thread run, such as an interrupt.
const UNITS_PER_TURN: u32 = 5_000;

/// Page cache during a restore, in KiB: the changed rows are spread over the tables.
const CACHE_KIB: i64 = 256 * 1_024;

/// Restores the population of `manifest`.
pub(super) async fn restore(
    sql: &WorkloadSql,
    sqlite: &Sqlite,
    manifest: &Manifest,
    population: &impl Population,
    on_step: &(dyn Fn(LoadStep) + Send + Sync),
) -> Result<RestoreReport, Error> {
    let explain = |error| sqlite.explain(error);
    let script = Script::of(sql.tables, sql.restore()?, sql.consistency())?;
    let connection = sqlite.connect()?;
    let mut progress = Progress::new(sql.tables, on_step);
    take(&connection).map_err(explain)?;
    restorable(&catalog::database_state(sql, &connection, &sqlite.options.file).map_err(explain)?, manifest)
        .map_err(|error| sqlite.not_loaded(&error.to_string()))?;
    let parts = Parts::of(population);
    undo(&connection, &script, &parts, &mut population.rows(), &mut progress).await.map_err(explain)?;
    progress.phase("undo");
    verify(sql, &connection, &script, &parts, &mut progress).await.map_err(explain)?;
    progress.phase("verify");
    // Closing releases the file.
    connection.close().map_err(|(_, error)| sqlite.explain(error))?;
    connection::configure(&connection::open(&sqlite.options)?, &sqlite.options, manifest.foreign_keys)?;
    Ok(progress.end())
}

/// Locks the file exclusively.
fn take(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "truncate", |_| Ok(()))?;
    connection.pragma_update_and_check(None, "locking_mode", "exclusive", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "full")?;
    // The script deletes children before parents, and the keys that it restores are those of existing rows.
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)
}

async fn undo(
    connection: &Connection,
    script: &Script,
    parts: &Parts,
    rows: &mut impl Rows,
    progress: &mut Progress<'_>,
) -> rusqlite::Result<()> {
    let transaction = rusqlite::Transaction::new_unchecked(connection, rusqlite::TransactionBehavior::Exclusive)?;
    for (statement, step) in &script.steps {
        progress.step(statement.name);
        tokio::task::yield_now().await;
        match step {
            Step::Prepare => transaction.execute_batch(statement.sql)?,
            Step::Undo(table) => progress.undone(*table, transaction.execute(statement.sql, [])? as u64),
            Step::Generate(made) => generate(&transaction, statement.sql, made, parts, rows).await?,
        }
    }
    transaction.commit()
}

async fn generate(
    connection: &Connection,
    sql: &str,
    made: &Generated,
    parts: &Parts,
    rows: &mut impl Rows,
) -> rusqlite::Result<()> {
    let places = vec!["?"; made.columns.len()].join(", ");
    let insert = format!("INSERT INTO temp.{} ({}) VALUES ({places})", made.into, made.columns.join(", "));
    let mut sink = Insert::new(connection.prepare_cached(&insert)?);
    let mut keys = connection.prepare(sql)?;
    let mut keys = keys.query([])?;
    let mut turn = 0;
    while let Some(key) = keys.next()? {
        let Some((part, unit)) = parts.find(made.table, key.get(0)?, key.get(1)?) else { continue };
        rows.write(part, unit, &mut made.pick(&mut sink));
        if let Some(error) = sink.failed.take() {
            return Err(error);
        }
        turn += 1;
        if turn % UNITS_PER_TURN == 0 {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

async fn verify(
    sql: &WorkloadSql,
    connection: &Connection,
    script: &Script,
    parts: &Parts,
    progress: &mut Progress<'_>,
) -> rusqlite::Result<()> {
    progress.step("verify");
    let began = Instant::now();
    let mut counted = Vec::new();
    for table in sql.tables {
        tokio::task::yield_now().await;
        let count =
            connection.query_row(&format!("SELECT count(*) FROM {}", table.name), [], |row| row.get::<_, i64>(0))?;
        counted.push(count as u64);
    }
    progress.found(parts.cardinality(sql.tables, &counted, began.elapsed().as_secs_f64()));
    for condition in &script.conditions {
        tokio::task::yield_now().await;
        progress.found(check::find(connection, condition)?);
    }
    Ok(())
}
