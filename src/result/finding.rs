//! A consistency condition that was checked in a database.

use serde::{Deserialize, Serialize};

/// A condition that was checked in the database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// `3.3.2.1` and so on, or a short name for a derived invariant.
    pub id: String,
    /// What must hold.
    pub title: String,
    /// Rows that violate it.
    pub offending: u64,
    /// The first of these rows, each as `column=value` pairs.
    pub examples: Vec<String>,
    /// Seconds that the check took.
    pub seconds: f64,
}

/// A step of a check.
#[derive(Clone, Copy, Debug)]
pub enum CheckStep<'a> {
    /// The condition of this id is going to be checked, which may take long.
    Began(&'a str),
    /// It was.
    Ended(&'a Finding),
}

impl Finding {
    /// Whether the condition holds.
    pub fn held(&self) -> bool {
        self.offending == 0
    }
}
