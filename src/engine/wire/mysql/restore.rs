//! Undoes the effects of transactions on a loaded population, in one transaction; then analyzes and verifies the
//! tables.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures_util::future::try_join_all;
use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::bulk::{self, TextRows};
use super::connect::Target;
use super::failure::{self, LOCK_WAIT_TIMEOUT, of_command};
use super::load::{self, claim, release};
use super::query::Read;
use super::{catalog, check};
use crate::engine::dialect::Dialect;
use crate::engine::load::side_by_side;
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::restore::{Generated, Parts, Progress, Script, Step, restorable};
use crate::engine::sql::script::Named;
use crate::engine::{Error, ownership};
use crate::result::{LoadStep, Manifest, RestoreReport};
use crate::workload::{Population, Rows};

/// Number of keys that are fetched at once.
const BATCH: u64 = 20_000;

/// Number of tables that are counted, and conditions that are verified, in parallel.
const SIDE_BY_SIDE: usize = 4;

/// The statement of a script that locks the tables.
const LOCK: &str = "lock";

/// A statement of a script, and what it is for.
type ScriptStep = (Named<'static>, Step);

/// Without autocommit, LOCK TABLES lasts through the transaction. Timeouts for other writers are short. Without foreign
/// key checks no row of others is deleted in cascade, even if their tables refer to Graymark's and this user cannot see
/// that.
const SETTINGS: [&str; 4] =
    ["autocommit = 0", "lock_wait_timeout = 5", "innodb_lock_wait_timeout = 5", "foreign_key_checks = 0"];

/// Restores the population of `manifest`.
pub async fn restore<P: Population>(
    target: &Target,
    sql: &WorkloadSql,
    manifest: &Manifest,
    population: &P,
    on_step: &(dyn Fn(LoadStep) + Send + Sync),
) -> Result<RestoreReport, Error> {
    let script = Script::of(sql.tables, sql.restore()?, sql.consistency())?;
    let database = target.database(sql.name);
    let guard = claim(target, database).await?;
    let mut conn = target.connect(Some(database), &SETTINGS).await?;
    ensure_own(&mut conn, database, sql, manifest).await?;
    // Reading the catalog has opened a transaction.
    conn.query_drop("COMMIT").await.map_err(|error| refused(&error))?;
    let parts = Parts::of(population);
    let mut progress = Progress::new(sql.tables, on_step);

    let (locking, undoing) = parts_of(&script)?;
    let dialect = sql.dialect;
    let locked = undo(&mut conn, dialect, locking, &parts, population, &mut progress).await;
    locked.map_err(|error| refused(&error))?;
    // While this waited for the locks, others may have put their own tables in the place of these.
    ensure_own(&mut conn, database, sql, manifest).await?;
    let undone = undo(&mut conn, dialect, undoing, &parts, population, &mut progress).await;
    undone.map_err(|error| refused(&error))?;
    progress.step("commit");
    for end in ["COMMIT", "UNLOCK TABLES"] {
        conn.query_drop(end).await.map_err(|error| refused(&error))?;
    }
    drop(conn);
    progress.phase("undo");

    let mut conns = try_join_all((0..SIDE_BY_SIDE).map(|_| target.connect(Some(database), &[]))).await?;
    progress.step("analyze");
    let mut tables: Vec<usize> = (0..sql.tables.len()).collect();
    tables.sort_by_key(|table| std::cmp::Reverse(parts.rows(*table)));
    side_by_side(&mut conns, &tables, async |conn: &mut Conn, table: &usize| {
        load::analyze(conn, sql.dialect, sql.tables[*table].name).await
    })
    .await?;
    progress.phase("analyze");

    progress.step("verify");
    let began = Instant::now();
    let counted = Mutex::new(vec![0; sql.tables.len()]);
    let count = async |conn: &mut Conn, table: &usize| {
        let rows = load::count(conn, sql.tables[*table].name).await?;
        if let Some(counted) = counted.lock().unwrap_or_else(PoisonError::into_inner).get_mut(*table) {
            *counted = rows;
        }
        Ok(())
    };
    side_by_side(&mut conns, &tables, count).await?;
    let counted = counted.into_inner().unwrap_or_else(PoisonError::into_inner);
    progress.found(parts.cardinality(sql.tables, &counted, began.elapsed().as_secs_f64()));
    let found = Mutex::new(std::collections::BTreeMap::new());
    let conditions: Vec<_> = script.conditions.iter().enumerate().collect();
    let check = async |conn: &mut Conn, (place, condition): &(usize, &Named<'static>)| {
        let finding = check::condition_holds(conn, condition).await?;
        found.lock().unwrap_or_else(PoisonError::into_inner).insert(*place, finding);
        Ok(())
    };
    side_by_side(&mut conns, &conditions, check).await?;
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.into_values().for_each(|finding| progress.found(finding));
    progress.phase("verify");
    release(guard).await?;
    Ok(progress.end())
}

/// An error unless the tables are Graymark's, with the population of `manifest`, and no table of others refers to them.
async fn ensure_own(conn: &mut Conn, database: &str, sql: &WorkloadSql, manifest: &Manifest) -> Result<(), Error> {
    restorable(&catalog::database_state(conn, database, sql).await?, manifest)?;
    ownership::ensure_not_referenced(&catalog::dependents(conn, sql).await?)
}

/// The steps of a script up to that which locks the tables, and those after it.
fn parts_of(script: &Script) -> Result<(&[ScriptStep], &[ScriptStep]), Error> {
    let lock = script.steps.iter().position(|(statement, _)| statement.name == LOCK);
    let lock = lock.ok_or_else(|| Error::Database(format!("restore.sql: no statement is called `{LOCK}`")))?;
    Ok(script.steps.split_at(lock + 1))
}

fn refused(error: &mysql_async::Error) -> Error {
    if failure::code(error) == Some(LOCK_WAIT_TIMEOUT) {
        return Error::Database(
            "someone is writing to the tables: end the run that is going on, then restore".to_owned(),
        );
    }
    of_command("cannot restore", error)
}

async fn undo<P: Population>(
    conn: &mut Conn,
    dialect: &Dialect,
    steps: &[ScriptStep],
    parts: &Parts,
    population: &P,
    progress: &mut Progress<'_>,
) -> Result<(), mysql_async::Error> {
    let mut rows = population.rows();
    for (statement, step) in steps {
        progress.step(statement.name);
        match step {
            // Executes all of several statements.
            Step::Prepare => conn.query_drop(statement.sql).await?,
            Step::Undo(table) => {
                conn.query_drop(statement.sql).await?;
                progress.undone(*table, conn.affected_rows());
            }
            Step::Generate(made) => generate(conn, dialect, statement.sql, made, parts, &mut rows).await?,
        }
    }
    Ok(())
}

/// Loads the generated rows for the keys that a query returns, in batches: there may be more keys than memory.
async fn generate(
    conn: &mut Conn,
    dialect: &Dialect,
    sql: &str,
    made: &Generated,
    parts: &Parts,
    rows: &mut impl Rows,
) -> Result<(), mysql_async::Error> {
    // Tables of a script that has no temporary ones.
    let prefix = if dialect.temporary_tables { "" } else { "graymark_" };
    if dialect.temporary_tables {
        let wanted =
            "CREATE TEMPORARY TABLE wanted (number bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, part int, unit int)";
        conn.query_drop(wanted).await?;
    }
    conn.query_drop(format!("INSERT INTO {prefix}wanted (part, unit) {sql}")).await?;
    let statement = bulk::statement(&format!("{prefix}{}", made.into), &made.columns);
    let next = format!("SELECT number, part, unit FROM {prefix}wanted WHERE number > ? ORDER BY number LIMIT ?");
    let mut after = 0_u64;
    loop {
        let keys: Vec<(u64, i32, i32)> = conn.rows_of(next.as_str(), (after, BATCH)).await?;
        let Some((last, _, _)) = keys.last() else {
            let end =
                if dialect.temporary_tables { "DROP TEMPORARY TABLE wanted" } else { "DELETE FROM graymark_wanted" };
            return conn.query_drop(end).await;
        };
        after = *last;
        let mut text = TextRows::default();
        let mut chunks = Vec::new();
        for (_, part, unit) in &keys {
            let Some((part, unit)) = parts.find(made.table, *part, *unit) else { continue };
            rows.write(part, unit, &mut made.pick(&mut text));
            chunks.extend(text.chunk());
        }
        chunks.push(text.rest());
        load::send(conn, &statement, chunks.into_iter(), &Arc::new(AtomicBool::new(false))).await?;
    }
}
