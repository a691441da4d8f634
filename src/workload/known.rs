//! The workloads that this program knows.

use super::Workload;
use super::about::About;

/// Hands the list of workloads to another macro. This is the only one: a workload is a line here. The first is the
/// usual one.
macro_rules! workloads {
    ($then:ident) => {
        $then! {
            Tpcc = $crate::workload::tpcc::Tpcc,
            DebitCredit = $crate::workload::debitcredit::DebitCredit,
            #[cfg(test)]
            Counter = $crate::workload::counter::Counter,
        }
    };
}
pub(crate) use workloads;

/// What is told of each.
macro_rules! list {
    ($($(#[$of:meta])* $name:ident = $workload:ty,)*) => {
        /// All workloads.
        static ALL: &[&About] = &[$($(#[$of])* <$workload>::ABOUT),*];
    };
}
workloads!(list);

/// All workloads.
pub fn all() -> &'static [&'static About] {
    ALL
}

/// The workload of a name; none if this program does not know it.
pub fn find(name: &str) -> Option<&'static About> {
    ALL.iter().copied().find(|about| about.name == name)
}

/// The same; of a workload that a later version knows, what is told of the first.
pub fn of(name: &str) -> &'static About {
    find(name).unwrap_or(ALL[0])
}
