//! Experiments: the same load with one setting changed, the predicted bound of its gain, and the measured gain.

use serde::Serialize;

use super::bounds::{self, Limits};
use super::compare::{self, Difference, Finding, gate};
use crate::record::Record;
use crate::result::summary::Summary;

/// An experiment whose gain is known to this number of percentage points needs no further run.
const WIDTH: f64 = 5.0;
/// After this number of runs per side, no further run is made.
const ENOUGH: usize = 3;

/// The kind of bound that the base's figures give for an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// It removes or reduces a cause, named as in [`crate::result::bounds::Gain`].
    Without(&'static str),
    /// It removes or reduces lock waits.
    WithoutLocks,
    /// It changes the number of clients.
    Clients(u32),
    /// It multiplies the server's CPUs.
    Cpus(f64),
    /// No bound is known.
    Unknown,
}

impl Bound {
    /// Lower and upper bound of the speed-up of a run.
    fn limits(self, summary: &Summary) -> Limits {
        match self {
            Bound::Without(cause) => Limits { least: None, most: bounds::at_most(summary, cause) },
            Bound::WithoutLocks => Limits { least: None, most: bounds::without_locks(summary) },
            Bound::Clients(clients) => bounds::with_clients(summary, clients),
            Bound::Cpus(times) => bounds::with_cpus(summary, times),
            Bound::Unknown => Limits::default(),
        }
    }

    /// The removed cause, in words.
    fn cause(self) -> Option<&'static str> {
        match self {
            Bound::Without(cause) => Some(cause),
            Bound::WithoutLocks => Some("row locks and other locks"),
            _ => None,
        }
    }
}

/// A changed setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its name on the command line and in records: `no-flush`.
    pub name: &'static str,
    /// The change, in words.
    pub what: String,
    /// Its bound.
    pub bound: Bound,
    /// Why it must not be used in production; `None` if it may.
    pub never: Option<&'static str>,
}

/// The result of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// Its name.
    pub name: &'static str,
    /// The change, in words.
    pub what: String,
    /// Why it must not be used in production; `None` if it may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub never_in_earnest: Option<&'static str>,
    /// The removed cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<&'static str>,
    /// Lower bound of the gain in percent, from the time breakdown and the demands of the base: for a slowdown,
    /// its maximum; `None` without a bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_percent: Option<f64>,
    /// Upper bound of the gain in percent; `None` without a bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_percent: Option<f64>,
    /// The measured gain: throughput relative to the base, with its interval.
    pub gain: Difference,
    /// Whether the gain, with its interval, is within the bounds; `None` without bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_bound: Option<bool>,
    /// The changed parts of the mean response time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<String>,
    /// Its runs.
    pub runs: usize,
    /// Whether one of them failed, so that the gain means nothing.
    pub failed: bool,
}

impl Tried {
    /// Whether further runs are not needed.
    pub fn decided(&self) -> bool {
        let Difference { low_percent, high_percent, finding, .. } = self.gain;
        let decided = matches!(finding, Finding::Faster | Finding::Slower);
        self.runs > 1 && (high_percent - low_percent <= WIDTH || (decided && self.runs >= ENOUGH))
    }
}

/// Compares the runs of an experiment with those of the base.
///
/// # Errors
/// If there is nothing to compare, in one line.
pub fn tried(experiment: &Experiment, base: &[Record], runs: &[Record]) -> Result<Tried, String> {
    // Experiments may change durability on purpose.
    let comparison = compare::compare(base, runs, true)?;
    let limits: Vec<Limits> =
        base.iter().filter_map(|record| Some(experiment.bound.limits(record.summary.as_ref()?))).collect();
    let percent = |of: fn(&Limits) -> Option<f64>| {
        let times = limits.iter().map(of).collect::<Option<Vec<f64>>>().filter(|times| !times.is_empty())?;
        Some(100.0 * (times.iter().sum::<f64>() / times.len() as f64 - 1.0))
    };
    let (least_percent, bound_percent) = (percent(|limits| limits.least), percent(|limits| limits.most));
    let gain = comparison.throughput;
    Ok(Tried {
        name: experiment.name,
        what: experiment.what.clone(),
        never_in_earnest: experiment.never,
        cause: experiment.bound.cause(),
        least_percent,
        bound_percent,
        within_bound: within(&gain, least_percent, bound_percent),
        gain,
        moved: comparison.waterfall.map(|waterfall| waterfall.sentence),
        runs: runs.len(),
        failed: !gate::failures(runs).is_empty(),
    })
}

/// Whether the intervals of a gain and of its bounds overlap; `None` without a bound.
fn within(gain: &Difference, least: Option<f64>, most: Option<f64>) -> Option<bool> {
    let reached = least.is_none_or(|least| gain.high_percent >= least);
    let kept = most.is_none_or(|most| gain.low_percent <= most);
    (least.is_some() || most.is_some()).then_some(reached && kept)
}

/// The results of all experiments.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Experiments {
    /// Transactions a second of the base: the mean of its runs.
    pub base_per_second: f64,
    /// The base's runs.
    pub base_runs: usize,
    /// The bottleneck of the base, in words; empty if unknown.
    pub bottleneck: String,
    /// The experiments, the largest gain first.
    pub experiments: Vec<Tried>,
    /// Skipped experiments, and why.
    pub left_out: Vec<String>,
    /// What failed in the runs of the base and of the experiments, in a few words each.
    pub failures: Vec<String>,
    /// Total duration in minutes.
    pub minutes: f64,
}

impl Experiments {
    /// Sorts the experiments by gain. `all` are the records of the base and of all experiments.
    pub fn of(
        base: &[Record],
        mut experiments: Vec<Tried>,
        left_out: Vec<String>,
        all: &[Record],
        minutes: f64,
    ) -> Experiments {
        experiments.sort_by(|one, other| other.gain.percent.total_cmp(&one.gain.percent));
        let summaries = || base.iter().filter_map(|record| record.summary.as_ref());
        let rates: Vec<f64> = summaries().map(|summary| summary.transactions_per_second).collect();
        let bounds = summaries().next().and_then(|summary| summary.bounds.as_ref());
        Experiments {
            base_per_second: rates.iter().sum::<f64>() / rates.len().max(1) as f64,
            base_runs: base.len(),
            bottleneck: bounds.map(|bounds| bounds.bottleneck.clone()).unwrap_or_default(),
            experiments,
            left_out,
            failures: gate::failures(all),
            minutes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(percent: f64, low: f64, high: f64, runs: usize) -> Tried {
        let finding = match () {
            () if low > 0.0 => Finding::Faster,
            () if high < 0.0 => Finding::Slower,
            () => Finding::NoDifference,
        };
        let gain = Difference {
            percent,
            low_percent: low,
            high_percent: high,
            effect_size: 0.0,
            finding,
            detectable_percent: 1.0,
            times_more: None,
        };
        Tried {
            name: "x",
            what: "x".to_owned(),
            never_in_earnest: None,
            cause: None,
            least_percent: None,
            bound_percent: None,
            within_bound: None,
            gain,
            moved: None,
            runs,
            failed: false,
        }
    }

    #[test]
    fn decided_experiments_are_not_repeated_and_the_largest_gain_comes_first() {
        assert!(tried(1.0, -1.0, 3.0, 2).decided(), "known to four points");
        assert!(!tried(1.0, -1.0, 3.0, 1).decided(), "one run knows nothing of what differs between runs");
        assert!(!tried(30.0, -10.0, 80.0, 5).decided());
        assert!(tried(30.0, 10.0, 50.0, 3).decided() && !tried(30.0, 10.0, 50.0, 2).decided());
        let all = vec![tried(-5.0, -6.0, -4.0, 3), tried(40.0, 30.0, 50.0, 3), tried(2.0, 1.0, 3.0, 3)];
        let ordered = Experiments::of(&[], all, Vec::new(), &[], 1.0);
        let gains: Vec<f64> = ordered.experiments.iter().map(|tried| tried.gain.percent).collect();
        assert_eq!(gains, [40.0, 2.0, -5.0]);
    }

    #[test]
    fn a_gain_beyond_either_bound_is_found() {
        let gain = tried(-20.0, -30.0, -10.0, 3).gain;
        assert_eq!(within(&gain, None, None), None);
        assert_eq!(within(&gain, Some(-50.0), Some(0.0)), Some(true));
        // The interval alone reaches the bound.
        assert_eq!(within(&gain, Some(-12.0), Some(0.0)), Some(true));
        assert_eq!(within(&gain, Some(-5.0), Some(0.0)), Some(false));
        assert_eq!(within(&gain, Some(-50.0), Some(-35.0)), Some(false));
        assert_eq!(within(&gain, None, Some(-28.0)), Some(true));
    }
}
