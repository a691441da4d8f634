//! Work of the database that a run asks for beside its transactions.

use serde::{Deserialize, Serialize};

use super::Recorded;

/// Work of the database that Graymark asked for in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Maintenance {
    /// What kind.
    pub kind: Recorded<MaintenanceKind>,
    /// When it was asked for, in seconds since the run's start; negative before it.
    pub start_s: f64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What was done, in the engine's terms: buffers or pages written.
    pub work: String,
    /// Of a warm-up: rows that were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

/// Kinds of [`Maintenance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MaintenanceKind {
    /// Clause 5.5.2.2.
    Checkpoint,
    /// Removing dead row versions.
    Vacuum,
    /// Reading the tables before the run.
    WarmUp,
}
