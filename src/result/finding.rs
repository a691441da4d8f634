//! The result of checking a consistency condition.

use serde::{Deserialize, Serialize};

/// The result of checking a condition in the database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// `3.3.2.1` and so on, or a short name for a derived invariant.
    pub id: String,
    /// The condition.
    pub title: String,
    /// Number of rows that violate it.
    pub offending: u64,
    /// The first of these rows, each as `column=value` pairs.
    pub examples: Vec<String>,
    /// Duration of the check in seconds.
    pub seconds: f64,
}

/// A step of a check.
#[derive(Clone, Copy, Debug)]
pub enum CheckStep<'a> {
    /// A check of this number of conditions begins.
    Conditions(usize),
    /// The check of the condition with this id begins; it may take long.
    Began(&'a str),
    /// The check has ended.
    Ended(&'a Finding),
}

impl Finding {
    /// The id of the finding on commits that were acknowledged in the second before a lost connection. It is no
    /// condition: if it fails, commits are lost, and the database may be consistent.
    pub const ACKNOWLEDGED: &'static str = "acknowledged";

    /// Whether the condition holds.
    pub fn held(&self) -> bool {
        self.offending == 0
    }
}
