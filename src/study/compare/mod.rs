//! Compares two builds, settings or machines by two sets of runs: throughput second by second, with a
//! confidence interval that accounts for autocorrelation.

pub(crate) mod comparable;
pub mod figures;
pub mod gate;
pub mod means;
pub mod repeats;
pub mod waterfall;

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::judge::incidents::Incidents;
use crate::measure::{SIGNIFICANT_DIGITS, quantile_ms};
use crate::record::Record;
use crate::result::Phase;
use crate::result::format::Clock;
use comparable::Differing;
use figures::Figure;
use means::Mean;
use waterfall::Waterfalls;

/// The confidence of all intervals, in percent.
pub(crate) const CONFIDENCE: f64 = 95.0;
/// The probability of finding a difference of the detectable size, in percent.
pub(crate) const POWER: f64 = 80.0;
/// Minimum length of a run in seconds.
pub(crate) const SHORTEST: usize = 10;

/// The result of comparing two sets of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// B has a higher throughput.
    Faster,
    /// B has a lower throughput.
    Slower,
    /// No difference was found.
    NoDifference,
    /// Not ranked, because the sets differ in durability.
    NotRanked,
}

/// A set of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// Directories of their records.
    pub records: Vec<String>,
    /// Total seconds of their measurement intervals.
    pub seconds: usize,
    /// Mean of completed transactions of all types per second.
    pub transactions_per_second: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Seconds in a block of neighbouring seconds; `None` if the runs themselves are the units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_seconds: Option<usize>,
    /// Degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
    /// Failed transactions and outages.
    pub incidents: Incidents,
    /// Number of its runs that are incomplete.
    #[serde(skip_serializing_if = "is_zero")]
    pub incomplete: usize,
}

/// A difference of throughput. Percents are of A.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// B against A.
    pub percent: f64,
    /// Lower end of its interval.
    pub low_percent: f64,
    /// Upper end of its interval.
    pub high_percent: f64,
    /// The difference over the standard deviation of a second's throughput.
    pub effect_size: f64,
    /// The result.
    pub finding: Finding,
    /// The smallest difference that runs of this number and length detect with a probability of 80 %.
    pub detectable_percent: f64,
    /// How many times as many runs or seconds would detect this difference with a probability of 80 %; `None`
    /// if it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_more: Option<f64>,
}

/// Response times of a transaction type, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Responses {
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// A comparison of two sets of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The first set.
    pub a: Side,
    /// The second set.
    pub b: Side,
    /// Their throughput.
    pub throughput: Difference,
    /// Response times by transaction type, of A and of B; `None` if a side has none.
    pub responses: BTreeMap<String, [Option<Responses>; 2]>,
    /// Breakdown of the mean response time on both sides, and the changed parts; `None` unless all records have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waterfall: Option<Waterfalls>,
    /// Why they are not ranked; `None` if they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_ranked: Option<String>,
    /// Differences between them other than measurements.
    pub differs: Vec<Differing>,
    /// Hit rates, and costs of a transaction.
    pub figures: Vec<Figure>,
    /// Differences between them in sentences, and other warnings.
    pub warnings: Vec<String>,
}

/// Transactions per second of a record: lower end of the interval of the mean, mean, upper end; `None` if
/// there are too few seconds.
pub(crate) fn interval(record: &Record) -> Option<[f64; 3]> {
    let mean = means::of_run(&seconds(record).ok()?)?;
    let half = means::student(mean.freedom, 1.0 - CONFIDENCE / 100.0) * mean.error;
    Some([mean.mean - half, mean.mean, mean.mean + half])
}

/// Completed transactions in each second of the measurement interval.
///
/// # Errors
/// If there are too few seconds, in one line.
pub(crate) fn seconds(record: &Record) -> Result<Vec<f64>, String> {
    let measured = record.series.iter().filter(|row| row.phase == Phase::Measurement);
    let first = measured.clone().map(|row| row.second).min().unwrap_or_default();
    let last = measured.clone().map(|row| row.second).max().unwrap_or_default();
    let place = record.directory.display();
    // The series has every second; a second that is missing in a damaged file counts as 0.
    let length = (last - first) as usize + 1;
    if length < SHORTEST || length > 100 * record.series.len() {
        return Err(format!("{place} has fewer than {SHORTEST} measured seconds: compare runs of a minute or more"));
    }
    let mut seconds = vec![0.0; length];
    for row in measured {
        seconds[(row.second - first) as usize] += row.completed as f64;
    }
    if seconds.iter().sum::<f64>() == 0.0 {
        return Err(format!("{place} has no completed transaction to compare"));
    }
    Ok(seconds)
}

/// Compares two sets of records. Sets that differ in durability are only ranked with `across_durability`.
///
/// # Errors
/// If one of them cannot be compared, in one line.
pub fn compare(a: &[Record], b: &[Record], across_durability: bool) -> Result<Comparison, String> {
    compare_by(means::of_runs, a, b, across_durability)
}

/// The same, with the seconds of all runs of a side as one run: for consecutive runs with the same settings.
///
/// # Errors
/// As [`compare`].
pub(crate) fn compare_pooled(a: &[Record], b: &[Record], across_durability: bool) -> Result<Comparison, String> {
    compare_by(|runs| means::of_run(&runs.concat()), a, b, across_durability)
}

fn compare_by(
    mean: fn(&[Vec<f64>]) -> Option<Mean>,
    a: &[Record],
    b: &[Record],
    across_durability: bool,
) -> Result<Comparison, String> {
    let series = |of: &[Record]| of.iter().map(seconds).collect::<Result<Vec<_>, _>>();
    let (first, second) = (series(a)?, series(b)?);
    let (Some(mean_a), Some(mean_b)) = (mean(&first), mean(&second)) else {
        return Err("there is nothing to compare: name a record for each side".to_owned());
    };
    let differs = comparable::differ(a, b);
    let describe = |of: &Differing| format!("they differ in {}: {} in A, {} in B", of.what, of.a, of.b);
    let mut warnings: Vec<String> = differs.iter().map(describe).collect();
    warnings.extend(comparable::warnings(a, b));
    for (name, mean) in [("A", &mean_a), ("B", &mean_b)] {
        if mean.drifts {
            warnings.push(format!(
                "the throughput of {name} drifts: its seconds depend on those before them, so the true interval is \
                 wider; run longer, or several times"
            ));
        }
    }
    if a.len() == 1 || b.len() == 1 {
        warnings.push(
            "with one run a side, the interval does not include what differs from start to start (caches, file \
             layout, other programs): use at least three runs per side"
                .to_owned(),
        );
    }
    let types = a.iter().chain(b).flat_map(|record| record.header.transactions.clone());
    let responses = types.map(|name| {
        let of = [responses(a, &name), responses(b, &name)];
        (name, of)
    });
    let mut throughput = difference(&mean_a, &mean_b);
    let not_ranked = comparable::durabilities(a, b).filter(|_| !across_durability);
    if not_ranked.is_some() {
        throughput.finding = Finding::NotRanked;
    }
    Ok(Comparison {
        throughput,
        responses: responses.collect(),
        waterfall: waterfall::of(a, b),
        not_ranked,
        figures: figures::of(a, b),
        differs,
        warnings,
        a: side(a, mean_a),
        b: side(b, mean_b),
    })
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn side(records: &[Record], mean: Mean) -> Side {
    let incidents = records.iter().filter_map(|record| record.summary.as_ref()).map(Incidents::of);
    Side {
        records: records.iter().map(|record| record.directory.display().to_string()).collect(),
        seconds: mean.seconds,
        transactions_per_second: mean.mean,
        standard_error: mean.error,
        block_seconds: mean.block,
        degrees_of_freedom: mean.freedom,
        incidents: incidents.fold(Incidents::default(), |sum, of| sum.and(&of)),
        incomplete: records.iter().filter(|record| !comparable::is_complete(record)).count(),
    }
}

/// The difference of two means, as a ratio: its interval comes from the errors relative to the means (delta method) and
/// Student's t with the degrees of freedom of Welch and Satterthwaite.
pub(crate) fn difference(a: &Mean, b: &Mean) -> Difference {
    let ratio = (b.mean / a.mean).ln();
    let (error, freedom) = joint((a.error / a.mean, a.freedom), (b.error / b.mean, b.freedom));
    let margin = means::student(freedom, 1.0 - CONFIDENCE / 100.0) * error;
    let percent = |log: f64| 100.0 * log.exp_m1();
    let finding = match () {
        () if ratio - margin > 0.0 => Finding::Faster,
        () if ratio + margin < 0.0 => Finding::Slower,
        () => Finding::NoDifference,
    };
    // A difference is found with this chance if it is so far from zero that the interval around it seldom reaches zero.
    let detectable = margin + means::student(freedom, 2.0 * (1.0 - POWER / 100.0)) * error;
    let spread = ((a.deviation.powi(2) + b.deviation.powi(2)) / 2.0).sqrt();
    let undecided = finding == Finding::NoDifference && ratio != 0.0;
    Difference {
        percent: percent(ratio),
        low_percent: percent(ratio - margin),
        high_percent: percent(ratio + margin),
        effect_size: if spread > 0.0 { (b.mean - a.mean) / spread } else { 0.0 },
        finding,
        detectable_percent: percent(detectable),
        times_more: undecided.then(|| (detectable / ratio).powi(2)),
    }
}

/// The relative error of a ratio and its degrees of freedom, from those of its parts.
fn joint((error_a, freedom_a): (f64, f64), (error_b, freedom_b): (f64, f64)) -> (f64, f64) {
    let error = error_a.hypot(error_b);
    let freedom = match error_a.powi(4) / freedom_a + error_b.powi(4) / freedom_b {
        sum if sum > 0.0 => error.powi(4) / sum,
        _ => freedom_a + freedom_b,
    };
    (error, freedom)
}

fn responses(records: &[Record], transaction: &str) -> Option<Responses> {
    let mut sum: Histogram<u64> = Histogram::new(SIGNIFICANT_DIGITS).ok()?;
    for record in records {
        if let Some(histogram) = record.histogram(transaction, Clock::Response) {
            sum.add(histogram).ok()?;
        }
    }
    let at = |share| quantile_ms(&sum, share);
    (!sum.is_empty()).then(|| Responses { p50: at(0.5), p90: at(0.9), p99: at(0.99) })
}

impl Comparison {
    /// Whether the sides are ranked. If not, a change from A to B must not be shown: it would suggest a winner.
    pub fn is_ranked(&self) -> bool {
        self.not_ranked.is_none()
    }

    /// The result in one sentence.
    pub fn sentence(&self) -> String {
        let Difference { percent, low_percent, high_percent, finding, detectable_percent, times_more, .. } =
            self.throughput;
        let interval = format!("{CONFIDENCE} % interval {low_percent:+.2} % to {high_percent:+.2} %");
        let more = || {
            let seen = format!("A difference of {detectable_percent:.1} % would be found with a probability of 80 %");
            let unit =
                if self.a.block_seconds.is_some() || self.b.block_seconds.is_some() { "seconds" } else { "runs" };
            match times_more.filter(|times| (1.0..1e4).contains(times)) {
                Some(times) => {
                    format!(
                        "{seen}; to find one as small as the {percent:+.2} % seen, make {times:.1} times as many \
                         {unit}."
                    )
                }
                None => format!("{seen}."),
            }
        };
        match finding {
            Finding::Faster => format!("B is faster than A by {percent:.2} % ({interval})."),
            Finding::Slower => format!("B is slower than A by {:.2} % ({interval}).", -percent),
            Finding::NoDifference => format!("No difference seen ({interval}). {}", more()),
            Finding::NotRanked => format!(
                "Not ranked: they differ in durability, {}. Use the same settings for both, or rank them anyway with \
                 --across-durability.",
                self.not_ranked.as_deref().unwrap_or_default()
            ),
        }
    }

    /// Whether B is slower, beyond measurement errors, by at least this percentage.
    pub fn slower_by(&self, percent: f64) -> bool {
        self.throughput.finding == Finding::Slower && -self.throughput.percent >= percent
    }
}

#[cfg(test)]
mod tests;
