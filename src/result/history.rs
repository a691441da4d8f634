//! Isolation anomalies in the history of reads and writes of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The checked history and its anomalies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HistorySummary {
    /// The share of keys whose reads and writes were recorded.
    pub share: f64,
    /// Transactions that read or wrote such a key.
    pub transactions: u64,
    /// Number of such keys.
    pub keys: u64,
    /// Dependencies between transactions: reads of another transaction's write, and writes after another transaction's
    /// read or write.
    pub dependencies: u64,
    /// Versions that are ambiguous because the same value occurred again.
    pub ambiguous: u64,
    /// Anomalies by kind: `lost update`, `G1a`, `G-single`. An empty map does not prove that there are none.
    pub anomalies: BTreeMap<String, u64>,
    /// The first anomaly of each kind, with its transactions.
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
    /// The key, in words; empty for a cycle over several keys.
    pub key: String,
    /// The version in question: an order number, or a balance in cents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// Its transactions, in the order of the cycle if it is one.
    pub transactions: Vec<TransactionInIt>,
}

/// A transaction of an anomaly.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TransactionInIt {
    /// The session that sent it.
    pub session: u32,
    /// When it was sent, in seconds since the run's start.
    pub began_s: f64,
    /// When its reply arrived, in seconds since the run's start.
    pub ended_s: f64,
    /// Whether it was rolled back.
    pub rolled_back: bool,
}

impl HistorySummary {
    /// Number of anomalies of all kinds.
    pub fn found(&self) -> u64 {
        self.anomalies.values().copied().fold(0, u64::saturating_add)
    }
}
