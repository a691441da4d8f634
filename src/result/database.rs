//! The database of a run: who it is, what it holds, how its sessions speak.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Who a database is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Identity {
    /// The product: `SQLite`, `PostgreSQL`.
    pub name: String,
    /// Its version as it tells it.
    pub version: String,
    /// Where it is, without any password.
    pub url: String,
}

/// How a population was made: kept in the database itself, so that any later command knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Manifest {
    /// Version of this format; now 1.
    pub format: u32,
    /// Warehouses, branches: the scale.
    #[serde(deserialize_with = "at_least_one")]
    pub scale: u32,
    /// The seed of every row.
    pub seed: u64,
    /// The date that the population carries, in microseconds since 1970 UTC.
    pub date: i64,
    /// Whether foreign keys are declared.
    pub foreign_keys: bool,
    /// Further parameters by name, such as TPC-C's `c_load` (clause 2.1.6.1).
    pub parameters: BTreeMap<String, i64>,
}

/// A scale that a database can have: terminals and rows are counted modulo it.
fn at_least_one<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    match u32::deserialize(from)? {
        0 => Err(D::Error::custom("its scale is 0")),
        scale => Ok(scale),
    }
}

/// How transactions are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// One call of a stored procedure a transaction.
    Procedures,
    /// Statements sent by the client, prepared and pipelined.
    Statements,
}

/// Isolation level of the sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// What others have not committed may be seen: no level for a run, but one at which phenomena are looked for.
    #[serde(skip)]
    #[value(skip)]
    ReadUncommitted,
    /// Row locks and single-statement reads make it enough for clause 3.4; see docs/isolation.md.
    ReadCommitted,
    /// One snapshot a transaction.
    RepeatableRead,
    /// As if one after the other.
    Serializable,
}

/// Where transactions go that change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ReadOnlyOn {
    /// To standbys, over a second connection of each session.
    Standby,
}

impl Isolation {
    /// All levels, from the weakest to the strictest.
    pub const ALL: [Isolation; 4] =
        [Isolation::ReadUncommitted, Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];

    /// The standard's words for it, such as `read committed`.
    pub fn words(self) -> &'static str {
        match self {
            Isolation::ReadUncommitted => "read uncommitted",
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }
}
