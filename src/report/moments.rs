//! The differences of dips and latency peaks from the median second, in words.

use serde::Serialize;

use super::format::{plain, rate, seconds, significant};
use crate::record::Record;
use crate::study::explain::{Course, Difference, Moment, Why};

/// Number of moments in a report: those with the largest losses. `graymark explain` lists all.
const MAX_MOMENTS: usize = 12;

/// A moment and its differences.
#[derive(Debug, Serialize)]
pub struct Explained {
    /// Its time and throughput.
    pub title: String,
    /// Possible causes, the most important first: a name and a description.
    pub causes: Vec<[String; 2]>,
}

/// The dips and latency peaks of a record.
pub(super) fn of(record: &Record) -> Vec<Explained> {
    let Some(course) = Course::of(record) else { return Vec::new() };
    course.worst_moments(MAX_MOMENTS).iter().map(explained).collect()
}

/// Describes a moment.
pub(super) fn explained(moment: &Moment) -> Explained {
    let causes = moment.differences.iter().map(|difference| [words(difference.cause), describe(difference)]);
    let mut causes: Vec<[String; 2]> = causes.collect();
    if causes.is_empty() {
        let nothing = "no counter differed from the median second";
        causes.push(["unknown".to_owned(), nothing.to_owned()]);
    }
    Explained { title: title(moment), causes }
}

fn title(moment: &Moment) -> String {
    let why = match moment.why {
        Why::Dip => "Dip",
        Why::LatencyPeak => "Latency peak",
        Why::Asked => "Second",
    };
    let length = if moment.length_s > 1.0 { format!(", {} long", seconds(moment.length_s)) } else { String::new() };
    let p99 = moment
        .p99_ms
        .zip(moment.usual_p99_ms)
        .map(|(is, usual)| format!("; p99 {} ms, in the median second {} ms", significant(is), significant(usual)));
    format!(
        "{why} at {:.0} s{length}: {} transactions per second, in the median second {}{}",
        moment.start_s,
        rate(moment.transactions_per_second),
        rate(moment.usual_transactions_per_second),
        p99.unwrap_or_default()
    )
}

/// A key as words: `row_locks` is `row locks`.
pub(super) fn words(key: &str) -> String {
    key.replace('_', " ")
}

fn describe(difference: &Difference) -> String {
    let words = plain(&difference.words);
    match difference.found.zip(difference.usual) {
        Some((found, usual)) => {
            let unit = difference.unit;
            format!("{} {unit} instead of {}: {words}", significant(found), significant(usual))
        }
        None => words,
    }
}
