//! Operations on a database other than runs, as library calls: load, check, restore, scan, drop.
//!
//! ```no_run
//! use graymark::plan::Plan;
//! use graymark::result::Finding;
//! use graymark::run::{Depth, Task};
//!
//! let plan = Plan { db: Some("sqlite:tpcc.db".into()), scale: Some(2), ..Plan::default() };
//! Task::new(plan.clone()).load()?;
//! let findings = Task::new(plan).check(Depth::Usual)?.unwrap_or_default();
//! assert!(findings.iter().all(Finding::held));
//! # Ok::<(), graymark::engine::Error>(())
//! ```

mod check;
mod drop;
mod load;
mod restore;
mod scan;

use std::sync::Arc;

pub use drop::Dropped;
pub use load::Loaded;
pub use restore::Restored;
pub use scan::ScanOutcome;

use super::open::{Visitor, open, options};
use super::requests::{Requests, Timeouts};
use crate::drive::{LoadTarget, Stop};
use crate::engine::Error;
use crate::plan::Plan;
use crate::result::{Event, Step};
use crate::workload::Workload;

/// An operation on the database of a plan, which it opens. Each of its calls blocks the calling thread, and returns
/// `None` if a stop was requested before it finished.
pub struct Task<'a> {
    plan: Plan,
    stop: Stop,
    consumer: Box<dyn FnMut(&Event) + 'a>,
}

impl Task<'static> {
    /// A task with the database, the workload and the options of a plan. Options for runs are ignored.
    pub fn new(plan: Plan) -> Task<'static> {
        Task { plan, stop: Stop::new(), consumer: Box::new(|_| {}) }
    }
}

impl<'a> Task<'a> {
    /// Ends the task early when a stop is requested through this.
    pub fn stop(self, stop: Stop) -> Self {
        Task { stop, ..self }
    }

    /// The consumer of the events, called on the calling thread.
    pub fn on_event<'b>(self, consumer: impl FnMut(&Event) + 'b) -> Task<'b> {
        Task { plan: self.plan, stop: self.stop, consumer: Box::new(consumer) }
    }

    fn tell(&mut self, step: Step) {
        (self.consumer)(&Event::Step(step));
    }

    /// Returns the requests to the open database, after reporting its engine's warnings.
    fn begin<W: Workload>(&mut self, engine: &Arc<dyn LoadTarget<W>>) -> Requests<W> {
        for warning in engine.warnings() {
            self.tell(Step::Warning(warning.clone()));
        }
        Requests::new(engine, &self.stop, Timeouts::of(self.plan.timeout))
    }
}

/// Opens the database of a plan for `visitor`.
fn on<V: Visitor>(plan: &Plan, visitor: V) -> Result<V::Output, Error> {
    let workload = plan.workload.unwrap_or_default();
    open(workload, options(workload, plan), visitor)
}
