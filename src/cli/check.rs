//! `graymark check`: the consistency conditions and invariants of a loaded database.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::dry_run::switch;
use super::interrupt::Interrupt;
use super::{CheckArgs, Ended, with_engine};
use crate::drive::LoadTarget;
use crate::engine::Error;
use crate::engine::seed::Depth;
use crate::result::{Event, Finding, Step};
use crate::run::open::Visitor;
use crate::run::population::complete;
use crate::run::requests::{Requests, Timeouts};
use crate::workload::Workload;

/// The command.
pub(super) fn check(args: CheckArgs) -> Result<Ended, Error> {
    if args.dry_run {
        return args.target.show("check", args.workload, &[switch("deep", args.deep)]);
    }
    let (json, interrupt, timeouts) = (args.json, Interrupt::listen()?, Timeouts::of(args.target.timeout.timeout));
    with_engine(args.workload, args.target.options(args.workload), Check { deep: args.deep, json, interrupt, timeouts })
}

struct Check {
    deep: bool,
    json: bool,
    interrupt: Interrupt,
    timeouts: Timeouts,
}

impl Visitor for Check {
    type Output = Ended;

    fn visit<W: Workload>(self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Ended, Error> {
        let requests = Requests::<W>::new(&engine, &self.interrupt.stop, self.timeouts);
        let Some(database_state) = requests.database_state()? else { return Ok(Ended::Interrupted) };
        let manifest = complete::<W>(database_state, &engine.identity().url)?;
        let json = self.json;
        let depth = if self.deep { Depth::Deep } else { Depth::Usual };
        let checked = requests.check(&manifest, depth, &mut |event| match event {
            Event::Step(Step::Checked(finding)) if !json => answer!("{}", crate::report::text::finding(finding)),
            _ => {}
        })?;
        let Some(findings) = checked else { return Ok(Ended::Interrupted) };
        if json {
            answer!("{}", serde_json::json!(findings));
        }
        Ok(if findings.iter().all(Finding::held) { Ended::Held } else { Ended::Failed })
    }
}
