//! `graymark check`: the consistency conditions and invariants of a loaded database.

use super::dry_run::switch;
use super::interrupt::Interrupt;
use super::progress::{CheckProgress, Console};
use super::{CheckArgs, Ended, say};
use crate::engine::Error;
use crate::report::format::plural;
use crate::report::text;
use crate::result::{Event, Step};
use crate::run::{Depth, Task};

/// Runs the command.
pub(super) fn check(args: CheckArgs) -> Result<Ended, Error> {
    if args.dry_run {
        return args.target.show("check", args.workload, &[switch("deep", args.deep)]);
    }
    let (json, interrupt) = (args.json, Interrupt::listen()?);
    let (mut console, mut progress) = (Console::default(), CheckProgress::new());
    let width = say::columns(&std::io::stdout()).map_or(text::WIDTH, |columns| columns.min(text::WIDTH));
    let tell = |event: &Event| match event {
        Event::Step(Step::Conditions(number)) => progress.of(*number),
        Event::Step(Step::Checking(id)) => progress.began(id),
        Event::Step(Step::Checked(finding)) => {
            progress.ended();
            if !json {
                progress.stay(|| answer!("{}", text::finding(finding, width)));
            }
        }
        other => console.event(other),
    };
    let depth = if args.deep { Depth::Deep } else { Depth::Usual };
    let task = Task::new(args.target.plan(args.workload)).stop(interrupt.stop.clone()).on_event(tell);
    let checked = task.check(depth);
    progress.finish();
    let Some(findings) = checked? else { return Ok(Ended::Interrupted) };
    let held = findings.iter().filter(|finding| finding.held()).count();
    if json {
        answer!("{}", serde_json::json!(findings));
    } else {
        answer!("{held} of {} held", plural(findings.len() as u64, "condition", "conditions"));
    }
    Ok(if held == findings.len() { Ended::Held } else { Ended::Failed })
}
