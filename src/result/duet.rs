//! What a duet came to: two databases in quick alternation, or at once, on one machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::summary::{DatabaseCount, Durability, LatencySummary};
use super::tune::Gain;
use super::{Identity, Recorded, Via};

/// What is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Lead {
    /// The whole interval lies above zero.
    BFaster,
    /// The whole interval lies below zero.
    AFaster,
    /// It does not.
    NoDifference,
    /// They differ in durability.
    NotRanked,
    /// There are fewer than two pairs, or a side completed nothing.
    Undecided,
}

/// One of both databases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DuetSide {
    /// Settings that it alone was given.
    pub settings: BTreeMap<String, String>,
    /// The database.
    pub engine: Identity,
    /// How its transactions were spoken.
    pub via: Recorded<Via>,
    /// What a loss of power may do to its commits.
    pub durability: Durability,
    /// Transactions a second in the counted seconds of its slices; none if nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions_per_second: Option<f64>,
    /// Response times by transaction type, in milliseconds, of the same seconds.
    pub response_ms: BTreeMap<String, LatencySummary>,
    /// Transactions that it completed in all, ramp-up included.
    pub completed: u64,
    /// Transactions that failed for good, and those whose fate is unknown.
    pub failed: u64,
    /// CPU time of the server's processes for each transaction, in microseconds, what it did while it rested included;
    /// none where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_us_per_transaction: Option<f64>,
    /// The client's count against the database's own.
    pub database: DatabaseCount,
}

/// A slice of each side, one after the other, or the same slice of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DuetPair {
    /// Whether B had the first of both slices.
    pub b_first: bool,
    /// Transactions a second of A.
    pub a: f64,
    /// Transactions a second of B.
    pub b: f64,
}

/// `duet.json`: what `graymark duet` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Duet {
    /// `tpcc`, `debitcredit`.
    pub workload: String,
    /// Warehouses, branches.
    pub scale: u32,
    /// Sessions of each side.
    pub clients: u32,
    /// Whether both sides worked at the same time.
    pub together: bool,
    /// Seconds of a slice.
    pub slice_s: u32,
    /// Seconds of a slice that count: not the first one of a side that rested.
    pub counted_s: u32,
    /// Seconds for which each side worked before the first pair.
    pub ramp_up_s: u32,
    /// The seed of the inputs, which are the same on both sides, and of the order of each pair.
    pub seed: u64,
    /// Side A.
    pub a: DuetSide,
    /// Side B.
    pub b: DuetSide,
    /// The pairs, in order.
    pub pairs: Vec<DuetPair>,
    /// What is decided.
    pub lead: Recorded<Lead>,
    /// The same in a sentence.
    pub sentence: String,
    /// Throughput of B against A by the pairs, in percent of A; none of fewer than two pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<Gain>,
    /// The same by the same slices as if they were of two runs, each on its own: what the pairs are worth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpaired: Option<Gain>,
    /// Blocks of neighbouring pairs that the intervals rest on.
    pub blocks: usize,
    /// Whether it was ended before its time.
    pub interrupted: bool,
}
