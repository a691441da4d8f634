//! What a serial read of tables came to.

use serde::{Deserialize, Serialize};

use super::Identity;

/// What was done to the caches between the tables and their storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CacheState {
    /// Whether all of them were emptied: the database's own and the system's.
    pub cold: bool,
    /// What was done, and why not more, in a sentence.
    pub how: String,
}

/// A table that was read from end to end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Scanned {
    /// Rows in it.
    pub rows: u64,
    /// Bytes that the table occupies on disk, without its secondary indexes; none where that is not known, or not yet.
    pub bytes: Option<u64>,
    /// Seconds from asking to the last row.
    pub seconds: f64,
}

impl Scanned {
    /// Millions of bytes a second; none where the bytes are not known or nothing was read.
    pub fn mb_per_s(&self) -> Option<f64> {
        let bytes = self.bytes.filter(|bytes| *bytes > 0)? as f64;
        (self.seconds > 0.0).then(|| bytes / 1e6 / self.seconds)
    }
}

/// A serial read of all tables, or of some before it was interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Scan {
    /// `tpcc`, `debitcredit`.
    pub workload: String,
    /// The database.
    pub engine: Identity,
    /// Warehouses, branches.
    pub scale: u32,
    /// What was done to the caches before the first pass.
    pub caches: CacheState,
    /// The first pass, with the caches so, and the second right after it.
    pub passes: Vec<Pass>,
    /// Of TPC-C: the estimated working set of a warehouse in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_set_bytes: Option<u64>,
    /// Why the sizes of the tables are not known, if the database would not tell them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sizes_unknown: String,
    /// Whether it was ended before its time.
    pub interrupted: bool,
}

/// One read of all tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Pass {
    /// `cold`, or `first` where not all caches could be emptied; then `warm`.
    pub name: String,
    /// The tables in the workload's order.
    pub tables: Vec<(String, Scanned)>,
    /// Bytes that the database's processes had read from storage meanwhile, as the system counts them; none where that
    /// cannot be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_read_bytes: Option<f64>,
}

impl Pass {
    /// All tables as one; its bytes are none if those of one table are.
    pub(crate) fn total(&self) -> Scanned {
        let all = || self.tables.iter().map(|(_, table)| table);
        Scanned {
            rows: all().map(|table| table.rows).sum(),
            bytes: all().map(|table| table.bytes).sum(),
            seconds: all().map(|table| table.seconds).sum(),
        }
    }
}
