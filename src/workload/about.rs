//! What is told of workloads, by the names that records have of them.

use super::{debitcredit, tpcc};

/// What is told of a workload.
#[derive(Debug)]
pub struct About {
    /// Its name in records: [`super::Workload::NAME`].
    pub name: &'static str,
    /// Its name among people.
    pub title: &'static str,
    /// What the scale counts, one and many.
    pub unit: (&'static str, &'static str),
    /// The most that the keying and think times allow, which the efficiency is a share of.
    pub most: fn() -> String,
    /// Whether its inputs are accounts that money is moved on, not orders of a menu of transactions.
    pub accounts: bool,
}

/// All workloads.
static ALL: [&About; 2] = [&tpcc::ABOUT, &debitcredit::ABOUT];

/// The workload of a name; none if this program does not know it.
pub fn known(name: &str) -> Option<&'static About> {
    ALL.iter().copied().find(|about| about.name == name)
}

/// The same; of a workload that a later version knows, what is told of TPC-C.
pub fn of(name: &str) -> &'static About {
    known(name).unwrap_or(&tpcc::ABOUT)
}
