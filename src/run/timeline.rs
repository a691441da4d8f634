//! Records a run second by second, for figures that are only known at its end.

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

/// Throughput and counters of each second of a run.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// Completed transactions of each second of the run, from 0.
    completed: Vec<u64>,
    /// The seconds of the measurement interval.
    interval: Option<Range<usize>>,
    /// The first second of each stage, and its number of clients.
    stages: Vec<(usize, u32)>,
    counted: Counted,
    /// Page reads at both ends of the interval, with their times.
    pages: Vec<(f64, PageReads)>,
    waits: WaitsSeen,
    notes: Vec<String>,
}

impl Timeline {
    /// Empty at the start of a run.
    pub(super) fn new(stages: &Stages, schedule: &Schedule) -> Timeline {
        Timeline { counted: Counted::new(stages, schedule), ..Timeline::default() }
    }

    /// Adds an event.
    pub(super) fn event<W: Workload>(&mut self, event: &Event) {
        match event {
            // Transactions that end after the interval are in none of its seconds.
            Event::Second { phase: Phase::WindDown, .. } => {}
            Event::Second { second, phase, interval } => {
                let second = *second as usize;
                self.completed.resize(self.completed.len().max(second + 1), 0);
                // Queued requests of terminals do not count as throughput.
                self.completed[second] =
                    (0..interval.transactions.len()).map(|number| interval.ended(W::DEFERRED, number)).sum();
                if *phase == Phase::Measurement {
                    self.interval = Some(self.interval.as_ref().map_or(second, |known| known.start)..second + 1);
                }
                let start = self.interval.as_ref().map(|interval| interval.start as f64);
                self.counted.add_up(start, &self.completed);
            }
            Event::StageBegan { at, clients, .. } => self.stages.push((at.round() as usize, *clients)),
            Event::Sampled(sample) => self.counted.sampled(sample),
            Event::PagesRead { at, pages } => self.pages.push((*at, PageReads::clone(pages))),
            Event::Strangers { at, processes, .. } => self.counted.looked(*at, processes),
            Event::Waits { seen, .. } => self.waits = WaitsSeen::clone(seen),
            Event::NotCounted { why } if !self.notes.contains(why) => self.notes.push(why.clone()),
            _ => {}
        }
    }

    /// The summary of the counters; `seconds` is the actual length of the interval.
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

    /// The summary of the counters of a stage, given in seconds since the run's start; `None` if none was read.
    pub(super) fn counters_of(&self, stage: usize, part: Range<f64>) -> Option<CountersSummary> {
        let sums = self.counted.of_stage(stage, &part, &self.completed);
        // Checkpoints and missing counters are only listed for the whole run.
        let found = CountersSummary::of(&sums, Vec::new(), Vec::new());
        (!found.grown.is_empty()).then_some(found)
    }

    /// Resource usage of other processes; `seconds` is the actual length of the interval.
    pub(super) fn strangers(&self, seconds: f64) -> Option<Strangers> {
        let interval = self.of_length(seconds)?;
        let sums = self.counted.of_interval(&interval, &self.completed);
        Strangers::of(&sums, &self.counted.foreign(&interval))
    }

    /// The interval with its actual length.
    fn of_length(&self, seconds: f64) -> Option<Range<f64>> {
        let first = self.interval.as_ref()?.start as f64;
        Some(first..first + seconds)
    }

    /// The sampled wait states of sessions in the interval.
    pub(super) fn waits(&self) -> &WaitsSeen {
        &self.waits
    }

    /// Highest throughput in the interval.
    pub(super) fn peaks(&self) -> Option<Peaks> {
        Peaks::of(self.completed.get(self.interval.clone()?)?)
    }

    /// When throughput became steady; `None` if the number of clients changed by plan, or the run was too short.
    pub(super) fn steady(&self) -> Option<SteadyState> {
        let interval = self.interval.clone().filter(|_| self.stages.len() < 2)?;
        steady_state(&self.completed, interval)
    }

    /// Seconds from the end of the last checkpoint, requested or observed in the database's counters, to the end of the
    /// measurement interval; `None` if there was none.
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

    /// Periods of the interval in which no transaction completed.
    pub(super) fn standstills(&self) -> Vec<(f64, f64)> {
        let Some(interval) = self.interval.clone() else { return Vec::new() };
        dips::standstills(&self.completed, interval, &self.stages)
    }

    /// Dips and blackouts of the interval, and the checkpoints that coincide with them, requested or observed in the
    /// database's counters.
    pub(super) fn dips(&self, maintenance: &[Maintenance], counters: Option<&CountersSummary>) -> Option<Vec<Dip>> {
        let interval = self.interval.clone()?;
        let checkpoints: Vec<(f64, f64)> = checkpoints(maintenance, counters).collect();
        let steps: Vec<usize> = self.stages.iter().skip(1).map(|(second, _)| *second).collect();
        Some(dips::find_in_steps(&self.completed, interval, &steps, &checkpoints))
    }
}

/// Start and length of all known checkpoints.
fn checkpoints(maintenance: &[Maintenance], counters: Option<&CountersSummary>) -> impl Iterator<Item = (f64, f64)> {
    let asked = maintenance.iter().filter(|work| work.kind == MaintenanceKind::Checkpoint);
    let seen = counters.into_iter().flat_map(|counters| &counters.checkpoints).copied();
    asked.map(|work| (work.start_s, work.seconds)).chain(seen)
}
