//! The verdict on a result: checks, durability and the rules of the standard.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Finding, Recorded};

/// Whether a commit waits for the disk, by the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Durability {
    /// The class of durability.
    pub class: Recorded<DurabilityClass>,
    /// Reasons why commits may be lost.
    pub risks: Vec<String>,
    /// The settings that it is based on, as in the run's sessions.
    pub settings: BTreeMap<String, String>,
    /// Settings that changed during the run, each with its values before and after: `fsync from on to off`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Why the settings could not be read again after the run, so that they are known only from before it; empty if
    /// they could.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unread: String,
}

impl Durability {
    /// What the class does not say: settings that changed during the run, or were read only before it.
    pub fn reservation(&self) -> Option<String> {
        let changed =
            (!self.changed.is_empty()).then(|| format!("changed during the run: {}", self.changed.join(", ")));
        let unread = || {
            let why = &self.unread;
            (!why.is_empty()).then(|| format!("its settings were read only before the run: {why}"))
        };
        changed.or_else(unread)
    }
}

/// Whether commits survive a loss of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum DurabilityClass {
    /// Each commit is acknowledged after the disk has reported it as written.
    #[serde(rename = "commit waits for the disk")]
    WaitsForTheDisk,
    /// Acknowledged commits may be lost, or the whole database.
    #[serde(rename = "may lose commits")]
    MayLoseCommits,
    /// Unknown from the settings.
    #[default]
    #[serde(rename = "not known")]
    NotKnown,
}

/// The checks before and after the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Consistency {
    /// Conditions that held, after the run.
    pub held: u32,
    /// Ids of conditions that failed, before or after.
    pub failed: Vec<String>,
    /// Why they were not checked after the run although requested; empty if they were.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unchecked: String,
    /// All findings before the run; empty if not checked.
    pub before: Vec<Finding>,
    /// All findings after the run; empty if not checked.
    pub after: Vec<Finding>,
}

impl Consistency {
    /// The ids of failed conditions. Lost commits are a finding of the same checks, but no condition.
    pub fn conditions(&self) -> impl Iterator<Item = &str> {
        self.failed.iter().map(String::as_str).filter(|id| *id != Finding::ACKNOWLEDGED)
    }

    /// Whether commits were looked up and are lost.
    pub fn lost_commits(&self) -> bool {
        self.failed.iter().any(|id| id == Finding::ACKNOWLEDGED)
    }
}

/// The verdict: the rules of the standard, clause by clause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Whether every rule held: none is broken and none is not tested.
    pub valid: bool,
    /// The rules.
    pub clauses: Vec<Clause>,
    /// Graymark's own rules, which are not in the standard: they do not make a run invalid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<Clause>,
}

/// A rule of the standard and the run's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Clause {
    /// `5.2.5.3`
    pub id: String,
    /// The rule, in a few words.
    pub rule: String,
    /// The measured value.
    pub value: String,
    /// The allowed value.
    pub limit: String,
    /// Whether the rule held.
    pub state: Recorded<State>,
    /// Further information; may be empty.
    #[serde(default)]
    pub note: String,
    /// Why the rule is broken or not tested although nothing went wrong, such as `no think time was requested`. Empty
    /// if something went wrong, and in older records.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
}

/// The result of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum State {
    /// The run meets the rule.
    #[serde(rename = "held")]
    Held,
    /// The run does not meet the rule.
    #[serde(rename = "broken")]
    Broken,
    /// The run cannot show it.
    #[serde(rename = "not tested")]
    NotTested,
}
