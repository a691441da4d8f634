//! What a run's history of reads and writes shows of isolation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What was looked at, and what was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HistorySummary {
    /// The share of keys of which it was kept what transactions read and wrote.
    pub share: f64,
    /// Transactions that read or wrote such a key.
    pub transactions: u64,
    /// Such keys.
    pub keys: u64,
    /// Dependencies between transactions: reads of what another one wrote, and writes over what another one read or
    /// wrote.
    pub dependencies: u64,
    /// Versions that say nothing, for the same value came back.
    pub ambiguous: u64,
    /// Anomalies by kind: `lost update`, `G1a`, `G-single`. None is the proof of none.
    pub anomalies: BTreeMap<String, u64>,
    /// The first of each kind, with the transactions in them.
    pub examples: Vec<AnomalyFound>,
    /// Why the history was not checked; empty if it was.
    pub unchecked: String,
}

/// An anomaly.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AnomalyFound {
    /// Its kind.
    pub kind: String,
    /// The key where it was seen, in words; empty for a cycle over several.
    pub key: String,
    /// The version in question: an order number, or a balance in cents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// The transactions in it, in the order of a cycle where it is one.
    pub transactions: Vec<TransactionInIt>,
}

/// A transaction of a history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TransactionInIt {
    /// The session that asked for it.
    pub session: u32,
    /// When it was sent, in seconds since the run's start.
    pub began_s: f64,
    /// When its answer was there.
    pub ended_s: f64,
    /// Whether it was rolled back.
    pub rolled_back: bool,
}

impl HistorySummary {
    /// Anomalies of all kinds.
    pub fn found(&self) -> u64 {
        self.anomalies.values().sum()
    }
}
