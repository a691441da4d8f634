//! The effects of planned faults.

use serde::{Deserialize, Serialize};

use crate::measure::resilience::Resilience;

/// A planned fault and its effects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FaultSummary {
    /// The fault as in the plan: `stop for 5s`.
    pub what: String,
    /// Planned start, in seconds since the beginning of the measurement interval.
    pub planned_s: f64,
    /// Actual start, in seconds since the run's start; `None` if the run ended first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_s: Option<f64>,
    /// Duration in seconds, until the server was available again or the network was restored; `None` if the run ended
    /// first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Why it could not be executed; `None` if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Details that the plan does not have, such as which node was promoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<String>,
    /// Its effects on the run; `None` if it did not begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resilience: Option<Resilience>,
}
