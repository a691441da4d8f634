//! Progress of loads, checks, warm-ups and restores.

use std::time::Instant;

use indicatif::{HumanBytes, HumanCount, ProgressBar};

use super::{LINE_EVERY, columns, fitted, waiting};
use crate::report::format::seconds;
use crate::result::LoadStep;
use crate::visible::visible;

/// Progress of a load.
pub(super) struct LoadProgress {
    bar: Option<ProgressBar>,
    phase: &'static str,
    /// Start of the rows.
    began: Instant,
    last: Instant,
    rows: u64,
    fresh: u64,
    bytes: u64,
    total: u64,
}

impl LoadProgress {
    /// Progress of a load of `rows` rows.
    pub(super) fn new(rows: u64) -> Self {
        let now = Instant::now();
        let bar = waiting("load");
        LoadProgress { bar, phase: "", began: now, last: now, rows: 0, fresh: 0, bytes: 0, total: rows }
    }

    /// Shows a step.
    pub(super) fn step(&mut self, step: &LoadStep) {
        match step {
            LoadStep::Phase(phase) => {
                self.phase = phase;
                self.began = Instant::now();
                match &self.bar {
                    Some(bar) => bar.set_message(*phase),
                    None => tell!("load: {phase}"),
                }
            }
            LoadStep::Sent => {}
            LoadStep::Rows { rows, bytes, resumed } => {
                self.rows += rows;
                if *resumed {
                    let message = format!("load: {} rows exist from an earlier load", HumanCount(*rows));
                    match &self.bar {
                        Some(bar) => bar.println(message),
                        None => tell!("{message}"),
                    }
                    return;
                }
                self.fresh += rows;
                self.bytes += bytes;
                match &self.bar {
                    Some(bar) => {
                        let mut parts = self.parts();
                        parts[0] = format!("{}: {}", self.phase, parts[0]);
                        // Before them stand the word and the seconds.
                        bar.set_message(fitted(&parts, ", ", columns().saturating_sub("load 9999s  ".len())));
                    }
                    None if self.last.elapsed() >= LINE_EVERY => {
                        self.last = Instant::now();
                        tell!("load: {}", self.parts().join(", "));
                    }
                    None => {}
                }
            }
        }
    }

    /// Progress, speed and remaining time.
    fn parts(&self) -> [String; 4] {
        self.after(self.began.elapsed().as_secs_f64().max(0.001))
    }

    fn after(&self, elapsed: f64) -> [String; 4] {
        let rate = self.fresh as f64 / elapsed;
        let left = (self.total.saturating_sub(self.rows) as f64 / rate.max(1.0)).min(1e9);
        [
            format!("{} % of {} rows", percent(self.rows, self.total), HumanCount(self.total)),
            format!("{} left", seconds(left.ceil())),
            format!("{} rows/s", HumanCount(rate as u64)),
            format!("{}/s", HumanBytes((self.bytes as f64 / elapsed) as u64)),
        ]
    }

    /// Clears the line.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn percent(part: u64, whole: u64) -> u64 {
    (part as f64 * 100.0 / whole.max(1) as f64) as u64
}

/// Progress of a check.
pub(in crate::cli) struct CheckProgress {
    bar: Option<ProgressBar>,
    last: Instant,
    done: usize,
    /// Number of conditions; 0 if it is not known.
    all: usize,
}

impl CheckProgress {
    pub(in crate::cli) fn new() -> Self {
        CheckProgress { bar: waiting("check"), last: Instant::now(), done: 0, all: 0 }
    }

    /// The number of conditions is known.
    pub(in crate::cli) fn of(&mut self, number: usize) {
        self.all = number;
    }

    /// The condition that is being checked, and its number.
    fn label(&self, id: &str) -> String {
        let number = self.done + 1;
        // Of a cluster, the copies are compared after the conditions.
        let of = if number <= self.all { format!(" of {}", self.all) } else { String::new() };
        format!("condition {number}{of}: {}", visible(id))
    }

    /// The check of a condition begins.
    pub(in crate::cli) fn began(&mut self, id: &str) {
        let label = self.label(id);
        match &self.bar {
            Some(bar) => bar.set_message(label),
            None if self.last.elapsed() >= LINE_EVERY => {
                self.last = Instant::now();
                tell!("check: {label}");
            }
            None => {}
        }
    }

    /// The check of the condition has ended.
    pub(in crate::cli) fn ended(&mut self) {
        self.done += 1;
    }

    /// Prints permanent lines.
    pub(in crate::cli) fn stay(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Clears the line.
    pub(in crate::cli) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Progress of a warm-up that reads rows at random.
pub(super) struct WarmUpProgress {
    bar: Option<ProgressBar>,
    last: Instant,
}

impl WarmUpProgress {
    pub(super) fn new() -> Self {
        WarmUpProgress { bar: waiting("warm"), last: Instant::now() }
    }

    pub(super) fn rows(&mut self, rows: u64, most: u64) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{} of at most {} rows", HumanCount(rows), HumanCount(most)));
        } else if self.last.elapsed() >= LINE_EVERY {
            self.last = Instant::now();
            tell!("warm: {} of at most {} rows", HumanCount(rows), HumanCount(most));
        }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Progress of a restore, whose total is unknown.
pub(in crate::cli) struct RestoreProgress {
    bar: Option<ProgressBar>,
    phase: &'static str,
    rows: u64,
}

impl RestoreProgress {
    /// Progress of a restore at its start.
    pub(in crate::cli) fn new() -> Self {
        RestoreProgress { bar: waiting("restore"), phase: "", rows: 0 }
    }

    /// Shows a step.
    pub(in crate::cli) fn step(&mut self, step: &LoadStep) {
        match step {
            LoadStep::Phase(name) => self.phase = name,
            LoadStep::Sent => {}
            LoadStep::Rows { rows, .. } => self.rows += rows,
        }
        match (step, &self.bar) {
            (LoadStep::Phase(name), None) => tell!("restore: {name}"),
            (LoadStep::Sent | LoadStep::Rows { .. }, None) => {}
            (_, Some(bar)) => bar.set_message(format!("{}, {} rows undone", self.phase, HumanCount(self.rows))),
        }
    }

    /// Clears the line.
    pub(in crate::cli) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_shows_how_many_conditions_there_are() {
        let mut check = CheckProgress::new();
        assert_eq!(check.label("3.3.2.1"), "condition 1: 3.3.2.1");
        check.of(29);
        (0..3).for_each(|_| check.ended());
        assert_eq!(check.label("3.3.2.4"), "condition 4 of 29: 3.3.2.4");
        check.done = 29;
        assert_eq!(check.label("standby 1"), "condition 30: standby 1");
    }

    #[test]
    fn a_load_shows_its_rate_and_the_remaining_time() {
        let mut load = LoadProgress::new(1_000);
        (load.rows, load.fresh, load.bytes) = (600, 500, 5_000);
        let parts = load.after(10.0);
        assert_eq!(parts.join(", "), "60 % of 1,000 rows, 8 s left, 50 rows/s, 500 B/s");
        assert_eq!(fitted(&parts, ", ", 35), "60 % of 1,000 rows, 8 s left");
    }
}
