//! The phases of a run.

use serde::{Deserialize, Serialize};

/// A phase of a run (clause 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the measurement interval.
    RampUp,
    /// The measurement interval.
    Measurement,
    /// Transactions in progress at the end of the interval are completed.
    WindDown,
}

impl Phase {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Phase::RampUp => "ramp_up",
            Phase::Measurement => "measurement",
            Phase::WindDown => "wind_down",
        }
    }
}
