//! Schema changes in separate transactions, with indexes that are built asynchronously.

use std::time::{Duration, Instant};

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use super::failure::of_command;
use super::schema::Schema;
use crate::engine::Error;
use crate::engine::dialect::Dialect;
use crate::engine::sql::script;

/// The maximum number of attempts of a transaction that conflicts with others.
pub(super) const TRIES: u32 = 10;
/// Milliseconds between attempts of a transaction (times the number of failures).
const PAUSE_MS: u64 = 50;
/// The first pause between polls of an index, which doubles up to the longest.
const POLL: Duration = Duration::from_millis(50);
const LONGEST_POLL: Duration = Duration::from_secs(2);
/// How long the job that builds an index may show no progress. Its state and the time of its last update are all that
/// a database tells of a build, which may take long.
const STILL: Duration = Duration::from_secs(3_600);
/// The query for the job that builds an index, in the dialect's folder.
const JOBS: &str = "jobs.sql";
/// The state of a job that has failed.
const FAILED: &str = "failed";

/// Waits before the next attempt of a transaction, or returns the error after the last one.
pub(super) async fn again(error: tokio_postgres::Error, tries: &mut u32) -> Result<(), tokio_postgres::Error> {
    *tries += 1;
    if error.code() != Some(&SqlState::T_R_SERIALIZATION_FAILURE) || *tries >= TRIES {
        return Err(error);
    }
    tokio::time::sleep(Duration::from_millis(PAUSE_MS * u64::from(*tries))).await;
    Ok(())
}

/// Executes a schema change, with retries after conflicts.
pub(super) async fn change(client: &Client, sql: &str) -> Result<(), tokio_postgres::Error> {
    let mut tries = 0;
    loop {
        match client.batch_execute(sql).await {
            Ok(()) => return Ok(()),
            Err(error) => again(error, &mut tries).await?,
        }
    }
}

/// Executes the statements of a text one after the other. None of them may contain a semicolon.
pub(super) async fn changes(client: &Client, text: &str) -> Result<(), tokio_postgres::Error> {
    for statement in statements(text) {
        change(client, &statement).await?;
    }
    Ok(())
}

fn statements(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("--"));
    let whole = lines.collect::<Vec<_>>().join("\n");
    whole.split(';').map(str::trim).filter(|statement| !statement.is_empty()).map(str::to_owned).collect()
}

/// Waits until an index can be used, while its build shows progress. Stops when it is dropped.
pub(super) async fn made(client: &Client, schema: &Schema, dialect: &Dialect, name: &str) -> Result<(), Error> {
    let sql = "SELECT bool_and(indisvalid) FROM pg_catalog.pg_index \
               JOIN pg_catalog.pg_class ON pg_class.oid = indexrelid \
               JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1 AND relname = $2";
    let (mut pause, mut watch) = (POLL, Watch::new(Instant::now()));
    loop {
        let rows = client.query_typed(sql, &[(&schema.name(), Type::TEXT), (&name, Type::TEXT)]).await;
        let rows = rows.map_err(|error| of_command(&format!("cannot read the state of the index {name}"), &error))?;
        match rows.first().and_then(|row| row.try_get::<_, Option<bool>>(0).ok().flatten()) {
            Some(true) => return Ok(()),
            Some(false) => {}
            None => return Err(Error::Database(format!("the index {name} was not made: ask the database why"))),
        }
        let job = job(client, schema, dialect, name).await;
        if let Some(job) = job.as_ref().filter(|job| job.state == FAILED) {
            let why = if job.details.is_empty() { "the database gives no reason" } else { &job.details };
            return Err(Error::Database(format!(
                "the index {schema}.{name} was not built, as its job failed: {why}; remove it with DROP INDEX \
                 {schema}.{name}, and load again, which makes only what is missing"
            )));
        }
        if watch.stands_still(job, Instant::now()) {
            return Err(Error::Database(format!(
                "the index {schema}.{name} cannot be used yet, and its build has shown no progress for {} s ({}): see \
                 what keeps the database from it, and load again, which waits on",
                STILL.as_secs(),
                watch.describe()
            )));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_POLL);
    }
}

/// The job that builds an index.
#[derive(Debug, PartialEq, Eq)]
struct Job {
    state: String,
    /// What the database says of it.
    details: String,
    /// When its state was last updated.
    updated: String,
}

/// Reads the newest job that builds an index; `None` if the database knows none.
async fn job(client: &Client, schema: &Schema, dialect: &Dialect, name: &str) -> Option<Job> {
    let query = script::statements(dialect.own_text(JOBS)?).into_iter().next()?.sql;
    let object = format!("{}.{name}", schema.name());
    let rows = client.query_typed(query, &[(&object, Type::TEXT)]).await;
    // Jobs only tell why an index is not there: without them, the wait ends later.
    let rows = rows.inspect_err(|error| tracing::info!("cannot read the jobs of the database: {error}")).ok()?;
    let row = rows.first()?;
    let text = |column| row.try_get::<_, Option<String>>(column).ok().flatten().unwrap_or_default();
    Some(Job { state: text(0), details: text(1), updated: text(2) })
}

/// Watches whether a job makes progress.
struct Watch {
    last: Option<Job>,
    since: Instant,
}

impl Watch {
    fn new(now: Instant) -> Watch {
        Watch { last: None, since: now }
    }

    /// Takes what is now known of the job; returns whether that has been the same for too long.
    fn stands_still(&mut self, job: Option<Job>, now: Instant) -> bool {
        if job != self.last {
            (self.last, self.since) = (job, now);
        }
        now.duration_since(self.since) > STILL
    }

    /// What is known of the job.
    fn describe(&self) -> String {
        match &self.last {
            None => "the database knows no job that builds it".to_owned(),
            Some(Job { state, updated, .. }) => format!("its job is {state} since {updated}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_apart_into_statements() {
        let text =
            "-- Two; of them.\nCREATE TABLE a (\n    -- a number;\n    b integer\n);\n\nCREATE TABLE c ();\n-- end";
        assert_eq!(statements(text), ["CREATE TABLE a (\n    b integer\n)", "CREATE TABLE c ()"]);
    }

    #[test]
    fn a_build_without_progress_is_not_waited_for_for_ever() {
        let (begin, mut watch) = (Instant::now(), Watch::new(Instant::now()));
        let job =
            |updated: &str| Some(Job { state: "processing".into(), details: String::new(), updated: updated.into() });
        let at = |share: f64| begin + STILL.mul_f64(share);
        assert!(!watch.stands_still(None, at(0.9)));
        assert!(!watch.stands_still(job("noon"), at(1.2)) && !watch.stands_still(job("noon"), at(2.1)));
        assert!(!watch.stands_still(job("later"), at(2.3)) && !watch.stands_still(job("later"), at(3.2)));
        assert!(watch.stands_still(job("later"), at(3.4)));
        assert_eq!(watch.describe(), "its job is processing since later");
        let mut watch = Watch::new(begin);
        assert!(!watch.stands_still(None, at(0.5)) && watch.stands_still(None, at(1.1)));
        assert!(watch.describe().contains("knows no job"));
    }
}
