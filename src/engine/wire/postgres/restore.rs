//! Undoes the effects of transactions on a loaded population, in one transaction, which locks the tables before it
//! checks that they are the loaded ones; then vacuums and analyzes the tables, as a load does; then verifies.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Instant;

use futures_util::SinkExt;
use futures_util::future::try_join_all;
use tokio_postgres::Client;

use super::bulk::CopyRows;
use super::connect::Target;
use super::failure::of_command;
use super::load::{self, Lock, claim, release};
use super::locks::{self, Tables};
use super::schema::Schema;
use super::{catalog, check, holders};
use crate::engine::load::side_by_side;
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::restore::{Generated, Parts, Progress, Script, Step, restorable};
use crate::engine::sql::script::Named;
use crate::engine::{Error, ownership};
use crate::result::{LoadStep, Manifest, RestoreReport};
use crate::workload::{Population, Rows};

/// Number of keys that are fetched at once.
const BATCH: usize = 20_000;

/// Number of tables that are vacuumed, and conditions that are verified, in parallel.
const SIDE_BY_SIDE: usize = 4;

/// Settings of the transaction: a short timeout for other writers, memory for sorts and temporary tables, and no JIT
/// compilation of expensive plans.
const SETTINGS: &str =
    "SET LOCAL lock_timeout = '10s'; SET LOCAL work_mem = '64MB'; SET LOCAL temp_buffers = '64MB'; SET LOCAL jit = off";

/// Restores the population of `manifest`.
pub async fn restore<P: Population>(
    target: &Target,
    sql: &WorkloadSql,
    manifest: &Manifest,
    population: &P,
    on_step: &(dyn Fn(LoadStep) + Send + Sync),
) -> Result<RestoreReport, Error> {
    let script = Script::of(sql.tables, sql.restore()?, sql.consistency())?;
    let guard = target.connect(&[]).await?;
    let schema = target.schema(sql.name);
    claim(&guard, &schema, sql.dialect).await?;
    let client = target.connect(&[]).await?;
    let parts = Parts::of(population);
    let mut progress = Progress::new(sql.tables, on_step);

    let work = Undoing { client: &client, schema: &schema, sql, parts: &parts };
    work.whole(&script, manifest, &mut population.rows(), &mut progress).await?;
    progress.phase("undo");

    let mut clients = try_join_all((0..SIDE_BY_SIDE).map(|_| target.connect(&[]))).await?;
    // Even if nothing was undone: transactions that were rolled back, or a killed restore, leave dead rows behind.
    progress.step("vacuum");
    let mut tables: Vec<usize> = (0..sql.tables.len()).collect();
    tables.sort_by_key(|table| std::cmp::Reverse(parts.rows(*table)));
    let vacuum = async |client: &mut Client, table: &usize| {
        let name = sql.tables[*table].name;
        let done = client.batch_execute(&load::statistics(sql.dialect, &schema, name)).await;
        done.map_err(|error| of_command(&format!("cannot vacuum {name}"), &error))
    };
    side_by_side(&mut clients, &tables, vacuum).await?;
    progress.phase("vacuum");

    progress.step("verify");
    let began = Instant::now();
    let counted = RefCell::new(vec![0; sql.tables.len()]);
    let count = async |client: &mut Client, table: &usize| {
        let rows = load::count(client, &schema, sql.tables[*table].name).await?;
        counted.borrow_mut()[*table] = rows;
        Ok(())
    };
    side_by_side(&mut clients, &tables, count).await?;
    progress.found(parts.cardinality(sql.tables, &counted.borrow(), began.elapsed().as_secs_f64()));
    let found = RefCell::new(BTreeMap::new());
    let conditions: Vec<_> = script.conditions.iter().enumerate().collect();
    let check = async |client: &mut Client, (place, condition): &(usize, &Named<'static>)| {
        let finding = check::condition_holds(client, &schema, condition).await?;
        found.borrow_mut().insert(*place, finding);
        Ok(())
    };
    side_by_side(&mut clients, &conditions, check).await?;
    found.into_inner().into_values().for_each(|finding| progress.found(finding));
    progress.phase("verify");
    release(&guard).await?;
    Ok(progress.end())
}

/// The transaction that undoes the effects of others.
struct Undoing<'a> {
    client: &'a Client,
    schema: &'a Schema,
    sql: &'a WorkloadSql,
    parts: &'a Parts,
}

impl Undoing<'_> {
    /// Locks the tables, checks that they are the loaded ones, undoes, checks that those were changed, and commits.
    async fn whole(
        &self,
        script: &Script,
        manifest: &Manifest,
        rows: &mut impl Rows,
        progress: &mut Progress<'_>,
    ) -> Result<(), Error> {
        let (lock, steps) = script.parted();
        self.explained(self.begin()).await?;
        // Tables of others are not even locked.
        self.ensure_own(manifest).await?;
        lock.iter().for_each(|lock| progress.step(lock.name));
        let locked = self.explained(self.lock(lock)).await?;
        self.ensure_own(manifest).await?;
        self.explained(self.undo(steps, rows, progress)).await?;
        locks::ensure_same(self.client, self.schema, &locked, "nothing was restored").await?;
        progress.step("commit");
        self.explained(self.client.batch_execute("COMMIT")).await
    }

    async fn begin(&self) -> Result<(), tokio_postgres::Error> {
        // The server may still execute the transaction of a killed restore.
        load::begin(self.client, self.schema, self.sql.dialect, Lock::Alone).await?;
        self.client.batch_execute(SETTINGS).await
    }

    /// An error unless the tables are those of the load, and no other table refers to them.
    async fn ensure_own(&self, manifest: &Manifest) -> Result<(), Error> {
        let Undoing { client, schema, sql, .. } = *self;
        restorable(&catalog::database_state(client, schema, sql).await?, manifest)?;
        ownership::ensure_not_referenced(&catalog::dependents(client, schema, sql).await?)
    }

    /// Locks the tables by the script's own statement.
    async fn lock(&self, lock: Option<&Named<'static>>) -> Result<Tables, tokio_postgres::Error> {
        let tables: Vec<&str> = self.sql.tables.iter().map(|table| table.name).collect();
        let statement = |there: &Tables| match lock {
            Some(lock) if there.len() == tables.len() => self.schema.sql(lock.sql).into_owned(),
            // The check says which one is missing.
            _ => String::new(),
        };
        locks::lock(self.client, self.schema, &tables, statement).await
    }

    async fn undo(
        &self,
        steps: &[(Named<'static>, Step)],
        rows: &mut impl Rows,
        progress: &mut Progress<'_>,
    ) -> Result<(), tokio_postgres::Error> {
        let Undoing { client, schema, parts, .. } = *self;
        for (statement, step) in steps {
            progress.step(statement.name);
            let sql = schema.sql(statement.sql);
            match step {
                Step::Prepare => client.batch_execute(&sql).await?,
                Step::Undo(table) => progress.undone(*table, client.execute_typed(&sql, &[]).await?),
                Step::Generate(made) => generate(client, &sql, made, parts, rows).await?,
            }
        }
        Ok(())
    }

    /// Explains why a part of it failed.
    async fn explained<T>(&self, part: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Error> {
        match part.await {
            Ok(done) => Ok(done),
            Err(error) => Err(holders::explain(self.client, self.schema, "cannot restore", &error).await),
        }
    }
}

/// Copies the generated rows for the keys that a query returns, in batches: there may be more keys than memory.
async fn generate(
    client: &Client,
    sql: &str,
    made: &Generated,
    parts: &Parts,
    rows: &mut impl Rows,
) -> Result<(), tokio_postgres::Error> {
    let columns = made.columns.join(", ");
    let copy = format!("COPY pg_temp.{} ({columns}) FROM STDIN (FORMAT binary)", made.into);
    client.batch_execute(&format!("DECLARE wanted NO SCROLL CURSOR FOR {sql}")).await?;
    loop {
        let keys = client.query_typed(&format!("FETCH {BATCH} FROM wanted"), &[]).await?;
        if keys.is_empty() {
            return client.batch_execute("CLOSE wanted").await;
        }
        let mut encoder = CopyRows::new(made.columns.len());
        let mut sink = pin!(client.copy_in(&copy).await?);
        for key in &keys {
            let Some((part, unit)) = parts.find(made.table, key.try_get(0)?, key.try_get(1)?) else { continue };
            rows.write(part, unit, &mut made.pick(&mut encoder));
            if let Some(chunk) = encoder.chunk() {
                sink.feed(chunk).await?;
            }
        }
        sink.feed(encoder.finish()).await?;
        sink.finish().await?;
    }
}
