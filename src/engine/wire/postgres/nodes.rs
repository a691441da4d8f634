//! What the standbys of a private cluster say after a run, when they have replayed all that its primary has written.

use std::time::{Duration, Instant};

use tokio_postgres::Client;

use super::check;
use super::cluster::{Cluster, ask, number};
use super::schema::Schema;
use crate::engine::Error;
use crate::engine::sql::WorkloadSql;
use crate::result::CheckStep;
use crate::result::nodes::NodeCheck;

/// How long a standby may go on without replaying anything before it is waited for no longer.
const STANDSTILL: Duration = Duration::from_secs(30);
/// The longest that it is waited for.
const PATIENCE: Duration = Duration::from_secs(600);
/// From one look at it to the next.
const PAUSE: Duration = Duration::from_millis(20);

/// Asks all standbys that run, one after the other.
pub(super) async fn check(
    cluster: &Cluster,
    schema: &Schema,
    sql: &WorkloadSql,
    told: &mut dyn FnMut(String),
) -> Result<Vec<(String, NodeCheck)>, Error> {
    let writer = cluster.writer_client().await?;
    // The position comes after the count, so that who is there has all that was counted.
    let effects = check::effects(&writer, schema, sql).await?;
    let written = number(&ask(&writer, "written").await?, 0)?;
    let mut all = Vec::new();
    for standby in cluster.standbys_up() {
        let name = Cluster::shown(standby);
        let mut told = |what: &str| told(format!("{name}: {what}"));
        let checked = async {
            let client = cluster.client(standby).await?;
            let began = Instant::now();
            let behind_bytes = catch_up(&client, written, &mut told).await?;
            let caught_up_s = began.elapsed().as_secs_f64();
            let mut checking = |step: CheckStep<'_>| {
                if let CheckStep::Began(id) = step {
                    told(id);
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

/// Waits until a standby has replayed the log up to a position, as long as it goes on; how many bytes it still lacks.
async fn catch_up(client: &Client, written: u64, told: &mut dyn FnMut(&str)) -> Result<u64, Error> {
    let end = Instant::now() + PATIENCE;
    let (mut last, mut moved) = (0, Instant::now());
    loop {
        let replayed = number(&ask(client, "replayed").await?, 0)?;
        let now = Instant::now();
        if replayed != last {
            (last, moved) = (replayed, now);
            told("catches up");
        }
        let behind = written.saturating_sub(replayed);
        if behind == 0 || now > end || now.duration_since(moved) > STANDSTILL {
            return Ok(behind);
        }
        tokio::time::sleep(PAUSE).await;
    }
}
