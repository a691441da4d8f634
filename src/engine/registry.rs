//! The workloads and the engines there are: a workload by its name, an engine by the scheme of a URL.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use super::dialect::{Dialect, Wire};
use super::guard::guarded;
use super::simulated::{self, Simulated};
use super::sql::SqlWorkload;
use super::wire::mysql::Mysql;
#[cfg(feature = "odbc")]
use super::wire::odbc::Odbc;
use super::wire::postgres::Postgres;
use super::wire::sqlite::{self, Sqlite};
#[cfg(feature = "odbc")]
use super::wire::virtuoso::Virtuoso;
use super::{ConnectOptions, Engine, Error};
use crate::workload::Workload;
use crate::workload::debitcredit::DebitCredit;
use crate::workload::tpcc::Tpcc;

/// The workloads there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkloadName {
    /// TPC-C
    #[default]
    Tpcc,
    /// DebitCredit as Gray and Levine ran it, and as TPC-A and TPC-B
    #[value(name = "debitcredit")]
    DebitCredit,
}

/// Does something with a workload of any kind.
pub trait WorkloadVisitor {
    /// What comes of it.
    type Output;
    /// Does it.
    fn visit<W: Ported>(self) -> Self::Output;
}

impl WorkloadName {
    /// Hands the workload of this name to `visitor`.
    pub fn visit<V: WorkloadVisitor>(self, visitor: V) -> V::Output {
        match self {
            WorkloadName::Tpcc => visitor.visit::<Tpcc>(),
            WorkloadName::DebitCredit => visitor.visit::<DebitCredit>(),
        }
    }
}

/// A workload that every engine can run, as far as its SQL is there.
pub trait Ported: SqlWorkload + simulated::Simulate {}

impl<W: SqlWorkload + simulated::Simulate> Ported for W {}

/// Does something with an engine of any kind.
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// Does it. `runtime` serves for everything that is not driving load.
    fn visit<W: Workload, E: Engine<W>>(self, runtime: &Runtime, engine: Arc<E>) -> Result<Self::Output, Error>;
}

/// Opens the database that the URL names for a workload, and hands it to `visitor`.
pub fn open<V: Visitor>(
    runtime: &Runtime,
    workload: WorkloadName,
    options: ConnectOptions,
    visitor: V,
) -> Result<V::Output, Error> {
    workload.visit(Open { runtime, options, visitor })
}

struct Open<'a, V> {
    runtime: &'a Runtime,
    options: ConnectOptions,
    visitor: V,
}

impl<V: Visitor> WorkloadVisitor for Open<'_, V> {
    type Output = Result<V::Output, Error>;

    fn visit<W: Ported>(self) -> Self::Output {
        let Open { runtime, options, visitor } = self;
        let scheme = options.url.scheme().to_owned();
        tracing::info!(workload = W::NAME, url = %options.url, "opening the database");
        match scheme.as_str() {
            "sqlite" => {
                let options = sqlite::SqliteOptions::parse(options.url.reveal())?;
                visitor.visit::<W, _>(runtime, Arc::new(Sqlite::open(options)?))
            }
            "postgres" | "postgresql" => {
                visitor.visit::<W, _>(runtime, Arc::new(runtime.block_on(guarded(Postgres::open(options)))?))
            }
            "mysql" | "mariadb" => {
                visitor.visit::<W, _>(runtime, Arc::new(runtime.block_on(guarded(Mysql::open(options)))?))
            }
            #[cfg(feature = "odbc")]
            "odbc" => visitor.visit::<W, _>(runtime, Arc::new(Odbc::open(options)?)),
            "virtuoso" if !runs::<W>(Wire::Virtuoso) => Err(Error::Usage(format!(
                "{} does not run on Virtuoso: give another --db, or the workload tpcc",
                W::NAME
            ))),
            #[cfg(feature = "odbc")]
            "virtuoso" => visitor.visit::<W, _>(runtime, Arc::new(Virtuoso::open(options)?)),
            #[cfg(not(feature = "odbc"))]
            "odbc" => Err(Error::Usage(
                "this build has no ODBC: build it with cargo build --release --features odbc".to_owned(),
            )),
            #[cfg(not(feature = "odbc"))]
            "virtuoso" => Err(Error::Usage(
                "this build has no ODBC, which Virtuoso needs: build Graymark with `cargo build --release --features odbc`"
                    .to_owned(),
            )),
            "simulated" => visitor.visit::<W, _>(runtime, Arc::new(Simulated::open(options)?)),
            _ => {
                let what = match scheme.as_str() {
                    "" => "the database URL has no scheme".to_owned(),
                    _ => format!("no engine for `{}`", options.url),
                };
                Err(Error::Usage(format!(
                    "{what}; give --db sqlite:FILE, postgres://USER@HOST/DATABASE, postgres:local, mysql://USER@HOST/DATABASE, \
                     mysql:local, virtuoso:local or simulated:service=5ms"
                )))
            }
        }
    }
}

/// Whether a workload runs in the usual dialect of a wire.
fn runs<W: Workload>(wire: Wire) -> bool {
    Dialect::choose(wire, None).is_ok_and(|dialect| dialect.runs(W::NAME))
}
