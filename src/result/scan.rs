//! What a serial read of a table came to.

use serde::{Deserialize, Serialize};

/// What was done to the caches between the tables and their storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheState {
    /// Whether all of them were emptied: the database's own and the system's.
    pub cold: bool,
    /// What was done, and why not more, in a sentence.
    pub how: String,
}

/// A table that was read from end to end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scanned {
    /// Rows in it.
    pub rows: u64,
    /// Bytes that the table occupies on disk, without its secondary indexes; none where that is not known, or not yet.
    pub bytes: Option<u64>,
    /// Seconds from asking to the last row.
    pub seconds: f64,
}
