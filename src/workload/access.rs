//! Reads and writes of keys whose versions the user can identify: order numbers and balances.

use arrayvec::ArrayVec;

/// The maximum number of accesses of a transaction.
pub const MOST_ACCESSES: usize = 12;

/// The accesses of a transaction, in order.
pub type Accesses = ArrayVec<Access, MOST_ACCESSES>;

/// The order of a key's versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versions {
    /// By their numbers, each of which is written once.
    Counter,
    /// By reading one and then writing the next. A value can recur.
    Value {
        /// Whether all writes of the key are visible to users.
        whole: bool,
    },
}

/// An access to a key: a read of a version, a write, or a write that depends on a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The key: a number chosen by the workload.
    pub key: u64,
    /// The version that was read.
    pub read: Option<i64>,
    /// The version that was written.
    pub wrote: Option<i64>,
}

impl Access {
    /// A read of a version and a write of the next.
    pub fn update(key: u64, read: i64, wrote: i64) -> Access {
        Access { key, read: Some(read), wrote: Some(wrote) }
    }

    /// A read.
    pub fn read(key: u64, version: i64) -> Access {
        Access { key, read: Some(version), wrote: None }
    }

    /// A write.
    pub fn write(key: u64, version: i64) -> Access {
        Access { key, read: None, wrote: Some(version) }
    }
}
