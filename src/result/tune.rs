//! The result of a search for better settings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Identity, Recorded};

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Some settings are faster than the start, confirmed by runs that were not used to choose them.
    Winner,
    /// No settings were shown to be faster.
    NoWinner,
    /// The search was stopped early.
    Undecided,
}

/// The fate of a candidate in the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was not tested.
    LeftOut,
    /// A run with it failed, or it may lose commits.
    Failed,
    /// Others were faster in the race.
    Dropped,
    /// It was compared with the start in fresh runs.
    Confirmed,
    /// It was still in the race when that ended.
    InTheRace,
}

/// Throughput relative to the start, in percent; in a duet, of B relative to A, by pairs of slices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Gain {
    /// The gain; the geometric mean over pairs of runs.
    pub percent: f64,
    /// Lower end of its 95 % confidence interval; `None` for a single pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_percent: Option<f64>,
    /// Upper end of its 95 % confidence interval; `None` for a single pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_percent: Option<f64>,
}

/// A candidate and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// The settings in the server's notation.
    pub settings: BTreeMap<String, String>,
    /// Why it may help.
    pub reason: String,
    /// The source of the recommendation.
    pub source: String,
    /// Its costs or risks; empty if none are known.
    #[serde(default)]
    pub risk: String,
    /// Whether it needs a restart of the server.
    pub restart: bool,
    /// How it may lose committed data; `None` if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loses: Option<String>,
    /// Its fate in the search.
    pub fate: Recorded<Fate>,
    /// Why it was left out, failed or was dropped.
    #[serde(default)]
    pub why: String,
    /// Its gain in the race. It is biased upwards for candidates that were selected by it, so it is not a measurement
    /// of the winner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
    /// Number of its runs in the race.
    pub runs: usize,
}

/// Fresh runs of the start and of the best settings of the race, in pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Confirmation {
    /// The candidates whose settings are combined.
    pub candidates: Vec<String>,
    /// The combined settings.
    pub settings: BTreeMap<String, String>,
    /// Transactions per second of the start and of these settings, for each pair.
    pub pairs: Vec<[f64; 2]>,
    /// The gain; `None` without a pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
}

/// `tune.json`: the result of `graymark tune`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tuned {
    /// `tpcc`, `debitcredit`.
    pub workload: String,
    /// The database; `None` if no run finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Identity>,
    /// The scheme of its URL, such as `postgres`.
    pub scheme: String,
    /// Number of warehouses or branches.
    pub scale: u32,
    /// Number of sessions; `None` if no run finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Length of a run's measurement interval in seconds.
    pub interval_s: u32,
    /// The decision.
    pub decision: Recorded<Decision>,
    /// The decision in a sentence.
    pub sentence: String,
    /// The winner's settings; empty without a winner.
    pub settings: BTreeMap<String, String>,
    /// The file in the record that contains them; `None` without a winner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Fresh runs of the start and of the best settings; `None` if nothing was faster in the race.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// Mean throughput of the start's runs, in transactions per second; `None` without a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_per_second: Option<f64>,
    /// What failed in the runs of the start, in a few words each: its throughput is then no measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start_failures: Vec<String>,
    /// All candidates, the largest gain first.
    pub candidates: Vec<Candidate>,
    /// Whether candidates that may lose committed data were allowed.
    pub allow_loss: bool,
    /// Number of runs, including those before the race.
    pub runs: u32,
    /// Number of runs that other processes disturbed, by using more than 10 % of the resources that the run needs.
    pub disturbed_runs: u32,
    /// Total duration in minutes.
    pub minutes: f64,
    /// Whether it was stopped early.
    pub interrupted: bool,
}
