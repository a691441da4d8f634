//! Figures of a comparison other than throughput and times: hit rates, and costs of a transaction.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::measure::counters::Counter;
use crate::measure::counters_summary::CountersSummary;
use crate::record::Record;
use crate::result::summary::Summary;

/// A figure of both sets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Its name and unit.
    pub what: &'static str,
    /// Of the first set; `None` if unknown in one of its runs.
    pub a: Option<Known>,
    /// Of the second set, likewise.
    pub b: Option<Known>,
}

/// The mean of a set's runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Known {
    /// The mean.
    pub mean: f64,
    /// Its standard error; `None` for a single run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
}

/// Reads a figure from a summary; `None` if unknown.
type Of = fn(&Summary) -> Option<f64>;

/// JSON key, name, and the function that reads it.
const FIGURES: [(&str, &str, Of); 5] = [
    ("buffer_hit_percent", "buffer hits, %", |of| counters(of)?.pages.as_ref()?.overall?.hit_percent),
    ("blocks_read_per_transaction", "blocks read", |of| a_transaction(of, Counter::BlockReads)),
    ("log_bytes_per_transaction", "log, bytes", |of| counters(of)?.log_bytes_per_transaction),
    ("client_cpu_us_per_transaction", "client CPU, µs", |of| Some(of.client.cpu_us_per_transaction)),
    ("server_cpu_us_per_transaction", "server CPU, µs", |of| of.server.cpu_us_per_transaction),
];

/// JSON keys and names of the figures.
pub(crate) fn names() -> [(&'static str, &'static str); 5] {
    FIGURES.map(|(key, what, _)| (key, what))
}

/// The known figures of a run, by JSON key.
pub(crate) fn of_run(summary: &Summary) -> BTreeMap<&'static str, f64> {
    FIGURES.into_iter().filter_map(|(key, _, of)| Some((key, of(summary)?))).collect()
}

fn counters(summary: &Summary) -> Option<&CountersSummary> {
    summary.counters.as_ref()
}

/// Growth of a counter per transaction of the interval.
fn a_transaction(summary: &Summary, counter: Counter) -> Option<f64> {
    let all = Some(summary.transactions_per_second).filter(|all| *all > 0.0)?;
    Some(counters(summary)?.grown(counter)?.per_second / all)
}

fn known(records: &[Record], of: Of) -> Option<Known> {
    let values: Option<Vec<f64>> = records.iter().map(|record| of(record.summary.as_ref()?)).collect();
    let values = values.filter(|values| !values.is_empty())?;
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    Some(Known { mean, standard_error: (values.len() > 1).then(|| (square / (count - 1.0) / count).sqrt()) })
}

/// All figures that are known in one of the sets.
pub(super) fn of(a: &[Record], b: &[Record]) -> Vec<Figure> {
    let figure = |(_, what, of): (&'static str, &'static str, Of)| Figure { what, a: known(a, of), b: known(b, of) };
    FIGURES.into_iter().map(figure).filter(|figure| figure.a.is_some() || figure.b.is_some()).collect()
}
