//! The result of a compatibility test of a server.

use serde::{Deserialize, Serialize};

use super::{Recorded, Via};

/// The result of `graymark doctor`, also printed by `--json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// The version of Graymark.
    pub graymark: String,
    /// The server, without its password.
    pub url: String,
    /// The server's own description; empty if it has none.
    pub server: String,
    /// The dialect of the URL, or the default one.
    pub dialect: String,
    /// Start of the test, RFC 3339, UTC.
    pub started: String,
    /// Warnings about the connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What earlier tests left, and whether it was removed; one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<String>,
    /// The single questions, in order.
    pub probes: Vec<Probe>,
    /// The workloads' tables and transactions, in each dialect that was tried.
    pub trials: Vec<Trial>,
    /// The dialect in which everything required works; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub works_with: Option<String>,
    /// What Graymark created and could not remove, with the reasons.
    pub left: Vec<String>,
    /// Whether the test was stopped early.
    pub interrupted: bool,
}

/// A question to the server, and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Probe {
    /// Its name, such as `types` or `isolation serializable`.
    pub id: String,
    /// The question.
    pub title: String,
    /// The result.
    pub state: Recorded<ProbeState>,
    /// Whether the dialect of the URL requires it.
    pub needed: bool,
    /// The answer, or the server's error.
    pub found: String,
    /// Duration in seconds.
    pub seconds: f64,
}

/// The result of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProbeState {
    /// The server supports it.
    Works,
    /// The server does not support it, or not correctly.
    Missing,
}

/// A trial of a dialect by statements or by procedures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trial {
    /// The dialect.
    pub dialect: String,
    /// How transactions were sent.
    pub via: Recorded<Via>,
    /// Whether this is the dialect's default method, which it requires.
    pub needed: bool,
    /// What was tried.
    pub what: String,
    /// The result.
    pub state: Recorded<ProbeState>,
    /// Figures, or the server's error.
    pub found: String,
    /// Duration in seconds.
    pub seconds: f64,
}

impl Probe {
    /// Whether something is missing that the dialect requires.
    pub fn fails(&self) -> bool {
        self.needed && self.state == ProbeState::Missing
    }
}

impl Diagnosis {
    /// Whether something required is missing in the dialect of the URL, or could not be tested.
    pub fn failed(&self) -> bool {
        let of_dialect = || self.trials.iter().filter(|trial| trial.needed && trial.dialect == self.dialect);
        self.probes.iter().any(Probe::fails)
            || of_dialect().any(|trial| trial.state != ProbeState::Works)
            || (!self.interrupted && of_dialect().next().is_none())
    }
}
