//! Opens a database for a workload, and lets go of it again.

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

/// How long a thread that hangs in a call may keep the engine.
const LINGERING: Duration = Duration::from_secs(1);

/// What an engine is opened with for a plan.
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

/// A runtime for everything that is not driving load.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Usage(format!("cannot start: {error}; raise the limit of open files (ulimit -n)")))
}

/// Does something with a database that is open for a workload.
pub(crate) trait Visitor {
    /// What comes of it.
    type Output;
    /// Does it. `runtime` serves for everything that is not driving load.
    fn visit<W: Workload>(self, runtime: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Self::Output, Error>;
}

/// Opens the database of `options` for a workload, hands it to `visitor`, and ends what was started for it.
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
        // A thread that hangs in a call keeps the engine, which would end its server only when that thread comes back.
        let end = Instant::now() + LINGERING;
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
