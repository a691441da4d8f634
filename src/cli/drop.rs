//! `graymark drop`: removes a workload's tables.

use tokio::runtime::Runtime;

use super::{DropArgs, Ended, check, with_engine};
use crate::engine::registry::Visitor;
use crate::engine::{Engine, Error, Holding};
use crate::workload::Workload;

/// The command.
pub(super) fn drop_tables(args: DropArgs) -> Result<Ended, Error> {
    with_engine(args.workload, args.target.options(args.workload), Drop)
}

struct Drop;

impl Visitor for Drop {
    type Output = Ended;

    fn visit<W: Workload, E: Engine<W>>(self, runtime: &Runtime, engine: E) -> Result<Ended, Error> {
        let url = &engine.identity().url;
        match runtime.block_on(engine.holding())? {
            Holding::Nothing => tell!("drop: {url} holds no {} tables", W::NAME),
            Holding::Other { workload } => return Err(check::other::<W>(&workload, url)),
            Holding::Foreign { why } => return Err(check::foreign(url, &why)),
            Holding::Unfinished(_) | Holding::Complete(_) | Holding::Damaged { .. } => {
                runtime.block_on(engine.drop_tables())?;
                tell!("drop: the {} tables are gone from {url}", W::NAME);
            }
        }
        Ok(Ended::Held)
    }
}
