//! What became of a run's planned faults.

use serde::{Deserialize, Serialize};

use crate::measure::resilience::Resilience;

/// A planned fault, and how the database stood it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FaultSummary {
    /// What it was to do, as it stands in the plan: `stop for 5s`.
    pub what: String,
    /// When it was to begin, in seconds since the beginning of the measurement interval.
    pub planned_s: f64,
    /// When it began, in seconds since the run's start; none if the run ended first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_s: Option<f64>,
    /// How long it lasted in seconds, until the server was there again or the network as it was; none if the run ended
    /// first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Why it could not be carried out; none if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was done, where the plan does not say that: which node was promoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<String>,
    /// How the run stood it; none if it did not begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resilience: Option<Resilience>,
}
