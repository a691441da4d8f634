//! Opens a database for a workload, and lets go of it again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::engine::registry::{self, Visitor, WorkloadName};
use crate::engine::{ConnectOptions, Engine, Error, server};
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
        settings: plan.settings(),
    }
}

/// A runtime for everything that is not driving load.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Usage(format!("cannot start: {error}; raise the limit of open files (ulimit -n)")))
}

/// Opens the database of `options` for a workload, hands it to `visitor`, and ends what was started for it.
pub(crate) fn open<V: Visitor>(
    workload: WorkloadName,
    options: ConnectOptions,
    visitor: V,
) -> Result<V::Output, Error> {
    registry::open(&runtime()?, workload, options, Ending(visitor))
}

/// Ends the engine after its use, whatever still hangs in it.
struct Ending<V>(V);

impl<V: Visitor> Visitor for Ending<V> {
    type Output = V::Output;

    fn visit<W: Workload, E: Engine<W>>(self, runtime: &Runtime, engine: Arc<E>) -> Result<V::Output, Error> {
        let kept = Arc::clone(&engine);
        let done = self.0.visit(runtime, engine);
        // A thread that hangs in a call keeps the engine, which would end its server only when that thread comes back.
        let end = Instant::now() + LINGERING;
        while Arc::strong_count(&kept) > 1 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        if Arc::strong_count(&kept) > 1 {
            kept.abandon();
            server::abandon();
        }
        done
    }
}
