//! Partitions a node of a private Galera cluster from the others by a provider option, and joins it again.

use std::time::{Duration, Instant};

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::connect::Target;
use super::failure::of_command;
use crate::engine::Error;
use crate::engine::server::mariadb::Server;

/// How long a node may take to synchronize after a partition.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval between polls of its state.
const PAUSE: Duration = Duration::from_millis(50);
/// Status variables of a node that is synchronized and accepts transactions.
const READY: [(&str, &str); 3] =
    [("wsrep_cluster_status", "Primary"), ("wsrep_local_state_comment", "Synced"), ("wsrep_ready", "ON")];
/// Reads of the session wait for what the cluster has committed before them.
const CAUSAL: &str = "SET SESSION wsrep_sync_wait = 1";

/// Partitions a node, counted from 1, from the others, or joins it again and waits until it is synchronized. Returns a
/// description of the outcome.
pub(super) async fn partition_node(nodes: &[Server], number: usize, off: bool) -> Result<String, Error> {
    let node = number.checked_sub(1).and_then(|node| nodes.get(node)).filter(|_| nodes.len() > 1);
    let node = node.ok_or_else(|| Error::Usage(format!("there is no node {number} of a cluster")))?;
    let mut conn = Target::parse(&node.url(), &|_| None)?.connect(None, &[]).await?;
    let began = Instant::now();
    let isolate = format!("SET GLOBAL wsrep_provider_options = 'gmcast.isolate={}'", u8::from(off));
    let failed = |error| of_command(&format!("cannot cut node {number} off, or join it again"), &error);
    conn.query_drop(isolate).await.map_err(failed)?;
    let partition = format!("node {number} was partitioned from the others");
    if off {
        return Ok(partition);
    }
    let joined = async {
        conn.query_drop(CAUSAL).await.map_err(failed)?;
        while !(reaches_the_others(&mut conn).await? && is_ready(&mut conn).await?) {
            tokio::time::sleep(PAUSE).await;
        }
        Ok::<_, Error>(())
    };
    tokio::time::timeout(PATIENCE, joined).await.unwrap_or_else(|_| {
        let late = PATIENCE.as_secs();
        Err(Error::Database(format!("{partition}, and had not joined them {late} s after the partition ended")))
    })?;
    Ok(format!("{partition}; it was synchronized {:.1} s after the partition ended", began.elapsed().as_secs_f64()))
}

/// Whether a node takes part in the cluster now: the others have received a message of it, and it has applied what they
/// had committed. Its state alone is no proof: a node that was evicted, or soon will be, is `Synced` until it notices.
async fn reaches_the_others(conn: &mut Conn) -> Result<bool, Error> {
    match conn.query_drop("SELECT 1").await {
        Ok(()) => Ok(true),
        // It is outside the cluster, or waited too long.
        Err(mysql_async::Error::Server(refusal)) => {
            tracing::debug!("a node is not joined yet: {refusal}");
            Ok(false)
        }
        Err(error) => Err(of_command("cannot ask a node for its state", &error)),
    }
}

/// Whether a node says that it is synchronized with the cluster.
async fn is_ready(conn: &mut Conn) -> Result<bool, Error> {
    for (name, ready) in READY {
        let asked = conn.query_first::<(String, String), _>(format!("SHOW GLOBAL STATUS LIKE '{name}'")).await;
        let found = asked.map_err(|error| of_command("cannot ask a node for its state", &error))?;
        if found.is_none_or(|(_, state)| state != ready) {
            return Ok(false);
        }
    }
    Ok(true)
}
