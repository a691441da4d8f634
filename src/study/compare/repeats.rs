//! Statistics of several runs of the same plan.

use serde::Serialize;

use super::CONFIDENCE;
use super::means::student;
use crate::judge::incidents::Incidents;
use crate::result::summary::Summary;

/// Several runs of the same plan. The runs themselves are the units, including all variation from start to
/// start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Repeats {
    /// The unit of the figure.
    pub metric: String,
    /// The figure of each run, in order.
    pub figures: Vec<f64>,
    /// Number of runs that failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// Their mean.
    pub mean: f64,
    /// Lower end of the 95 % confidence interval of the mean; `None` for fewer than two runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Its upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Their standard deviation in percent of the mean; `None` for fewer than two runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation_percent: Option<f64>,
}

impl Repeats {
    /// The statistics of runs with a result; `None` without any.
    pub fn of(runs: &[Summary]) -> Option<Repeats> {
        let metric = runs.first()?.metric.clone();
        let figures: Vec<f64> = runs.iter().map(Summary::figure).collect();
        let count = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / count;
        let deviation = (figures.len() > 1)
            .then(|| (figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt());
        let half = deviation.map(|deviation| student(count - 1.0, 1.0 - CONFIDENCE / 100.0) * deviation / count.sqrt());
        Some(Repeats {
            metric,
            failed: runs.iter().filter(|run| Incidents::of(run).fail()).count() as u64,
            mean,
            low: half.map(|half| mean - half),
            high: half.map(|half| mean + half),
            deviation_percent: deviation.filter(|_| mean > 0.0).map(|deviation| 100.0 * deviation / mean),
            figures,
        })
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tests::summary;

    #[test]
    fn an_interval_is_by_students_t() {
        let runs = [90.0, 100.0, 110.0].map(|figure| summary("none", 1, figure, 1.0));
        let repeats = Repeats::of(&runs).unwrap();
        assert_eq!((repeats.mean, repeats.deviation_percent), (100.0, Some(10.0)));
        // t of two degrees of freedom is 4.303; the error of the mean is 10 over the root of three.
        assert!((repeats.high.unwrap() - 124.84).abs() < 0.01, "{repeats:?}");
        assert!((repeats.low.unwrap() - 75.16).abs() < 0.01, "{repeats:?}");
        let one = Repeats::of(&runs[..1]).unwrap();
        assert_eq!((one.mean, one.low, one.deviation_percent), (90.0, None, None));
        assert_eq!(Repeats::of(&[]), None);
        // The planted fault: counts that differ.
        let mut failed = runs;
        failed[1].database.agrees = Some(false);
        assert_eq!((repeats.failed, Repeats::of(&failed).unwrap().failed), (0, 1));
    }
}
