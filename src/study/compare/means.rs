//! The mean of an autocorrelated series, and its standard error by overlapping batch means: means of blocks
//! of neighbouring seconds vary as the whole mean does, times their number. Nothing is drawn at random, so the same
//! records always give the same figures.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean and its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mean {
    /// The mean of all seconds or, of several runs, of the means of the runs.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of the error.
    pub freedom: f64,
    /// Seconds in a block; `None` for several runs.
    pub block: Option<usize>,
    /// Total seconds.
    pub seconds: usize,
    /// Standard deviation of a second.
    pub deviation: f64,
    /// Whether the autocorrelation is so long that the error cannot be determined.
    pub drifts: bool,
}

/// The mean of runs given second by second. `None` without runs, or if one is empty.
///
/// Several runs are the units themselves, including all variation between runs. For a single run, blocks
/// of seconds are the units.
pub(crate) fn of_runs(runs: &[Vec<f64>]) -> Option<Mean> {
    if let [run] = runs {
        return of_run(run);
    }
    let means: Vec<Mean> = runs.iter().map(|run| of_run(run)).collect::<Option<_>>()?;
    if means.is_empty() {
        return None;
    }
    let count = means.len() as f64;
    let mean = means.iter().map(|run| run.mean).sum::<f64>() / count;
    let variance = means.iter().map(|run| (run.mean - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Some(Mean {
        mean,
        error: (variance / count).sqrt(),
        freedom: count - 1.0,
        block: None,
        seconds: runs.iter().map(Vec::len).sum(),
        deviation: (means.iter().map(|run| run.deviation.powi(2)).sum::<f64>() / count).sqrt(),
        drifts: false,
    })
}

/// The mean of one run. `None` if it is empty.
pub(crate) fn of_run(seconds: &[f64]) -> Option<Mean> {
    let count = seconds.len();
    if count == 0 {
        return None;
    }
    let mean = seconds.iter().sum::<f64>() / count as f64;
    let variance = seconds.iter().map(|second| (second - mean).powi(2)).sum::<f64>() / count as f64;
    let (block, drifts) = block(seconds, mean, variance);
    let blocks = count as f64 / block as f64;
    let overlapping = (count - block + 1) as f64;
    let mut sum: f64 = seconds[..block].iter().sum();
    let mut squares = (sum / block as f64 - mean).powi(2);
    for at in block..count {
        sum += seconds[at] - seconds[at - block];
        squares += (sum / block as f64 - mean).powi(2);
    }
    // Means of blocks scatter around the mean of the same seconds, hence less than around the true one; the second
    // factor gives this back.
    let error = (squares / overlapping / (blocks - 1.0).max(1.0)).sqrt();
    Some(Mean {
        mean,
        error,
        freedom: (blocks - 1.0).max(1.0),
        block: Some(block),
        seconds: count,
        deviation: variance.sqrt(),
        drifts,
    })
}

/// Seconds in a block: a tenth of the run, more if neighbours are alike for more than a fiftieth of it (five times as
/// many), at most a fifth; and whether that was too few. Neighbours are alike up to the first lag whose autocorrelation
/// is within two standard errors of none.
fn block(seconds: &[f64], mean: f64, variance: f64) -> (usize, bool) {
    let count = seconds.len();
    let most = (count / 5).max(1);
    let noise = 2.0 / (count as f64).sqrt();
    let correlation = |lag: usize| {
        let products = seconds.iter().zip(&seconds[lag..]).map(|(now, later)| (now - mean) * (later - mean));
        products.sum::<f64>() / count as f64 / variance
    };
    let alike = if variance > 0.0 { (1..most).find(|lag| correlation(*lag) < noise).unwrap_or(most) } else { 1 };
    ((5 * alike).clamp(count.div_ceil(10).min(most), most), 3 * alike > most)
}

/// The quantile of Student's t for a two-sided probability of `both`.
pub(crate) fn student(freedom: f64, both: f64) -> f64 {
    let distribution = StudentsT::new(0.0, 1.0, freedom.max(1.0));
    distribution.map_or(f64::INFINITY, |distribution| distribution.inverse_cdf(1.0 - both / 2.0))
}
