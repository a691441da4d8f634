//! `graymark restore`: restores a used database to its initial population.

use super::interrupt::Interrupt;
use super::progress::{Console, RestoreProgress};
use super::{Ended, RestoreArgs};
use crate::engine::Error;
use crate::report::text;
use crate::result::{Event, Step};
use crate::run::{Restored, Task};

/// Runs the command.
pub(super) fn restore(args: RestoreArgs) -> Result<Ended, Error> {
    if args.dry_run {
        return args.target.show("restore", args.workload, &[]);
    }
    let interrupt = Interrupt::listen()?;
    let (mut console, mut shown) = (Console::starting(), None);
    let tell = |event: &Event| match event {
        Event::Step(Step::Load(step)) => {
            console.rest();
            shown.get_or_insert_with(RestoreProgress::new).step(step);
        }
        other => console.event(other),
    };
    let restored = Task::new(args.target.plan(args.workload)).stop(interrupt.stop.clone()).on_event(tell).restore();
    if let Some(shown) = &shown {
        shown.finish();
    }
    let Some(Restored { engine, population, report }) = restored? else {
        tell!("restore: stopped; the database is unchanged or restored: run the same command again");
        return Ok(Ended::Interrupted);
    };
    if args.json {
        answer!("{}", serde_json::json!({ "engine": engine, "population": population, "restore": report }));
    } else {
        answer!("{}", text::restore(&report).trim_end());
    }
    Ok(if report.held() { Ended::Held } else { Ended::Failed })
}
