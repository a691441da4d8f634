//! The report of a duet: which side is faster, by how much, and how much the pairing improved the precision.

use super::format::{plain, plural, rate, seconds, significant, transaction};
use super::text::{ALARM, Text};
use super::{html, table};
use crate::result::duet::{Duet, DuetSide, Lead};
use crate::result::tune::Gain;
use crate::study::duet::{measured_s, standstill, times_as_wide};
use crate::workload::known;

/// The report as text.
pub fn text(duet: &Duet) -> String {
    let mut text = Text::default();
    for warning in warnings(duet) {
        text.wrapped(ALARM, ALARM.len(), &warning);
    }
    text.wrapped("", 0, &plain(&duet.sentence));
    // An interval of the difference would suggest a winner.
    if let (Some(paired), Some(unpaired)) = (&duet.paired, &duet.unpaired)
        && duet.lead != Lead::NotRanked
    {
        text.wrapped("", 0, &worth(paired, unpaired));
    }
    text.wrapped("", 0, &about(duet));
    text.lines.push('\n');
    text.wrapped("A: ", 3, &one(&duet.a));
    text.wrapped("B: ", 3, &one(&duet.b));
    text.lines.push('\n');
    text.lines.push_str(&table::plain_text(&rows(duet)));
    text.lines.push('\n');
    text.wrapped(
        "",
        0,
        &format!(
            "The interval is by batch means: Student's t over {} of neighbouring pairs. Each server was started once: \
             what differs from start to \
             start is not in it, which graymark ab --repeats knows.",
            plural(duet.blocks as u64, "block", "blocks")
        ),
    );
    text.lines
}

/// Warnings that precede the decision and the figures.
fn warnings(duet: &Duet) -> Vec<String> {
    let mut warnings = Vec::new();
    let measured_s = measured_s(duet.pairs.len(), duet.counted_s);
    for (name, side) in [("A", &duet.a), ("B", &duet.b)] {
        warnings.extend(outage(side, measured_s).map(|outage| format!("{name}: {outage}")));
        // Records of older versions have those of unknown outcome only among the failed ones.
        let unknown = side.connections.ambiguous;
        let failed = side.failed.saturating_sub(unknown);
        if failed > 0 {
            warnings.push(format!("{name}: {} failed", plural(failed, "transaction", "transactions")));
        }
        if unknown > 0 {
            warnings.push(format!("{name}: {} of unknown outcome", plural(unknown, "transaction", "transactions")));
        }
        match side.database.agrees {
            Some(true) => {}
            Some(false) => {
                warnings.push(format!("{name}: the counts of client and database differ"));
            }
            None => warnings.push(format!("{name}: the database was not counted: {}", plain(&side.database.uncounted))),
        }
    }
    warnings.extend(duet.interrupted.then(|| "The duet was stopped early.".to_owned()));
    warnings
}

/// When a side was unavailable.
fn outage(side: &DuetSide, measured_s: f64) -> Option<String> {
    let lost = side.connections.lost;
    let lost = (lost > 0).then(|| plural(lost, "connection was lost", "connections were lost"));
    let away = (side.unavailable_s >= 0.05)
        .then(|| format!("no session had a connection for {}", seconds(side.unavailable_s)));
    let still = Some(standstill(side, measured_s)).filter(|still| *still > 0.0);
    let still = still.map(|still| format!("no transaction completed in {} of {}", seconds(still), seconds(measured_s)));
    let all: Vec<String> = [lost, away, still].into_iter().flatten().collect();
    (!all.is_empty()).then(|| format!("the database was unavailable: {}", all.join(", ")))
}

fn interval(gain: &Gain) -> String {
    match (gain.low_percent, gain.high_percent) {
        (Some(low), Some(high)) => format!("{low:+.2} % to {high:+.2} %"),
        _ => "of unknown width".to_owned(),
    }
}

fn worth(paired: &Gain, unpaired: &Gain) -> String {
    let interval = interval(unpaired);
    let sentence =
        format!("Two runs, one after the other in the same time, would have given an interval of {interval} at best");
    match times_as_wide(paired, unpaired) {
        Some(times) => format!("{sentence}: {} times as wide.", significant(times)),
        None => format!("{sentence}."),
    }
}

fn about(duet: &Duet) -> String {
    let (one, many) = known::of(&duet.workload).unit;
    let how = match duet.together {
        true => format!("both at the same time, in slices of {} s", duet.slice_s),
        false => {
            let (slice, counted) = (duet.slice_s, duet.counted_s);
            format!(
                "in turns, in slices of {slice} s of which the last {counted} s count, the order of each pair drawn at \
                 random"
            )
        }
    };
    format!(
        "{}, {}, {} on each side; {how}; {}, {} s of ramp-up on each side.",
        plain(&duet.workload),
        plural(duet.scale.into(), one, many),
        plural(duet.clients.into(), "client", "clients"),
        plural(duet.pairs.len() as u64, "pair", "pairs"),
        duet.ramp_up_s
    )
}

/// A side's database, and its own settings.
fn one(side: &DuetSide) -> String {
    let engine = &side.engine;
    let settings = side.settings.iter().map(|(name, value)| format!("{}={}", plain(name), plain(value)));
    let of_engine = format!("{} {}, {}", plain(&engine.name), plain(&engine.version), plain(&engine.url));
    std::iter::once(of_engine).chain(settings).collect::<Vec<_>>().join(", ")
}

fn rows(duet: &Duet) -> Vec<Vec<String>> {
    let sides = [&duet.a, &duet.b];
    let row = |name: &str, cell: &dyn Fn(&DuetSide) -> String| {
        let cells = sides.iter().map(|side| cell(side));
        std::iter::once(name.to_owned()).chain(cells).collect::<Vec<String>>()
    };
    let or_unknown = |figure: Option<String>| figure.unwrap_or_else(|| "-".to_owned());
    let mut rows = vec![vec![String::new(), "A".to_owned(), "B".to_owned()]];
    rows.push(row("durability", &|side| side.durability.class.name()));
    rows.push(row("transactions per second", &|side| or_unknown(side.transactions_per_second.map(rate))));
    for name in duet.a.response_ms.keys() {
        for (what, of) in [("p50", 0), ("p99", 1)] {
            let figure =
                |side: &DuetSide| side.response_ms.get(name).map(|of_type| significant([of_type.p50, of_type.p99][of]));
            rows.push(row(&format!("{} {what} ms", transaction(name)), &|side| or_unknown(figure(side))));
        }
    }
    rows.push(row("server CPU us per transaction", &|side| {
        or_unknown(side.server_cpu_us_per_transaction.map(|cpu| format!("{cpu:.0}")))
    }));
    rows
}

/// A summary for lists.
pub(super) fn brief(duet: &Duet) -> String {
    match (duet.lead.known(), &duet.paired) {
        (Some(Lead::BFaster | Lead::AFaster), Some(gain)) => format!("duet: B {:+.1} %", gain.percent),
        (Some(Lead::NoDifference), _) => "duet: no difference".to_owned(),
        (Some(Lead::NotRanked), _) => "duet: not ranked".to_owned(),
        _ => "duet: not decided".to_owned(),
    }
}

/// The report as a page.
pub(super) fn page(duet: &Duet) -> Result<String, minijinja::Error> {
    let title = format!("{} on two databases alternately", plain(&duet.workload));
    html::page(include_str!("scan.html"), minijinja::context! { title, report => text(duet) })
}
