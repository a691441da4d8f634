//! Observes planned faults during a run, for their effects in the summary.

use std::ops::Range;

use crate::engine::Error;
use crate::measure::resilience::{self, AFTER_S, FaultTimes, Observations, ObservedError, ObservedSecond};
use crate::plan::{Action, Fault};
use crate::result::faults::FaultSummary;
use crate::result::summary::Lookup;
use crate::result::{Event, Phase};

/// Seconds before a fault that are kept.
const BEFORE: u32 = 15;

/// Observations near the planned faults of a run; empty for a run without faults.
#[derive(Debug, Default)]
pub(super) struct FaultMeter {
    planned: Vec<Fault>,
    /// The observations of each fault that has begun.
    spells: Vec<Option<FaultTimes>>,
    failures: Vec<Option<String>>,
    done: Vec<Option<String>>,
    seen: Observations,
    interval: Option<Range<f64>>,
}

impl FaultMeter {
    /// No observations at the start of a run.
    pub(super) fn new(planned: &[Fault]) -> FaultMeter {
        let none = planned.len();
        FaultMeter {
            planned: planned.to_vec(),
            spells: vec![None; none],
            failures: vec![None; none],
            done: vec![None; none],
            ..FaultMeter::default()
        }
    }

    /// Adds an event.
    pub(super) fn event(&mut self, event: &Event) {
        if self.planned.is_empty() {
            return;
        }
        match event {
            Event::FaultBegan { at, fault, .. } => {
                if let Some(spell) = self.spells.get_mut(*fault) {
                    *spell = Some(FaultTimes { began: *at, ended: None });
                }
            }
            Event::FaultEnded { at, fault, error, done } => {
                if let Some(Some(spell)) = self.spells.get_mut(*fault) {
                    spell.ended = Some(*at);
                }
                if let Some(failure) = self.failures.get_mut(*fault) {
                    failure.clone_from(error);
                }
                if let Some(known) = self.done.get_mut(*fault) {
                    known.clone_from(done);
                }
            }
            Event::SessionLost { at, why, ambiguous, .. } => {
                self.seen.errors.push(ObservedError { at: *at, why: why.clone(), lost: Some(*ambiguous) });
            }
            Event::SessionGivenUp { at, why, .. } => {
                self.seen.errors.push(ObservedError { at: *at, why: why.clone(), lost: Some(true) });
            }
            Event::TransactionFailed { at, why, .. } => {
                self.seen.errors.push(ObservedError { at: *at, why: why.clone(), lost: None });
            }
            // Transactions that end after the interval are in none of its seconds.
            Event::Second { phase: Phase::WindDown, .. } => {}
            Event::Second { second, phase, interval } => {
                let place = *second as usize * 10;
                self.seen.tenths.resize(self.seen.tenths.len().max(place + 10), 0);
                let tenths = interval.tenths.unwrap_or_default();
                self.seen.tenths.iter_mut().skip(place).zip(tenths).for_each(|(mine, theirs)| *mine = theirs);
                self.seen.seconds.insert(*second, ObservedSecond::of(interval));
                self.forget(*second);
                if *phase == Phase::Measurement {
                    let begun = self.interval.as_ref().map_or(f64::from(*second), |interval| interval.start);
                    self.interval = Some(begun..f64::from(*second) + 1.0);
                }
            }
            _ => {}
        }
    }

    /// Drops seconds that are far from all faults: a run may take hours.
    fn forget(&mut self, now: u32) {
        let spells: Vec<FaultTimes> = self.spells.iter().flatten().copied().collect();
        let near = |second: u32, spell: &FaultTimes| {
            let at = f64::from(second);
            at + f64::from(BEFORE) >= spell.began && spell.ended.is_none_or(|ended| at <= ended + 2.0 * AFTER_S)
        };
        self.seen.seconds.retain(|second, _| {
            second.saturating_add(BEFORE) >= now || spells.iter().any(|spell| near(*second, spell))
        });
    }

    /// The effects of each fault. `lookup` is the result of looking up commits of unknown outcome, and `lost` is the
    /// number of lost connections.
    pub(super) fn summaries(&self, lookup: Option<&Lookup>, lost: u64) -> Vec<FaultSummary> {
        let spells: Vec<FaultTimes> = self.spells.iter().flatten().copied().collect();
        let interval = self.interval.clone().unwrap_or_default();
        let mut found = resilience::of(&self.seen, &interval, &spells).into_iter();
        let mut all: Vec<FaultSummary> = (self.planned.iter().zip(&self.spells).zip(&self.failures).zip(&self.done))
            .map(|(((fault, spell), failure), done)| FaultSummary {
                what: fault.action.to_string(),
                planned_s: fault.at.as_secs_f64(),
                began_s: spell.map(|spell| spell.began),
                seconds: spell.and_then(|spell| Some(spell.ended? - spell.began)),
                error: failure.clone().or_else(|| {
                    spell.is_none().then(|| "it did not begin: the run ended or was stopped before".to_owned())
                }),
                done: done.clone(),
                resilience: spell.and_then(|_| found.next()),
            })
            .collect();
        lost_commits(&mut all, lookup, lost);
        all
    }
}

/// Assigns lost commits to faults. They are looked up after the run and have no time: they can only be assigned if none
/// was lost, or if only one fault lost connections.
fn lost_commits(all: &mut [FaultSummary], lookup: Option<&Lookup>, lost: u64) {
    let asked = lookup.filter(|lookup| lookup.unasked.is_empty());
    let gone = asked.map(|lookup| lookup.acknowledged.lost);
    let of = |fault: &FaultSummary| fault.resilience.as_ref().map_or(0, |found| found.connections_lost);
    let costly = all.iter().filter(|fault| of(fault) > 0).count();
    let within: u64 = all.iter().map(of).sum();
    for resilience in all.iter_mut().filter_map(|fault| fault.resilience.as_mut()) {
        let unknown = match gone {
            _ if resilience.connections_lost == 0 => {
                resilience.lost_commits = Some(0);
                continue;
            }
            Some(gone) if gone == 0 || (costly == 1 && within == lost) => {
                resilience.lost_commits = Some(gone);
                continue;
            }
            Some(gone) => {
                format!("lost commits: {gone} in the whole run, not assigned because several faults lost connections")
            }
            None => "lost commits: they were not looked up".to_owned(),
        };
        resilience.unknown.push(unknown);
    }
}

/// The error for a fault that needs a server which Graymark starts.
pub(super) fn needs_private_server(fault: &Fault) -> Error {
    let needs = "needs a server that Graymark starts: give --db postgres:local, mysql:local or virtuoso:local, or have \
                 a program of yours do it (--fault '5s: script PATH')";
    Error::Usage(format!("the fault `{fault}` {needs}"))
}

/// The first fault that this number of private servers does not support, and why; 0 means no private server. `equal`:
/// all of them take writes.
pub(super) fn against_members(faults: &[Fault], members: usize, equal: bool) -> Option<(&Fault, String)> {
    faults.iter().find_map(|fault| {
        let why = match (&fault.action, fault.action.node()) {
            (Action::Kill, _) if members > 1 && equal => {
                "would end the whole cluster: name one of its nodes, as in `kill node 2`".to_owned()
            }
            (_, Some(_)) if members < 2 => "needs a cluster that Graymark starts: give --db 'mysql:local?nodes=3' or \
                                            'postgres:local?standbys=2'"
                .to_owned(),
            (_, Some(number)) if number > members => format!("names a node that does not exist: there are {members}"),
            _ => return None,
        };
        Some((fault, why))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Interval;
    use crate::result::summary::Acknowledged;

    fn lookup(lost: u64) -> Lookup {
        Lookup { acknowledged: Acknowledged { lost, ..Acknowledged::default() }, ..Lookup::default() }
    }

    /// A run of 40 s with two kills, each of which costs a connection, or only the first.
    fn meter(both: bool) -> FaultMeter {
        let mut meter = FaultMeter::new(&["10s: kill".parse().unwrap(), "20s: kill".parse().unwrap()]);
        let lost = |at| Event::SessionLost { at, session: 0, why: "reset".to_owned(), ambiguous: true, host: None };
        for second in 0..40 {
            let phase = if second < 2 { Phase::RampUp } else { Phase::Measurement };
            let tenths = Some(if (12..14).contains(&second) { [0; 10] } else { [5; 10] });
            let interval = Box::new(Interval { tenths, ..Interval::new(1, 0) });
            for (fault, at) in [(0, 12), (1, 22)].into_iter().filter(|(_, at)| *at == second) {
                let at = f64::from(at);
                meter.event(&Event::FaultBegan { at, fault, what: "kill".to_owned() });
                if both || fault == 0 {
                    meter.event(&lost(at + 0.5));
                }
                let done = Some("node 2 was promoted".to_owned());
                meter.event(&Event::FaultEnded { at: at + 1.0, fault, error: None, done });
            }
            meter.event(&Event::Second { second, phase, interval });
        }
        meter
    }

    #[test]
    fn faults_are_reported_with_their_effects() {
        let found = meter(true).summaries(Some(&lookup(0)), 2);
        let first = found[0].resilience.as_ref().unwrap();
        assert_eq!((found[0].what.as_str(), found[0].planned_s, found[0].began_s), ("kill", 10.0, Some(12.0)));
        assert_eq!(found[0].done.as_deref(), Some("node 2 was promoted"));
        assert_eq!((first.level_before, first.back_s, first.doubtful_commits), (Some(50.0), Some(2.0), 1));
        assert_eq!((first.lost_commits, found[1].resilience.as_ref().unwrap().lost_commits), (Some(0), Some(0)));
    }

    #[test]
    fn lost_commits_are_assigned_only_if_the_fault_is_known() {
        let lost = |both, lookup: Option<&Lookup>, lost| {
            let found = meter(both).summaries(lookup, lost);
            found.into_iter().map(|fault| fault.resilience.unwrap().lost_commits).collect::<Vec<_>>()
        };
        assert_eq!(lost(false, Some(&lookup(3)), 1), [Some(3), Some(0)]);
        assert_eq!(lost(true, Some(&lookup(3)), 2), [None, None]);
        // A connection was also lost at another time.
        assert_eq!(lost(false, Some(&lookup(3)), 2), [None, Some(0)]);
        assert_eq!(lost(true, None, 2), [None, None]);
    }

    #[test]
    fn a_fault_that_did_not_begin_has_no_figures() {
        let meter = FaultMeter::new(&["10s: kill".parse().unwrap()]);
        let found = meter.summaries(None, 0);
        assert!(found[0].resilience.is_none() && found[0].error.as_ref().unwrap().contains("did not begin"));
    }

    #[test]
    fn seconds_far_from_faults_are_forgotten() {
        let mut meter = FaultMeter::new(&["1s: kill".parse().unwrap()]);
        meter.event(&Event::FaultBegan { at: 100.0, fault: 0, what: "kill".to_owned() });
        meter.event(&Event::FaultEnded { at: 101.0, fault: 0, error: None, done: None });
        for second in 0..1_000 {
            let interval = Box::new(Interval::new(1, 0));
            meter.event(&Event::Second { second, phase: Phase::Measurement, interval });
        }
        let kept: Vec<u32> = meter.seen.seconds.keys().copied().collect();
        assert_eq!((kept.first(), kept.len(), kept.last()), (Some(&85), 137 + 16, Some(&999)));
    }

    #[test]
    fn a_cluster_loses_a_node_and_not_all_of_them() {
        let sentence = |fault: &str, members, equal| {
            let faults: [Fault; 1] = [fault.parse().unwrap()];
            against_members(&faults, members, equal).map(|(_, why)| why).unwrap_or_default()
        };
        let refused = |fault: &str, members| sentence(fault, members, true);
        assert!(refused("1s: kill", 3).contains("kill node 2"));
        assert!(refused("1s: kill node 1", 1).contains("nodes=3") && refused("1s: kill node 4", 3).contains("are 3"));
        assert!(refused("1s: kill", 1).is_empty() && refused("1s: kill node 3", 3).is_empty());
        assert!(refused("1s: restart", 3).is_empty());
        // If one node takes writes, that node is killed.
        assert!(sentence("1s: kill", 3, false).is_empty() && sentence("1s: kill node 3", 3, false).is_empty());
        for fault in ["1s: partition node 2 for 1s", "1s: stop node 2 for 1s"] {
            assert!(refused(fault, 1).contains("standbys=2") && refused(fault, 0).contains("nodes=3"), "{fault}");
            assert!(refused(fault, 2).is_empty());
        }
    }
}
