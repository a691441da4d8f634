//! Is the number honest: what checks, settings and rules say of a result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Finding, Recorded};

/// Whether a commit waits for the disk, as far as settings tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Durability {
    /// In a word.
    pub class: Recorded<DurabilityClass>,
    /// Why commits may be lost, a reason each.
    pub risks: Vec<String>,
    /// The settings behind it, as the run's sessions have them.
    pub settings: BTreeMap<String, String>,
}

/// What a loss of power may do to commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum DurabilityClass {
    /// Each commit is answered when the disk is said to have it.
    #[serde(rename = "commit waits for the disk")]
    WaitsForTheDisk,
    /// Commits that were answered may be lost, or the database with them.
    #[serde(rename = "may lose commits")]
    MayLoseCommits,
    /// The settings do not tell.
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
    /// Why they were not checked after the run although they should have been; empty if they were.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unchecked: String,
    /// All conditions before the run; empty if not checked.
    pub before: Vec<Finding>,
    /// All conditions after the run; empty if not checked.
    pub after: Vec<Finding>,
}

/// Is the number honest: rules of the standard, one by one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Whether every rule is held: none is broken and none is left untested.
    pub valid: bool,
    /// The rules.
    pub clauses: Vec<Clause>,
    /// Rules of Graymark's own, which no standard has: they do not make a run invalid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<Clause>,
}

/// A rule of the standard and how the run stands to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Clause {
    /// `5.2.5.3`
    pub id: String,
    /// The rule in a few words.
    pub rule: String,
    /// What was measured.
    pub value: String,
    /// What the rule allows.
    pub limit: String,
    /// How they compare.
    pub state: Recorded<State>,
    /// What else the reader should know; may be empty.
    #[serde(default)]
    pub note: String,
    /// Of a rule that is broken or not tested although nothing went wrong: why, such as `no think time was asked for`.
    /// Empty where something went wrong, and in older records.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
}

/// How a run stands to a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum State {
    /// Kept.
    #[serde(rename = "held")]
    Held,
    /// Not kept.
    #[serde(rename = "broken")]
    Broken,
    /// The run cannot tell.
    #[serde(rename = "not tested")]
    NotTested,
}
