//! `graymark run`: runs a loaded workload, counts, checks and reports. `bench` is the same with a load before it.

use super::interrupt::Interrupt;
use super::progress::Console;
use super::{Ended, RunArgs, say};
use crate::engine::Error;
use crate::plan::Plan;
use crate::record::Record;
use crate::report::model::ReportModel;
use crate::report::{alarms, text};
use crate::run::{Outcome, PriceFile, Run};

/// The command.
pub(super) fn run(args: RunArgs) -> Result<Ended, Error> {
    execute(args, Run::new)
}

/// `bench` or `run`.
pub(super) fn execute(args: RunArgs, of: fn(Plan) -> Run<'static>) -> Result<Ended, Error> {
    let file = args.plan_file.as_deref().map(Plan::read).transpose()?;
    let plan = args.plan.or(file.unwrap_or_default());
    let mut run = of(Plan { workload: args.workload.or(plan.workload), ..plan });
    if let Some(out) = args.out {
        run = run.out(out);
    }
    if let Some(price) = args.price {
        run = run.price(PriceFile::read(&price)?);
    }
    if let Some((unit, terminal)) = args.show_terminal {
        run = run.terminal(unit, terminal);
    }
    let interrupt = Interrupt::listen()?;
    let Some(outcome) = start(run, &interrupt)? else { return Ok(Ended::Interrupted) };
    if args.json {
        tell_alarms(&outcome);
    }
    answer(&outcome, args.json);
    interrupt.running(false);
    let ended = ended(&outcome, args.require_valid);
    outcome.report.map(|_| ended)
}

/// Starts a run, tells what it does, and stops it on Ctrl-C.
pub(super) fn start(run: Run<'_>, interrupt: &Interrupt) -> Result<Option<Outcome>, Error> {
    let mut console = Console::default();
    let tell = |event: &_| {
        interrupt.event(event);
        console.event(event);
    };
    run.stop(interrupt.stop.clone()).on_event(tell).start()
}

/// What a reader must know where no report is printed.
pub(super) fn tell_alarms(outcome: &Outcome) {
    alarms::of(&outcome.summary).iter().for_each(|alarm| say::alarm("run", alarm));
}

/// Says where the report is, if it is.
pub(super) fn tell_report(outcome: &Outcome) {
    if let Ok(page) = &outcome.report {
        tell!("report: {}", page.display());
    }
}

/// Prints the result: the summary as JSON, or the report as text.
fn answer(outcome: &Outcome, json: bool) {
    match Record::open(&outcome.record) {
        Ok(mut record) if !json => {
            record.summary = Some(outcome.summary.clone());
            let page = outcome.report.as_ref().ok().map(|page| page.display().to_string());
            say::report(text::render(&ReportModel::of(&record), page.as_deref()).trim_end());
        }
        _ => {
            answer!("{}", serde_json::json!(outcome.summary));
            tell_report(outcome);
        }
    }
}

fn ended(outcome: &Outcome, require_valid: bool) -> Ended {
    if outcome.failed() || (require_valid && !outcome.summary.verdict.valid) {
        Ended::Failed
    } else if outcome.summary.interrupted {
        Ended::Interrupted
    } else {
        Ended::Held
    }
}
