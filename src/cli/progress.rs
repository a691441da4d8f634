//! Progress for a person: a moving line on a terminal, a line now and then elsewhere. Always on standard error.
//!
//! The moving line is cut at the terminal's width, so that it never wraps; what matters most comes first in it.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};

use crate::measure::{Interval, quantile_ms};
use crate::report::format::{plural, seconds, significant};
use crate::report::text;
use crate::result::{Event, Identity, LoadStep, Phase, Recorded, Step};
use crate::visible::visible;
use crate::workload::Headline;

/// Seconds between two lines where standard error is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

pub(super) fn on_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// A line on a terminal that is drawn over itself; none elsewhere. Its template says what moves by itself.
fn moving(template: &str) -> Option<ProgressBar> {
    on_terminal().then(|| {
        let bar = ProgressBar::new_spinner();
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar
    })
}

/// The same of something that may say nothing for long: the seconds since its beginning move.
fn waiting(what: &str) -> Option<ProgressBar> {
    let bar = moving(&format!("{what} {{elapsed:>4}}  {{wide_msg}}"))?;
    bar.enable_steady_tick(Duration::from_millis(500));
    Some(bar)
}

/// Tells a person what a run or a load does.
#[derive(Default)]
pub(super) struct Console {
    load: Option<LoadProgress>,
    check: Option<CheckProgress>,
    warm_up: Option<WarmUpProgress>,
    run: Option<RunProgress>,
    /// When it was last said that the database is away.
    away: Option<Instant>,
}

impl Console {
    /// Shows what happened.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::Step(step) => self.step(step),
            _ => {
                if let Some(run) = &mut self.run {
                    run.event(event);
                }
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Connected(Identity { name, version, url, .. }) => tell!("database: {name} {version}, {url}"),
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
                "run: whether the stored procedures are Graymark's is not known: this user may not read {}",
                names.join(", ")
            ),
            Step::DatabaseDone => {}
            Step::RecoveryBegan => tell!("run: the server is killed; it recovers"),
            Step::CheckBegan { after } => {
                tell!("check: the consistency conditions {} the run", if *after { "after" } else { "before" });
                self.check = Some(CheckProgress::new());
            }
            Step::CheckEnded => {
                if let Some(check) = self.check.take() {
                    check.finish();
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
                    self.lines(&text::finding(finding));
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
                tell!("steady: the same load until throughput and hit rate change no more, at most {most} s")
            }
            Step::SteadyEnded { work, seconds } => tell!("steady: {work}, in {seconds:.0} s"),
            Step::DriveBegan { seconds, headline, counts, .. } => {
                self.run = Some(RunProgress::new(*seconds, *headline, *counts));
            }
            Step::DatabaseAway { why, left } => self.away(why, *left),
            Step::DatabaseBack { after } => tell!("run: the database is back after {}", seconds(*after)),
        }
    }

    /// Lines that stay, above the one that moves.
    fn lines(&self, lines: &str) {
        match &self.check {
            Some(check) => check.stay(|| tell!("{lines}")),
            None => tell!("{lines}"),
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

/// Progress of a load.
struct LoadProgress {
    bar: Option<ProgressBar>,
    phase: &'static str,
    /// When rows began to come.
    began: Instant,
    last: Instant,
    rows: u64,
    fresh: u64,
    bytes: u64,
    total: u64,
}

impl LoadProgress {
    /// Of a load of so many rows.
    fn new(rows: u64) -> Self {
        let now = Instant::now();
        let bar = waiting("load");
        LoadProgress { bar, phase: "", began: now, last: now, rows: 0, fresh: 0, bytes: 0, total: rows }
    }

    /// Shows a step.
    fn step(&mut self, step: &LoadStep) {
        match step {
            LoadStep::Phase(phase) => {
                self.phase = phase;
                self.began = Instant::now();
                match &self.bar {
                    Some(bar) => bar.set_message(*phase),
                    None => tell!("load: {phase}"),
                }
            }
            LoadStep::Rows { rows, bytes, resumed } => {
                self.rows += rows;
                if *resumed {
                    let told = format!("load: {} rows are there from an earlier load", HumanCount(*rows));
                    match &self.bar {
                        Some(bar) => bar.println(told),
                        None => tell!("{told}"),
                    }
                    return;
                }
                self.fresh += rows;
                self.bytes += bytes;
                match &self.bar {
                    Some(bar) => bar.set_message(format!("{}: {}", self.phase, self.told())),
                    None if self.last.elapsed() >= LINE_EVERY => {
                        self.last = Instant::now();
                        tell!("load: {}", self.told());
                    }
                    None => {}
                }
            }
        }
    }

    /// How far it is, how fast, and how long it will still take.
    fn told(&self) -> String {
        self.after(self.began.elapsed().as_secs_f64().max(0.001))
    }

    fn after(&self, elapsed: f64) -> String {
        let rate = self.fresh as f64 / elapsed;
        let left = (self.total.saturating_sub(self.rows) as f64 / rate.max(1.0)).min(1e9);
        format!(
            "{} % of {} rows, {} rows/s, {} left, {}/s",
            percent(self.rows, self.total),
            HumanCount(self.total),
            HumanCount(rate as u64),
            seconds(left.ceil()),
            HumanBytes((self.bytes as f64 / elapsed) as u64)
        )
    }

    /// Takes the line away.
    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn percent(part: u64, whole: u64) -> u64 {
    (part as f64 * 100.0 / whole.max(1) as f64) as u64
}

/// Progress of a check.
pub(super) struct CheckProgress {
    bar: Option<ProgressBar>,
    last: Instant,
    done: u64,
    /// The condition that is being checked.
    id: String,
}

impl CheckProgress {
    pub(super) fn new() -> Self {
        CheckProgress { bar: waiting("check"), last: Instant::now(), done: 0, id: String::new() }
    }

    /// A condition is going to be checked.
    pub(super) fn began(&mut self, id: &str) {
        self.id = id.to_owned();
        let told = format!("{}, {} done", visible(&self.id), self.done);
        match &self.bar {
            Some(bar) => bar.set_message(told),
            None if self.last.elapsed() >= LINE_EVERY => {
                self.last = Instant::now();
                tell!("check: {told}");
            }
            None => {}
        }
    }

    /// It was.
    pub(super) fn ended(&mut self) {
        self.done += 1;
    }

    /// Writes lines that stay.
    pub(super) fn stay(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Takes the line away.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Progress of a warm-up that reads rows at random.
struct WarmUpProgress {
    bar: Option<ProgressBar>,
    last: Instant,
}

impl WarmUpProgress {
    fn new() -> Self {
        WarmUpProgress { bar: waiting("warm"), last: Instant::now() }
    }

    fn rows(&mut self, rows: u64, most: u64) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{} of at most {} rows", HumanCount(rows), HumanCount(most)));
        } else if self.last.elapsed() >= LINE_EVERY {
            self.last = Instant::now();
            tell!("warm: {} of at most {} rows", HumanCount(rows), HumanCount(most));
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Progress of a restore: how much there is to undo is known only when it is undone.
pub(super) struct RestoreProgress {
    bar: Option<ProgressBar>,
    phase: &'static str,
    rows: u64,
}

impl RestoreProgress {
    /// Of a restore that is to begin.
    pub(super) fn new() -> Self {
        RestoreProgress { bar: waiting("restore"), phase: "", rows: 0 }
    }

    /// Shows a step.
    pub(super) fn step(&mut self, step: &LoadStep) {
        match step {
            LoadStep::Phase(name) => self.phase = name,
            LoadStep::Rows { rows, .. } => self.rows += rows,
        }
        match (step, &self.bar) {
            (LoadStep::Phase(name), None) => tell!("restore: {name}"),
            (LoadStep::Rows { .. }, None) => {}
            (_, Some(bar)) => bar.set_message(format!("{}, {} rows undone", self.phase, HumanCount(self.rows))),
        }
    }

    /// Takes the line away.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Progress of a run.
struct RunProgress {
    bar: Option<ProgressBar>,
    last: Option<Instant>,
    headline: usize,
    counts: Headline,
    total: u32,
    errors: u64,
    retries: u64,
    /// Connections lost so far.
    lost: u64,
    /// Of these, restored.
    back: u64,
    /// Sessions given up for replies that could not be read.
    given_up: u64,
}

impl RunProgress {
    /// Of a run of so many seconds; `headline` is the transaction type whose rate is shown, in what it `counts`.
    fn new(seconds: u32, headline: usize, counts: Headline) -> Self {
        let bar = moving("{wide_msg}");
        let [errors, retries, lost, back, given_up] = [0; 5];
        RunProgress { bar, last: None, headline, counts, total: seconds, errors, retries, lost, back, given_up }
    }

    /// Shows what happened.
    fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseBegan { phase, .. } if self.bar.is_none() => self.say(&format!("run: {}", phase_name(phase))),
            Event::StageBegan { stage, clients, .. } => {
                self.say(&format!("run: stage {}, {}", stage + 1, plural(u64::from(*clients), "client", "clients")))
            }
            Event::Settled { seconds, settled, .. } => {
                self.total = *seconds;
                self.say(&format!("run: ramp-up of {:.0} s: {}", settled.ramp_up_s, settled.found));
            }
            Event::Second { second, phase, interval } => {
                self.errors += interval.transactions.iter().map(|measured| measured.errors).sum::<u64>();
                self.retries += interval.transactions.iter().map(|measured| measured.retries).sum::<u64>();
                if *phase != Phase::WindDown {
                    self.second(*second, *phase, interval);
                }
            }
            Event::SessionLost { session, why, .. } => {
                self.lost += 1;
                if self.lost <= 3 {
                    self.say(&format!("run: session {session} lost its connection: {why}"));
                }
            }
            Event::SessionGivenUp { session, why, .. } => {
                self.given_up += 1;
                if self.given_up <= 3 {
                    self.say(&format!("run: session {session} was {why}"));
                }
            }
            Event::SessionRestored { session, after, .. } => {
                self.back += 1;
                if self.lost <= 3 {
                    self.say(&format!("run: session {session} is back after {after:.1} s"));
                }
            }
            Event::TransactionFailed { why, .. } if self.errors < 3 => {
                self.say(&format!("run: a transaction failed: {why}"))
            }
            Event::Screen { at, screen } => {
                // On a terminal the screen is drawn over itself; elsewhere one follows the other.
                let text = format!("{screen}\n{at:>74.1} s");
                match &self.bar {
                    Some(bar) => bar.println(format!("\x1b[H\x1b[2J{}", visible(&text))),
                    None => tell!("{text}"),
                }
            }
            Event::Maintained(done) => {
                self.say(&format!("run: {} in {:.1} s: {}", done.kind.name(), done.seconds, done.work))
            }
            Event::FaultBegan { at, fault, what } => {
                self.say(&format!("run: fault {} at {at:.1} s: {what}", fault + 1));
            }
            Event::FaultEnded { at, fault, error, done } => {
                let over = || done.as_deref().unwrap_or("is over").to_owned();
                let how = error.as_ref().map_or_else(over, |why| format!("FAILED: {why}"));
                self.say(&format!("run: fault {} at {at:.1} s: {how}", fault + 1));
            }
            Event::NotMaintained { kind, why } => self.say(&format!("run: no {}: {why}", kind.name())),
            Event::RunEnded { .. } => {
                if let Some(bar) = &self.bar {
                    bar.finish_and_clear();
                }
            }
            _ => {}
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(visible(line)),
            None => tell!("{line}"),
        }
    }

    fn second(&mut self, second: u32, phase: Phase, interval: &Interval) {
        let line = self.told(second, phase, interval);
        match &self.bar {
            Some(bar) => bar.set_message(line),
            None if self.last.is_none_or(|last| last.elapsed() >= LINE_EVERY) => {
                self.last = Some(Instant::now());
                tell!("run: {line}");
            }
            None => {}
        }
    }
}

impl RunProgress {
    /// A second in a line: what went wrong, if anything did, before what may be cut off.
    fn told(&self, second: u32, phase: Phase, interval: &Interval) -> String {
        let all = interval.transactions.iter().map(|measured| measured.completed).sum::<u64>();
        let mut parts = vec![format!("{} {}/{} s", phase_name(&phase.into()), second + 1, self.total)];
        let headline = interval.transactions.get(self.headline);
        if let Some(measured) = headline.filter(|_| self.counts == Headline::NewOrdersPerMinute) {
            parts.push(format!("{} New-Orders/min", HumanCount(measured.completed * 60)));
        }
        match self.lost.saturating_sub(self.back) {
            0 => {}
            away => parts.push(format!("{away} reconnecting")),
        }
        for (number, one, many) in [(self.errors, "error", "errors"), (self.retries, "retry", "retries")] {
            if number > 0 {
                parts.push(plural(number, one, many));
            }
        }
        if let Some(measured) = headline.filter(|measured| !measured.response.is_empty()) {
            let ms = |share| significant(quantile_ms(&measured.response, share));
            parts.push(format!("p50 {} p90 {} ms", ms(0.5), ms(0.9)));
        }
        parts.push(format!("{} tx/s", HumanCount(all)));
        parts.join("  ")
    }
}

fn phase_name(phase: &Recorded<Phase>) -> String {
    phase.name().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_fits_a_narrow_terminal_and_tells_what_is_wrong_before_what_is_cut() {
        let mut interval = Interval::new(2, 0);
        interval.transactions[0].completed = 98_765;
        interval.transactions[0].response.record(123_456).unwrap();
        let mut run = RunProgress {
            bar: None,
            last: None,
            headline: 0,
            counts: Headline::NewOrdersPerMinute,
            total: 7_260,
            errors: 0,
            retries: 0,
            lost: 0,
            back: 0,
            given_up: 0,
        };
        let well = run.told(7_199, Phase::Measurement, &interval);
        assert_eq!(well, "measurement 7200/7260 s  5,925,900 New-Orders/min  p50 124 p90 124 ms  98,765 tx/s");
        let fits: String = well.chars().take(80).collect();
        assert!(fits.contains("p90 124 ms"), "{fits}");
        (run.lost, run.back, run.errors) = (3, 1, 17);
        let wrong = run.told(5, Phase::RampUp, &interval);
        let told = "ramp-up 6/7260 s  5,925,900 New-Orders/min  2 reconnecting  17 errors";
        assert_eq!(wrong, format!("{told}  p50 124 p90 124 ms  98,765 tx/s"));
        interval.transactions[0].response.reset();
        assert!(!run.told(5, Phase::RampUp, &interval).contains("p50"), "nobody was answered");
        let fits: String = wrong.chars().take(60).collect();
        assert!(fits.trim_end().ends_with("2 reconnecting"), "{fits}");
    }

    #[test]
    fn a_load_tells_its_rate_and_the_time_that_is_left() {
        let mut load = LoadProgress::new(1_000);
        (load.rows, load.fresh, load.bytes) = (600, 500, 5_000);
        assert_eq!(load.after(10.0), "60 % of 1,000 rows, 50 rows/s, 8 s left, 500 B/s");
    }
}
