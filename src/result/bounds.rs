//! Types for the bounds of a run's throughput.

use serde::{Deserialize, Serialize};

/// A resource that transactions use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Resource {
    /// `CPU`, `log flush`, `device`, `driver thread`.
    pub name: String,
    /// Microseconds of it that the mean transaction needs.
    pub demand_us: f64,
    /// How many transactions it can serve at once: CPUs, threads.
    pub servers: f64,
    /// Percent of its time in which it was busy, of the time that was available to the run.
    pub utilisation_percent: f64,
    /// Transactions per second at which it would be busy all the time.
    pub limit_per_second: f64,
}

/// A part of the response time that is a wait, and the maximum gain without it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Gain {
    /// The cause of the wait, in words.
    pub what: String,
    /// Percent of the mean response time.
    pub share_percent: f64,
    /// Maximum speed-up without it, with the same number of clients and the limits of the remaining resources. `None`
    /// if no measured resource would be the next limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most_times: Option<f64>,
}

/// Little's law: clients compared with throughput and time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LittlesLaw {
    /// Actual number of clients or terminals.
    pub clients: f64,
    /// Number of clients by throughput and mean times.
    pub found: f64,
    /// Difference in percent.
    pub off_percent: f64,
    /// Allowed difference in percent, due to transactions at the ends of the interval.
    pub allowed_percent: f64,
    /// Whether they agree.
    pub held: bool,
}

/// The bounds of the throughput of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Bounds {
    /// What limits this run most, in words; empty if unknown.
    pub bottleneck: String,
    /// The resources, the busiest first.
    pub resources: Vec<Resource>,
    /// The maximum gain without each cause, the largest first.
    pub gains: Vec<Gain>,
    /// The number of clients above which the busiest resource is the limit: an asymptotic bound, if clients do not wait
    /// for each other before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturates_at_clients: Option<f64>,
    /// Little's law; `None` if it cannot be checked, for example because connections were lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub little: Option<LittlesLaw>,
}
