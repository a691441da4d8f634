//! What a transaction read and wrote of keys whose versions its user can tell: order numbers and balances.

use arrayvec::ArrayVec;

/// The most accesses of a transaction.
pub const MOST_ACCESSES: usize = 12;

/// What a transaction did with keys, in its order.
pub type Accesses = ArrayVec<Access, MOST_ACCESSES>;

/// How the versions of a key follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versions {
    /// In the order of their numbers, each of which is written once.
    Counter,
    /// As they were read and then written. A value can come back.
    Value {
        /// Whether all that transactions write to the key can be told.
        whole: bool,
    },
}

/// What a transaction did with a key: it read a version, wrote one, or wrote what followed from what it read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The key: a number of the workload's.
    pub key: u64,
    /// The version that it read.
    pub read: Option<i64>,
    /// The version that it wrote.
    pub wrote: Option<i64>,
}

impl Access {
    /// It read a version, and wrote one.
    pub fn update(key: u64, read: i64, wrote: i64) -> Access {
        Access { key, read: Some(read), wrote: Some(wrote) }
    }

    /// It read a version.
    pub fn read(key: u64, version: i64) -> Access {
        Access { key, read: Some(version), wrote: None }
    }

    /// It wrote a version.
    pub fn write(key: u64, version: i64) -> Access {
        Access { key, read: None, wrote: Some(version) }
    }
}
