//! Standbys before and after a run: before it, those that will be read have to replay everything that the primary has
//! written; after it, those of a private cluster are checked.

use std::time::{Duration, Instant};

use tokio_postgres::Client;

use super::check;
use super::cluster::{Cluster, ask, number};
use super::connect::Target;
use super::schema::Schema;
use crate::engine::Error;
use crate::engine::sql::WorkloadSql;
use crate::result::CheckStep;
use crate::result::nodes::NodeCheck;

/// How long a standby may make no progress in replay before the wait ends.
const STANDSTILL: Duration = Duration::from_secs(30);
/// The maximum wait.
const PATIENCE: Duration = Duration::from_secs(600);
/// Interval between polls.
const PAUSE: Duration = Duration::from_millis(20);
/// Interval between reports of progress: shorter than the shortest `--timeout`.
const REPORT: Duration = Duration::from_millis(500);

/// Waits until the standbys have replayed everything that the primary has written so far. Hosts that cannot be reached
/// are left out, as sessions leave them out. Returns warnings about standbys whose position is unknown, as with
/// databases that are compatible with PostgreSQL, but replicate in another way.
pub(super) async fn await_standbys(
    primary: &Client,
    standbys: &Target,
    on_step: &mut dyn FnMut(String, u64),
) -> Result<Vec<String>, Error> {
    let unknown = |error: Error| format!("whether standbys have all data before the run is unknown: {error}");
    let written = match position(primary, "written").await {
        Ok(written) => written,
        Err(error) => return Ok(vec![unknown(error)]),
    };
    let mut warnings = Vec::new();
    for (name, client) in standbys.connect_each().await {
        match catch_up(&client, written, &mut |behind| on_step(name.clone(), behind)).await {
            Ok(0) => {}
            Ok(behind) => {
                return Err(Error::Database(format!(
                    "{name} lacks {behind} bytes of the log that the primary wrote before the run, and does not replay \
                     them in time: wait until it has caught up, or remove --read-only-on"
                )));
            }
            Err(error) => warnings.push(unknown(error)),
        }
    }
    Ok(warnings)
}

/// A position in the log, in bytes.
async fn position(client: &Client, question: &str) -> Result<u64, Error> {
    number(&ask(client, question).await?, 0)
}

/// Checks all running standbys, one after the other.
pub(super) async fn check(
    cluster: &Cluster,
    schema: &Schema,
    sql: &WorkloadSql,
    on_step: &mut dyn FnMut(String),
) -> Result<Vec<(String, NodeCheck)>, Error> {
    let writer = cluster.writer_client().await?;
    // The position is read after the count, so that a standby at that position has everything that was counted.
    let effects = check::effects(&writer, schema, sql).await?;
    let written = position(&writer, "written").await?;
    let mut all = Vec::new();
    for standby in cluster.standbys_up() {
        let name = Cluster::shown(standby);
        let mut on_step = |what: &str| on_step(format!("{name}: {what}"));
        let checked = async {
            let client = cluster.client(standby).await?;
            let began = Instant::now();
            let behind_bytes = catch_up(&client, written, &mut |_| on_step("catches up")).await?;
            let caught_up_s = began.elapsed().as_secs_f64();
            let mut checking = |step: CheckStep<'_>| {
                if let CheckStep::Began(id) = step {
                    on_step(id);
                }
            };
            let findings = check::check(&client, schema, sql, &mut checking).await?;
            let (held, failed): (Vec<_>, Vec<_>) = findings.into_iter().partition(|finding| finding.held());
            let counts_agree = check::effects(&client, schema, sql).await? == effects;
            Ok::<NodeCheck, Error>(NodeCheck {
                unasked: String::new(),
                caught_up_s,
                behind_bytes,
                held: held.len() as u32,
                failed: failed.into_iter().map(|finding| finding.id).collect(),
                counts_agree,
            })
        };
        let checked = checked.await;
        let unasked = |error: Error| NodeCheck { unasked: error.to_string(), ..NodeCheck::default() };
        all.push((name, checked.unwrap_or_else(unasked)));
    }
    Ok(all)
}

/// Waits until a standby has replayed the log up to a position, as long as it makes progress; returns the missing
/// bytes. `on_step` receives them twice a second until then.
async fn catch_up(client: &Client, written: u64, on_step: &mut dyn FnMut(u64)) -> Result<u64, Error> {
    let end = Instant::now() + PATIENCE;
    let (mut last, mut moved, mut reported) = (0, Instant::now(), Instant::now());
    loop {
        let replayed = position(client, "replayed").await?;
        let now = Instant::now();
        if replayed != last {
            (last, moved) = (replayed, now);
        }
        let behind = written.saturating_sub(replayed);
        if behind == 0 || now > end || now.duration_since(moved) > STANDSTILL {
            return Ok(behind);
        }
        if now.duration_since(reported) > REPORT {
            reported = now;
            on_step(behind);
        }
        tokio::time::sleep(PAUSE).await;
    }
}
