//! What a run, or one of its threads, counted as a whole.

use std::collections::BTreeMap;

use super::hosts::{self, HostTotals};
use crate::workload::trace::{Footprint, Trace};

/// What a run came to as a whole, ramp-up and wind-down included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Transactions completed.
    pub completed: u64,
    /// Effects that sessions were told are committed, in the order of [`crate::workload::Workload::EFFECTS`].
    pub effects: Vec<u64>,
    /// The most that transactions of unknown fate can add to each effect.
    pub ambiguous_effects: Vec<u64>,
    /// Transactions of unknown fate.
    pub ambiguous: u64,
    /// Retries by reason.
    pub retries: BTreeMap<&'static str, u64>,
    /// Transactions that failed for good, by the database's words.
    pub errors: BTreeMap<String, u64>,
    /// Connections lost.
    pub lost: u64,
    /// Connections restored.
    pub restored: u64,
    /// Times in which no session had a connection: start in seconds since the run's start, and length in seconds.
    pub outages: Vec<(f64, f64)>,
    /// The longest that one session was without a connection, in seconds; one that was not back at the end was away
    /// until then.
    pub longest_away: f64,
    /// Transactions that paced terminals had sent and no session ever worked.
    pub unfinished: u64,
    /// What is to be looked up, as connections were lost.
    pub doubts: Doubts,
    /// Transactions that did not come back in time at the end of the run. Their fate is unknown.
    pub abandoned: u64,
    /// Whole seconds before the measurement interval, as they were.
    pub ramp_up: u32,
    /// Length of the measurement interval in seconds, as it was.
    pub interval_s: f64,
    /// Driver threads.
    pub threads: u32,
    /// What each host did, where the URL names several.
    pub hosts: Vec<HostTotals>,
}

/// The most rows that are looked up.
const MOST_DOUBTS: usize = 100_000;

/// Commits that a lost connection makes doubtful.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Doubts {
    /// Rows of commits that were acknowledged in the last second before a connection was lost: they have to be there.
    pub acknowledged: Vec<Trace>,
    /// More were acknowledged in that second than are remembered.
    pub beyond: bool,
    /// Rows that transactions of unknown fate have left if they are committed.
    pub unknown: Vec<Trace>,
    /// Transactions of unknown fate that change nothing.
    pub read_only: u64,
}

impl Doubts {
    pub(super) fn acknowledged(&mut self, traces: Vec<Trace>, whole: bool) {
        let left = MOST_DOUBTS.saturating_sub(self.acknowledged.len());
        self.beyond |= !whole || traces.len() > left;
        self.acknowledged.extend(traces.into_iter().take(left));
    }

    pub(super) fn unknown(&mut self, footprint: Footprint) {
        match footprint {
            Footprint::None => self.read_only += 1,
            Footprint::Row(trace) if self.unknown.len() < MOST_DOUBTS => self.unknown.push(trace),
            Footprint::Row(_) | Footprint::NotKnown => {}
        }
    }
}

/// What a thread counted over the whole run.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadTotals {
    pub(super) completed: u64,
    pub(super) effects: Vec<u64>,
    pub(super) ambiguous_effects: Vec<u64>,
    pub(super) ambiguous: u64,
    pub(super) retries: BTreeMap<&'static str, u64>,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) unfinished: u64,
    /// What each of several hosts did.
    pub(super) hosts: hosts::Counts,
}
