//! Searches for anomalies in the reads and writes of a run's transactions.

use std::path::Path;

use crate::drive::Totals;
use crate::history::{Anomaly, History, Versions};
use crate::record::history::read;
use crate::result::Recorded;
use crate::result::history::{AnomalyFound, HistorySummary, TransactionInIt};
use crate::workload::Workload;

/// The anomalies in the history of a record.
pub(super) fn check<W: Workload>(record: &Path, share: f64, totals: &Totals) -> HistorySummary {
    let history = match read(record) {
        Ok(history) => history,
        Err(error) => return HistorySummary { share, unchecked: error.to_string(), ..HistorySummary::default() },
    };
    // The history lacks the writes of transactions whose outcome is unknown.
    let all_known = totals.ambiguous == 0 && totals.abandoned == 0 && totals.errors.is_empty();
    let found = history.check(|key| match W::versions(key) {
        Versions::Value { whole } => Versions::Value { whole: whole && all_known },
        versions => versions,
    });
    HistorySummary {
        share,
        transactions: history.len() as u64,
        keys: found.keys,
        dependencies: found.dependencies,
        ambiguous: found.ambiguous,
        anomalies: found.counts.iter().map(|(kind, count)| (Recorded::from(*kind).name(), *count)).collect(),
        examples: found.examples.iter().map(|anomaly| describe::<W>(&history, anomaly)).collect(),
        unchecked: String::new(),
    }
}

fn describe<W: Workload>(history: &History, anomaly: &Anomaly) -> AnomalyFound {
    let heads = anomaly.transactions.iter().filter_map(|number| history.head(*number));
    AnomalyFound {
        kind: Recorded::from(anomaly.kind).name(),
        key: anomaly.key.map(W::key_name).unwrap_or_default(),
        version: anomaly.version,
        transactions: heads
            .map(|head| TransactionInIt {
                session: head.session,
                began_s: head.began as f64 / 1e6,
                ended_s: head.ended as f64 / 1e6,
                rolled_back: !head.committed,
            })
            .collect(),
    }
}
