//! Compares two breakdowns of the mean response time.

use serde::Serialize;

use crate::measure::waterfall::{Part, Parts};
use crate::record::Record;

/// A part has changed if it differs by more than this number of standard errors.
const ERRORS: f64 = 2.0;
/// And by more than this share of the longer response time.
const SHARE: f64 = 0.02;
/// Number of parts in a sentence.
const NAMED: usize = 3;

/// A part of the mean transaction's response time on both sides, in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartMoved {
    /// Its key, as in `waterfall.all.parts` of a summary.
    pub part: &'static str,
    /// In words.
    pub words: &'static str,
    /// Of A.
    pub a_us: f64,
    /// Of B.
    pub b_us: f64,
    /// One standard error of the difference for sampled parts; 0 for parts measured by clocks.
    pub error_us: f64,
    /// Whether they differ by more than the errors, and by at least 2 % of the response time.
    pub moved: bool,
}

/// The breakdown of the mean response time on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Waterfalls {
    /// Mean response time of A in microseconds.
    pub a_us: f64,
    /// The same of B.
    pub b_us: f64,
    /// All parts, from the user to the disk.
    pub parts: Vec<PartMoved>,
    /// The largest changes, in a sentence.
    pub sentence: String,
}

/// Compares two sets of records; `None` unless every record has a breakdown.
pub(super) fn of(a: &[Record], b: &[Record]) -> Option<Waterfalls> {
    let (a, b) = (mean(a)?, mean(b)?);
    Some(between(&a, &b))
}

/// The mean of the runs of a side.
fn mean(records: &[Record]) -> Option<Parts> {
    let all = |record: &'_ Record| Some(record.summary.as_ref()?.waterfall.as_ref()?.all.clone());
    let all: Vec<Parts> = records.iter().map(all).collect::<Option<_>>()?;
    let runs = all.len() as f64;
    let mut mean = Parts::default();
    for parts in &all {
        mean.response_us += parts.response_us / runs;
        for (name, us) in &parts.parts {
            *mean.parts.entry(name.clone()).or_default() += us / runs;
        }
        for (name, us) in &parts.error_us {
            let error = mean.error_us.entry(name.clone()).or_default();
            *error = error.hypot(us / runs);
        }
    }
    (runs > 0.0).then_some(mean)
}

fn between(a: &Parts, b: &Parts) -> Waterfalls {
    let error = |of: &Parts, part: Part| of.error_us.get(part.name()).copied().unwrap_or_default();
    let longer = a.response_us.max(b.response_us);
    let row = |part: Part| {
        let (a_us, b_us) = (a.part(part), b.part(part));
        let error_us = error(a, part).hypot(error(b, part));
        let moved = (b_us - a_us).abs() > (ERRORS * error_us).max(SHARE * longer);
        PartMoved { part: part.name(), words: part.words(), a_us, b_us, error_us, moved }
    };
    let there = |part: &PartMoved| part.a_us.max(part.b_us) > 0.0005 * longer;
    let parts: Vec<PartMoved> = Part::ALL.into_iter().map(row).filter(there).collect();
    Waterfalls { a_us: a.response_us, b_us: b.response_us, sentence: sentence(a, b, &parts), parts }
}

fn sentence(a: &Parts, b: &Parts, parts: &[PartMoved]) -> String {
    let more = b.response_us - a.response_us;
    let mut moved: Vec<&PartMoved> = parts.iter().filter(|part| part.moved).collect();
    moved.sort_by(|one, other| (other.b_us - other.a_us).abs().total_cmp(&(one.b_us - one.a_us).abs()));
    if moved.is_empty() {
        return "No part of the mean response time changed by more than 2 % of it.".to_owned();
    }
    let texts: Vec<String> = moved
        .iter()
        .take(NAMED)
        .map(|part| format!("{} {:+.0} µs ({:.0} to {:.0})", part.words, part.b_us - part.a_us, part.a_us, part.b_us))
        .collect();
    format!("The mean response time changed by {more:+.0} µs; largest changes: {}.", texts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(all: &[(Part, f64, f64)]) -> Parts {
        Parts {
            response_us: all.iter().map(|(_, us, _)| us).sum(),
            parts: all.iter().map(|(part, us, _)| (part.name().to_owned(), *us)).collect(),
            error_us: all.iter().map(|(part, _, error)| (part.name().to_owned(), *error)).collect(),
            samples: 1_000.0,
        }
    }

    #[test]
    fn the_part_that_was_changed_is_the_one_that_moved() {
        let a = parts(&[(Part::Log, 2_000.0, 30.0), (Part::RowLocks, 500.0, 60.0), (Part::ServerCpu, 400.0, 0.0)]);
        let b = parts(&[(Part::Log, 100.0, 10.0), (Part::RowLocks, 420.0, 60.0), (Part::ServerCpu, 402.0, 0.0)]);
        let found = between(&a, &b);
        let moved: Vec<&str> = found.parts.iter().filter(|part| part.moved).map(|part| part.part).collect();
        assert_eq!(moved, ["log"], "{found:?}");
        assert_eq!((found.a_us, found.b_us, found.parts.len()), (2_900.0, 922.0, 3));
        assert!(
            found.sentence.contains("-1978 µs")
                && found.sentence.contains("log write and flush -1900 µs (2000 to 100)"),
            "{found:?}"
        );
        assert!(between(&a, &a).sentence.starts_with("No part"));
    }
}
