//! `graymark drop`: removes a workload's tables.

use super::interrupt::Interrupt;
use super::progress::Console;
use super::{DropArgs, Ended};
use crate::engine::Error;
use crate::run::{Dropped, Task};

/// Runs the command.
pub(super) fn drop_tables(args: DropArgs) -> Result<Ended, Error> {
    if args.dry_run {
        return args.target.show("drop", args.workload, &[]);
    }
    let interrupt = Interrupt::listen()?;
    let mut console = Console::starting();
    let plan = args.target.plan(args.workload);
    let task = Task::new(plan).stop(interrupt.stop.clone()).on_event(|event| console.event(event));
    let dropped = task.drop_tables();
    console.rest();
    let Some(Dropped { engine, tables, kept }) = dropped? else {
        tell!("drop: stopped; run the same command again to continue");
        return Ok(Ended::Interrupted);
    };
    let (name, url) = (args.workload.about().name, engine.url);
    match tables {
        true => tell!("drop: removed the {name} tables from {url}"),
        false => tell!("drop: {url} has no {name} tables"),
    }
    if !kept.procedures.is_empty() {
        let names = kept.procedures.join(", ");
        tell!("drop: left {names} alone, for nothing proves that Graymark made what has this name");
    }
    if let Some(database) = kept.database {
        tell!("drop: kept the database {database}");
    }
    Ok(Ended::Held)
}
