//! The arrival process of an open loop.

use serde::{Deserialize, Serialize};

/// The arrival process of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// At random times, independent of each other, like requests of many users.
    Poisson,
    /// At equal intervals.
    Constant,
}
