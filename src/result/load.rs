//! The results of a load or a restore, and their progress.

use serde::{Deserialize, Serialize};

use super::finding::Finding;

/// Progress of a load or restore. The rows of an earlier, interrupted load are reported first, as one step.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadStep {
    /// A phase has begun: `schema`, `rows`, `keys`, `foreign keys`, `procedures`, `statistics`, `verify`; in a restore,
    /// a statement of its script, or what follows it.
    Phase(&'static str),
    /// The database has accepted rows that are not reported as committed yet.
    Sent,
    /// Rows and bytes committed since the last step of this kind; in a restore, rows that are back in their initial
    /// state.
    Rows {
        /// Rows committed.
        rows: u64,
        /// Bytes sent to the database for them.
        bytes: u64,
        /// Whether an earlier load had inserted them.
        resumed: bool,
    },
}

/// The result of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LoadReport {
    /// Seconds from the first statement to the last.
    pub seconds: f64,
    /// Seconds of each phase, in order.
    pub phases: Vec<(String, f64)>,
    /// Rows in the database by table, counted there at the end.
    pub tables: Vec<(String, u64)>,
    /// Rows inserted by this load.
    pub rows: u64,
    /// Rows that an earlier, interrupted load had inserted.
    pub resumed_rows: u64,
    /// Bytes of rows sent to the database.
    pub bytes: u64,
    /// Size of the database on disk after the load, with its indexes; `None` if unknown.
    pub database_bytes: Option<u64>,
}

/// The result of a restore.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RestoreReport {
    /// Seconds from the first statement to the last.
    pub seconds: f64,
    /// Seconds of each phase, in order: `undo`, then maintenance so that the next run starts like the first, then
    /// `verify`.
    pub phases: Vec<(String, f64)>,
    /// Rows that were deleted, updated or inserted to undo changes, by table, in the workload's order of tables. All
    /// are 0 if there was nothing to undo.
    pub undone: Vec<(String, u64)>,
    /// Rows whose columns were all compared with the seed.
    #[serde(default)]
    pub compared: u64,
    /// The verification afterwards: row counts of all tables, and conditions on every row of the initial population.
    pub findings: Vec<Finding>,
}

impl RestoreReport {
    /// Rows that were deleted, updated or inserted.
    pub fn rows(&self) -> u64 {
        self.undone.iter().map(|(_, rows)| *rows).fold(0, u64::saturating_add)
    }

    /// Whether the verification held. If not, the database is not in its initial state.
    pub fn held(&self) -> bool {
        self.findings.iter().all(Finding::held)
    }
}
