//! Opens a database for a workload, and closes it again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::drive::LoadTarget;
use crate::engine::registry::{self, WorkloadName, WorkloadVisitor};
use crate::engine::relay::Relay;
use crate::engine::sql::SqlWorkload;
use crate::engine::{ConnectOptions, Error, server};
use crate::plan::{ISOLATION, Plan};
use crate::workload::Workload;

/// How long to wait for a thread that hangs in a call and keeps the engine.
const ENGINE_RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

/// The connection options of a plan.
pub(crate) fn options(workload: WorkloadName, plan: &Plan) -> ConnectOptions {
    ConnectOptions {
        url: plan.db(workload),
        via: plan.via,
        scale: plan.scale,
        profile: plan.profile.clone(),
        isolation: plan.isolation.unwrap_or(ISOLATION),
        read_only_on: plan.read_only_on,
        settings: plan.settings(),
        disk: None,
        media: None,
        relay: plan.has_network_faults().then(Relay::new),
        node_partitions: plan.has_node_partitions(),
    }
}

/// A runtime for everything except the load.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Usage(format!("cannot start: {error}; raise the limit of open files (ulimit -n)")))
}

/// Work on an open database, generic over the workload.
pub(crate) trait Visitor {
    /// Its result.
    type Output;
    /// Executes the work. `runtime` is for everything except the load.
    fn visit<W: Workload>(self, runtime: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Self::Output, Error>;
}

/// Opens the database of `options` for a workload, calls `visitor`, and stops what was started for it.
pub(crate) fn open<V: Visitor>(
    workload: WorkloadName,
    options: ConnectOptions,
    visitor: V,
) -> Result<V::Output, Error> {
    workload.visit(Open { options, visitor })
}

struct Open<V> {
    options: ConnectOptions,
    visitor: V,
}

impl<V: Visitor> WorkloadVisitor for Open<V> {
    type Output = Result<V::Output, Error>;

    fn visit<W: SqlWorkload>(self) -> Self::Output {
        let runtime = runtime()?;
        let engine: Arc<dyn LoadTarget<W>> = registry::open(&runtime, self.options)?;
        let done = self.visitor.visit(&runtime, Arc::clone(&engine));
        // A thread that hangs in a call keeps the engine, whose server would only be stopped when that thread returns.
        let end = Instant::now() + ENGINE_RELEASE_TIMEOUT;
        while Arc::strong_count(&engine) > 1 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        if Arc::strong_count(&engine) > 1 {
            engine.abandon();
            server::abandon_in_time();
        }
        done
    }
}
