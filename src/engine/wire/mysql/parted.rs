//! A node of a private Galera cluster is cut off from the others by its own switch for that, and joined again.

use std::time::{Duration, Instant};

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::connect::Target;
use super::failure::of_command;
use crate::engine::Error;
use crate::engine::server::mariadb::Server;

/// How long a node may take until it has what the others have, when it is joined again.
const PATIENCE: Duration = Duration::from_secs(60);
/// From one look at it to the next.
const PAUSE: Duration = Duration::from_millis(50);
/// What it says of itself when it has, and takes transactions.
const READY: [(&str, &str); 2] = [("wsrep_local_state_comment", "Synced"), ("wsrep_ready", "ON")];

/// Cuts a node, counted from 1, off from the others, or joins it to them again and waits until it has what they have.
/// Says in words what came of it.
pub(super) async fn cut_off(nodes: &[Server], number: usize, off: bool) -> Result<String, Error> {
    let node = number.checked_sub(1).and_then(|node| nodes.get(node)).filter(|_| nodes.len() > 1);
    let node = node.ok_or_else(|| Error::Usage(format!("there is no node {number} of a cluster")))?;
    let mut conn = Target::parse(&node.url(), &|_| None)?.connect(None, &[]).await?;
    let began = Instant::now();
    let isolate = format!("SET GLOBAL wsrep_provider_options = 'gmcast.isolate={}'", u8::from(off));
    let failed = |error| of_command(&format!("cannot cut node {number} off, or join it again"), &error);
    conn.query_drop(isolate).await.map_err(failed)?;
    let cut_off = format!("node {number} was cut off from the others");
    if off {
        return Ok(cut_off);
    }
    while !is_ready(&mut conn).await? {
        if began.elapsed() > PATIENCE {
            return Err(Error::Database(format!(
                "{cut_off}, and had not joined them {} s after they could reach it again",
                PATIENCE.as_secs()
            )));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(format!(
        "{cut_off}; it had what they have {:.1} s after they could reach it again",
        began.elapsed().as_secs_f64()
    ))
}

/// Whether a node is one of the cluster and has what the others have.
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
