//! Totals of a run or of one of its threads.

use std::collections::BTreeMap;

use super::hosts::{self, HostTotals};
use super::trips::Trips;
use crate::result::connections::{Connections, Lookup};
use crate::workload::trace::{Footprint, Trace};

/// Totals of a run, ramp-up and wind-down included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Transactions completed.
    pub completed: u64,
    /// Effects of acknowledged commits, in the order of [`crate::workload::Workload::EFFECTS`].
    pub effects: Vec<u64>,
    /// The most that transactions of unknown outcome can add to each effect.
    pub ambiguous_effects: Vec<u64>,
    /// Transactions of unknown outcome.
    pub ambiguous: u64,
    /// Retries by reason.
    pub retries: BTreeMap<&'static str, u64>,
    /// Failed transactions by the database's message.
    pub errors: BTreeMap<String, u64>,
    /// Connections lost.
    pub lost: u64,
    /// Connections restored.
    pub restored: u64,
    /// Times in which no session had a connection: start in seconds since the run's start, and length in seconds.
    pub outages: Vec<(f64, f64)>,
    /// The longest time that one session had no connection, in seconds, up to the end of the run.
    pub longest_away: f64,
    /// Transactions that paced terminals sent and no session executed.
    pub unfinished: u64,
    /// Commits to look up after lost connections.
    pub uncertain: UncertainCommits,
    /// Transactions that may be committed, but whose reply is not as expected. They are among the failed ones.
    pub unreadable: u64,
    /// Transactions that did not return in time at the end of the run. Their outcome is unknown.
    pub abandoned: u64,
    /// Actual length of the ramp-up in whole seconds.
    pub ramp_up: u32,
    /// Actual length of the measurement interval in seconds.
    pub interval_s: f64,
    /// Driver threads.
    pub threads: u32,
    /// Totals of each host, if the URL names several.
    pub hosts: Vec<HostTotals>,
    /// Round trips of completed transactions.
    pub trips: Trips,
    /// Completed transactions by type: those for which the nodes of their rows are known, and those on several nodes.
    pub by_nodes: Vec<(u64, u64)>,
}

impl Totals {
    /// The lost connections, and what the database says about their commits; `None` if it was not asked.
    pub fn connections(&self, lookup: Option<Lookup>) -> Connections {
        Connections {
            lost: self.lost,
            restored: self.restored,
            ambiguous: self.ambiguous,
            abandoned: self.abandoned,
            // An empty sum of floats is -0.
            outage_s: self.outages.iter().fold(0.0, |sum, (_, length)| sum + length),
            longest_away_s: self.longest_away,
            outages: self.outages.clone(),
            lookup,
        }
    }
}

/// The maximum number of rows that are looked up.
const MOST_UNCERTAIN: usize = 100_000;

/// Commits whose durability is uncertain after a lost connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UncertainCommits {
    /// Rows of commits that were acknowledged in the last second before a connection was lost: they must exist.
    pub acknowledged: Vec<Trace>,
    /// More commits were acknowledged in that second than are remembered.
    pub beyond: bool,
    /// Rows that exist if a transaction of unknown outcome was committed.
    pub unknown: Vec<Trace>,
    /// Transactions of unknown outcome that change nothing.
    pub read_only: u64,
}

impl UncertainCommits {
    pub(super) fn acknowledged(&mut self, traces: Vec<Trace>, whole: bool) {
        let left = MOST_UNCERTAIN.saturating_sub(self.acknowledged.len());
        self.beyond |= !whole || traces.len() > left;
        self.acknowledged.extend(traces.into_iter().take(left));
    }

    pub(super) fn unknown(&mut self, footprint: Footprint) {
        match footprint {
            Footprint::None => self.read_only += 1,
            Footprint::Row(trace) if self.unknown.len() < MOST_UNCERTAIN => self.unknown.push(trace),
            Footprint::Row(_) | Footprint::NotKnown => {}
        }
    }
}

/// Totals of a thread over the whole run.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadTotals {
    pub(super) completed: u64,
    pub(super) effects: Vec<u64>,
    pub(super) ambiguous_effects: Vec<u64>,
    pub(super) ambiguous: u64,
    pub(super) unreadable: u64,
    pub(super) retries: BTreeMap<&'static str, u64>,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) unfinished: u64,
    /// Totals of each of several hosts.
    pub(super) hosts: hosts::Counts,
    /// Round trips of completed transactions.
    pub(super) trips: Trips,
}
