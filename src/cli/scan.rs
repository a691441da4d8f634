//! `graymark scan`: the serial read of all tables, cold and warm.

use super::dry_run::switch;
use super::interrupt::Interrupt;
use super::progress::Console;
use super::{Ended, ScanArgs};
use crate::engine::Error;
use crate::report::scan::text;
use crate::run::Task;

/// The command.
pub(super) fn scan(args: ScanArgs) -> Result<Ended, Error> {
    if args.dry_run {
        return args.target.show("scan", args.workload, &[switch("drop_caches", args.drop_caches)]);
    }
    let interrupt = Interrupt::listen()?;
    let mut console = Console::default();
    let plan = args.target.plan(args.workload);
    let task = Task::new(plan).stop(interrupt.stop.clone()).on_event(|event| console.event(event));
    let Some(scan) = task.scan(args.drop_caches)? else { return Ok(Ended::Interrupted) };
    if args.json {
        answer!("{}", serde_json::json!(scan));
    } else {
        answer!("{}", text(&scan).trim_end());
    }
    Ok(if scan.interrupted { Ended::Interrupted } else { Ended::Held })
}
