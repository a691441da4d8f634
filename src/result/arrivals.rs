//! How the transactions of an open loop come.

use serde::{Deserialize, Serialize};

/// How the transactions of an open loop come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// At random times, each independent of all others, as those of many users do.
    Poisson,
    /// At equal distances.
    Constant,
}
