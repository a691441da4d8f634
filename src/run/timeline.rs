//! Follows a run second by second, for what can be said of it only at its end.

use std::ops::Range;

use crate::measure::counters::{CountersSummary, Sample};
use crate::measure::dips::{self, Dip, Peaks};
use crate::measure::pages::{PageReads, PagesSummary};
use crate::measure::strangers::{ForeignProcess, Strangers};
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
    samples: Vec<Sample>,
    /// Page reads at the ends of the interval, with their times.
    pages: Vec<(f64, PageReads)>,
    /// Foreign processes at each look, with its time.
    strangers: Vec<(f64, Vec<ForeignProcess>)>,
    waits: WaitsSeen,
    notes: Vec<String>,
}

impl Timeline {
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
            }
            Event::StageBegan { at, stage, .. } if *stage > 0 => self.steps.push(at.round() as usize),
            Event::Sampled(sample) => self.samples.push(Sample::clone(sample)),
            Event::PagesRead { at, pages } => self.pages.push((*at, PageReads::clone(pages))),
            Event::Strangers { at, processes, .. } => self.strangers.push((*at, processes.clone())),
            Event::Waits { seen, .. } => self.waits = WaitsSeen::clone(seen),
            Event::NotCounted { why } if !self.notes.contains(why) => self.notes.push(why.clone()),
            _ => {}
        }
    }

    /// What its counters come to; `seconds` is the length of the interval as it was.
    pub(super) fn counters(&self, seconds: f64) -> Option<CountersSummary> {
        let first = self.interval.as_ref()?.start as f64;
        let interval = first..first + seconds;
        let pages = match &self.pages[..] {
            [(from, earlier), .., (to, later)] => PagesSummary::between((*from, earlier), (*to, later)),
            _ => None,
        };
        Some(CountersSummary {
            pages,
            ..CountersSummary::of(&self.samples, interval, &self.completed, self.notes.clone())
        })
    }

    /// What the counters of a part of it come to, from and to seconds since the run's start; none where none was read.
    pub(super) fn counters_of(&self, part: Range<f64>) -> Option<CountersSummary> {
        let found = CountersSummary::of(&self.samples, part, &self.completed, Vec::new());
        // Checkpoints and what could not be counted are told once, of the whole run.
        (!found.grown.is_empty()).then(|| CountersSummary { checkpoints: Vec::new(), ..found })
    }

    /// What others took from it; `seconds` is the length of the interval as it was.
    pub(super) fn strangers(&self, seconds: f64) -> Option<Strangers> {
        let first = self.interval.as_ref()?.start as f64;
        Strangers::of(&self.samples, first..first + seconds, &self.strangers)
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
