//! The nodes of a cluster in a run, and the checks of its standbys afterwards.

use serde::{Deserialize, Serialize};

/// Transactions of a type, by the nodes of their rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ByNodes {
    /// Transactions whose nodes are known.
    pub known: u64,
    /// Transactions with rows on more than one node.
    pub several: u64,
}

/// A node of a cluster that Graymark started, or a standby of a server that it did not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NodeSummary {
    /// `node 1`, or the server's name for the standby.
    pub node: String,
    /// `primary`, `standby` or `down` at the start of the run.
    pub role_begin: String,
    /// The same at its end.
    pub role_end: String,
    /// Replication lag; `None` if it was never seen to follow a primary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<NodeLag>,
    /// The check after the run; `None` if it was not checked, like a primary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<NodeCheck>,
}

/// Replication lag of a standby over a whole run, sampled about once a second at the primary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NodeLag {
    /// Number of samples while it followed.
    pub looks: u64,
    /// Mean of the bytes of the log that it had not replayed.
    pub bytes_mean: f64,
    /// Maximum.
    pub bytes_max: u64,
    /// Last sample.
    pub bytes_last: u64,
    /// Mean seconds from a commit at the primary to its replay, as measured by the primary; `None` if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_mean: Option<f64>,
    /// Maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_max: Option<f64>,
}

/// The check of a standby after a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NodeCheck {
    /// Why it could not be queried; empty if it could.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unasked: String,
    /// Seconds until it had replayed all of the primary's log.
    pub caught_up_s: f64,
    /// Bytes of the log that were not replayed when the time limit was reached.
    pub behind_bytes: u64,
    /// Consistency conditions that held.
    pub held: u32,
    /// Ids of conditions that failed.
    pub failed: Vec<String>,
    /// Whether it has the same counts of effects as the primary.
    pub counts_agree: bool,
}

impl NodeCheck {
    /// What is wrong with it, in words; `None` if nothing.
    pub fn fault(&self) -> Option<String> {
        if !self.unasked.is_empty() {
            return Some(format!("could not be queried: {}", self.unasked));
        }
        if self.behind_bytes > 0 {
            return Some(format!("did not catch up: {} bytes of the log are missing", self.behind_bytes));
        }
        if !self.failed.is_empty() {
            return Some(format!("conditions that failed: {}", self.failed.join(", ")));
        }
        (!self.counts_agree).then(|| "its counts differ from the primary's".to_owned())
    }
}

/// Replication lag of a standby.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StandbyLag {
    /// The standby.
    pub node: String,
    /// Bytes of the log that it has not replayed.
    pub bytes: u64,
    /// Seconds from a commit at the primary to its replay; `None` if nothing was written recently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}
