//! Accumulates the driver's events for the summary.

use std::collections::BTreeMap;

use super::faults::FaultMeter;
use super::nodes::LagMeter;
use super::stages::StageMeter;
use super::timeline::Timeline;
use crate::drive::{Schedule, Stages};
use crate::measure::steady::Settled;
use crate::measure::{Interval, Measured, note};
use crate::result::maintenance::Maintenance;
use crate::result::outcomes::Outcomes;
use crate::result::scan::CacheState;
use crate::result::warm_up::WarmUp;
use crate::result::{Event, Phase};
use crate::workload::Workload;

/// Totals of a run, up to the latest event.
pub(super) struct Accumulated {
    /// Everything measured in the measurement interval.
    pub(super) interval: Interval,
    pub(super) outcomes: OutcomeCounts,
    pub(super) timeline: Timeline,
    pub(super) stages: StageMeter,
    pub(super) faults: FaultMeter,
    pub(super) lag: LagMeter,
    /// The state of the caches before the run, if they were to be emptied.
    pub(super) cold: Option<CacheState>,
    /// Maintenance requests that the database completed.
    pub(super) maintenance: Vec<Maintenance>,
    /// The transactions of the warm-up by the load itself, if there was one.
    pub(super) warm_up: Option<WarmUp>,
    /// Maintenance requests that were not executed, and why.
    pub(super) maintenance_notes: Vec<String>,
    /// How an automatic ramp-up ended.
    pub(super) settled: Option<Settled>,
}

impl Accumulated {
    /// Empty totals at the start of a run.
    pub(super) fn new<W: Workload>(stages: &Stages, schedule: &Schedule) -> Accumulated {
        Accumulated {
            interval: Interval::new(W::TRANSACTIONS.len(), W::TALLIES.len()),
            outcomes: OutcomeCounts::default(),
            timeline: Timeline::new(stages, schedule),
            stages: StageMeter::new(stages, schedule),
            faults: FaultMeter::default(),
            lag: LagMeter::default(),
            cold: None,
            maintenance: Vec::new(),
            warm_up: None,
            maintenance_notes: Vec::new(),
            settled: None,
        }
    }

    /// Adds an event. `server_cpu` reads the CPU seconds of the server's processes, if known.
    pub(super) fn event<W: Workload>(&mut self, event: &Event, server_cpu: &dyn Fn() -> Option<f64>) {
        match event {
            Event::Second { phase, interval: second, .. } => {
                self.outcomes.second::<W>(second, *phase);
                if *phase == Phase::Measurement {
                    self.interval.add(second);
                }
            }
            Event::CutOff { transaction, waited, served, under_way, .. } => {
                if let Some(transaction) = W::TRANSACTIONS.iter().position(|name| name == transaction) {
                    self.outcomes.cut_off(transaction, *under_way, *waited);
                    let Measured { response, service, .. } = &mut self.interval.transactions[transaction];
                    for (times, seconds) in [(response, waited), (service, served)] {
                        if let Some(seconds) = seconds {
                            note(times, (seconds * 1e6) as u64);
                        }
                    }
                }
            }
            Event::Settled { settled, .. } => self.settled = Some(settled.clone()),
            Event::Maintained(done) => self.maintenance.push(done.clone()),
            Event::NotMaintained { why, .. } if !self.maintenance_notes.contains(why) => {
                self.maintenance_notes.push(why.clone());
            }
            _ => {}
        }
        self.timeline.event::<W>(event);
        self.faults.event(event);
        self.lag.event(event);
        self.stages.event::<W>(event, server_cpu);
    }
}

/// The outcomes of all transactions of a run, by type.
#[derive(Debug, Default)]
pub(super) struct OutcomeCounts(Vec<Outcomes>);

impl OutcomeCounts {
    /// Adds a second of any phase.
    pub(super) fn second<W: Workload>(&mut self, interval: &Interval, phase: Phase) {
        self.0.resize(W::TRANSACTIONS.len(), Outcomes::default());
        for (number, (sum, measured)) in self.0.iter_mut().zip(&interval.transactions).enumerate() {
            let completed = interval.ended(W::DEFERRED, number);
            sum.completed += completed;
            *sum.within_interval.get_or_insert_default() += if phase == Phase::Measurement { completed } else { 0 };
            sum.open_at_end += measured.late.count;
            sum.longest_open_s = sum.longest_open_s.max(measured.late.max as f64 / 1e6);
            sum.failed += measured.errors;
            sum.unknown += measured.unknown;
        }
    }

    /// Counts a transaction of this type that was in progress at the end of the run.
    pub(super) fn cut_off(&mut self, transaction: usize, under_way: bool, waited_s: Option<f64>) {
        let Some(sum) = self.0.get_mut(transaction) else { return };
        sum.unknown += u64::from(under_way);
        sum.given_up += u64::from(under_way);
        sum.open_at_end += 1;
        sum.longest_open_s = sum.longest_open_s.max(waited_s.unwrap_or_default());
    }

    /// The outcomes by type. A run that was stopped waits too briefly to call a transaction in progress a failure.
    pub(super) fn by_name<W: Workload>(&self, stopped: bool) -> BTreeMap<String, Outcomes> {
        let of = |outcomes: &Outcomes| Outcomes { given_up: if stopped { 0 } else { outcomes.given_up }, ..*outcomes };
        W::TRANSACTIONS.iter().zip(&self.0).map(|(name, outcomes)| ((*name).to_owned(), of(outcomes))).collect()
    }
}
