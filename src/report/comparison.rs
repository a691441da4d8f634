//! A comparison of two sets of runs as a table: differing settings first, then measurements.

use super::format::{plain, plural, significant};
use super::{alarms, table};
use crate::study::compare::Comparison;
use crate::study::compare::comparable::{Differing, NOT_KNOWN};
use crate::study::compare::figures::Known;

/// The output format of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A Markdown table.
    Markdown,
    /// Comma-separated values.
    Csv,
    /// A LaTeX tabular.
    Latex,
}

/// Placeholder for unknown figures.
const UNKNOWN: &str = "-";

/// The difference of B from A, in percent of A; none if the sides are not ranked.
pub fn change(comparison: &Comparison, a: f64, b: f64) -> String {
    let shown = comparison.is_ranked() && a > 0.0;
    if shown { format!("{:+.1} %", 100.0 * (b / a - 1.0)) } else { UNKNOWN.to_owned() }
}

/// A mean, with its standard error if there is one.
pub fn mean(known: Option<Known>) -> String {
    let text = |of: Known| match of.standard_error {
        Some(error) => format!("{} ± {}", significant(of.mean), significant(error)),
        None => significant(of.mean),
    };
    known.map_or(UNKNOWN.to_owned(), text)
}

/// The differences of the sides other than their measurements, a line for each; empty if there are none. Settings that
/// only one side has, as with two engines, are only counted.
pub fn differences(comparison: &Comparison) -> String {
    let of_one = |of: &&Differing| of.what.starts_with("setting ") && (of.a == NOT_KNOWN || of.b == NOT_KNOWN);
    let (of_one, of_both): (Vec<_>, Vec<_>) = comparison.differs.iter().partition(of_one);
    if comparison.differs.is_empty() {
        return String::new();
    }
    let mut rows = vec![["differs", "A", "B"].map(str::to_owned).to_vec()];
    rows.extend(of_both.iter().map(|of| vec![plain(&of.what), plain(&of.a), plain(&of.b)]));
    let more = match of_one.len() {
        0 => String::new(),
        some => format!("and {} that only one of them has\n", plural(some as u64, "setting", "settings")),
    };
    table::words(&rows) + &more
}

/// A measured value of both sides.
struct Measured {
    what: String,
    a: Option<Known>,
    b: Option<Known>,
    /// The difference of B from A in percent, and the ends of its interval; unknown if the sides are not ranked.
    change: [Option<f64>; 3],
}

/// The measured values.
fn measured(comparison: &Comparison) -> Vec<Measured> {
    let throughput = &comparison.throughput;
    let [a, b] = [&comparison.a, &comparison.b]
        .map(|side| Some(Known { mean: side.transactions_per_second, standard_error: Some(side.standard_error) }));
    let change = [throughput.percent, throughput.low_percent, throughput.high_percent].map(Some);
    let mut all = vec![Measured { what: "transactions/s".to_owned(), a, b, change }];
    let percent = |a: f64, b: f64| (a > 0.0).then(|| 100.0 * (b / a - 1.0));
    for (name, responses) in &comparison.responses {
        let [Some(a), Some(b)] = responses else { continue };
        for (percentile, a, b) in [("p50", a.p50, b.p50), ("p90", a.p90, b.p90), ("p99", a.p99, b.p99)] {
            let [known_a, known_b] = [a, b].map(|mean| Some(Known { mean, standard_error: None }));
            let what = format!("{} {percentile}, ms", plain(name));
            all.push(Measured { what, a: known_a, b: known_b, change: [percent(a, b), None, None] });
        }
    }
    all.extend(comparison.figures.iter().map(|figure| Measured {
        what: figure.what.to_owned(),
        a: figure.a,
        b: figure.b,
        change: [figure.a.zip(figure.b).and_then(|(a, b)| percent(a.mean, b.mean)), None, None],
    }));
    if !comparison.is_ranked() {
        all.iter_mut().for_each(|measured| measured.change = [None; 3]);
    }
    all
}

/// What failed in the runs of each side; `None` if nothing did.
fn failures(comparison: &Comparison) -> Option<[String; 2]> {
    let sides = [&comparison.a, &comparison.b].map(|side| alarms::of_side(side).join(" "));
    sides.iter().any(|side| !side.is_empty()).then_some(sides)
}

/// The rows for readers, with their header.
pub(crate) fn rows(comparison: &Comparison) -> Vec<Vec<String>> {
    let mut rows = vec![["", "A", "B", "change"].map(str::to_owned).to_vec()];
    rows.extend(failures(comparison).map(|[a, b]| vec!["failures".to_owned(), a, b, String::new()]));
    rows.extend(comparison.differs.iter().map(|of| vec![plain(&of.what), plain(&of.a), plain(&of.b), String::new()]));
    rows.extend(measured(comparison).into_iter().map(|Measured { what, a, b, change }| {
        let moved = match change {
            [Some(change), Some(low), Some(high)] => format!("{change:+.1} % ({low:+.1} % to {high:+.1} %)"),
            [Some(change), ..] => format!("{change:+.1} %"),
            _ => UNKNOWN.to_owned(),
        };
        vec![what, mean(a), mean(b), moved]
    }));
    rows
}

/// The rows for programs: one number per cell, without units and separators.
fn values(comparison: &Comparison) -> Vec<Vec<String>> {
    const HEAD: [&str; 8] =
        ["what", "a", "b", "a_standard_error", "b_standard_error", "change_percent", "low_percent", "high_percent"];
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    if let Some([a, b]) = failures(comparison) {
        let mut cells = vec!["failures".to_owned(), a, b];
        cells.resize(HEAD.len(), String::new());
        rows.push(cells);
    }
    for of in &comparison.differs {
        let mut cells = vec![plain(&of.what), plain(&of.a), plain(&of.b)];
        cells.resize(HEAD.len(), String::new());
        rows.push(cells);
    }
    rows.extend(measured(comparison).into_iter().map(|Measured { what, a, b, change }| {
        let mean = |of: Option<Known>| number(of.map(|of| of.mean));
        let error = |of: Option<Known>| number(of.and_then(|of| of.standard_error));
        let mut cells = vec![what, mean(a), mean(b), error(a), error(b)];
        cells.extend(change.map(number));
        cells
    }));
    rows
}

/// The table in a format.
pub fn render(comparison: &Comparison, form: Form) -> String {
    match form {
        Form::Markdown => format!("**{}**\n\n{}", plain(&comparison.sentence()), table::markdown(&rows(comparison))),
        Form::Csv => table::csv(&values(comparison)),
        Form::Latex => table::latex(&rows(comparison)),
    }
}
