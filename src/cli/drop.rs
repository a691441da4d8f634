//! `graymark drop`: removes a workload's tables.

use tokio::runtime::Runtime;

use super::{DropArgs, Ended, WorkloadName, with_engine};
use crate::engine::registry::Visitor;
use crate::engine::{Engine, Error, Holding};
use crate::workload::Workload;
use crate::workload::tpcc::Tpcc;

/// The command.
pub(super) fn drop_tables(args: DropArgs) -> Result<Ended, Error> {
    let WorkloadName::Tpcc = args.workload;
    with_engine(args.target.options(), Drop)
}

struct Drop;

impl Visitor for Drop {
    type Output = Ended;

    fn visit<E: Engine<Tpcc>>(self, runtime: &Runtime, engine: E) -> Result<Ended, Error> {
        let url = &engine.identity().url;
        if runtime.block_on(engine.holding())? == Holding::Nothing {
            tell!("drop: {url} holds no {} tables", Tpcc::NAME);
        } else {
            runtime.block_on(engine.drop_tables())?;
            tell!("drop: the {} tables are gone from {url}", Tpcc::NAME);
        }
        Ok(Ended::Held)
    }
}
