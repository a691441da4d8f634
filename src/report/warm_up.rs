//! Failures in the warm-up by the load itself, in a sentence.

use super::format::{count, plural};
use crate::judge::incidents::Incidents;
use crate::judge::warm_up::WarmUpIncidents;

/// The warning about a warm-up in which transactions or connections failed.
pub(super) fn alarm(incidents: &Incidents) -> Option<String> {
    let WarmUpIncidents { asked, failed, unknown, lost, .. } = incidents.warm_up;
    let failed =
        (failed > 0).then(|| format!("{} of {} failed", plural(failed, "transaction", "transactions"), count(asked)));
    let unknown = (unknown > 0)
        .then(|| format!("{} {} an unknown outcome", count(unknown), if unknown == 1 { "has" } else { "have" }));
    let lost = (lost > 0).then(|| plural(lost, "connection was lost", "connections were lost"));
    let all: Vec<String> = [failed, unknown, lost].into_iter().flatten().collect();
    (!all.is_empty()).then(|| format!("In the warm-up, {}.", all.join(", ")))
}
