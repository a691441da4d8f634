//! The list of workloads.

use super::Workload;
use super::about::About;

/// Passes the list of workloads to another macro. A workload is one line here, and the first is the default.
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

/// The descriptions of all workloads.
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

/// The description of a workload; `None` if the name is unknown.
pub fn find(name: &str) -> Option<&'static About> {
    ALL.iter().copied().find(|about| about.name == name)
}

/// The same; for a workload of a later version, the description of the first.
pub fn of(name: &str) -> &'static About {
    find(name).unwrap_or(ALL[0])
}
