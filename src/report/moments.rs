//! What differed in the seconds of dips and latency peaks, in words.

use serde::Serialize;

use super::format::{plain, rate, seconds, significant};
use crate::record::Record;
use crate::study::explain::{Course, Difference, Moment, Why};

/// Moments that a report tells: those in which most was lost. `graymark explain` tells all.
const TOLD: usize = 12;

/// Some seconds, and what differed in them.
#[derive(Debug, Serialize)]
pub struct Explained {
    /// When, and what was done in them.
    pub title: String,
    /// Causes, what weighs most first: a name, and what was found.
    pub causes: Vec<[String; 2]>,
}

/// The dips and latency peaks of a record.
pub(super) fn of(record: &Record) -> Vec<Explained> {
    let Some(course) = Course::of(record) else { return Vec::new() };
    course.worst_moments(TOLD).iter().map(explained).collect()
}

/// One of them.
pub(super) fn explained(moment: &Moment) -> Explained {
    let causes = moment.differences.iter().map(|difference| [words(difference.cause), told(difference)]);
    let mut causes: Vec<[String; 2]> = causes.collect();
    if causes.is_empty() {
        let nothing = "nothing that is counted differed from the median second";
        causes.push(["not known".to_owned(), nothing.to_owned()]);
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
        .map(|(is, usual)| format!("; p99 {} ms, of the median second {} ms", significant(is), significant(usual)));
    format!(
        "{why} at {:.0} s{length}: {} transactions a second, in the median second {}{}",
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

fn told(difference: &Difference) -> String {
    let words = plain(&difference.words);
    match difference.found.zip(difference.usual) {
        Some((found, usual)) => {
            let unit = difference.unit;
            format!("{} {unit} instead of {}: {words}", significant(found), significant(usual))
        }
        None => words,
    }
}
