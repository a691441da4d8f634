//! Isolation anomalies in a run's history of reads and writes.

use super::counts::Check;
use super::format::{count, plain, plural};
use crate::result::history::{AnomalyFound, HistorySummary};

/// The check of a run.
pub(super) fn check(history: &HistorySummary) -> Check {
    let held = history.unchecked.is_empty().then_some(history.found() == 0);
    Check { name: "Isolation", held, sentence: sentence(history), details: details(history) }
}

/// The result in a sentence.
fn sentence(history: &HistorySummary) -> String {
    if !history.unchecked.is_empty() {
        return format!("Not checked: {}.", plain(&history.unchecked));
    }
    let of = format!(
        "{} on {} with {}",
        plural(history.transactions, "transaction", "transactions"),
        plural(history.keys, "key", "keys"),
        plural(history.dependencies, "dependency", "dependencies")
    );
    if history.found() == 0 { format!("No anomaly in {of}.") } else { format!("{} in {of}.", kinds(history)) }
}

/// `lost update 3, G-single 1`
fn kinds(history: &HistorySummary) -> String {
    let kind = |(kind, found): (&String, &u64)| format!("{} {}", plain(kind), count(*found));
    history.anomalies.iter().map(kind).collect::<Vec<_>>().join(", ")
}

/// The warning that precedes the figures; `None` without anomalies.
pub(super) fn alarm(history: &HistorySummary) -> Option<String> {
    (history.found() > 0).then(|| format!("Isolation anomalies: {}.", kinds(history)))
}

/// Each anomaly, and the number of ambiguous values.
fn details(history: &HistorySummary) -> Vec<String> {
    let mut details: Vec<String> = history.examples.iter().map(describe).collect();
    if history.ambiguous > 0 {
        details.push(format!("{} occurred again and are ambiguous", plural(history.ambiguous, "value", "values")));
    }
    details
}

fn describe(anomaly: &AnomalyFound) -> String {
    let transactions: Vec<String> = anomaly
        .transactions
        .iter()
        .map(|one| {
            let fate = if one.rolled_back { ", rolled back" } else { "" };
            format!("session {} ({:.6} to {:.6} s{fate})", one.session, one.began_s, one.ended_s)
        })
        .collect();
    let of = if anomaly.key.is_empty() { String::new() } else { format!(" of {}", plain(&anomaly.key)) };
    let version = anomaly.version.map(|version| format!(", version {version}")).unwrap_or_default();
    format!("{}{of}{version}: {}", plain(&anomaly.kind), transactions.join(", "))
}
