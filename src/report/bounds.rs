//! The bounds of a run's throughput, as text.

use super::format::{Line, rate, seconds, significant};
use crate::result::bounds::{Bounds, Gain, LittlesLaw};
use crate::result::summary::Summary;

/// The maximum speed-up without a cause, in words.
pub(super) fn at_most(gain: &Gain) -> String {
    match gain.at_most_times {
        Some(times) => format!("at most {} times as fast without", significant(times)),
        None => "the next limit was not measured".to_owned(),
    }
}

/// The limits of the run, and the gain without each.
pub(crate) fn lines(summary: &Summary) -> Vec<Line> {
    let Some(bounds) = &summary.bounds else { return Vec::new() };
    let mut lines = Vec::new();
    if !bounds.gains.is_empty() {
        let gains = bounds.gains.iter().map(|gain| {
            let share = if gain.share_percent > 0.0 {
                format!("{:.0} % of the time, ", gain.share_percent)
            } else {
                String::new()
            };
            format!("{} ({share}{})", gain.what, at_most(gain))
        });
        lines.push(("Limits", gains.collect::<Vec<_>>().join("; ")));
    } else if let Some(waterfall) = summary.waterfall.as_ref().filter(|waterfall| !waterfall.tells()) {
        let seen = format!("not known: only {:.0} samples of active sessions", waterfall.all.samples);
        lines.push(("Limits", format!("{seen}; run longer to find out")));
    }
    if !bounds.resources.is_empty() {
        let resources = bounds.resources.iter().map(|resource| {
            format!(
                "{} {:.0} % busy, {} µs per transaction, {} per second at most",
                resource.name,
                resource.utilisation_percent,
                significant(resource.demand_us),
                rate(resource.limit_per_second)
            )
        });
        lines.push(("Resources", resources.collect::<Vec<_>>().join("; ")));
    }
    if let Some((clients, busiest)) = bounds.saturates_at_clients.zip(bounds.resources.first()) {
        // Fewer than one client is no load.
        let from = match clients.round() {
            few if few <= 1.0 => "a single client".to_owned(),
            clients => format!("about {clients:.0} clients"),
        };
        lines.push(("Saturation", format!("{} is the limit from {from}", busiest.name)));
    }
    if let Some(little) = &bounds.little {
        let state = if little.held { "holds" } else { "is BROKEN" };
        lines.push((
            "Little's law",
            format!(
                "{state}: throughput and times give {} of {} clients",
                significant(little.found),
                significant(little.clients)
            ),
        ));
    }
    lines
}

/// A violation of Little's law in a sentence.
pub(crate) fn breach(summary: &Summary) -> Option<String> {
    let Bounds { little: Some(LittlesLaw { clients, found, held: false, .. }), .. } = summary.bounds.as_ref()? else {
        return None;
    };
    Some(format!(
        "A fault of the measurement: throughput times response time comes to {} clients, and there were {} (Little's \
         law, over {}).",
        significant(*found),
        significant(*clients),
        seconds(summary.interval_s)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::waterfall::{Parts, Waterfall};

    #[test]
    fn a_bottleneck_with_too_few_samples_is_reported_as_unknown() {
        let with_samples = |samples| {
            let waterfall = Waterfall { all: Parts { samples, ..Parts::default() }, ..Waterfall::default() };
            let bounds = Some(Bounds::default());
            lines(&Summary { bounds, waterfall: Some(waterfall), ..crate::study::tests::kept() })
        };
        assert!(
            with_samples(3.0)[0].1.starts_with("not known: only 3 samples of active sessions"),
            "{:?}",
            with_samples(3.0)
        );
        assert!(with_samples(300.0).is_empty(), "{:?}", with_samples(300.0));
    }
}
