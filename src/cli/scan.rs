//! `graymark scan`: the serial read of all tables, cold and warm.

use super::dry_run::switch;
use super::interrupt::Interrupt;
use super::progress::Console;
use super::{Ended, ScanArgs};
use crate::engine::Error;
use crate::report::scan::text;
use crate::run::Task;

/// Runs the command.
pub(super) fn scan(args: ScanArgs) -> Result<Ended, Error> {
    if args.dry_run {
        let out = args.out.as_ref().map(|out| format!("{:?}", out.display().to_string()));
        return args.target.show("scan", args.workload, &[("out", out), switch("drop_caches", args.drop_caches)]);
    }
    let interrupt = Interrupt::listen()?;
    let mut console = Console::starting();
    let plan = args.target.plan(args.workload);
    let task = Task::new(plan).stop(interrupt.stop.clone()).on_event(|event| console.event(event));
    let scanned = task.scan(args.drop_caches, args.out);
    console.rest();
    let Some(outcome) = scanned? else { return Ok(Ended::Interrupted) };
    if args.json {
        answer!("{}", serde_json::json!(outcome.scan));
    } else {
        answer!("{}\nRecord: {}", text(&outcome.scan).trim_end(), outcome.record.display());
    }
    let ended = if outcome.scan.interrupted { Ended::Interrupted } else { Ended::Held };
    outcome.report.map(|_| ended)
}
