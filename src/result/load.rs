//! What a load or a restore came to, and its steps while it goes on.

use serde::{Deserialize, Serialize};

use super::finding::Finding;

/// A step of a load or restore, told while it goes on. The rows of an earlier, interrupted load are told first, as one
/// step.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadStep {
    /// A phase has begun: `schema`, `rows`, `keys`, `foreign keys`, `procedures`, `statistics`, `verify`; in a restore,
    /// a statement of its script, or what follows it.
    Phase(&'static str),
    /// So many rows and bytes are committed since the last step of this kind; in a restore, so many rows are as they
    /// were loaded.
    Rows {
        /// Rows committed.
        rows: u64,
        /// Bytes handed to the database for them.
        bytes: u64,
        /// Whether an earlier load had brought them.
        resumed: bool,
    },
}

/// What a load came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LoadReport {
    /// Seconds from the first statement to the last.
    pub seconds: f64,
    /// Seconds of each phase, in order.
    pub phases: Vec<(String, f64)>,
    /// Rows in the database by table, counted there at the end.
    pub tables: Vec<(String, u64)>,
    /// Rows that this load brought.
    pub rows: u64,
    /// Rows that an earlier, interrupted load had brought.
    pub resumed_rows: u64,
    /// Bytes of rows handed to the database.
    pub bytes: u64,
    /// Bytes that the database occupies on disk after the load, with its indexes; none where it cannot be known.
    pub database_bytes: Option<u64>,
}

/// What a restore came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RestoreReport {
    /// Seconds from the first statement to the last.
    pub seconds: f64,
    /// Seconds of each phase, in order: `undo`, then what the engine needs to make the next run as the first, then
    /// `verify`.
    pub phases: Vec<(String, f64)>,
    /// Rows that were deleted, changed back or put back, by table, in the workload's order of tables. All are 0 if
    /// nothing was to be undone.
    pub undone: Vec<(String, u64)>,
    /// Rows of which every column was compared with the seed.
    #[serde(default)]
    pub compared: u64,
    /// What was verified afterwards: the rows of each table counted, and what every row of the initial population must
    /// show.
    pub findings: Vec<Finding>,
}

impl RestoreReport {
    /// Rows that were deleted, changed back or put back.
    pub fn rows(&self) -> u64 {
        self.undone.iter().map(|(_, rows)| rows).sum()
    }

    /// Whether everything that was verified held. If not, the database is not as it was loaded.
    pub fn held(&self) -> bool {
        self.findings.iter().all(Finding::held)
    }
}
