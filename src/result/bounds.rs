//! What bounds the throughput of a run, as types.

use serde::{Deserialize, Serialize};

/// A resource of which each transaction needs a part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Resource {
    /// `CPU`, `log flush`, `device`, `driver thread`.
    pub name: String,
    /// Microseconds of it that the mean transaction needs.
    pub demand_us: f64,
    /// How many transactions it can work on at once: CPUs, threads.
    pub servers: f64,
    /// Percent of its time in which it worked: of what was left to the run.
    pub utilisation_percent: f64,
    /// Transactions a second at which it would work all the time.
    pub limit_per_second: f64,
}

/// A part of the response time that is a wait, and what it would bring at most to do without it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Gain {
    /// What limits, in words.
    pub what: String,
    /// Percent of the mean response time.
    pub share_percent: f64,
    /// At most so many times as fast without it, with as many clients: no resource that is left lets more through. None
    /// where nothing that was measured would be the next limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most_times: Option<f64>,
}

/// Clients against throughput and time (Little's law).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Little {
    /// Clients, or terminals, that there were.
    pub clients: f64,
    /// Clients that throughput and mean times come to.
    pub found: f64,
    /// Percent by which they differ.
    pub off_percent: f64,
    /// Percent by which they may differ: transactions that the interval's ends cut through.
    pub allowed_percent: f64,
    /// Whether they agree.
    pub held: bool,
}

/// What bounds the throughput of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Bounds {
    /// What limits this run most, in words; empty if that is not known.
    pub bottleneck: String,
    /// The resources, the busiest first.
    pub resources: Vec<Resource>,
    /// What it would bring at most to do without a cause, the largest first.
    pub gains: Vec<Gain>,
    /// The number of clients from which on the busiest resource is the limit: asymptotically, where no client waits for
    /// another before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturates_at_clients: Option<f64>,
    /// Little's law; none where the run does not allow it to be checked, such as one that lost connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub little: Option<Little>,
}
