//! Counters of the measurement interval and of each stage, accumulated during the run.

use std::collections::VecDeque;
use std::ops::Range;

use crate::drive::{Schedule, Stages};
use crate::measure::counters::{Growth, Sample, note_checkpoint};
use crate::measure::strangers::{Foreign, ForeignProcess};
use crate::measure::sums::Sums;

/// Seconds for which samples are kept one by one. The end of the interval is only known at the end of the run; after a
/// stop, it is at most as long ago as the driver waits for transactions in progress.
const RECENT_S: f64 = 30.0;

/// A sample of the machine's other processes, with its time.
type ProcessSample = (f64, Vec<ForeignProcess>);

/// Growth of counters in parts of a run, and the other processes of its interval.
#[derive(Debug, Default)]
pub(super) struct Counted {
    last: Option<Sample>,
    /// Growth between samples that are not accumulated yet.
    recent: VecDeque<Growth>,
    looks: VecDeque<ProcessSample>,
    interval: Sums,
    foreign: Foreign,
    /// The planned seconds of each stage, and its sums.
    stages: Vec<(Range<f64>, Sums)>,
    /// Checkpoints that were observed during the whole run: start and length.
    checkpoints: Vec<(f64, f64)>,
}

impl Counted {
    /// Empty sums at the start of a run.
    pub(super) fn new(stages: &Stages, schedule: &Schedule) -> Counted {
        let begin = |stage: usize| f64::from(schedule.ramp_up) + stage as f64 * f64::from(stages.seconds());
        let stages = (0..stages.clients().len()).map(|stage| (begin(stage)..begin(stage + 1), Sums::default()));
        Counted { stages: stages.collect(), ..Counted::default() }
    }

    /// Adds a sample of the counters.
    pub(super) fn sampled(&mut self, sample: &Sample) {
        if let Some(growth) = self.last.as_ref().and_then(|last| Growth::between(last, sample)) {
            note_checkpoint(&mut self.checkpoints, &growth);
            self.recent.push_back(growth);
        }
        self.last = Some(sample.clone());
    }

    /// Adds a sample of the CPU time of other processes.
    pub(super) fn looked(&mut self, at: f64, processes: &[ForeignProcess]) {
        self.looks.push_back((at, processes.to_vec()));
    }

    /// Accumulates samples that are old enough. `start` is the first second of the interval, if it has begun;
    /// `completed`
    /// are the completed transactions of each second reported so far.
    pub(super) fn add_up(&mut self, start: Option<f64>, completed: &[u64]) {
        let Some(now) = self.last.as_ref().map(|sample| sample.at) else { return };
        // Whether a second that was not reported yet belongs to the interval is unknown.
        let over = |at: f64| at + RECENT_S <= now && at + 1.0 <= completed.len() as f64;
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

    /// Growth of the counters in the actual interval.
    pub(super) fn of_interval(&self, interval: &Range<f64>, completed: &[u64]) -> Sums {
        self.with_recent(&self.interval, interval, completed)
    }

    /// Growth of the counters in the part of a stage within these seconds.
    pub(super) fn of_stage(&self, stage: usize, part: &Range<f64>, completed: &[u64]) -> Sums {
        let sums = self.stages.get(stage).map(|(_, sums)| sums);
        sums.map(|sums| self.with_recent(sums, part, completed)).unwrap_or_default()
    }

    fn with_recent(&self, sums: &Sums, part: &Range<f64>, completed: &[u64]) -> Sums {
        let mut sums = sums.clone();
        sums.add(&self.recent, part, completed);
        sums
    }

    /// Other processes that used CPU in the actual interval.
    pub(super) fn foreign(&self, interval: &Range<f64>) -> Foreign {
        let mut foreign = self.foreign.clone();
        let inside = |(at, _): &&ProcessSample| *at > interval.start && at.round() <= interval.end;
        self.looks.iter().filter(inside).for_each(|(_, processes)| foreign.add(processes));
        foreign
    }

    /// Observed checkpoints: start in seconds since the run's start, and length.
    pub(super) fn checkpoints(&self) -> &[(f64, f64)] {
        &self.checkpoints
    }
}
