//! `graymark run`: runs on a loaded database, counts, checks and reports. `bench` loads first.

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
use crate::report::format::plural;
use crate::report::model::ReportModel;
use crate::report::{alarms, first, repeats, text};
use crate::result::Event;
use crate::result::format::Label;
use crate::run::{Outcome, PriceFile, Run, random_seed};
use crate::study::compare::repeats::Repeats;

/// Runs the command.
pub(super) fn run(args: RunArgs) -> Result<Ended, Error> {
    let kind = Kind { name: "run", defaults: Defaults::RUN, begin: Run::new, screen: first::render };
    execute(args, Plan::default(), kind)
}

/// The differences between commands that execute runs.
pub(super) struct Kind {
    /// Its name.
    pub(super) name: &'static str,
    pub(super) defaults: Defaults,
    /// Creates the run.
    pub(super) begin: fn(Plan) -> Run<'static>,
    /// Its final output on a terminal.
    pub(super) screen: Screen,
}

/// Renders a record for a terminal of this width, with the path of its page.
type Screen = fn(&Record, &ReportModel, Option<&str>, usize) -> String;

/// Executes `bench`, `chaos` or `run`: `plan` has the options that not all of them have.
pub(super) fn execute(args: RunArgs, mut plan: Plan, kind: Kind) -> Result<Ended, Error> {
    let Kind { name, defaults, begin: of, screen } = kind;
    args.scale.add_to(&mut plan);
    args.pacing.add_to(&mut plan);
    args.at_rate.add_to(&mut plan);
    args.stages.add_to(&mut plan);
    args.steady.add_to(&mut plan);
    args.faults.add_to(&mut plan);
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
            ("repeats", Some(args.repeats.to_string()).filter(|_| args.repeats > 1)),
            ("listen", args.listen.map(|address| format!("\"{address}\""))),
            ("price", path(args.price.as_ref())),
            ("acid", path(args.acid.first())),
            switch("tui", args.tui),
            switch("require_valid", args.require_valid),
            switch("require_quiet", args.require_quiet),
            ("show_terminal", args.show_terminal.map(|(unit, terminal)| format!("{unit}.{terminal}"))),
        ]);
        return DryRun { path: &[name], defaults, more, varied: &[] }.of_runs(plan, args.show_terminal);
    }
    let asked = ExtraOptions {
        label: args.label.label(),
        out: args.out,
        price: args.price,
        acid: args.acid,
        show_terminal: args.show_terminal,
        repeats: args.repeats,
        json: args.json,
        full: args.full,
        require_valid: args.require_valid,
        require_quiet: args.require_quiet,
    };
    let interrupt = Interrupt::listen()?;
    let called = match asked.label.name.as_str() {
        "" => jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string(),
        name => name.to_owned(),
    };
    let listener = args.listen.map(|address| Listener::start(address, &called)).transpose()?;
    let tui = args.tui.then(|| Tui::new(&called, &interrupt.stop)).transpose()?;
    let shown = |event: &Event| {
        if let Some(listener) = &listener {
            listener.event(event);
        }
        tui.as_ref().is_some_and(|tui| tui.event(event))
    };
    if asked.repeats > 1 {
        return asked.repeated(plan, of, &interrupt, shown);
    }
    let Some(outcome) = start_shown(asked.run(plan, of, None)?, &interrupt, shown)? else {
        return Ok(Ended::Interrupted);
    };
    if asked.json {
        print_warnings(&outcome);
    }
    answer(&outcome, asked.json, asked.full, screen);
    interrupt.running(false);
    if asked.require_quiet && judge::was_quiet(&outcome.summary) != Some(true) {
        say::alarm("run", "--require-quiet: other processes used the machine, or it is not known that they did not");
    }
    let ended = ended(&outcome, asked.require_valid, asked.require_quiet);
    outcome.report.map(|_| ended)
}

/// Options of a run that are not part of its plan.
struct ExtraOptions {
    label: Label,
    out: Option<PathBuf>,
    price: Option<PathBuf>,
    acid: Vec<PathBuf>,
    show_terminal: Option<(u32, u32)>,
    repeats: u32,
    json: bool,
    full: bool,
    require_valid: bool,
    require_quiet: bool,
}

impl ExtraOptions {
    /// The run, or one of several, counted from 1.
    fn run(&self, mut plan: Plan, of: fn(Plan) -> Run<'static>, repeat: Option<u32>) -> Result<Run<'static>, Error> {
        let mut label = self.label.clone();
        if let Some(repeat) = repeat {
            // Different inputs, derived from the seed of the first run.
            plan.seed = plan.seed.map(|seed| seed.wrapping_add(u64::from(repeat) - 1));
            if !label.name.is_empty() {
                label.name.push_str(&format!("-{repeat}"));
            }
        }
        let disk = plan.has_disk_faults().then(|| super::disk::wanted(false)).transpose()?;
        let mut run = of(plan).label(label);
        if let Some(disk) = disk {
            run = run.disk(disk);
        }
        if let Some(out) = &self.out {
            run = run.out(repeat.map_or_else(|| out.clone(), |repeat| out.join(repeat.to_string())));
        }
        if let Some(price) = &self.price {
            run = run.price(PriceFile::read(price)?);
        }
        run = run.acid(self.acid.iter().map(|record| proof(record)).collect::<Result<_, _>>()?);
        if let Some((unit, terminal)) = self.show_terminal {
            run = run.terminal(unit, terminal);
        }
        Ok(run)
    }

    /// Several runs of a plan, and their statistics.
    fn repeated(
        &self,
        plan: Plan,
        of: fn(Plan) -> Run<'static>,
        interrupt: &Interrupt,
        shown: impl Fn(&Event) -> bool,
    ) -> Result<Ended, Error> {
        let plan = Plan { seed: Some(plan.seed.unwrap_or_else(random_seed)), ..plan };
        let mut runs = Vec::new();
        let mut all = Ended::Held;
        for repeat in 1..=self.repeats {
            tell!("run: {repeat} of {}", plural(self.repeats.into(), "repeat", "repeats"));
            let run = self.run(plan.clone(), of, Some(repeat))?;
            let Some(outcome) = start_shown(run, interrupt, &shown)? else { return Ok(Ended::Interrupted) };
            print_warnings(&outcome);
            print_report_path(&outcome);
            interrupt.running(false);
            match ended(&outcome, self.require_valid, self.require_quiet) {
                Ended::Interrupted => return outcome.report.map(|_| Ended::Interrupted),
                Ended::Failed => all = Ended::Failed,
                Ended::Held | Ended::Undecided => {}
            }
            runs.push(outcome.summary);
            outcome.report?;
        }
        let Some(repeats) = Repeats::of(&runs) else { return Ok(all) };
        if self.json {
            answer!("{}", serde_json::json!({ "runs": runs, "repeats": repeats }));
        } else {
            say::report(&repeats::text(&runs, &repeats));
        }
        Ok(all)
    }
}

/// Starts a run, shows its progress, and stops it on Ctrl-C.
pub(super) fn start(run: Run<'_>, interrupt: &Interrupt) -> Result<Option<Outcome>, Error> {
    start_shown(run, interrupt, |_| false)
}

/// The same with another consumer of events, which returns whether the progress lines are not needed.
fn start_shown(run: Run<'_>, interrupt: &Interrupt, shown: impl Fn(&Event) -> bool) -> Result<Option<Outcome>, Error> {
    let mut console = Console::of_run();
    let tell = |event: &_| {
        interrupt.event(event);
        if let Event::Step(_) = event {
            // Before another view takes the terminal: it would keep the line from being cleared.
            console.rest();
        }
        if shown(event) {
            console.rest();
        } else {
            console.event(event);
        }
    };
    run.stop(interrupt.stop.clone()).on_event(tell).start()
}

/// Prints the warnings, if no report is printed.
pub(super) fn print_warnings(outcome: &Outcome) {
    alarms::of(&outcome.summary).iter().for_each(|alarm| say::alarm("run", alarm));
}

/// Prints the path of the report, if there is one.
pub(super) fn print_report_path(outcome: &Outcome) {
    if let Ok(page) = &outcome.report {
        tell!("report: {}", page.display());
    }
}

/// Prints the result: the summary as JSON, the first screen, or the report as text.
fn answer(outcome: &Outcome, json: bool, full: bool, screen: Screen) {
    match Record::open(&outcome.record) {
        Ok(mut record) if !json => {
            record.summary = Some(outcome.summary.clone());
            let page = outcome.report.as_ref().ok().map(|page| page.display().to_string());
            say::report(&report_text(&record, &ReportModel::of(&record), page.as_deref(), full, screen));
        }
        _ => {
            answer!("{}", serde_json::json!(outcome.summary));
            print_report_path(outcome);
        }
    }
}

/// The text of a record for standard output.
pub(super) fn report_text(
    record: &Record,
    model: &ReportModel,
    page: Option<&str>,
    full: bool,
    screen: Screen,
) -> String {
    let columns = say::columns(&std::io::stdout());
    if full {
        return text::render(model, page).trim_end().to_owned();
    }
    screen(record, model, page, columns.map_or(first::WIDTH, |columns| columns.min(first::WIDTH)))
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
