//! What happened in a warm-up by the load itself (`--steady`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::outcomes::Outcomes;

/// The transactions of a warm-up by the load itself. They are in no figure of the run, but what failed is told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WarmUp {
    /// By transaction type: outcomes of all requested transactions.
    pub outcomes: BTreeMap<String, Outcomes>,
    /// Errors by the database's message; the most frequent ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Connections lost.
    pub lost: u64,
    /// Seconds in which no session had a connection.
    pub outage_s: f64,
}
