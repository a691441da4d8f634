//! Counters of the measurement interval and of each stage, added up while the run goes on.

use std::collections::VecDeque;
use std::ops::Range;

use crate::drive::{Schedule, Stages};
use crate::measure::counters::{Growth, Sample, note_checkpoint};
use crate::measure::strangers::{Foreign, ForeignProcess};
use crate::measure::sums::Sums;

/// Seconds that are kept one by one. Where the interval ends is known only at the end of the run: if someone stops it,
/// as long ago as the driver then waits for transactions under way, which is less than this.
const KEPT_S: f64 = 30.0;

/// A look at the processes of the machine: when, and those that are foreign.
type Look = (f64, Vec<ForeignProcess>);

/// What counters grew by in parts of a run, and the foreign processes of its interval.
#[derive(Debug, Default)]
pub(super) struct Counted {
    last: Option<Sample>,
    /// What counters grew by between samples that are not added up yet.
    recent: VecDeque<Growth>,
    looks: VecDeque<Look>,
    interval: Sums,
    foreign: Foreign,
    /// The seconds of each stage as they are planned, and what was counted in it.
    stages: Vec<(Range<f64>, Sums)>,
    /// Checkpoints seen at work through the whole run: start and length.
    checkpoints: Vec<(f64, f64)>,
}

impl Counted {
    /// Of a run that is to begin.
    pub(super) fn new(stages: &Stages, schedule: &Schedule) -> Counted {
        let begin = |stage: usize| f64::from(schedule.ramp_up) + stage as f64 * f64::from(stages.seconds());
        let stages = (0..stages.clients().len()).map(|stage| (begin(stage)..begin(stage + 1), Sums::default()));
        Counted { stages: stages.collect(), ..Counted::default() }
    }

    /// The counters as they stood at a moment.
    pub(super) fn sampled(&mut self, sample: &Sample) {
        if let Some(growth) = self.last.as_ref().and_then(|last| Growth::between(last, sample)) {
            note_checkpoint(&mut self.checkpoints, &growth);
            self.recent.push_back(growth);
        }
        self.last = Some(sample.clone());
    }

    /// Foreign processes that worked.
    pub(super) fn looked(&mut self, at: f64, processes: &[ForeignProcess]) {
        self.looks.push_back((at, processes.to_vec()));
    }

    /// Adds up what is some time ago. `start` is the first second of the interval, if it has begun; `completed` are the
    /// transactions completed in each second of the run that was told.
    pub(super) fn add_up(&mut self, start: Option<f64>, completed: &[u64]) {
        let Some(now) = self.last.as_ref().map(|sample| sample.at) else { return };
        // Of a second that was not told it is not known yet whether it is of the interval.
        let over = |at: f64| at + KEPT_S <= now && at + 1.0 <= completed.len() as f64;
        let growths = self.recent.iter().take_while(|growth| over(growth.to)).count();
        for growth in self.recent.drain(..growths) {
            if let Some(start) = start {
                self.interval.add([&growth], &(start..f64::INFINITY), completed);
            }
            for (part, sums) in &mut self.stages {
                sums.add([&growth], part, completed);
            }
        }
        let looks = self.looks.iter().take_while(|(at, _)| over(*at)).count();
        for (at, processes) in self.looks.drain(..looks) {
            if start.is_some_and(|start| at > start) {
                self.foreign.add(&processes);
            }
        }
    }

    /// What counters grew by in the interval as it was.
    pub(super) fn of_interval(&self, interval: &Range<f64>, completed: &[u64]) -> Sums {
        self.with_recent(&self.interval, interval, completed)
    }

    /// What counters grew by in a stage, as far as it was in these seconds.
    pub(super) fn of_stage(&self, stage: usize, part: &Range<f64>, completed: &[u64]) -> Sums {
        let sums = self.stages.get(stage).map(|(_, sums)| sums);
        sums.map(|sums| self.with_recent(sums, part, completed)).unwrap_or_default()
    }

    fn with_recent(&self, sums: &Sums, part: &Range<f64>, completed: &[u64]) -> Sums {
        let mut sums = sums.clone();
        sums.add(&self.recent, part, completed);
        sums
    }

    /// Foreign processes that worked in the interval as it was.
    pub(super) fn foreign(&self, interval: &Range<f64>) -> Foreign {
        let mut foreign = self.foreign.clone();
        let inside = |(at, _): &&Look| *at > interval.start && at.round() <= interval.end;
        self.looks.iter().filter(inside).for_each(|(_, processes)| foreign.add(processes));
        foreign
    }

    /// Checkpoints seen at work: start in seconds since the run's start, and length.
    pub(super) fn checkpoints(&self) -> &[(f64, f64)] {
        &self.checkpoints
    }
}
