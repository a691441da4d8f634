//! What is told of durability before any figure: a commit that does not wait for the disk is faster, and may be lost.

use super::format::plain;
use crate::record::summary::{Durability, DurabilityClass, Summary};

/// Of a run whose commits a loss of power may take back.
pub(super) fn warning(summary: &Summary) -> Option<String> {
    let durability = &summary.durability;
    let risks: Vec<String> = durability.risks.iter().map(|risk| plain(risk)).collect();
    (durability.class == DurabilityClass::MayLoseCommits)
        .then(|| format!("A loss of power may lose commits (clause 3.5): {}.", risks.join("; ")))
}

/// The class, with the settings behind it.
pub(super) fn line(durability: &Durability) -> String {
    let settings: Vec<String> =
        durability.settings.iter().map(|(name, value)| format!("{}={}", plain(name), plain(value))).collect();
    let class = match durability.class {
        DurabilityClass::WaitsForTheDisk => "commit waits for the disk, by its settings",
        other => other.words(),
    };
    if settings.is_empty() { class.to_owned() } else { format!("{class}: {}", settings.join(", ")) }
}
