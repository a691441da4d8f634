//! What the nodes of a cluster did in a run, and what its standbys say afterwards.

use serde::{Deserialize, Serialize};

/// A node of a cluster that Graymark started, or a standby of a server that it did not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NodeSummary {
    /// `node 1`, or what the server calls the standby.
    pub node: String,
    /// `primary`, `standby` or `down` when the run began.
    pub role_begin: String,
    /// The same when it ended.
    pub role_end: String,
    /// How far it was behind the primary; none if it was never seen to follow one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<NodeLag>,
    /// What it said after the run; none if it was not asked, as a primary is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<NodeCheck>,
}

/// How far a standby was behind over a whole run, as the primary told about once a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NodeLag {
    /// How often it was looked at while it followed.
    pub looks: u64,
    /// Bytes of the log that it had not replayed: the mean.
    pub bytes_mean: f64,
    /// The most.
    pub bytes_max: u64,
    /// At the last look.
    pub bytes_last: u64,
    /// Seconds from a commit at the primary to its replay, as the primary measured them: the mean; none if it measured
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_mean: Option<f64>,
    /// The most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_max: Option<f64>,
}

/// What a standby said after a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NodeCheck {
    /// Why it could not be asked; empty if it could.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unasked: String,
    /// Seconds that it took to replay all that the primary had written.
    pub caught_up_s: f64,
    /// Bytes of the log that it still had to replay when it was waited for no longer.
    pub behind_bytes: u64,
    /// Consistency conditions that held.
    pub held: u32,
    /// Those that did not.
    pub failed: Vec<String>,
    /// Whether it counts the effects of transactions as the primary does.
    pub counts_agree: bool,
}

impl NodeCheck {
    /// What is wrong with it, in words; none if nothing is.
    pub fn fault(&self) -> Option<String> {
        if !self.unasked.is_empty() {
            return Some(format!("could not be asked: {}", self.unasked));
        }
        if self.behind_bytes > 0 {
            return Some(format!("did not catch up: {} bytes of the log are missing", self.behind_bytes));
        }
        if !self.failed.is_empty() {
            return Some(format!("conditions that do not hold: {}", self.failed.join(", ")));
        }
        (!self.counts_agree).then(|| "counts otherwise than the primary".to_owned())
    }
}

/// How far a standby is behind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StandbyLag {
    /// The standby.
    pub node: String,
    /// Bytes of the log that it has not replayed.
    pub bytes: u64,
    /// Seconds from a commit at the primary to its replay; none if nothing was written of late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}
