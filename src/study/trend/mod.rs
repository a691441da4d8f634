//! A history of records: groups of comparable runs, and change points of their figures.

pub mod changes;

use std::collections::BTreeMap;

use serde::Serialize;

use super::compare::means::{Mean, of_runs};
use super::compare::{Difference, difference};
use crate::judge::incidents::Incidents;
use crate::record::Brief;
use crate::result::format::Status;
use crate::result::summary::Summary;

/// The examined figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum TrendMetric {
    /// The headline figure
    Figure,
    /// The 99th percentile of the response times of the first transaction type
    P99,
}

/// A run in a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// Start of the run, RFC 3339, UTC.
    pub started: String,
    /// The user's name for it; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Its directory.
    pub record: String,
    /// The database and its version.
    pub engine: String,
    /// Its figure.
    pub figure: f64,
}

/// A change between two runs that follow one another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The number of the first run after it, from 0.
    pub at: usize,
    /// The last run before it.
    pub before: Run,
    /// The first run after it.
    pub after: Run,
    /// Mean from the step before to this one.
    pub from: f64,
    /// Mean from this step to the next one.
    pub to: f64,
    /// The change from the one to the other, with its interval.
    pub change: Difference,
    /// Other differences between the last run before and the first run after: name, value before, value after.
    pub differs: Vec<[String; 3]>,
}

/// Comparable runs, in order of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Their common properties, in words.
    pub what: String,
    /// The unit of the figure.
    pub metric: String,
    /// The runs.
    pub runs: Vec<Run>,
    /// The steps.
    pub steps: Vec<Step>,
    /// Whether there are enough runs for a step to be found.
    pub enough: bool,
}

/// A history.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// The examined figure.
    pub of: TrendMetric,
    /// A series of each kind of run, the longest first.
    pub series: Vec<Series>,
    /// Skipped records: incomplete runs, and records of other commands.
    pub left_out: usize,
    /// Skipped runs that failed: their figures are no measurements.
    pub failed: usize,
}

/// The trend of records: of each kind the last `most` count. `differing` says what else two records, the last before a
/// step and the first after it, differ in.
pub fn of(
    records: &[Brief],
    of: TrendMetric,
    most: usize,
    differing: impl Fn(&Run, &Run) -> Vec<[String; 3]>,
) -> Trend {
    let mut kinds: BTreeMap<(String, String), Vec<Run>> = BTreeMap::new();
    let mut failed = 0;
    for record in records {
        if let Some((what, metric, run)) = run(record, of) {
            if record.summary.as_ref().is_some_and(|summary| Incidents::of(summary).fail()) {
                failed += 1;
                continue;
            }
            kinds.entry((what, metric)).or_default().push(run);
        }
    }
    let counted: usize = kinds.values().map(Vec::len).sum();
    let mut series: Vec<Series> = Vec::new();
    for ((what, metric), mut runs) in kinds {
        runs.sort_by(|one, other| (&one.started, &one.record).cmp(&(&other.started, &other.record)));
        let runs = runs.split_off(runs.len().saturating_sub(most));
        let steps = steps(&runs, &differing);
        series.push(Series { what, metric, enough: runs.len() >= changes::FEWEST, runs, steps });
    }
    series.sort_by_key(|series| std::cmp::Reverse(series.runs.len()));
    Trend { of, series, left_out: records.len() - counted - failed, failed }
}

/// A run, its kind and what its figure is called; none of what did not come to its end, or is no run.
fn run(record: &Brief, of: TrendMetric) -> Option<(String, String, Run)> {
    let Brief { header, summary, directory, .. } = record;
    let summary = summary.as_ref().filter(|summary| summary.interval_s > 0.0 && !summary.interrupted)?;
    let (figure, metric) = match of {
        TrendMetric::Figure => (summary.figure(), summary.metric.clone()),
        TrendMetric::P99 => {
            let first = header.transactions.first()?;
            let times = summary.transactions.get(first).filter(|of_type| of_type.completed > 0)?;
            (times.response_ms.p99, format!("p99 of {first}, ms"))
        }
    };
    let run = Run {
        started: header.started.clone(),
        name: header.name.clone(),
        tags: header.tags.clone(),
        record: directory.display().to_string(),
        engine: format!("{} {}", summary.engine.name, summary.engine.version),
        figure,
    };
    (header.status == Status::Complete && figure.is_finite() && figure > 0.0).then(|| (kind(summary), metric, run))
}

/// The properties that must be equal within a series. Versions, settings and machines may change in a history.
fn kind(summary: &Summary) -> String {
    let mut parts = vec![
        summary.workload.clone(),
        summary.engine.name.clone(),
        format!("scale {}", summary.scale),
        format!("{} clients", summary.clients),
        format!("pace {}", summary.pace),
        summary.via.name(),
        summary.isolation.clone(),
    ];
    parts.extend(summary.profile.clone());
    parts.extend(summary.open_loop.as_ref().map(|open| format!("{} a second", open.rate)));
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

fn steps(runs: &[Run], differing: &impl Fn(&Run, &Run) -> Vec<[String; 3]>) -> Vec<Step> {
    let figures: Vec<f64> = runs.iter().map(|run| run.figure).collect();
    let changes = changes::changes(&figures);
    let mut steps = Vec::new();
    for (number, at) in changes.iter().copied().enumerate() {
        let from = number.checked_sub(1).and_then(|before| changes.get(before)).copied().unwrap_or(0);
        let to = changes.get(number + 1).copied().unwrap_or(figures.len());
        let mean = |part: Option<&[f64]>| mean(part.unwrap_or_default());
        let (Some(before), Some(after)) = (mean(figures.get(from..at)), mean(figures.get(at..to))) else { continue };
        let last = at.checked_sub(1).and_then(|last| runs.get(last));
        let (Some(last), Some(first)) = (last, runs.get(at)) else { continue };
        steps.push(Step {
            at,
            before: last.clone(),
            after: first.clone(),
            from: before.mean,
            to: after.mean,
            change: difference(&before, &after),
            differs: differing(last, first),
        });
    }
    steps
}

/// The mean of figures, which are the units themselves.
fn mean(figures: &[f64]) -> Option<Mean> {
    of_runs(&figures.iter().map(|figure| vec![*figure]).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tests::summary;

    fn brief(number: usize, figure: f64, clients: u32) -> Brief {
        let header = serde_json::json!({
            "format": 1, "graymark": "0", "command": "run", "workload": "tpcc", "name": format!("c{number}"),
            "transactions": ["new_order"], "status": "complete", "started": format!("2026-01-01T00:{number:02}:00Z"),
        });
        Brief {
            directory: format!("r{number}").into(),
            header: serde_json::from_value(header).unwrap(),
            environment: None,
            summary: Some(summary("none", clients, figure, 1.0)),
            tuned: None,
            duet: None,
            acid: None,
        }
    }

    #[test]
    fn a_step_has_its_size_and_the_neighbouring_runs() {
        let figure = |number: usize| if number < 12 { 1_000.0 } else { 900.0 } + (number * 7 % 5) as f64;
        let mut records: Vec<Brief> = (0..24).rev().map(|number| brief(number, figure(number), 4)).collect();
        records.push(brief(30, 5.0, 8));
        records.push(Brief { summary: None, ..brief(31, 5.0, 4) });
        // The figure of a failed run is no measurement.
        let mut failed = brief(32, 500.0, 4);
        failed.summary.iter_mut().for_each(|summary| summary.database.agrees = Some(false));
        records.push(failed);
        let differing = |one: &Run, other: &Run| vec![[one.name.clone(), one.record.clone(), other.record.clone()]];
        let trend = of(&records, TrendMetric::Figure, 100, differing);
        assert_eq!((trend.series.len(), trend.left_out, trend.series[0].runs.len()), (2, 1, 24));
        assert_eq!(trend.failed, 1);
        let [step] = &trend.series[0].steps[..] else { panic!("{:?}", trend.series[0].steps) };
        assert_eq!((step.at, step.before.name.as_str(), step.after.name.as_str()), (12, "c11", "c12"));
        assert_eq!(step.differs, [["c11".to_owned(), "r11".to_owned(), "r12".to_owned()]]);
        assert!((step.change.percent + 10.0).abs() < 0.3, "{step:?}");
        assert!(step.change.low_percent < -9.8 && step.change.high_percent > -10.2, "{step:?}");
        assert!(trend.series[0].enough && !trend.series[1].enough);
        // Only the last of them count.
        let trend = of(&records, TrendMetric::Figure, 12, |_, _| Vec::new());
        assert_eq!((trend.series[0].runs.len(), trend.series[0].steps.len()), (12, 0));
    }
}
