//! Loads the database that the points of a grid are copied from.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::super::interrupt::Interrupt;
use super::super::progress::Console;
use super::super::with_engine;
use super::SWEPT;
use crate::drive::LoadTarget;
use crate::engine::{Engine, Error};
use crate::plan::Plan;
use crate::result::maintenance::MaintenanceKind;
use crate::run::load::fill;
use crate::run::open::{Visitor, options};
use crate::run::requests::{Requests, Timeouts};
use crate::workload::Workload;

/// Loads the database that points are copied from, or continues that load; `false` if interrupted.
pub(in crate::cli) fn database(plan: Plan, interrupt: Interrupt) -> Result<bool, Error> {
    let workload = plan.workload.unwrap_or(SWEPT);
    let options = options(workload, &plan);
    with_engine(workload, options, Fill { plan, interrupt })
}

struct Fill {
    plan: Plan,
    interrupt: Interrupt,
}

impl Visitor for Fill {
    type Output = bool;

    fn visit<W: Workload>(self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<bool, Error> {
        let requests = Requests::<W>::new(&engine, &self.interrupt.stop, Timeouts::of(self.plan.timeout));
        let mut console = Console::default();
        if fill(&requests, &self.plan, &mut |event| console.event(event))?.is_none() {
            return Ok(false);
        }
        // Otherwise the first readers of each point would write: hint bits and dirty pages.
        for kind in [MaintenanceKind::Vacuum, MaintenanceKind::Checkpoint] {
            let work = async move |engine: &dyn Engine<W>| engine.maintain(kind).await;
            if requests.with(Timeouts::default()).ask(work)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
