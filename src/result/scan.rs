//! The result of a serial read of tables.

use serde::{Deserialize, Serialize};

use super::Identity;

/// The state of the caches between the tables and their storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CacheState {
    /// Whether all of them were emptied: the database's and the system's.
    pub cold: bool,
    /// What was emptied, and why not more, in a sentence.
    pub how: String,
}

/// A table that was read completely.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Scanned {
    /// Rows in it.
    pub rows: u64,
    /// Size of the table on disk, without its secondary indexes; `None` if unknown, or not known yet.
    pub bytes: Option<u64>,
    /// Seconds from the request to the last row.
    pub seconds: f64,
}

impl Scanned {
    /// Megabytes per second; `None` if the size is unknown or nothing was read.
    pub fn mb_per_s(&self) -> Option<f64> {
        let bytes = self.bytes.filter(|bytes| *bytes > 0)? as f64;
        (self.seconds > 0.0).then(|| bytes / 1e6 / self.seconds)
    }
}

/// A serial read of all tables, or of some if it was interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Scan {
    /// `tpcc`, `debitcredit`.
    pub workload: String,
    /// The database.
    pub engine: Identity,
    /// Number of warehouses or branches.
    pub scale: u32,
    /// The state of the caches before the first pass.
    pub caches: CacheState,
    /// The first pass, with the caches in this state, and the second right after it.
    pub passes: Vec<Pass>,
    /// For TPC-C: the estimated working set of a warehouse in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_set_bytes: Option<u64>,
    /// Why the sizes of the tables are unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sizes_unknown: String,
    /// Whether it was stopped early.
    pub interrupted: bool,
}

/// One read of all tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Pass {
    /// `cold`, or `first` if not all caches could be emptied; then `warm`.
    pub name: String,
    /// The tables in the workload's order.
    pub tables: Vec<(String, Scanned)>,
    /// Bytes that the database's processes read from storage, as counted by the system; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_read_bytes: Option<f64>,
}

impl Pass {
    /// The sum of all tables; its size is `None` if one table's is.
    pub(crate) fn total(&self) -> Scanned {
        let all = || self.tables.iter().map(|(_, table)| table);
        Scanned {
            rows: all().map(|table| table.rows).fold(0, u64::saturating_add),
            bytes: all().try_fold(0u64, |sum, table| Some(sum.saturating_add(table.bytes?))),
            seconds: all().fold(0.0, |sum, table| sum + table.seconds),
        }
    }
}
