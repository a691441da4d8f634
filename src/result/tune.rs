//! What a search for better settings came to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Identity, Recorded};

/// What is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Some settings are faster than the start, by runs that had no part in choosing them.
    Winner,
    /// No settings are shown to be faster.
    NoWinner,
    /// The search was ended before its time.
    Undecided,
}

/// How far a candidate came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was not run.
    LeftOut,
    /// A run with it failed, or it may lose commits.
    Failed,
    /// Others were faster in the race.
    Dropped,
    /// It is among the settings that were set beside the start in fresh runs.
    Confirmed,
    /// The race ended before it was dropped.
    InTheRace,
}

/// Throughput against that of the start, in percent of it; in a duet, of B against A, by pairs of slices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Gain {
    /// The gain; the geometric mean over pairs of runs.
    pub percent: f64,
    /// Lower end of its 95 % interval; none of a single pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_percent: Option<f64>,
    /// Upper end of its 95 % interval; none of a single pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_percent: Option<f64>,
}

/// A candidate and what it came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// The settings, as they were given to the server.
    pub settings: BTreeMap<String, String>,
    /// Why it may help.
    pub reason: String,
    /// Where that is said.
    pub source: String,
    /// What it costs or risks; empty if nothing is known.
    #[serde(default)]
    pub risk: String,
    /// Whether the server has to be started again for it.
    pub restart: bool,
    /// How it may lose committed data; none if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loses: Option<String>,
    /// How far it came.
    pub fate: Recorded<Fate>,
    /// Why it was left out, failed or was dropped.
    #[serde(default)]
    pub why: String,
    /// Its gain in the race. What came far in it did so by luck, too, so this is no measurement of a winner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
    /// Its runs in the race.
    pub runs: usize,
}

/// Fresh runs of the start and of the settings that came first in the race, in pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Confirmation {
    /// The candidates whose settings they are, together.
    pub candidates: Vec<String>,
    /// These settings.
    pub settings: BTreeMap<String, String>,
    /// Transactions a second of the start and of these settings, a pair each.
    pub pairs: Vec<[f64; 2]>,
    /// The gain; none without a pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
}

/// `tune.json`: what `graymark tune` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tuned {
    /// `tpcc`, `debitcredit`.
    pub workload: String,
    /// The database; none if no run came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Identity>,
    /// The scheme of its URL, such as `postgres`.
    pub scheme: String,
    /// Warehouses, branches.
    pub scale: u32,
    /// Sessions; none if no run came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Seconds of a run's measurement interval.
    pub interval_s: u32,
    /// What is decided.
    pub decision: Recorded<Decision>,
    /// The same in a sentence.
    pub sentence: String,
    /// The winner's settings; empty without a winner.
    pub settings: BTreeMap<String, String>,
    /// The file in the record that has them; none without a winner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Fresh runs of the start and of what came first; none if nothing was faster in the race.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// Mean of the start's runs, in transactions a second; none without a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_per_second: Option<f64>,
    /// All candidates, what brought most first.
    pub candidates: Vec<Candidate>,
    /// Whether candidates that may lose committed data were allowed.
    pub allow_loss: bool,
    /// Runs that were made, that before the race included.
    pub runs: u32,
    /// How many runs others on the machine disturbed: they took more than 10 % of what the run needs.
    pub disturbed_runs: u32,
    /// Minutes that all of it took.
    pub minutes: f64,
    /// Whether it was ended before its time.
    pub interrupted: bool,
}
