//! Durability in a report: a commit that does not wait for the disk is faster, and may be lost.

use super::format::{count, plain};
use crate::result::Recorded;
use crate::result::summary::{Durability, DurabilityClass, Lookup, Summary};

/// The warning for a run whose commits may be lost at a loss of power.
pub(super) fn warning(summary: &Summary) -> Option<String> {
    let durability = &summary.durability;
    let mut risks: Vec<String> = durability.risks.iter().map(|risk| plain(risk)).collect();
    // That they could not be read again adds nothing to the worst class, and its reason is told with the count's.
    risks.extend(reservation(durability).filter(|_| !durability.changed.is_empty()));
    (durability.class == DurabilityClass::MayLoseCommits)
        .then(|| format!("A loss of power may lose commits (clause 3.5): {}.", risks.join("; ")))
}

/// The class, with the settings that determine it.
pub(super) fn line(durability: &Durability) -> String {
    let settings: Vec<String> =
        durability.settings.iter().map(|(name, value)| format!("{}={}", plain(name), plain(value))).collect();
    let class = match &durability.class {
        Recorded::Known(DurabilityClass::WaitsForTheDisk) => "commit waits for the disk, by its settings".to_owned(),
        other => plain(&other.name()),
    };
    let class = if settings.is_empty() { class } else { format!("{class}: {}", settings.join(", ")) };
    std::iter::once(class).chain(reservation(durability)).collect::<Vec<_>>().join("; ")
}

fn reservation(durability: &Durability) -> Option<String> {
    durability.reservation().map(|text| plain(&text))
}

/// The results of looking up commits of unknown outcome.
pub(super) fn looked_up(lookup: &Lookup) -> Vec<String> {
    if !lookup.unasked.is_empty() {
        return vec![format!("Not looked up: {}", plain(&lookup.unasked))];
    }
    let (acknowledged, fate) = (&lookup.acknowledged, &lookup.unknown_fate);
    let beyond = if acknowledged.beyond { "; more were acknowledged in that second than were kept" } else { "" };
    let lost =
        if acknowledged.lost > 0 { format!("{} LOST", count(acknowledged.lost)) } else { "none lost".to_owned() };
    vec![
        format!("Acknowledged in the second before: {} looked up, {lost}{beyond}", count(acknowledged.looked_up)),
        format!(
            "Of unknown outcome: {} committed, {} not committed, {} read only, {} not known",
            count(fate.committed),
            count(fate.not_committed),
            count(fate.read_only),
            count(fate.not_known)
        ),
    ]
}
