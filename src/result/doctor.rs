//! What an examination of a server comes to.

use serde::{Deserialize, Serialize};

use super::{Recorded, Via};

/// What `graymark doctor` found, also printed by `--json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// The version of Graymark.
    pub graymark: String,
    /// The server, without its password.
    pub url: String,
    /// What the server says of itself; empty if it says nothing.
    pub server: String,
    /// The dialect that the URL asks for, or the usual one.
    pub dialect: String,
    /// When the examination began, RFC 3339, UTC.
    pub started: String,
    /// What the user should know of how the server was reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What earlier examinations left, and whether it was removed; a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<String>,
    /// The single questions, in their order.
    pub probes: Vec<Probe>,
    /// The workloads' tables and transactions, in each dialect that was tried.
    pub trials: Vec<Trial>,
    /// The dialect in which everything needed works; none if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub works_with: Option<String>,
    /// What Graymark made and could not remove, each with the reason.
    pub left: Vec<String>,
    /// Whether someone asked to stop before the end.
    pub interrupted: bool,
}

/// A question to the server, and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Probe {
    /// Its name, such as `types` or `isolation serializable`.
    pub id: String,
    /// What was asked.
    pub title: String,
    /// What came of it.
    pub state: Recorded<ProbeState>,
    /// Whether the dialect of the URL cannot do without.
    pub needed: bool,
    /// What was seen, or what the server says against it.
    pub found: String,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProbeState {
    /// The server does it.
    Works,
    /// It does not, or not as it should.
    Missing,
}

/// A trial of a dialect in one way of speaking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trial {
    /// The dialect.
    pub dialect: String,
    /// How transactions were spoken.
    pub via: Recorded<Via>,
    /// Whether this is the dialect's usual way, which it cannot do without.
    pub needed: bool,
    /// What was tried.
    pub what: String,
    /// What came of it.
    pub state: Recorded<ProbeState>,
    /// Figures, or what the server says against it.
    pub found: String,
    /// How long it took, in seconds.
    pub seconds: f64,
}

impl Probe {
    /// Whether something is missing that the dialect needs.
    pub fn fails(&self) -> bool {
        self.needed && self.state == ProbeState::Missing
    }
}

impl Diagnosis {
    /// Whether something needed is missing in the dialect of the URL, or was not found out.
    pub fn failed(&self) -> bool {
        let of_dialect = || self.trials.iter().filter(|trial| trial.needed && trial.dialect == self.dialect);
        self.probes.iter().any(Probe::fails)
            || of_dialect().any(|trial| trial.state != ProbeState::Works)
            || (!self.interrupted && of_dialect().next().is_none())
    }
}
