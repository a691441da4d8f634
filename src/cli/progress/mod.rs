//! Progress on standard error: an updated line on a terminal, a line every few seconds elsewhere.
//!
//! The updated line never wraps: parts that do not fit are left out. The most important parts come first.

mod run;
mod work;

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

use crate::engine::server::url::is_private;
use crate::report::format::seconds;
use crate::report::text;
use crate::result::{Event, Identity, Step};
pub(super) use run::Course;
use run::RunProgress;
pub(super) use work::{CheckProgress, RestoreProgress};
use work::{LoadProgress, WarmUpProgress};

/// Interval between lines if standard error is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

pub(super) fn on_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// A line on a terminal that is updated in place; `None` elsewhere.
fn moving(template: &str) -> Option<ProgressBar> {
    on_terminal().then(|| {
        let bar = ProgressBar::new_spinner();
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar
    })
}

/// The same with elapsed seconds, for steps that may take long without progress.
fn waiting(what: &str) -> Option<ProgressBar> {
    let bar = moving(&format!("{what} {{elapsed:>4}}  {{wide_msg}}"))?;
    bar.enable_steady_tick(Duration::from_millis(500));
    Some(bar)
}

/// The parts of a line that fit into `columns`, the first one in any case.
fn fitted(parts: &[String], between: &str, columns: usize) -> String {
    let (first, others) =
        parts.split_first().map_or((String::new(), &[][..]), |(first, others)| (first.clone(), others));
    let mut line = first;
    for part in others {
        if (line.chars().count() + between.chars().count() + part.chars().count()) > columns {
            break;
        }
        line.push_str(between);
        line.push_str(part);
    }
    line
}

/// The width of the terminal of standard error; unlimited if it is not a terminal.
fn columns() -> usize {
    super::say::columns(&std::io::stderr()).unwrap_or(usize::MAX)
}

/// Shows the progress of a run or a load.
#[derive(Default)]
pub(super) struct Console {
    /// Whether it also shows progress between the steps of a run.
    of_run: bool,
    /// Progress between two steps.
    between: Option<ProgressBar>,
    load: Option<LoadProgress>,
    check: Option<CheckProgress>,
    warm_up: Option<WarmUpProgress>,
    run: Option<RunProgress>,
    /// When it was last reported that a standby is behind.
    behind: Option<Instant>,
    /// When it was last reported that the database is unavailable.
    away: Option<Instant>,
    /// Whether the database is on a private server, which is stopped at the end.
    private: bool,
}

/// Clears the current line, so that the next text does not follow it.
impl Drop for Console {
    fn drop(&mut self) {
        self.rest();
    }
}

impl Console {
    /// For a command that starts by connecting, which may take long.
    pub(super) fn starting() -> Console {
        let mut console = Console::default();
        console.between("start", "the database");
        console
    }

    /// For a run: all of its steps show progress.
    pub(super) fn of_run() -> Console {
        let mut console = Console::starting();
        console.of_run = true;
        console
    }

    /// Shows an event.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::Step(step) => {
                self.rest();
                self.step(step);
                match step {
                    Step::LoadEnded | Step::CheckEnded if self.run.is_none() => self.then("ready", "the run"),
                    Step::CheckEnded => self.then("end", "remaining requests to the database"),
                    Step::DatabaseDone if self.private => {
                        self.then("end", "writing record and page, stopping the private server");
                    }
                    Step::DatabaseDone => self.then("end", "writing record and page"),
                    _ => {}
                }
            }
            _ => {
                if let Some(run) = &mut self.run {
                    run.event(event);
                }
                if let Event::RunEnded { .. } = event {
                    self.then("count", "the database's counts");
                }
            }
        }
    }

    /// Clears the line between two steps.
    pub(super) fn rest(&mut self) {
        if let Some(bar) = self.between.take() {
            bar.finish_and_clear();
        }
    }

    fn between(&mut self, what: &str, of: &'static str) {
        self.between = waiting(what).inspect(|bar| bar.set_message(of));
    }

    fn then(&mut self, what: &str, of: &'static str) {
        if self.of_run {
            self.between(what, of);
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Connected(Identity { name, version, url, .. }) => {
                self.private = is_private(url);
                tell!("database: {name} {version}, {url}");
            }
            Step::Warning(warning) => tell!("graymark: warning: {warning}"),
            Step::LoadBegan { rows } => self.load = Some(LoadProgress::new(*rows)),
            Step::Load(step) => {
                if let Some(load) = &mut self.load {
                    load.step(step);
                }
            }
            Step::LoadEnded => {
                if let Some(load) = self.load.take() {
                    load.finish();
                }
            }
            Step::ProceduresUnread(names) => tell!(
                "run: the source of the stored procedures cannot be verified: this user may not read {}",
                names.join(", ")
            ),
            Step::DatabaseDone => {}
            Step::RecoveryBegan => tell!("run: killed the server, waiting for its recovery"),
            Step::CheckBegan { after } => {
                tell!("check: the consistency conditions {} the run", if *after { "after" } else { "before" });
                self.check = Some(CheckProgress::new());
            }
            Step::CheckEnded => {
                if let Some(check) = self.check.take() {
                    check.finish();
                }
            }
            Step::Conditions(number) => {
                if let Some(check) = &mut self.check {
                    check.of(*number);
                }
            }
            Step::Checking(id) => {
                if let Some(check) = &mut self.check {
                    check.began(id);
                }
            }
            Step::Checked(finding) => {
                if let Some(check) = &mut self.check {
                    check.ended();
                }
                if !finding.held() {
                    self.lines(&text::finding(finding, columns().min(text::WIDTH)));
                }
            }
            Step::CachesEmptied(caches) => {
                tell!("caches: {}: {}", if caches.cold { "cold" } else { "not cold" }, caches.how);
            }
            Step::Scanned { pass, table, scanned } => {
                tell!("scan: {pass}: {table}: {} rows in {:.2} s", scanned.rows, scanned.seconds);
            }
            Step::WarmUpBegan { random: false } => tell!("warm: reading all tables"),
            Step::WarmUpBegan { random: true } => {
                tell!("warm: reading rows at random");
                self.warm_up = Some(WarmUpProgress::new());
            }
            Step::WarmUp { rows, most } => {
                if let Some(warm_up) = &mut self.warm_up {
                    warm_up.rows(*rows, *most);
                }
            }
            Step::WarmUpEnded { work, seconds } => {
                if let Some(warm_up) = self.warm_up.take() {
                    warm_up.finish();
                }
                if let Some(work) = work {
                    tell!("warm: {work}, in {seconds:.1} s");
                }
            }
            Step::SteadyBegan { most } => {
                tell!("steady: running the same load until throughput and hit rate are steady, at most {most} s")
            }
            Step::SteadyEnded { work, seconds } => tell!("steady: {work}, in {seconds:.0} s"),
            Step::StandbyBehind { standby, bytes } => self.behind(standby, *bytes),
            Step::DriveBegan { seconds, ramp_up, headline, counts, .. } => {
                let course = Course { ramp_up: *ramp_up, total: *seconds };
                self.run = Some(RunProgress::new(course, *headline, *counts));
            }
            Step::DatabaseAway { why, left } => self.away(why, *left),
            Step::DatabaseBack { after } => tell!("run: the database is available again after {}", seconds(*after)),
        }
    }

    /// Prints permanent lines above the updated one.
    fn lines(&self, lines: &str) {
        match &self.check {
            Some(check) => check.stay(|| tell!("{lines}")),
            None => tell!("{lines}"),
        }
    }

    fn behind(&mut self, standby: &str, bytes: u64) {
        if self.behind.is_none_or(|said| said.elapsed() >= LINE_EVERY) {
            self.behind = Some(Instant::now());
            tell!("run: waiting until {standby} has replayed {} of the log", HumanBytes(bytes));
        }
    }

    fn away(&mut self, why: &str, left: f64) {
        if self.away.is_none_or(|said| said.elapsed() >= LINE_EVERY) {
            self.away = Some(Instant::now());
            let left = seconds(left.ceil());
            tell!(
                "run: the database cannot be asked for its count: {why}; waiting up to {left} more (Ctrl-C ends the \
                 wait)"
            );
        }
    }
}
