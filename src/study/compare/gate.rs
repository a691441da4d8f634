//! Regression gate: a slowdown of a given size is excluded, shown, or neither, in which case more has to be measured.

use serde::Serialize;

use super::{CONFIDENCE, Comparison, POWER, joint, means};
use crate::judge::incidents::{FailedCheck, Incidents};
use crate::record::Record;
use crate::result::format::Status;

/// The decision of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The slowdown is excluded.
    Passed,
    /// The slowdown is shown, or a run of B failed its checks.
    Failed,
    /// Neither: the measurements are too short or too uneven.
    Inconclusive,
}

/// Which runs can be made longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtendableSides {
    /// Those of both sides.
    Both,
    /// Only those of B: A is an existing baseline.
    B,
}

/// A decision and its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gate {
    /// The slowdown of throughput that is not allowed, in percent.
    pub max_slowdown_percent: f64,
    /// The decision.
    pub decision: Decision,
    /// B against A, in percent of A.
    pub percent: f64,
    /// Lower end of its interval.
    pub low_percent: f64,
    /// Upper end of its interval.
    pub high_percent: f64,
    /// Confidence of the interval, in percent.
    pub confidence_percent: f64,
    /// Missing minutes of measurement on each side that can be made longer; `None` if decided, or if
    /// longer runs would not help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_minutes: Option<f64>,
    /// The decision in a sentence.
    pub sentence: String,
}

impl Gate {
    /// Decides by the throughput of a comparison. `looks` is how often the growing measurements are looked at: each
    /// look could err, so that each has its share of the 5 % (Bonferroni).
    pub fn of(comparison: &Comparison, max_slowdown_percent: f64, looks: u32, longer: ExtendableSides) -> Gate {
        let (a, b) = (&comparison.a, &comparison.b);
        let (error_a, error_b) =
            (a.standard_error / a.transactions_per_second, b.standard_error / b.transactions_per_second);
        let (error, freedom) = joint((error_a, a.degrees_of_freedom), (error_b, b.degrees_of_freedom));
        let ratio = (b.transactions_per_second / a.transactions_per_second).ln();
        let limit = (1.0 - max_slowdown_percent / 100.0).ln();
        let wrong = (1.0 - CONFIDENCE / 100.0) / f64::from(looks.max(1));
        let margin = means::student(freedom, wrong) * error;
        let decision = match () {
            () if ratio - margin > limit => Decision::Passed,
            () if ratio + margin < limit => Decision::Failed,
            () => Decision::Inconclusive,
        };
        // So small an error would decide four times in five, were the difference as it was seen.
        let needed = (ratio - limit).abs()
            / (means::student(freedom, wrong) + means::student(freedom, 2.0 * (1.0 - POWER / 100.0)));
        let seconds = match longer {
            ExtendableSides::Both => ((error / needed).powi(2) - 1.0) * a.seconds.max(b.seconds) as f64,
            ExtendableSides::B => match needed.powi(2) - error_a.powi(2) {
                left if left > 0.0 => (error_b.powi(2) / left - 1.0) * b.seconds as f64,
                _ => f64::INFINITY,
            },
        };
        let undecided = decision == Decision::Inconclusive;
        let more_minutes = (undecided && seconds.is_finite()).then(|| (seconds / 60.0).max(0.0));
        let percent = |log: f64| 100.0 * log.exp_m1();
        let gate = Gate {
            max_slowdown_percent,
            decision,
            percent: percent(ratio),
            low_percent: percent(ratio - margin),
            high_percent: percent(ratio + margin),
            confidence_percent: 100.0 * (1.0 - wrong),
            more_minutes,
            sentence: String::new(),
        };
        Gate { sentence: gate.describe(longer), ..gate }
    }

    /// The same if a run of B failed its checks, which fails the gate whatever the throughput.
    pub fn and_failures(self, failures: &[String]) -> Gate {
        if failures.is_empty() {
            return self;
        }
        let sentence = format!("Failed: {}.", failures.join("; "));
        Gate { decision: Decision::Failed, more_minutes: None, sentence, ..self }
    }

    fn describe(&self, longer: ExtendableSides) -> String {
        let seen = format!(
            "B against A: {:+.2} %, {:.1} % interval {:+.2} % to {:+.2} %",
            self.percent, self.confidence_percent, self.low_percent, self.high_percent
        )
        .replace(".0000 %", " %");
        let limit = self.max_slowdown_percent;
        match (self.decision, self.more_minutes) {
            (Decision::Passed, _) => format!("Passed: a slowdown of {limit} % is excluded ({seen})."),
            (Decision::Failed, _) => format!("Failed: a slowdown of more than {limit} % is shown ({seen})."),
            (Decision::Inconclusive, Some(minutes)) => {
                let side = if longer == ExtendableSides::Both { " a side" } else { "" };
                format!(
                    "Inconclusive: a slowdown of {limit} % is neither excluded nor shown ({seen}); needs about {:.0} \
                     more minutes{side}.",
                    minutes.ceil().max(1.0)
                )
            }
            (Decision::Inconclusive, None) => {
                let why = match longer {
                    ExtendableSides::Both => {
                        "the measured difference equals the limit, so longer runs would not decide it"
                    }
                    ExtendableSides::B => {
                        "the baseline is too short or too uneven for this limit: measure it for longer"
                    }
                };
                format!("Inconclusive: a slowdown of {limit} % is neither excluded nor shown ({seen}); {why}.")
            }
        }
    }
}

/// Problems of runs that fail the gate whatever their throughput, in a few words each.
pub fn failures(records: &[Record]) -> Vec<String> {
    let mut failures = Vec::new();
    for record in records {
        let place = record.directory.display();
        let Some(summary) = record.summary.as_ref().filter(|_| record.header.status == Status::Complete) else {
            failures.push(format!("the run of {place} is incomplete"));
            continue;
        };
        let incidents = Incidents::of(summary);
        if incidents.beyond_allowed {
            failures.push(format!("transactions of {place} failed"));
        }
        if summary.consistency.lost_commits() || incidents.lost_commits > 0 {
            failures.push(format!("the database of {place} lost acknowledged commits"));
        }
        failures.extend(incidents.failed_checks.iter().map(|check| match check {
            FailedCheck::Inconsistent => format!("the database of {place} is inconsistent"),
            FailedCheck::CountsDiffer => format!("client and database of {place} disagree"),
            FailedCheck::Anomalies => format!("the history of {place} has anomalies"),
            FailedCheck::NotCounted => format!("the database of {place} was not counted"),
            FailedCheck::NotChecked => format!("the database of {place} was not checked after the run"),
        }));
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::super::{Difference, Finding, Side};
    use super::*;

    /// Two sides of 600 s; B does `percent` more than A, each with a relative error in percent.
    fn comparison(percent: f64, error_percent: f64) -> Comparison {
        let side = |rate: f64| Side {
            records: Vec::new(),
            seconds: 600,
            transactions_per_second: rate,
            standard_error: rate * error_percent / 100.0,
            block_seconds: Some(60),
            degrees_of_freedom: 60.0,
            incidents: Incidents::default(),
            incomplete: 0,
        };
        let throughput = Difference {
            percent,
            low_percent: 0.0,
            high_percent: 0.0,
            effect_size: 0.0,
            finding: Finding::NoDifference,
            detectable_percent: 0.0,
            times_more: None,
        };
        let (a, b) = (side(1_000.0), side(1_000.0 + 10.0 * percent));
        Comparison {
            a,
            b,
            throughput,
            responses: Default::default(),
            waterfall: None,
            not_ranked: None,
            differs: Vec::new(),
            figures: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn decide(percent: f64, error_percent: f64) -> Gate {
        Gate::of(&comparison(percent, error_percent), 5.0, 1, ExtendableSides::Both)
    }

    #[test]
    fn a_slowdown_is_excluded_shown_or_neither() {
        assert_eq!(decide(0.0, 1.0).decision, Decision::Passed);
        assert_eq!(decide(4.0, 1.0).decision, Decision::Passed);
        assert_eq!(decide(-10.0, 1.0).decision, Decision::Failed);
        // Certainly slower, but by less than the limit.
        assert_eq!(decide(-2.0, 0.5).decision, Decision::Passed);
        for percent in [-3.0, -5.0, -7.0] {
            assert_eq!(decide(percent, 1.0).decision, Decision::Inconclusive, "{percent}");
        }
        // With such errors nothing is known, and the gate must not pass.
        assert_eq!(decide(0.0, 5.0).decision, Decision::Inconclusive);
    }

    #[test]
    fn the_missing_minutes_would_decide() {
        let gate = decide(-2.0, 1.2);
        let minutes = gate.more_minutes.unwrap();
        assert!(minutes > 0.0 && gate.sentence.contains("more minutes a side"), "{gate:?}");
        // As much longer, the error is as much smaller, by the root.
        let times: f64 = (10.0 + minutes) / 10.0;
        assert_eq!(decide(-2.0, 1.2 / times.sqrt()).decision, Decision::Passed);
        // The error of a fixed baseline remains.
        let only_b = Gate::of(&comparison(-2.0, 1.2), 5.0, 1, ExtendableSides::B);
        assert!(only_b.more_minutes.is_none_or(|more| more > minutes), "{only_b:?}");
        assert!(decide(-5.0, 1.0).more_minutes.is_none_or(|more| more > 1e6));
    }

    #[test]
    fn repeated_looks_need_more_confidence_each() {
        let (one, many) = (decide(-2.5, 0.8), Gate::of(&comparison(-2.5, 0.8), 5.0, 20, ExtendableSides::Both));
        assert!(many.low_percent < one.low_percent && many.confidence_percent > one.confidence_percent);
        let failed = one.and_failures(&["transactions of b failed".to_owned()]);
        assert_eq!(
            (failed.decision, failed.sentence.as_str()),
            (Decision::Failed, "Failed: transactions of b failed.")
        );
    }
}
