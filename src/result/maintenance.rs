//! Maintenance that a run requests from the database.

use serde::{Deserialize, Serialize};

use super::Recorded;

/// A maintenance request of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Maintenance {
    /// Kind of maintenance.
    pub kind: Recorded<MaintenanceKind>,
    /// Time of the request, in seconds since the run's start; negative before it.
    pub start_s: f64,
    /// Duration in seconds.
    pub seconds: f64,
    /// The work, in the engine's terms: buffers or pages written.
    pub work: String,
    /// For a warm-up: rows read.
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
