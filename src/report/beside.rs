//! Two sets of runs as one table: what differs, then what was measured.

use super::format::{plain, significant};
use super::table;
use crate::study::compare::Comparison;
use crate::study::compare::figures::Known;

/// How a comparison is written for other programs and for papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A table of Markdown.
    Markdown,
    /// Comma-separated values.
    Csv,
    /// A tabular of LaTeX.
    Latex,
}

/// What stands where a side does not tell.
const UNKNOWN: &str = "-";

/// What B has more than A, in percent of A.
pub fn change(a: f64, b: f64) -> String {
    if a > 0.0 { format!("{:+.1} %", 100.0 * (b / a - 1.0)) } else { UNKNOWN.to_owned() }
}

/// A mean, with its standard error if there is one.
pub fn told(known: Option<Known>) -> String {
    let text = |of: Known| match of.standard_error {
        Some(error) => format!("{} ± {}", significant(of.mean), significant(error)),
        None => significant(of.mean),
    };
    known.map_or(UNKNOWN.to_owned(), text)
}

/// The rows with their head.
pub fn rows(comparison: &Comparison) -> Vec<Vec<String>> {
    let mut rows = vec![["", "A", "B", "change"].map(str::to_owned).to_vec()];
    rows.extend(comparison.differs.iter().map(|of| vec![plain(&of.what), plain(&of.a), plain(&of.b), String::new()]));
    let throughput = &comparison.throughput;
    let [a, b] = [&comparison.a, &comparison.b]
        .map(|side| Known { mean: side.transactions_per_second, standard_error: Some(side.standard_error) });
    let interval = format!("{:+.1} % to {:+.1} %", throughput.low_percent, throughput.high_percent);
    let moved = format!("{:+.1} % ({interval})", throughput.percent);
    rows.push(vec!["transactions/s".to_owned(), told(Some(a)), told(Some(b)), moved]);
    for (name, responses) in &comparison.responses {
        let [Some(a), Some(b)] = responses else { continue };
        for (percentile, a, b) in [("p50", a.p50, b.p50), ("p90", a.p90, b.p90), ("p99", a.p99, b.p99)] {
            let name = format!("{} {percentile}, ms", plain(name));
            rows.push(vec![name, significant(a), significant(b), change(a, b)]);
        }
    }
    for figure in &comparison.figures {
        let moved = figure.a.zip(figure.b).map_or(UNKNOWN.to_owned(), |(a, b)| change(a.mean, b.mean));
        rows.push(vec![figure.what.to_owned(), told(figure.a), told(figure.b), moved]);
    }
    rows
}

/// The table in a form.
pub fn render(comparison: &Comparison, form: Form) -> String {
    let rows = rows(comparison);
    match form {
        Form::Markdown => format!("**{}**\n\n{}", plain(&comparison.sentence()), table::markdown(&rows)),
        Form::Csv => table::csv(&rows),
        Form::Latex => table::latex(&rows),
    }
}
