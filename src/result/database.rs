//! The database of a run: product, contents, and how its sessions send transactions.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// The identity of a database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Identity {
    /// The product: `SQLite`, `PostgreSQL`.
    pub name: String,
    /// Its version as it reports it.
    pub version: String,
    /// Its URL without the password.
    pub url: String,
}

/// The parameters of a population, stored in the database itself for later commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Manifest {
    /// Version of this format; now 1.
    pub format: u32,
    /// The scale: number of warehouses or branches.
    #[serde(deserialize_with = "at_least_one")]
    pub scale: u32,
    /// The seed of all rows.
    pub seed: u64,
    /// The date in the loaded rows, in microseconds since 1970 UTC.
    pub date: i64,
    /// Whether foreign keys are declared.
    pub foreign_keys: bool,
    /// Further parameters by name, such as TPC-C's `c_load` (clause 2.1.6.1).
    pub parameters: BTreeMap<String, i64>,
}

/// Refuses a scale of 0: terminals and rows are counted modulo it.
fn at_least_one<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    match u32::deserialize(from)? {
        0 => Err(D::Error::custom("its scale is 0")),
        scale => Ok(scale),
    }
}

/// How transactions are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// One stored procedure call per transaction.
    Procedures,
    /// Statements sent by the client, prepared and pipelined.
    Statements,
}

/// Isolation level of the sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Dirty reads are possible. Not used in runs, only in ACID tests.
    #[serde(skip)]
    #[value(skip)]
    ReadUncommitted,
    /// Enough for clause 3.4 with row locks and single-statement reads; see docs/isolation.md.
    ReadCommitted,
    /// One snapshot per transaction.
    RepeatableRead,
    /// Equivalent to some serial order.
    Serializable,
}

/// Where read-only transactions are sent.
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

    /// The standard's name for it, such as `read committed`.
    pub fn words(self) -> &'static str {
        match self {
            Isolation::ReadUncommitted => "read uncommitted",
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }
}
