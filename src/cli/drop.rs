//! `graymark drop`: removes a workload's tables.

use super::interrupt::Interrupt;
use super::progress::Console;
use super::{DropArgs, Ended};
use crate::engine::Error;
use crate::run::{Dropped, Task};

/// The command.
pub(super) fn drop_tables(args: DropArgs) -> Result<Ended, Error> {
    if args.dry_run {
        return args.target.show("drop", args.workload, &[]);
    }
    let interrupt = Interrupt::listen()?;
    let mut console = Console::default();
    let plan = args.target.plan(args.workload);
    let task = Task::new(plan).stop(interrupt.stop.clone()).on_event(|event| console.event(event));
    let Some(Dropped { engine, tables }) = task.drop_tables()? else {
        tell!("drop: stopped; start the same command again");
        return Ok(Ended::Interrupted);
    };
    let (name, url) = (args.workload.about().name, engine.url);
    match tables {
        true => tell!("drop: the {name} tables are gone from {url}"),
        false => tell!("drop: {url} holds no {name} tables"),
    }
    Ok(Ended::Held)
}
