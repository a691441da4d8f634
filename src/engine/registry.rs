//! The workloads and the engines there are: a workload by its name, an engine by the scheme of a URL.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use super::guard::guarded;
use super::mysql::{self, Mysql};
#[cfg(feature = "odbc")]
use super::odbc::{self, Odbc};
use super::postgres::{self, Postgres};
use super::simulated::{self, Simulated};
use super::sqlite::{self, Sqlite};
use super::virtuoso;
use super::{Engine, Error, Options};
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

/// A workload that every engine can run.
pub trait Ported:
    sqlite::Port + postgres::Port + mysql::Port + simulated::Port + virtuoso::Port + PortedToOdbc
{
}

impl<W: sqlite::Port + postgres::Port + mysql::Port + simulated::Port + virtuoso::Port + PortedToOdbc> Ported for W {}

/// A workload that runs over ODBC.
#[cfg(feature = "odbc")]
pub trait PortedToOdbc: odbc::Port {}

#[cfg(feature = "odbc")]
impl<W: odbc::Port> PortedToOdbc for W {}

/// Any workload: this build has no ODBC.
#[cfg(not(feature = "odbc"))]
pub trait PortedToOdbc {}

#[cfg(not(feature = "odbc"))]
impl<W> PortedToOdbc for W {}

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
    options: Options,
    visitor: V,
) -> Result<V::Output, Error> {
    workload.visit(Open { runtime, options, visitor })
}

struct Open<'a, V> {
    runtime: &'a Runtime,
    options: Options,
    visitor: V,
}

impl<V: Visitor> WorkloadVisitor for Open<'_, V> {
    type Output = Result<V::Output, Error>;

    fn visit<W: Ported>(self) -> Self::Output {
        let Open { runtime, options, visitor } = self;
        let scheme = options.url.scheme().to_owned();
        match scheme.as_str() {
            "sqlite" => {
                visitor.visit::<W, _>(runtime, Arc::new(Sqlite::open(sqlite::Options::parse(options.url.reveal())?)?))
            }
            "postgres" | "postgresql" => {
                visitor.visit::<W, _>(runtime, Arc::new(runtime.block_on(guarded(Postgres::open(options)))?))
            }
            "mysql" | "mariadb" => {
                visitor.visit::<W, _>(runtime, Arc::new(runtime.block_on(guarded(Mysql::open(options)))?))
            }
            #[cfg(feature = "odbc")]
            "odbc" => visitor.visit::<W, _>(runtime, Arc::new(Odbc::open(options)?)),
            #[cfg(not(feature = "odbc"))]
            "odbc" => Err(Error::Usage(
                "this build has no ODBC: build it with cargo build --release --features odbc".to_owned(),
            )),
            "virtuoso" => <W as virtuoso::Port>::open(runtime, options, visitor),
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
