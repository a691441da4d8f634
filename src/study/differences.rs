//! Differences between the points of a sweep, in percent with a confidence interval.
//!
//! Repeats are pairs: the runs of one repeat follow one another, so that a drift of the machine is in both of a pair.
//! The difference is the geometric mean over pairs, its interval by Student's t over their logarithms, as in
//! `graymark tune`. Single runs have no interval.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::point::Point;
use super::tune::gain;
use super::{Measured, Study, SweepKind};

use crate::result::tune::Gain;
use crate::size;

/// The throughput of a point relative to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The point, described by its differences.
    pub point: String,
    /// The point that it is compared with.
    pub against: String,
    /// Mean throughput of its paired runs.
    pub throughput: f64,
    /// The same of the other point.
    pub against_throughput: f64,
    /// Pairs of runs.
    pub pairs: usize,
    /// The largest percentage of transactions that failed in one of the runs, which the user allowed.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed_percent: f64,
    /// In percent of the other point; without an interval for a single pair.
    #[serde(flatten)]
    pub gain: Gain,
}

/// Runs of the same point, by the number of their repeat.
struct Group<'a> {
    series: usize,
    parts: Vec<String>,
    runs: BTreeMap<u32, &'a Measured>,
}

/// The differences of a grid's points to its first, and of further series to the first at the same point. Points that
/// did not do their work are left out, and those that differ in durability: a commit that does not wait for the disk is
/// faster.
pub fn of(study: &Study) -> Vec<Difference> {
    let groups = groups(study);
    let several = study.series.len() > 1;
    let varied: Vec<bool> = (0..PARTS).map(|part| groups.iter().any(|group| differs(group, &groups, part))).collect();
    let words = |group: &Group<'_>| {
        let label = study.series.get(group.series).map(|series| series.label.clone()).filter(|_| several);
        let parts = group.parts.iter().zip(&varied).filter(|(_, varied)| **varied).map(|(part, _)| part.clone());
        let words: Vec<String> = parts.chain(label).filter(|part| !part.is_empty()).collect();
        if words.is_empty() { "the point".to_owned() } else { words.join(", ") }
    };
    let one = |group: &Group<'_>| {
        let base = base(group, &groups, study.sweep)?;
        let pairs: Vec<(&Point, &Point)> = group
            .runs
            .iter()
            .filter_map(|(repeat, run)| Some((&base.runs.get(repeat)?.point, &run.point)))
            .filter(|(then, now)| then.durability == now.durability)
            .filter(|(then, now)| then.throughput > 0.0 && now.throughput > 0.0)
            .collect();
        let failed_percent =
            pairs.iter().map(|(then, now)| then.failed_percent.max(now.failed_percent)).fold(0.0, f64::max);
        let pairs: Vec<(f64, f64)> = pairs.iter().map(|(then, now)| (then.throughput, now.throughput)).collect();
        let logs: Vec<f64> = pairs.iter().map(|(then, now)| (now / then).ln()).collect();
        let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
        Some(Difference {
            point: words(group),
            against: words(base),
            throughput: mean(|pair| pair.1),
            against_throughput: mean(|pair| pair.0),
            pairs: pairs.len(),
            failed_percent,
            gain: gain(&logs)?,
        })
    };
    groups.iter().filter_map(one).collect()
}

/// That points differ in durability, and how; `None` if they do not.
pub fn durabilities(study: &Study) -> Option<String> {
    let points = study.series.iter().flat_map(|series| &series.points);
    let known: BTreeSet<&str> =
        points.map(|measured| measured.point.durability.as_str()).filter(|of| !of.is_empty()).collect();
    let known: Vec<&str> = known.into_iter().collect();
    (known.len() > 1).then(|| {
        format!("Points differ in durability, and such points are not ranked against each other: {}.", known.join("; "))
    })
}

/// That points are not compared because their figures are not those of a working database; `None` if all are.
pub fn left_out(study: &Study) -> Option<String> {
    let points = || study.series.iter().flat_map(|series| &series.points);
    let number = points().filter(|measured| measured.point.unsound().is_some()).count();
    (number > 0).then(|| {
        let all = points().count();
        format!(
            "Differences leave out {number} of {all} points: more transactions failed than allowed, a check failed, or \
             the database was unavailable for some time."
        )
    })
}

/// Number of properties that distinguish points.
const PARTS: usize = 7;

fn parts(measured: &Measured) -> Vec<String> {
    let (point, seen) = (&measured.point, measured.point.observation.as_ref());
    let number = |name: &str, number: Option<u32>| number.map(|number| format!("{name} {number}"));
    [
        measured.at.map(|at| format!("{at} % of the load")),
        point.at_rate.as_ref().map(|at| format!("{} a second", at.rate)),
        number("warehouses", Some(point.warehouses)),
        seen.and_then(|seen| seen.buffer_bytes).map(|bytes| format!("buffers {}", size::text(bytes))),
        seen.and_then(|seen| seen.cpus).map(|cpus| format!("CPUs {cpus}")),
        number("clients", Some(point.clients)),
        Some(point.settings.clone()),
    ]
    .map(Option::unwrap_or_default)
    .to_vec()
}

fn is_zero(percent: &f64) -> bool {
    *percent == 0.0
}

fn groups(study: &Study) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (series, points) in study.series.iter().map(|series| &series.points).enumerate() {
        for measured in points.iter().filter(|measured| measured.point.unsound().is_none()) {
            let parts = parts(measured);
            let repeat = measured.point.observation.as_ref().and_then(|seen| seen.repeat).unwrap_or(1);
            match groups.iter_mut().find(|group| group.series == series && group.parts == parts) {
                Some(group) => drop(group.runs.insert(repeat, measured)),
                None => groups.push(Group { series, parts, runs: [(repeat, measured)].into() }),
            }
        }
    }
    groups
}

fn differs(group: &Group<'_>, groups: &[Group<'_>], part: usize) -> bool {
    groups.iter().any(|other| other.parts.get(part) != group.parts.get(part))
}

/// What a point is compared with: of the first series of a grid its first point, of others the same point of the first
/// series.
fn base<'a, 'b>(group: &Group<'b>, groups: &'a [Group<'b>], sweep: SweepKind) -> Option<&'a Group<'b>> {
    let mut first = groups.iter().filter(|other| other.series == 0);
    if group.series > 0 {
        return first.find(|other| other.parts == group.parts);
    }
    // Points of other sweeps differ in the load itself, so their throughput cannot be compared.
    first.next().filter(|first| sweep == SweepKind::Grid && first.parts != group.parts)
}

#[cfg(test)]
mod tests {
    use super::super::Series;
    use super::super::point::{Limits, observed};
    use super::super::sizing::observation::Observation;
    use super::super::tests::summary;
    use super::*;

    /// Points of MiB of buffers, number of the repeat and throughput.
    type Points = [(u64, u32, f64)];

    fn study(sweep: SweepKind, all: &[&Points]) -> Study {
        let measured = |(buffers, repeat, rate): &(u64, u32, f64)| {
            let run = summary("none", 2, *rate, 10.0);
            let seen = Observation { repeat: Some(*repeat), ..observed(&run, Some(*buffers << 20)) };
            let point = Point { observation: Some(seen), ..Point::measured(&run) };
            Measured { at: None, passed: true, point, record: String::new() }
        };
        let series = all.iter().enumerate().map(|(number, points)| Series {
            label: format!("disk {number}"),
            points: points.iter().map(measured).collect(),
            ..Series::default()
        });
        Study {
            sweep,
            workload: "tpcc".to_owned(),
            engine: String::new(),
            finished: true,
            limits: Limits::default(),
            max: None,
            series: series.collect(),
            missing: Vec::new(),
            differences: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn repeats_are_pairs_that_share_a_drift() {
        // The machine is half as fast in the second repeat, and the larger buffers are faster by a tenth in both.
        let points = [(64, 1, 100.0), (128, 1, 110.0), (64, 2, 50.0), (128, 2, 55.5), (64, 3, 80.0), (128, 3, 87.5)];
        let found = of(&study(SweepKind::Grid, &[&points]));
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!((one.point.as_str(), one.against.as_str(), one.pairs), ("buffers 128MB", "buffers 64MB", 3));
        assert!((one.gain.percent - 10.1).abs() < 0.3, "{one:?}");
        let (low, high) = (one.gain.low_percent.unwrap(), one.gain.high_percent.unwrap());
        assert!(8.0 < low && low < 10.0 && 10.0 < high && high < 12.5, "{one:?}");
    }

    /// The planted fault: the faster point does not wait for the disk.
    #[test]
    fn points_that_differ_in_durability_are_not_ranked() {
        let mut study = study(SweepKind::Grid, &[&[(64, 1, 100.0), (128, 1, 300.0), (256, 1, 110.0)]]);
        assert_eq!((of(&study).len(), durabilities(&study)), (2, None));
        study.series[0].points[1].point.durability = "none".to_owned();
        study.series[0].points[0].point.durability = "flushed".to_owned();
        study.series[0].points[2].point.durability = "flushed".to_owned();
        let found = of(&study);
        assert_eq!(found.iter().map(|one| one.point.as_str()).collect::<Vec<_>>(), ["buffers 256MB"]);
        assert!(durabilities(&study).unwrap().contains("flushed; none"));
    }

    #[test]
    fn a_single_run_each_has_no_interval() {
        let found = of(&study(SweepKind::Grid, &[&[(64, 1, 100.0), (128, 1, 90.0)]]));
        assert!((found[0].gain.percent + 10.0).abs() < 1e-9, "{found:?}");
        assert_eq!((found[0].gain.low_percent, found[0].gain.high_percent), (None, None));
    }

    #[test]
    fn further_series_are_compared_with_the_first_at_the_same_point() {
        let (first, second) = ([(64, 1, 100.0), (128, 1, 200.0)], [(128, 1, 150.0), (256, 1, 10.0)]);
        let found = of(&study(SweepKind::Warehouses, &[&first, &second]));
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!((one.point.as_str(), one.against.as_str()), ("buffers 128MB, disk 1", "buffers 128MB, disk 0"));
        assert!((one.gain.percent + 25.0).abs() < 1e-9, "{one:?}");
        let mut failed = study(SweepKind::Grid, &[&first]);
        failed.series[0].points[1].point.failures = true;
        assert_eq!(of(&failed), [], "what failed is not faster or slower");
    }
}
