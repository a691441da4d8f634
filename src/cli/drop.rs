//! `graymark drop`: removes a workload's tables.

use std::sync::Arc;

use tokio::runtime::Runtime;

use super::ask::{Patience, Pulse};
use super::interrupt::Interrupt;
use super::{DropArgs, Ended, check, with_engine};
use crate::engine::registry::Visitor;
use crate::engine::{DatabaseState, Engine, Error};
use crate::workload::Workload;

/// The command.
pub(super) fn drop_tables(args: DropArgs) -> Result<Ended, Error> {
    let (interrupt, patience) = (Interrupt::listen()?, Patience::of(args.target.timeout));
    with_engine(args.workload, args.target.options(args.workload), Drop { interrupt, patience })
}

struct Drop {
    interrupt: Interrupt,
    patience: Patience,
}

impl Visitor for Drop {
    type Output = Ended;

    fn visit<W: Workload, E: Engine<W>>(self, _: &Runtime, engine: Arc<E>) -> Result<Ended, Error> {
        let url = &engine.identity().url;
        let Some(database_state) = self.interrupt.database_state::<W, E>(&engine, self.patience)? else {
            return Ok(Ended::Interrupted);
        };
        match database_state {
            DatabaseState::Nothing => tell!("drop: {url} holds no {} tables", W::NAME),
            DatabaseState::Other { workload } => return Err(check::other::<W>(&workload, url)),
            DatabaseState::Foreign { why } => return Err(check::foreign(url, &why)),
            DatabaseState::Unfinished(_) | DatabaseState::Complete(_) | DatabaseState::Damaged { .. } => {
                let drop = async |engine: &E, _: &Pulse| engine.drop_tables().await;
                if self.interrupt.ask::<W, E, _>(&engine, self.patience, drop)?.is_none() {
                    tell!("drop: stopped; start the same command again");
                    return Ok(Ended::Interrupted);
                }
                tell!("drop: the {} tables are gone from {url}", W::NAME);
            }
        }
        Ok(Ended::Held)
    }
}
