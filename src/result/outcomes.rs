//! How the transactions of a type ended.

use serde::{Deserialize, Serialize};

/// The outcomes of the transactions of a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Outcomes {
    /// Committed, or rolled back as the standard requires.
    pub completed: u64,
    /// Failed after all retries.
    pub failed: u64,
    /// Unknown, because the connection was lost during the commit or the transaction was given up.
    pub unknown: u64,
    /// Of `unknown`: no response by the end of the run, which waits `--timeout` after the interval. They count as
    /// failed; 0 if the run was stopped, which waits for less.
    #[serde(default)]
    pub given_up: u64,
    /// Number of `completed` that ended within the measurement interval; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_interval: Option<u64>,
    /// Transactions in progress when the measurement interval ended. The response times include only those of which
    /// the outcome is unknown.
    #[serde(default)]
    pub open_at_end: u64,
    /// The longest wait of these within the measurement interval, in seconds.
    #[serde(default)]
    pub longest_open_s: f64,
}

impl Outcomes {
    /// All requested transactions.
    pub fn asked(&self) -> u64 {
        self.completed.saturating_add(self.failed).saturating_add(self.unknown)
    }

    /// Transactions that failed or were given up.
    pub fn all_failed(&self) -> u64 {
        self.failed.saturating_add(self.given_up)
    }

    /// The share that failed or was given up, from 0 to 1.
    pub fn failed_share(&self) -> f64 {
        if self.asked() > 0 { self.all_failed() as f64 / self.asked() as f64 } else { 0.0 }
    }
}
