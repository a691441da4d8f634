//! Follows a run second by second, for what can be said of it only at its end.

use std::ops::Range;

use super::counted::Counted;
use crate::drive::{Schedule, Stages};
use crate::measure::counters_summary::CountersSummary;
use crate::measure::dips::{self, Dip, Peaks};
use crate::measure::pages::{PageReads, PagesSummary};
use crate::measure::strangers::Strangers;
use crate::measure::transient::{SteadyState, steady_state};
use crate::measure::waits::WaitsSeen;
use crate::result::maintenance::{Maintenance, MaintenanceKind};
use crate::result::{Event, Phase};
use crate::workload::Workload;

/// What a run did in each second, and its counters.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// Transactions that the database completed in each second of the run, from 0.
    completed: Vec<u64>,
    /// The seconds of the measurement interval.
    interval: Option<Range<usize>>,
    /// The seconds in which the number of clients changed.
    steps: Vec<usize>,
    counted: Counted,
    /// Page reads at the ends of the interval, with their times.
    pages: Vec<(f64, PageReads)>,
    waits: WaitsSeen,
    notes: Vec<String>,
}

impl Timeline {
    /// Of a run that is to begin.
    pub(super) fn new(stages: &Stages, schedule: &Schedule) -> Timeline {
        Timeline { counted: Counted::new(stages, schedule), ..Timeline::default() }
    }

    /// Takes up what the driver says.
    pub(super) fn event<W: Workload>(&mut self, event: &Event) {
        match event {
            // What ends after the interval is in none of its seconds.
            Event::Second { phase: Phase::WindDown, .. } => {}
            Event::Second { second, phase, interval } => {
                let second = *second as usize;
                self.completed.resize(self.completed.len().max(second + 1), 0);
                // What a terminal queues while the database stands still is no throughput.
                self.completed[second] =
                    (0..interval.transactions.len()).map(|number| interval.ended(W::DEFERRED, number)).sum();
                if *phase == Phase::Measurement {
                    self.interval = Some(self.interval.as_ref().map_or(second, |known| known.start)..second + 1);
                }
                let start = self.interval.as_ref().map(|interval| interval.start as f64);
                self.counted.add_up(start, &self.completed);
            }
            Event::StageBegan { at, stage, .. } if *stage > 0 => self.steps.push(at.round() as usize),
            Event::Sampled(sample) => self.counted.sampled(sample),
            Event::PagesRead { at, pages } => self.pages.push((*at, PageReads::clone(pages))),
            Event::Strangers { at, processes, .. } => self.counted.looked(*at, processes),
            Event::Waits { seen, .. } => self.waits = WaitsSeen::clone(seen),
            Event::NotCounted { why } if !self.notes.contains(why) => self.notes.push(why.clone()),
            _ => {}
        }
    }

    /// What its counters come to; `seconds` is the length of the interval as it was.
    pub(super) fn counters(&self, seconds: f64) -> Option<CountersSummary> {
        let interval = self.of_length(seconds)?;
        let pages = match &self.pages[..] {
            [(from, earlier), .., (to, later)] => PagesSummary::between((*from, earlier), (*to, later)),
            _ => None,
        };
        let sums = self.counted.of_interval(&interval, &self.completed);
        let checkpoints = self.counted.checkpoints().to_vec();
        Some(CountersSummary { pages, ..CountersSummary::of(&sums, checkpoints, self.notes.clone()) })
    }

    /// What the counters of a stage come to, from and to seconds since the run's start; none where none was read.
    pub(super) fn counters_of(&self, stage: usize, part: Range<f64>) -> Option<CountersSummary> {
        let sums = self.counted.of_stage(stage, &part, &self.completed);
        // Checkpoints and what could not be counted are told once, of the whole run.
        let found = CountersSummary::of(&sums, Vec::new(), Vec::new());
        (!found.grown.is_empty()).then_some(found)
    }

    /// What others took from it; `seconds` is the length of the interval as it was.
    pub(super) fn strangers(&self, seconds: f64) -> Option<Strangers> {
        let interval = self.of_length(seconds)?;
        let sums = self.counted.of_interval(&interval, &self.completed);
        Strangers::of(&sums, &self.counted.foreign(&interval))
    }

    /// The interval, which had so many seconds.
    fn of_length(&self, seconds: f64) -> Option<Range<f64>> {
        let first = self.interval.as_ref()?.start as f64;
        Some(first..first + seconds)
    }

    /// What sessions were seen at in the interval.
    pub(super) fn waits(&self) -> &WaitsSeen {
        &self.waits
    }

    /// Highest throughput in the interval.
    pub(super) fn peaks(&self) -> Option<Peaks> {
        Peaks::of(self.completed.get(self.interval.clone()?)?)
    }

    /// When throughput was steady; none if the number of clients changed on purpose, or the run was short.
    pub(super) fn steady(&self) -> Option<SteadyState> {
        let interval = self.interval.clone().filter(|_| self.steps.is_empty())?;
        steady_state(&self.completed, interval)
    }

    /// Seconds from the end of the last checkpoint, asked for or seen in the database's counters, to the end of the
    /// measurement interval; none if there was none.
    pub(super) fn since_checkpoint(
        &self,
        maintenance: &[Maintenance],
        counters: Option<&CountersSummary>,
    ) -> Option<f64> {
        let end = self.interval.as_ref()?.end as f64;
        let ends = checkpoints(maintenance, counters).map(|(start, seconds)| start + seconds);
        let last = ends.filter(|at| *at <= end).reduce(f64::max)?;
        Some(end - last)
    }

    /// Stretches of the interval in which nothing was completed.
    pub(super) fn standstills(&self) -> Vec<(f64, f64)> {
        let Some(interval) = self.interval.clone() else { return Vec::new() };
        dips::standstills(&self.completed, interval, &self.steps)
    }

    /// Dips and blackouts of the interval, and the checkpoints that they coincide with: those that were asked for, and
    /// those that are seen in the database's counters.
    pub(super) fn dips(&self, maintenance: &[Maintenance], counters: Option<&CountersSummary>) -> Option<Vec<Dip>> {
        let interval = self.interval.clone()?;
        let checkpoints: Vec<(f64, f64)> = checkpoints(maintenance, counters).collect();
        Some(dips::find_in_steps(&self.completed, interval, &self.steps, &checkpoints))
    }
}

/// Start and length of all checkpoints that are known.
fn checkpoints(maintenance: &[Maintenance], counters: Option<&CountersSummary>) -> impl Iterator<Item = (f64, f64)> {
    let asked = maintenance.iter().filter(|work| work.kind == MaintenanceKind::Checkpoint);
    let seen = counters.into_iter().flat_map(|counters| &counters.checkpoints).copied();
    asked.map(|work| (work.start_s, work.seconds)).chain(seen)
}
