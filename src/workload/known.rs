//! The workloads that this program knows, by the names that records have of them.

use super::about::About;
use super::{debitcredit, tpcc};

/// All workloads.
static ALL: [&About; 2] = [&tpcc::ABOUT, &debitcredit::ABOUT];

/// The names of all workloads.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|about| about.name)
}

/// The workload of a name; none if this program does not know it.
pub fn find(name: &str) -> Option<&'static About> {
    ALL.iter().copied().find(|about| about.name == name)
}

/// The same; of a workload that a later version knows, what is told of TPC-C.
pub fn of(name: &str) -> &'static About {
    find(name).unwrap_or(&tpcc::ABOUT)
}
