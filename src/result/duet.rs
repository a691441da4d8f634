//! The result of a duet: two databases in quick alternation, or at the same time, on one machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::summary::{Connections, DatabaseCount, Durability, LatencySummary};
use super::tune::Gain;
use super::{Identity, Recorded, Via};

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Lead {
    /// The whole confidence interval is above zero.
    BFaster,
    /// The whole confidence interval is below zero.
    AFaster,
    /// The confidence interval contains zero.
    NoDifference,
    /// The databases differ in durability, or one was unavailable.
    NotRanked,
    /// There are fewer than two pairs, or a side completed nothing.
    Undecided,
}

/// One of the two databases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DuetSide {
    /// Settings of this side only.
    pub settings: BTreeMap<String, String>,
    /// The database.
    pub engine: Identity,
    /// How its transactions were sent.
    pub via: Recorded<Via>,
    /// Whether its commits survive a loss of power.
    pub durability: Durability,
    /// Transactions per second in the counted seconds of its slices; `None` if nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions_per_second: Option<f64>,
    /// Response times by transaction type, in milliseconds, in the same seconds.
    pub response_ms: BTreeMap<String, LatencySummary>,
    /// Completed transactions in total, ramp-up included.
    pub completed: u64,
    /// Failed transactions, and those of unknown outcome.
    pub failed: u64,
    /// Its lost connections and their effects, in all; commits are not looked up.
    #[serde(default)]
    pub connections: Connections,
    /// Seconds of its slices and its ramp-up in which none of its sessions had a connection.
    #[serde(default)]
    pub unavailable_s: f64,
    /// Times in which no transaction completed, longer than chance explains, in its counted seconds: start in seconds
    /// since the duet's start, and the number of counted seconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standstills: Vec<(f64, f64)>,
    /// CPU time of the server's processes per transaction, in microseconds, including the time while it paused; `None`
    /// if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_us_per_transaction: Option<f64>,
    /// The client's counts compared with the database's.
    pub database: DatabaseCount,
}

/// One slice of each side, consecutive or at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DuetPair {
    /// Whether B had the first slice.
    pub b_first: bool,
    /// Transactions per second of A.
    pub a: f64,
    /// Transactions per second of B.
    pub b: f64,
}

/// `duet.json`: the result of `graymark duet`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Duet {
    /// `tpcc`, `debitcredit`.
    pub workload: String,
    /// Number of warehouses or branches.
    pub scale: u32,
    /// Sessions of each side.
    pub clients: u32,
    /// Whether both sides ran at the same time.
    pub together: bool,
    /// Length of a slice in seconds.
    pub slice_s: u32,
    /// Seconds of a slice that count: without the first one after a pause.
    pub counted_s: u32,
    /// Ramp-up of each side before the first pair, in seconds.
    pub ramp_up_s: u32,
    /// The seed of the inputs, which are the same on both sides, and of the order of each pair.
    pub seed: u64,
    /// Side A.
    pub a: DuetSide,
    /// Side B.
    pub b: DuetSide,
    /// The pairs, in order.
    pub pairs: Vec<DuetPair>,
    /// The decision.
    pub lead: Recorded<Lead>,
    /// The decision in a sentence.
    pub sentence: String,
    /// Throughput of B relative to A by the pairs, in percent of A; `None` with fewer than two pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<Gain>,
    /// The same from the slices as if they were two separate runs: shows what the pairing gains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpaired: Option<Gain>,
    /// Number of blocks of neighbouring pairs, on which the intervals are based.
    pub blocks: usize,
    /// Whether it was stopped early.
    pub interrupted: bool,
}
