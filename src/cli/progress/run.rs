//! Progress of the load of a run.

use std::time::Instant;

use indicatif::{HumanCount, ProgressBar};

use super::{LINE_EVERY, columns, fitted, moving};
use crate::measure::{Interval, quantile_ms};
use crate::report::format::{plural, significant};
use crate::result::{Event, Phase, Recorded};
use crate::visible::visible;
use crate::workload::Headline;

/// The lengths of a run's phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Course {
    /// Seconds of the ramp-up, at most if it is automatic.
    pub(in crate::cli) ramp_up: u32,
    /// Seconds of ramp-up and measurement interval together.
    pub(in crate::cli) total: u32,
}

impl Course {
    /// The course of a run whose automatic ramp-up has ended after `ramp_up` seconds.
    pub(in crate::cli) fn settled(total: u32, ramp_up: f64) -> Course {
        Course { ramp_up: ramp_up.round() as u32, total }
    }

    /// The number of a second in its phase, from 1, and the phase's length. `second` counts from the run's start.
    pub(in crate::cli) fn place(self, phase: Phase, second: u32) -> (u32, u32) {
        match phase {
            Phase::RampUp => (second + 1, self.ramp_up),
            Phase::Measurement => (second.saturating_sub(self.ramp_up) + 1, self.total.saturating_sub(self.ramp_up)),
            Phase::WindDown => (second + 1, self.total),
        }
    }
}

/// Progress of a run.
pub(super) struct RunProgress {
    bar: Option<ProgressBar>,
    last: Option<Instant>,
    headline: usize,
    counts: Headline,
    course: Course,
    errors: u64,
    retries: u64,
    /// Connections lost so far.
    lost: u64,
    /// Of these, restored.
    back: u64,
    /// Sessions closed because of unreadable replies.
    given_up: u64,
}

impl RunProgress {
    /// Progress of a run; `headline` is the transaction type whose rate is shown, `counts` its unit.
    pub(super) fn new(course: Course, headline: usize, counts: Headline) -> Self {
        let bar = moving("{wide_msg}");
        let [errors, retries, lost, back, given_up] = [0; 5];
        RunProgress { bar, last: None, headline, counts, course, errors, retries, lost, back, given_up }
    }

    /// Shows an event.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseBegan { phase, .. } if self.bar.is_none() => self.say(&format!("run: {}", phase_name(phase))),
            Event::StageBegan { stage, clients, .. } => {
                self.say(&format!("run: stage {}, {}", stage + 1, plural(u64::from(*clients), "client", "clients")))
            }
            Event::Settled { seconds, settled, .. } => {
                self.course = Course::settled(*seconds, settled.ramp_up_s);
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
                    self.say(&format!("run: session {session} reconnected after {after:.1} s"));
                }
            }
            Event::TransactionFailed { why, .. } if self.errors < 3 => {
                self.say(&format!("run: a transaction failed: {why}"))
            }
            Event::Screen { at, screen } => {
                // On a terminal the screen is updated in place; elsewhere each is printed.
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
                let over = || done.as_deref().unwrap_or("has ended").to_owned();
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
        let parts = self.parts(second, phase, interval);
        match &self.bar {
            Some(bar) => bar.set_message(fitted(&parts, "  ", columns())),
            None if self.last.is_none_or(|last| last.elapsed() >= LINE_EVERY) => {
                self.last = Some(Instant::now());
                tell!("run: {}", parts.join("  "));
            }
            None => {}
        }
    }
}

impl RunProgress {
    /// The parts of a line for a second: errors come before parts that may not fit.
    fn parts(&self, second: u32, phase: Phase, interval: &Interval) -> Vec<String> {
        let all = interval.transactions.iter().map(|measured| measured.completed).sum::<u64>();
        let (at, of) = self.course.place(phase, second);
        let mut parts = vec![format!("{} {at}/{of} s", phase_name(&phase.into()))];
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
        parts
    }
}

fn phase_name(phase: &Recorded<Phase>) -> String {
    phase.name().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_fits_a_narrow_terminal_and_errors_are_not_cut() {
        let mut interval = Interval::new(2, 0);
        interval.transactions[0].completed = 98_765;
        interval.transactions[0].response.record(123_456).unwrap();
        let mut run = RunProgress {
            bar: None,
            last: None,
            headline: 0,
            counts: Headline::NewOrdersPerMinute,
            course: Course { ramp_up: 60, total: 7_260 },
            errors: 0,
            retries: 0,
            lost: 0,
            back: 0,
            given_up: 0,
        };
        let parts =
            |run: &RunProgress, second, phase, columns| fitted(&run.parts(second, phase, &interval), "  ", columns);
        let all = "measurement 7140/7200 s  5,925,900 New-Orders/min  p50 124 p90 124 ms  98,765 tx/s";
        assert_eq!(parts(&run, 7_199, Phase::Measurement, 200), all);
        assert_eq!(parts(&run, 7_199, Phase::Measurement, 80), all.trim_end_matches("  98,765 tx/s"));
        assert_eq!(parts(&run, 7_199, Phase::Measurement, 60), "measurement 7140/7200 s  5,925,900 New-Orders/min");
        assert_eq!(parts(&run, 7_199, Phase::Measurement, 10), "measurement 7140/7200 s");
        (run.lost, run.back, run.errors) = (3, 1, 17);
        let wrong = "ramp-up 6/60 s  5,925,900 New-Orders/min  2 reconnecting  17 errors";
        assert_eq!(parts(&run, 5, Phase::RampUp, 200), format!("{wrong}  p50 124 p90 124 ms  98,765 tx/s"));
        assert_eq!(parts(&run, 5, Phase::RampUp, 60), wrong.trim_end_matches("  17 errors"));
        interval.transactions[0].response.reset();
        assert!(!run.parts(5, Phase::RampUp, &interval).iter().any(|part| part.contains("p50")), "nobody was answered");
    }

    #[test]
    fn seconds_are_counted_in_their_phase() {
        let course = Course { ramp_up: 3, total: 9 };
        assert_eq!(course.place(Phase::RampUp, 2), (3, 3));
        assert_eq!(course.place(Phase::Measurement, 3), (1, 6));
        assert_eq!(course.place(Phase::Measurement, 8), (6, 6));
        assert_eq!(Course::settled(66, 6.0).place(Phase::Measurement, 6), (1, 60));
    }
}
