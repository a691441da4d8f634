//! Throughput over CPUs: three models of one parameter each, fitted to the same points.

use crate::cpus::CpuCount;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::series::Series;

/// How throughput grows with CPUs (sections 2 and 5.3 of the paper).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// Equation 3: each CPU adds the fraction s of what the one before it added. 1 is no loss.
    Geometric,
    /// Amdahl's law: the fraction of the work that is serial. 0 is no loss.
    Amdahl,
    /// Gunther's quadratic: the fraction that each pair of CPUs loses. 0 is no loss.
    Quadratic,
}

impl Law {
    /// All of them.
    pub(crate) const ALL: [Law; 3] = [Law::Geometric, Law::Amdahl, Law::Quadratic];

    /// Throughput of so many CPUs over that of one.
    pub(crate) fn capacity(self, parameter: f64, cpus: f64) -> f64 {
        match self {
            // The sum's limit where nothing is lost.
            Law::Geometric if parameter >= 1.0 => cpus,
            Law::Geometric => (1.0 - parameter.powf(cpus)) / (1.0 - parameter),
            Law::Amdahl => cpus / (1.0 + parameter * (cpus - 1.0)),
            Law::Quadratic => cpus - parameter * cpus * (cpus - 1.0),
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Law::Geometric => "geometric (Eq. 3)",
            Law::Amdahl => "Amdahl",
            Law::Quadratic => "Gunther's quadratic",
        })
    }
}

/// A law with its parameter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaling {
    /// The law.
    pub law: Law,
    /// Its parameter, from 0 to 1.
    pub parameter: f64,
    /// Root mean square of the differences to what was measured, in percent of the mean of each group of points; none
    /// if the parameter was not fitted here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_percent: Option<f64>,
}

impl Scaling {
    /// Throughput of `to` CPUs over that of `from`; none if the law gives one of them none, as the quadratic does far
    /// out.
    pub(crate) fn ratio(&self, from: CpuCount, to: CpuCount) -> Option<f64> {
        let capacity = |cpus: CpuCount| self.law.capacity(self.parameter, cpus.as_f64());
        (capacity(from) > 0.0 && capacity(to) > 0.0).then(|| capacity(to) / capacity(from))
    }
}

/// Throughput over CPUs with all else the same: (CPUs, New-Orders a minute).
pub(crate) type Group = Vec<(CpuCount, f64)>;

/// The groups in which CPUs alone differ, from their number being known at two values at least.
pub(crate) fn groups(series: &[Series]) -> Vec<Group> {
    let mut points = Vec::new();
    for series in series {
        let Some(cpus) = series.cpus else { continue };
        points.extend(
            series
                .cells
                .iter()
                .filter(|cell| cell.throughput > 0.0)
                .map(|cell| (series.warehouses, cell.buffer_bytes, cpus, cell.throughput)),
        );
    }
    points.sort_by_key(|(warehouses, buffer, cpus, _)| (*warehouses, *buffer, *cpus));
    let groups = points.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1));
    groups
        .map(|group| group.iter().map(|point| (point.2, point.3)).collect())
        .filter(|group: &Group| group.len() >= 2)
        .collect()
}

/// Fits each law to the groups, the one with the smallest error first; nothing without groups. The laws share their
/// parameter between groups, while each group has a throughput of one CPU of its own. Groups weigh the same, whatever
/// their throughput: differences are relative to a group's mean.
pub(crate) fn fit(groups: &[Group]) -> Vec<Scaling> {
    if groups.is_empty() {
        return Vec::new();
    }
    let mut fits = Law::ALL.map(|law| {
        let parameter = least(|parameter| squares(groups, law, parameter));
        let points = groups.iter().map(Vec::len).sum::<usize>().max(1) as f64;
        let error = 100.0 * (squares(groups, law, parameter) / points).sqrt();
        Scaling { law, parameter, error_percent: Some(error) }
    });
    fits.sort_by(|one, other| one.error_percent.unwrap_or(0.0).total_cmp(&other.error_percent.unwrap_or(0.0)));
    fits.to_vec()
}

/// Sum of squared differences, each group with the throughput of one CPU that suits it best.
fn squares(groups: &[Group], law: Law, parameter: f64) -> f64 {
    groups
        .iter()
        .map(|group| {
            let mean = group.iter().map(|point| point.1).sum::<f64>() / group.len().max(1) as f64;
            let pairs = group.iter().map(|(cpus, rate)| (law.capacity(parameter, cpus.as_f64()), rate / mean));
            let (product, square) = pairs.clone().fold((0.0, 0.0), |(product, square), (capacity, rate)| {
                (product + capacity * rate, square + capacity * capacity)
            });
            let one = if square > 0.0 { (product / square).max(0.0) } else { 0.0 };
            pairs.map(|(capacity, rate)| (rate - one * capacity).powi(2)).sum::<f64>()
        })
        .sum()
}

/// Where a function is least between 0 and 1: the best of a grid, and then golden sections about it.
fn least(of: impl Fn(f64) -> f64) -> f64 {
    const GRID: u32 = 1_000;
    let step = 1.0 / f64::from(GRID);
    let grid = (0..=GRID).map(|number| f64::from(number) * step);
    let best = grid.min_by(|one, other| of(*one).total_cmp(&of(*other))).unwrap_or(0.0);
    let (mut from, mut to) = ((best - step).max(0.0), (best + step).min(1.0));
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    for _ in 0..60 {
        let (left, right) = (to - golden * (to - from), from + golden * (to - from));
        if of(left) <= of(right) { to = right } else { from = left }
    }
    (from + to) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 4 of the paper as throughput: the ratios are 12 to 8 and 8 to 4 CPUs, for eight pairs of scale and buffer.
    const TABLE_4: [(f64, f64); 8] = [
        (1.32, 1.73),
        (1.28, 1.78),
        (1.33, 1.81),
        (1.30, 1.84),
        (1.32, 1.74),
        (1.31, 1.79),
        (1.33, 1.79),
        (1.37, 1.81),
    ];

    #[test]
    fn laws_have_their_known_values() {
        let sum = |s: f64, cpus: i32| (0..cpus).map(|power| s.powi(power)).sum::<f64>();
        for (s, cpus) in [(0.5, 1), (0.5, 4), (0.925, 12), (0.0, 7)] {
            assert!((Law::Geometric.capacity(s, f64::from(cpus)) - sum(s, cpus)).abs() < 1e-9);
        }
        assert_eq!(Law::Geometric.capacity(1.0, 16.0), 16.0);
        // A tenth is serial: at most ten times as fast.
        assert!((Law::Amdahl.capacity(0.1, 1e9) - 10.0).abs() < 1e-6);
        assert_eq!(Law::Quadratic.capacity(0.01, 2.0), 1.98);
        assert!(Law::ALL.iter().all(|law| law.capacity(0.3, 1.0) == 1.0));
    }

    fn cpus(number: u32) -> CpuCount {
        CpuCount::whole(number).unwrap()
    }

    #[test]
    fn each_law_finds_its_own_parameter_again_and_fits_best() {
        for (law, parameter) in [(Law::Geometric, 0.93), (Law::Amdahl, 0.041), (Law::Quadratic, 0.017)] {
            // A machine with two CPUs has as many points by quotas, but the laws are close together there.
            for (numbers, apart) in [(&["1", "2", "4", "8", "12"][..], 0.1), (&["0.5", "1", "1.5", "2"], 5e-4)] {
                let numbers = numbers.iter().map(|text| text.parse::<CpuCount>().unwrap());
                let group = |one: f64| {
                    let points = numbers.clone().map(|cpus| (cpus, one * law.capacity(parameter, cpus.as_f64())));
                    points.collect::<Group>()
                };
                let fits = fit(&[group(100.0), group(7.0)]);
                assert_eq!(fits[0].law, law, "{fits:?}");
                let error = |at: usize| fits[at].error_percent.unwrap();
                assert!((fits[0].parameter - parameter).abs() < 1e-6 && error(0) < 1e-4, "{fits:?}");
                assert!(error(1) > apart && error(2) >= error(1), "{fits:?}");
            }
        }
        assert_eq!(fit(&[]), []);
        // Faster than linear: nothing is lost.
        let fits = fit(&[vec![(cpus(1), 1.0), (cpus(2), 3.0)]]);
        assert!(fits.iter().all(|fit| (fit.ratio(cpus(1), cpus(2)).unwrap() - 2.0).abs() < 1e-6), "{fits:?}");
    }

    /// Section 5.3: "The estimates were within 4% of the measurements."
    #[test]
    fn the_papers_ratios_of_cpus() {
        let groups =
            TABLE_4.map(|(twelve, eight)| vec![(cpus(4), 1.0), (cpus(8), eight), (cpus(12), twelve * eight)]).to_vec();
        let fits = fit(&groups);
        let geometric = fits.iter().find(|fit| fit.law == Law::Geometric).unwrap();
        let mean = |of: fn(&(f64, f64)) -> f64| TABLE_4.iter().map(of).sum::<f64>() / 8.0;
        let off = |from, to, measured: f64| (geometric.ratio(cpus(from), cpus(to)).unwrap() / measured - 1.0).abs();
        assert!(off(8, 12, mean(|row| row.0)) < 0.04 && off(4, 8, mean(|row| row.1)) < 0.04, "{geometric:?}");
        assert!((0.9..0.96).contains(&geometric.parameter), "{geometric:?}");
    }

    #[test]
    fn a_law_far_out_has_no_ratio() {
        let quadratic = Scaling { law: Law::Quadratic, parameter: 0.1, error_percent: None };
        assert_eq!(quadratic.ratio(cpus(1), cpus(11)), None);
        assert!(quadratic.ratio(cpus(1), cpus(10)).is_some());
    }
}
