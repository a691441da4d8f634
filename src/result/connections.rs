//! Lost connections and hosts of a run, and the commits whose outcome is uncertain because of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One of several hosts, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostSummary {
    /// Its name and port, as in the URL.
    pub host: String,
    /// Sessions at the start.
    pub sessions_begin: u64,
    /// Sessions at the end.
    pub sessions_end: u64,
    /// Completed transactions, by type.
    pub transactions: BTreeMap<String, u64>,
    /// Lost connections.
    pub lost: u64,
    /// Seconds in which all of its sessions were lost.
    pub outage_s: f64,
    /// These periods: start in seconds since the run's start, and length in seconds.
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
    /// Transactions whose commit has an unknown outcome.
    pub ambiguous: u64,
    /// Of these, transactions that did not end in time at the end of the run and were abandoned.
    #[serde(default)]
    pub abandoned: u64,
    /// Seconds in which no transaction completed because connections were lost.
    pub outage_s: f64,
    /// The longest time that one session was without a connection, in seconds; a session that was not restored counts
    /// until the end.
    #[serde(default)]
    pub longest_away_s: f64,
    /// Outages: start in seconds since the run's start, and length in seconds.
    pub outages: Vec<(f64, f64)>,
    /// The commits whose outcome was uncertain because of lost connections, each looked up; `None` if no connection was
    /// lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookup: Option<Lookup>,
}

/// Commits that were looked up after the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Lookup {
    /// Why commits could not be looked up, in words; empty if they could.
    pub unasked: String,
    /// Commits acknowledged in the last second before a lost connection: they have to be in the database.
    pub acknowledged: Acknowledged,
    /// Transactions of unknown outcome.
    pub unknown_fate: UnknownFate,
}

/// Acknowledged commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Acknowledged {
    /// Commits that were looked up.
    pub looked_up: u64,
    /// Commits that are in the database.
    pub found: u64,
    /// Commits that are missing.
    pub lost: u64,
    /// Whether more commits were acknowledged in that second than the client keeps.
    pub beyond: bool,
}

/// Transactions of unknown outcome, by the result of looking them up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnknownFate {
    /// Their rows are in the database.
    pub committed: u64,
    /// Their rows are not in the database.
    pub not_committed: u64,
    /// They change nothing.
    pub read_only: u64,
    /// Their rows, if any, cannot be distinguished from others.
    pub not_known: u64,
}
