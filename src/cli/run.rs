//! `graymark run`: runs a loaded workload, counts, checks and reports. `bench` is the same with a load before it.

use std::path::PathBuf;

use super::args::Group;
use super::dry_run::{DryRun, switch, typed};
use super::interrupt::Interrupt;
use super::listen::Listener;
use super::progress::Console;
use super::watch::Tui;
use super::{Ended, RunArgs, say};
use crate::engine::Error;
use crate::judge;
use crate::plan::{Defaults, Plan};
use crate::record::Record;
use crate::record::acid::proof;
use crate::report::model::ReportModel;
use crate::report::{alarms, first, text};
use crate::result::Event;
use crate::result::format::Label;
use crate::run::{Outcome, PriceFile, Run};

/// The command.
pub(super) fn run(args: RunArgs) -> Result<Ended, Error> {
    execute(args, Plan::default(), Run::new, ("run", Defaults::RUN))
}

/// `bench` or `run`: `plan` is what only `bench` takes, `of` begins the run, and `command` is for `--dry-run`.
pub(super) fn execute(
    args: RunArgs,
    mut plan: Plan,
    of: fn(Plan) -> Run<'static>,
    command: (&str, Defaults),
) -> Result<Ended, Error> {
    args.scale.add_to(&mut plan);
    args.pacing.add_to(&mut plan);
    args.at_rate.add_to(&mut plan);
    args.stages.add_to(&mut plan);
    args.steady.add_to(&mut plan);
    args.of_every_run.add_to(&mut plan);
    let file = args.plan_file.as_deref().map(Plan::read).transpose()?;
    let plan = plan.or(file.unwrap_or_default());
    let plan = Plan { workload: args.workload.or(plan.workload), ..plan };
    if args.dry_run {
        args.price.as_deref().map(PriceFile::read).transpose()?;
        let path = |path: Option<&PathBuf>| path.map(|path| format!("{:?}", path.display().to_string()));
        let Label { name: of_record, tags } = args.label.label();
        let more = typed(&[
            ("name", Some(format!("{of_record:?}")).filter(|_| !of_record.is_empty())),
            ("tag", Some(format!("{tags:?}")).filter(|_| !tags.is_empty())),
            ("out", path(args.out.as_ref())),
            ("listen", args.listen.map(|address| format!("\"{address}\""))),
            ("price", path(args.price.as_ref())),
            ("acid", path(args.acid.first())),
            switch("tui", args.tui),
            switch("require_valid", args.require_valid),
            switch("require_quiet", args.require_quiet),
            ("show_terminal", args.show_terminal.map(|(unit, terminal)| format!("{unit}.{terminal}"))),
        ]);
        let (name, defaults) = command;
        return DryRun { path: &[name], defaults, more, varied: &[] }.of_runs(plan, args.show_terminal);
    }
    let mut run = of(plan).label(args.label.label());
    if let Some(out) = args.out {
        run = run.out(out);
    }
    if let Some(price) = args.price {
        run = run.price(PriceFile::read(&price)?);
    }
    run = run.acid(args.acid.iter().map(|record| proof(record)).collect::<Result<_, _>>()?);
    if let Some((unit, terminal)) = args.show_terminal {
        run = run.terminal(unit, terminal);
    }
    let interrupt = Interrupt::listen()?;
    let label = args.label.label().name;
    let called = if label.is_empty() { jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string() } else { label };
    let listener = args.listen.map(|address| Listener::start(address, &called)).transpose()?;
    let tui = args.tui.then(|| Tui::new(&called, &interrupt.stop)).transpose()?;
    let shown = |event: &Event| {
        if let Some(listener) = &listener {
            listener.event(event);
        }
        tui.as_ref().is_some_and(|tui| tui.event(event))
    };
    let Some(outcome) = start_shown(run, &interrupt, shown)? else { return Ok(Ended::Interrupted) };
    if args.json {
        tell_alarms(&outcome);
    }
    answer(&outcome, args.json, args.full);
    interrupt.running(false);
    let ended = ended(&outcome, args.require_valid, args.require_quiet);
    outcome.report.map(|_| ended)
}

/// Starts a run, tells what it does, and stops it on Ctrl-C.
pub(super) fn start(run: Run<'_>, interrupt: &Interrupt) -> Result<Option<Outcome>, Error> {
    start_shown(run, interrupt, |_| false)
}

/// The same, with one who is shown the events, too, and says whether nobody else has to show them.
fn start_shown(run: Run<'_>, interrupt: &Interrupt, shown: impl Fn(&Event) -> bool) -> Result<Option<Outcome>, Error> {
    let mut console = Console::default();
    let tell = |event: &_| {
        interrupt.event(event);
        if !shown(event) {
            console.event(event);
        }
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

/// Prints the result: the summary as JSON, the first screen, or the report as text.
fn answer(outcome: &Outcome, json: bool, full: bool) {
    match Record::open(&outcome.record) {
        Ok(mut record) if !json => {
            record.summary = Some(outcome.summary.clone());
            let page = outcome.report.as_ref().ok().map(|page| page.display().to_string());
            say::report(&told(&record, page.as_deref(), full));
        }
        _ => {
            answer!("{}", serde_json::json!(outcome.summary));
            tell_report(outcome);
        }
    }
}

/// A record as it is told on standard output.
pub(super) fn told(record: &Record, page: Option<&str>, full: bool) -> String {
    let model = ReportModel::of(record);
    if full { text::render(&model, page).trim_end().to_owned() } else { first::render(record, &model, page) }
}

fn ended(outcome: &Outcome, require_valid: bool, require_quiet: bool) -> Ended {
    let summary = &outcome.summary;
    let disturbed = require_quiet && judge::was_quiet(summary) != Some(true);
    if outcome.failed() || (require_valid && !summary.verdict.valid) || disturbed {
        Ended::Failed
    } else if outcome.summary.interrupted {
        Ended::Interrupted
    } else {
        Ended::Held
    }
}
