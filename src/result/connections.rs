//! What became of a run's connections and hosts, and of commits that a lost connection makes doubtful.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a host of several did, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostSummary {
    /// Its name and port, as the URL has it.
    pub host: String,
    /// Sessions at the start.
    pub sessions_begin: u64,
    /// Sessions at the end.
    pub sessions_end: u64,
    /// Transactions that it completed, by type.
    pub transactions: BTreeMap<String, u64>,
    /// Connections to it that were lost.
    pub lost: u64,
    /// Seconds in which it had lost all of its sessions.
    pub outage_s: f64,
    /// These times: start in seconds since the run's start, and length in seconds.
    pub outages: Vec<(f64, f64)>,
}

/// Connections lost, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Connections {
    /// Connections lost.
    pub lost: u64,
    /// Connections restored.
    pub restored: u64,
    /// Transactions whose commit the client could not learn.
    pub ambiguous: u64,
    /// Of these, transactions that did not come back in time at the end of the run and were given up.
    #[serde(default)]
    pub abandoned: u64,
    /// Seconds in which no session completed anything because connections were gone.
    pub outage_s: f64,
    /// The longest that one session was without a connection, in seconds; one that was not back at the end was away
    /// until then.
    #[serde(default)]
    pub longest_away_s: f64,
    /// Outages: start in seconds since the run's start, and length in seconds.
    pub outages: Vec<(f64, f64)>,
    /// What became of the commits that the lost connections made doubtful, looked up one by one; none if no connection
    /// was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookup: Option<Lookup>,
}

/// Commits that were looked up after the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Lookup {
    /// Why nothing could be looked up, in words; empty if it could.
    pub unasked: String,
    /// Commits that the client was told of in the last second before a connection was lost: they have to be there.
    pub acknowledged: Acknowledged,
    /// Transactions of unknown fate.
    pub unknown_fate: UnknownFate,
}

/// Commits that the client was told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Acknowledged {
    /// Those that were looked for.
    pub looked_up: u64,
    /// Those that are there.
    pub found: u64,
    /// Those that are not.
    pub lost: u64,
    /// Whether more were acknowledged in that second than the client remembers.
    pub beyond: bool,
}

/// Transactions of unknown fate, by what was found of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnknownFate {
    /// What they leave is there.
    pub committed: u64,
    /// It is not there.
    pub not_committed: u64,
    /// They change nothing.
    pub read_only: u64,
    /// What they leave, if anything, cannot be told from what others leave.
    pub not_known: u64,
}
