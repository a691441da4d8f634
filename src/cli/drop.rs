//! `graymark drop`: removes a workload's tables.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::interrupt::Interrupt;
use super::{DropArgs, Ended, with_engine};
use crate::drive::LoadTarget;
use crate::engine::{DatabaseState, Engine, Error};
use crate::run::open::Visitor;
use crate::run::population::{foreign, other};
use crate::run::requests::{Requests, Timeouts};
use crate::workload::Workload;

/// The command.
pub(super) fn drop_tables(args: DropArgs) -> Result<Ended, Error> {
    if args.dry_run {
        return args.target.show("drop", args.workload, &[]);
    }
    let (interrupt, timeouts) = (Interrupt::listen()?, Timeouts::of(args.target.timeout.timeout));
    with_engine(args.workload, args.target.options(args.workload), Drop { interrupt, timeouts })
}

struct Drop {
    interrupt: Interrupt,
    timeouts: Timeouts,
}

impl Visitor for Drop {
    type Output = Ended;

    fn visit<W: Workload>(self, _: &Runtime, engine: Arc<dyn LoadTarget<W>>) -> Result<Ended, Error> {
        let url = &engine.identity().url;
        let requests = Requests::<W>::new(&engine, &self.interrupt.stop, self.timeouts);
        let Some(database_state) = requests.database_state()? else { return Ok(Ended::Interrupted) };
        match database_state {
            DatabaseState::Nothing => tell!("drop: {url} holds no {} tables", W::NAME),
            DatabaseState::Other { workload } => return Err(other::<W>(&workload, url)),
            DatabaseState::Foreign { why } => return Err(foreign(url, &why)),
            DatabaseState::Unfinished(_) | DatabaseState::Complete(_) | DatabaseState::Damaged { .. } => {
                if requests.ask(async |engine: &dyn Engine<W>| engine.drop_tables().await)?.is_none() {
                    tell!("drop: stopped; start the same command again");
                    return Ok(Ended::Interrupted);
                }
                tell!("drop: the {} tables are gone from {url}", W::NAME);
            }
        }
        Ok(Ended::Held)
    }
}
