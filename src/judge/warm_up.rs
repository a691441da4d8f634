//! Failures in a warm-up by the load itself: they are failures of the run.

use serde::Serialize;

use crate::result::outcomes::Outcomes;
use crate::result::summary::Summary;

/// The incidents of a warm-up, or of those of several runs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WarmUpIncidents {
    /// Requested transactions.
    pub asked: u64,
    /// Transactions that failed after all retries, or were given up.
    pub failed: u64,
    /// Transactions of unknown outcome that were not given up.
    pub unknown: u64,
    /// Connections lost.
    pub lost: u64,
    /// More transactions of a type failed than allowed.
    pub beyond_allowed: bool,
}

impl WarmUpIncidents {
    /// The incidents of a run's warm-up; none without one.
    pub fn of(summary: &Summary) -> WarmUpIncidents {
        let Some(warm_up) = &summary.warm_up else { return WarmUpIncidents::default() };
        let sum = |of: &dyn Fn(&Outcomes) -> u64| {
            warm_up.outcomes.values().fold(0_u64, |sum, outcomes| sum.saturating_add(of(outcomes)))
        };
        WarmUpIncidents {
            asked: sum(&Outcomes::asked),
            failed: sum(&Outcomes::all_failed),
            unknown: sum(&|of| of.unknown.saturating_sub(of.given_up)),
            lost: warm_up.lost,
            beyond_allowed: warm_up.outcomes.values().any(|of| of.failed_share() > summary.allowed_errors),
        }
    }

    /// Merges the incidents of two runs.
    pub fn and(self, other: WarmUpIncidents) -> WarmUpIncidents {
        WarmUpIncidents {
            asked: self.asked.saturating_add(other.asked),
            failed: self.failed.saturating_add(other.failed),
            unknown: self.unknown.saturating_add(other.unknown),
            lost: self.lost.saturating_add(other.lost),
            beyond_allowed: self.beyond_allowed || other.beyond_allowed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::incidents::Incidents;
    use crate::report::alarms;
    use crate::result::warm_up::WarmUp;

    #[test]
    fn what_fails_in_the_warm_up_fails_the_run() {
        let mut summary = crate::study::tests::summary("none", 1, 10.0, 1.0);
        let outcomes = Outcomes { completed: 96, failed: 2, unknown: 2, given_up: 1, ..Outcomes::default() };
        let outcomes = [("payment".to_owned(), outcomes)].into();
        summary.warm_up = Some(WarmUp { outcomes, lost: 3, ..WarmUp::default() });
        let incidents = Incidents::of(&summary);
        assert!(incidents.fail() && incidents.failed == 0, "{incidents:?}");
        assert_eq!(alarms::marks(&incidents), ["3 FAILED IN THE WARM-UP"]);
        let told = "In the warm-up, 3 transactions of 100 failed, 1 has an unknown outcome, 3 connections were lost.";
        assert_eq!(alarms::sentences(&incidents), [told]);
        assert!(alarms::of(&summary).contains(&told.to_owned()));
        let both = incidents.clone().and(&incidents).warm_up;
        assert_eq!((both.asked, both.failed, both.unknown, both.lost), (200, 6, 2, 6));
        // Allowed failures are told, and fail nothing.
        summary.allowed_errors = 0.1;
        let allowed = Incidents::of(&summary);
        assert!(!allowed.fail() && alarms::sentences(&allowed) == [told], "{allowed:?}");
        let rule = crate::judge::judge(&summary).clauses.into_iter().find(|clause| clause.note.contains("warm-up"));
        assert!(rule.is_some_and(|rule| rule.state == crate::result::summary::State::Broken && rule.value == "3"));
        summary.warm_up = Some(WarmUp::default());
        assert!(alarms::sentences(&Incidents::of(&summary)).is_empty());
    }
}
