//! Virtuoso over its ODBC driver: one that is there, or a private one that Graymark starts. Transactions are procedures
//! in its own language.

#[cfg(feature = "odbc")]
mod catalog;
#[cfg(feature = "odbc")]
mod check;
#[cfg(feature = "odbc")]
mod database;
#[cfg(feature = "odbc")]
mod load;
#[cfg(feature = "odbc")]
pub mod local;
#[cfg(feature = "odbc")]
mod maintain;
#[cfg(feature = "odbc")]
mod observe;
#[cfg(feature = "odbc")]
mod target;
#[cfg(feature = "odbc")]
mod tpcc;

use tokio::runtime::Runtime;

#[cfg(feature = "odbc")]
pub use database::Virtuoso;
#[cfg(feature = "odbc")]
pub use target::Target;

use super::registry::Visitor;
use super::{Error, Options};
use crate::workload::Workload;
use crate::workload::debitcredit::DebitCredit;
use crate::workload::tpcc::Tpcc;

/// What a workload brings to run on Virtuoso.
pub trait Port: Workload {
    /// Opens the database for it and hands it to `visitor`.
    ///
    /// # Errors
    /// If the database cannot be opened, or the workload does not run on it.
    fn open<V: Visitor>(runtime: &Runtime, options: Options, visitor: V) -> Result<V::Output, Error>;
}

impl Port for Tpcc {
    #[cfg(feature = "odbc")]
    fn open<V: Visitor>(runtime: &Runtime, options: Options, visitor: V) -> Result<V::Output, Error> {
        visitor.visit::<Tpcc, _>(runtime, std::sync::Arc::new(Virtuoso::open(options)?))
    }

    #[cfg(not(feature = "odbc"))]
    fn open<V: Visitor>(_: &Runtime, _: Options, _: V) -> Result<V::Output, Error> {
        Err(Error::Usage(
            "this build has no ODBC, which Virtuoso needs: build Graymark with `cargo build --release --features odbc`"
                .to_owned(),
        ))
    }
}

impl Port for DebitCredit {
    fn open<V: Visitor>(_: &Runtime, _: Options, _: V) -> Result<V::Output, Error> {
        Err(Error::Usage("debitcredit does not run on Virtuoso: give another --db, or the workload tpcc".to_owned()))
    }
}
