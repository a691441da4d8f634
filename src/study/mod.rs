//! What does it mean: which point of a sweep comes next, and what its points say together. Made from records alone.

pub mod bounds;
pub mod compare;
pub mod constraint;
pub mod differences;
pub mod duet;
pub(crate) mod efficiency;
pub mod experiments;
pub mod explain;
pub(crate) mod load;
pub mod paper;
pub mod point;
pub mod price_trend;
pub(crate) mod search;
pub mod sizing;
pub mod trend;
pub mod tune;

use serde::{Deserialize, Serialize};

use constraint::Constraints;
use point::{Limits, Point};

/// What is varied in a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepKind {
    /// The load on one database (clause 5.6.2).
    Load,
    /// The number of warehouses.
    Warehouses,
    /// Every combination of some dimensions.
    Grid,
    /// Warehouses or clients, as many as a user's own constraints allow.
    Max,
}

/// Of what the largest number is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Searched {
    /// The scale: with the standard's think times unless --pace says otherwise
    Warehouses,
    /// Sessions at one database: without think time unless --pace says otherwise
    Clients,
}

/// A search for the largest number that keeps constraints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Max {
    /// Of what.
    pub of: Searched,
    /// What a run must keep.
    pub until: Constraints,
}

/// The points of a sweep, as far as it has come.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// What was varied.
    pub sweep: SweepKind,
    /// The workload, as records name it.
    pub workload: String,
    /// The database: `PostgreSQL 15.13`.
    pub engine: String,
    /// Whether no point is left.
    pub finished: bool,
    /// What a point must keep.
    pub limits: Limits,
    /// Of what the largest number is searched, and under which constraints, where these are a user's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Max>,
    /// One for each place and CPU set.
    pub series: Vec<Series>,
    /// By how much points differ, where that says something.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<differences::Difference>,
    /// What the reader should know of all of them.
    pub notes: Vec<String>,
}

/// Points that differ in nothing but what is varied.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// What sets it apart from the others; empty if there is only one.
    pub label: String,
    /// Where the database's files are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_directory: Option<String>,
    /// In what file system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// CPUs that the private server is bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// Whether the largest number is known.
    pub finished: bool,
    /// The largest number of warehouses, or clients, that passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest: Option<u32>,
    /// In the order of what is varied.
    pub points: Vec<Measured>,
}

/// A point and where its record is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Percent of the full load; none where something else is varied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// Whether it keeps all limits.
    pub passed: bool,
    /// Its figures.
    #[serde(flatten)]
    pub point: Point,
    /// Its record, below the sweep's directory.
    pub record: String,
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::result::summary::*;

    /// What a real run came to.
    pub(crate) fn kept() -> Summary {
        serde_json::from_str(include_str!("../../tests/records/39ccd6a/tpcc/summary.json")).unwrap()
    }

    /// A run's summary with this pace, scale, rate, and a mean response time that is all waiting, in milliseconds.
    pub(crate) fn summary(pace: &str, scale: u32, rate: f64, response_ms: f64) -> Summary {
        let types = [("new_order", 435), ("payment", 435), ("order_status", 44), ("delivery", 43), ("stock_level", 43)];
        let transaction = |completed| TransactionSummary {
            completed,
            response_ms: LatencySummary {
                mean: response_ms,
                p90: 2.0 * response_ms.min(1_000.0),
                ..LatencySummary::default()
            },
            ..TransactionSummary::default()
        };
        Summary {
            pace: pace.to_owned(),
            scale,
            interval_s: 60.0,
            new_orders_per_minute: Some(rate),
            transactions_per_second: rate / 26.0,
            metric: "tpmC-gm".to_owned(),
            transactions: types.map(|(name, completed)| (name.to_owned(), transaction(completed))).into(),
            outcomes: types
                .map(|(name, completed)| (name.to_owned(), Outcomes { completed, ..Outcomes::default() }))
                .into(),
            counters: None,
            // A sweep of many points checks none of them.
            consistency: Consistency::default(),
            ..kept()
        }
    }
}
