//! The engines there are, by the scheme of a URL.

use tokio::runtime::Runtime;

use super::postgres::Postgres;
use super::simulated::Simulated;
use super::sqlite::{self, Sqlite};
use super::{Engine, Error, Options};
use crate::workload::tpcc::Tpcc;

/// Does something with an engine of any kind.
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// Does it. `runtime` serves for everything that is not driving load.
    fn visit<E: Engine<Tpcc>>(self, runtime: &Runtime, engine: E) -> Result<Self::Output, Error>;
}

/// Opens the database that the URL names and hands it to `visitor`.
pub fn open<V: Visitor>(runtime: &Runtime, options: Options, visitor: V) -> Result<V::Output, Error> {
    let scheme = options.url.split(':').next().unwrap_or_default();
    match scheme {
        "sqlite" => visitor.visit(runtime, Sqlite::open(sqlite::Options::parse(&options.url)?)?),
        "postgres" | "postgresql" => visitor.visit(runtime, runtime.block_on(Postgres::open(options))?),
        "simulated" => visitor.visit(runtime, Simulated::open(options)?),
        _ => Err(Error::Usage(format!(
            "no engine for `{scheme}:`; give --db sqlite:FILE, postgres://USER@HOST/DATABASE, postgres:local or simulated:service=5ms"
        ))),
    }
}
