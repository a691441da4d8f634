//! Analysis of records: the next point of a sweep, comparisons, models and predictions.

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
    /// The largest number of warehouses or clients within the user's constraints.
    Max,
}

/// The quantity that is maximised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Searched {
    /// The scale: with the standard's think times unless --pace says otherwise
    Warehouses,
    /// Sessions at one database: without think time unless --pace says otherwise
    Clients,
}

/// A search for the largest number within constraints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Max {
    /// The quantity.
    pub of: Searched,
    /// The constraints of a run.
    pub until: Constraints,
}

/// The points of a sweep so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// What was varied.
    pub sweep: SweepKind,
    /// The workload, as records name it.
    pub workload: String,
    /// The database: `PostgreSQL 15.13`.
    pub engine: String,
    /// Whether all points were measured.
    pub finished: bool,
    /// The limits of a point.
    pub limits: Limits,
    /// The maximised quantity and the user's constraints, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Max>,
    /// One for each place and CPU set.
    pub series: Vec<Series>,
    /// Points that have no result, and why: `1 warehouse, buffers 32MB: the server ended`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Differences between points, if meaningful.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<differences::Difference>,
    /// Notes on all points.
    pub notes: Vec<String>,
}

/// Points that differ only in the varied quantity.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// How it differs from other series; empty if there is only one.
    pub label: String,
    /// Directory of the database's files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_directory: Option<String>,
    /// Their file system.
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
    /// The points, in the order of the varied quantity.
    pub points: Vec<Measured>,
}

/// A point and its record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Percent of the full load; `None` if something else is varied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// Whether it meets all limits.
    pub passed: bool,
    /// Its figures.
    #[serde(flatten)]
    pub point: Point,
    /// Its record, below the sweep's directory.
    pub record: String,
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::result::outcomes::Outcomes;
    use crate::result::summary::*;

    /// The summary of a real run.
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
            // The points of a sweep are not checked.
            consistency: Consistency::default(),
            ..kept()
        }
    }
}
