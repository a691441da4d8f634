//! Progress for a person: a moving line on a terminal, a line now and then elsewhere. Always on standard error.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};

use crate::measure::quantile_ms;
use crate::report::format::{plural, seconds};
use crate::report::text;
use crate::result::{Event, Identity, LoadStep, Phase, Recorded, Step};
use crate::visible::visible;
use crate::workload::Headline;

/// Seconds between two lines where standard error is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

pub(super) fn on_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Tells a person what a run or a load does.
#[derive(Default)]
pub(super) struct Console {
    load: Option<LoadProgress>,
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
            Step::CheckBegan { after } => {
                tell!("check: the consistency conditions {} the run", if *after { "after" } else { "before" })
            }
            Step::Checked(finding) if finding.held() => {}
            Step::Checked(finding) => tell!("{}", text::finding(finding)),
            Step::CachesEmptied(caches) => {
                tell!("scan: {}: {}", if caches.cold { "cold" } else { "not cold" }, caches.how);
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
            Step::DriveBegan { seconds, headline, counts } => {
                self.run = Some(RunProgress::new(*seconds, *headline, *counts));
            }
            Step::DatabaseAway { why, left } => self.away(why, *left),
            Step::DatabaseBack { after } => tell!("run: the database is back after {}", seconds(*after)),
        }
    }

    fn away(&mut self, why: &str, left: f64) {
        if self.away.is_none_or(|said| said.elapsed() >= LINE_EVERY) {
            self.away = Some(Instant::now());
            let left = seconds(left.ceil());
            tell!(
                "run: the database cannot be asked for its count: {why}; waiting up to {left} more (Ctrl-C ends the wait)"
            );
        }
    }
}

/// Progress of a load.
struct LoadProgress {
    bar: ProgressBar,
    plain: Option<Plain>,
}

struct Plain {
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
        if on_terminal() {
            let bar = ProgressBar::new(rows);
            let template = "{msg:12} [{bar:30}] {human_pos} of {human_len} rows, {per_sec}, {eta} left";
            bar.set_style(
                ProgressStyle::with_template(template)
                    .unwrap_or_else(|_| ProgressStyle::default_bar())
                    .progress_chars("=> "),
            );
            bar.enable_steady_tick(Duration::from_millis(500));
            LoadProgress { bar, plain: None }
        } else {
            let plain = Plain { began: now, last: now, rows: 0, fresh: 0, bytes: 0, total: rows };
            LoadProgress { bar: ProgressBar::hidden(), plain: Some(plain) }
        }
    }

    /// Shows a step.
    fn step(&mut self, step: &LoadStep) {
        match (step, &mut self.plain) {
            (LoadStep::Phase(phase), None) => self.bar.set_message(*phase),
            (LoadStep::Phase(phase), Some(_)) => tell!("load: {phase}"),
            (LoadStep::Rows { rows, resumed: true, .. }, None) => {
                self.bar.inc(*rows);
                self.bar.reset_eta();
            }
            (LoadStep::Rows { rows, .. }, None) => self.bar.inc(*rows),
            (LoadStep::Rows { rows, bytes, resumed }, Some(plain)) => {
                plain.rows += rows;
                if *resumed {
                    tell!("load: {} rows are there from an earlier load", HumanCount(*rows));
                    return;
                }
                plain.fresh += rows;
                plain.bytes += bytes;
                if plain.last.elapsed() >= LINE_EVERY {
                    plain.last = Instant::now();
                    plain.line();
                }
            }
        }
    }

    /// Takes the line away.
    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Plain {
    fn line(&self) {
        let seconds = self.began.elapsed().as_secs_f64().max(0.001);
        let rate = self.fresh as f64 / seconds;
        let left = Duration::from_secs_f64((self.total.saturating_sub(self.rows) as f64 / rate.max(1.0)).min(1e9));
        tell!(
            "load: {} of {} rows, {} rows/s, {}/s, {} left",
            HumanCount(self.rows),
            HumanCount(self.total),
            HumanCount(rate as u64),
            HumanBytes((self.bytes as f64 / seconds) as u64),
            HumanDuration(left)
        );
    }
}

/// Progress of a warm-up that reads rows at random.
struct WarmUpProgress {
    bar: Option<ProgressBar>,
    last: Instant,
}

impl WarmUpProgress {
    fn new() -> Self {
        let bar = on_terminal().then(|| {
            let bar = ProgressBar::new(0);
            let style = ProgressStyle::with_template("[{bar:30}] {human_pos} of at most {human_len} rows, {per_sec}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        WarmUpProgress { bar, last: Instant::now() }
    }

    fn rows(&mut self, rows: u64, most: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(most);
            bar.set_position(rows);
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
}

impl RestoreProgress {
    /// Of a restore that is to begin.
    pub(super) fn new() -> Self {
        let bar = on_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            let style = ProgressStyle::with_template("{spinner} {msg:26} {human_pos} rows undone, {elapsed}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        RestoreProgress { bar }
    }

    /// Shows a step.
    pub(super) fn step(&self, step: &LoadStep) {
        match (step, &self.bar) {
            (LoadStep::Phase(name), Some(bar)) => bar.set_message(*name),
            (LoadStep::Phase(name), None) => tell!("restore: {name}"),
            (LoadStep::Rows { rows, .. }, Some(bar)) => bar.inc(*rows),
            (LoadStep::Rows { .. }, None) => {}
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
    lost: u64,
}

impl RunProgress {
    /// Of a run of so many seconds; `headline` is the transaction type whose rate is shown, in what it `counts`.
    fn new(seconds: u32, headline: usize, counts: Headline) -> Self {
        let bar = on_terminal().then(|| {
            let bar = ProgressBar::new(u64::from(seconds));
            let style = ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(style);
            bar
        });
        RunProgress { bar, last: None, headline, counts, total: seconds, errors: 0, retries: 0, lost: 0 }
    }

    /// Shows what happened.
    fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseBegan { phase, .. } if self.bar.is_none() => self.say(&format!("run: {}", phase_name(phase))),
            Event::StageBegan { stage, clients, .. } => {
                self.say(&format!("run: stage {}, {}", stage + 1, plural(u64::from(*clients), "client", "clients")))
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
            Event::SessionRestored { session, after, .. } if self.lost <= 3 => {
                self.say(&format!("run: session {session} is back after {after:.1} s"));
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
                self.say(&format!("run: {:?} in {:.1} s: {}", done.kind, done.seconds, done.work))
            }
            Event::NotMaintained { why, .. } => self.say(&format!("run: {why}")),
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

    fn second(&mut self, second: u32, phase: Phase, interval: &crate::measure::Interval) {
        let all = interval.transactions.iter().map(|measured| measured.completed).sum::<u64>();
        let Some(measured) = interval.transactions.get(self.headline) else { return };
        let response = &measured.response;
        let headline = match self.counts {
            Headline::NewOrdersPerMinute => format!("{:>8} New-Orders/min  ", HumanCount(measured.completed * 60)),
            Headline::TransactionsPerSecond => String::new(),
        };
        let line = format!(
            "{:12} {:>5}/{} s  {headline}{:>7} tx/s  p50 {:.2} ms  p90 {:.2} ms  max {:.1} ms  errors {}  retries {}",
            phase_name(&phase.into()),
            second + 1,
            self.total,
            HumanCount(all),
            quantile_ms(response, 0.5),
            quantile_ms(response, 0.9),
            response.max() as f64 / 1e3,
            self.errors,
            self.retries,
        );
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

fn phase_name(phase: &Recorded<Phase>) -> String {
    phase.name().replace('_', "-")
}
