//! Problems that must be known before any figure: transactions that failed, and times in which the database did not
//! respond.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::warm_up::WarmUpIncidents;
use super::{Rule, with_note};
use crate::result::outcomes::Outcomes;
use crate::result::summary::{Clause, Summary};

/// A check of the database after a run that failed, or could not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedCheck {
    /// A consistency condition does not hold.
    Inconsistent,
    /// Client and database count different numbers of transactions.
    CountsDiffer,
    /// The history has anomalies of isolation.
    Anomalies,
    /// The transactions in the database could not be counted.
    NotCounted,
    /// The consistency conditions could not be checked.
    NotChecked,
}

impl FailedCheck {
    fn all(summary: &Summary) -> BTreeSet<FailedCheck> {
        // What a stopped run did not finish is not a failure.
        let unfinished = |why: &str| !why.is_empty() && !summary.interrupted;
        let anomalies = summary.history.as_ref().is_some_and(|history| history.found() > 0);
        let of = [
            (FailedCheck::Inconsistent, summary.consistency.conditions().next().is_some()),
            (FailedCheck::CountsDiffer, summary.database.agrees == Some(false)),
            (FailedCheck::Anomalies, anomalies),
            (FailedCheck::NotCounted, unfinished(&summary.database.uncounted)),
            (FailedCheck::NotChecked, unfinished(&summary.consistency.unchecked)),
        ];
        of.into_iter().filter_map(|(check, failed)| failed.then_some(check)).collect()
    }
}

/// The incidents of a run, or of several runs together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Incidents {
    /// The outcomes of all requested transactions, by type; empty if the record does not have them.
    pub outcomes: BTreeMap<String, Outcomes>,
    /// Transactions that failed after all retries, or were given up.
    pub failed: u64,
    /// Of these, transactions without a response by the end of the run.
    pub given_up: u64,
    /// Types that were requested, but of which none completed.
    pub idle: Vec<String>,
    /// Types of which some completed, but none within the measurement interval although they were requested in it.
    pub idle_within: Vec<String>,
    /// Whether nothing at all completed within the measurement interval although users waited, and something did before
    /// or after it.
    pub nothing_within: bool,
    /// Transactions in progress when the measurement interval ended, if one of them waited for much longer than the
    /// response times show.
    pub open_at_end: u64,
    /// The longest wait among these, in seconds.
    pub longest_open_s: f64,
    /// Whether these waits are among the response times: the outcome of the transactions is unknown.
    pub open_measured: bool,
    /// More transactions failed than allowed, or nothing completed, of a type or at all.
    pub beyond_allowed: bool,
    /// The share of each type that may fail, from 0 to 1.
    pub allowed: f64,
    /// Connections lost.
    pub lost: u64,
    /// Acknowledged commits that are missing in the database.
    pub lost_commits: u64,
    /// Seconds of the measurement interval in which no session had a connection.
    pub dead_s: f64,
    /// Seconds of the measurement interval in which nothing completed although there were connections.
    pub standstill_s: f64,
    /// Length of the measurement interval in seconds.
    pub interval_s: f64,
    /// The longest time that one session was without a connection, in seconds.
    pub longest_away_s: f64,
    /// The incidents of the warm-up by the load itself, which are in no other figure here but `beyond_allowed`.
    pub warm_up: WarmUpIncidents,
    /// Checks after the run that failed, or could not be done.
    pub failed_checks: BTreeSet<FailedCheck>,
}

impl Incidents {
    /// The incidents of a run.
    pub fn of(summary: &Summary) -> Incidents {
        let outcomes = summary.outcomes.clone();
        let named = outcomes.values().fold(0_u64, |sum, of| sum.saturating_add(of.all_failed()));
        // Records of older versions have only the errors.
        let failed =
            if outcomes.is_empty() { summary.errors.values().fold(0, |sum, of| of.saturating_add(sum)) } else { named };
        let asked = outcomes.values().any(|of| of.asked() > 0);
        let idle: Vec<String> = outcomes
            .iter()
            .filter(|(_, of)| of.completed == 0 && (of.asked() > 0 || waited_long(of, summary.interval_s)))
            .map(|(name, _)| name.clone())
            .collect();
        // An early end is a reason for nothing, unless sessions had to be given up.
        let early = summary.interrupted && summary.connections.abandoned == 0;
        let waited = |of: &Outcomes| of.open_at_end > 0 || of.failed > 0 || of.unknown > 0;
        let nothing_within = !early
            && summary.interval_s > 0.0
            && outcomes.values().any(|of| of.completed > 0)
            && outcomes.values().any(waited)
            && outcomes.values().all(|of| of.within_interval == Some(0));
        let idle_within: Vec<String> = outcomes
            .iter()
            .filter(|(_, of)| of.completed > 0 && (nothing_within || stuck(of, summary.interval_s)))
            .map(|(name, _)| name.clone())
            .collect();
        let beyond_measured = |name: &String, of: &Outcomes| {
            let longest_s = summary.transactions.get(name).map_or(0.0, |of_type| of_type.response_ms.max / 1e3);
            of.longest_open_s > LONG_OPEN_FACTOR * longest_s
        };
        // The wait for a transaction that was given up is itself among the response times. After a stop it is no
        // failure, and would not be told otherwise.
        let stopped = |of: &Outcomes| summary.interrupted && summary.connections.abandoned > 0 && of.unknown > 0;
        let open = outcomes
            .iter()
            .filter(|(name, of)| of.longest_open_s >= MIN_OPEN_S && (stopped(of) || beyond_measured(name, of)));
        let (mut open_at_end, mut longest_open_s, mut open_measured) = (0_u64, 0.0_f64, true);
        for (name, of) in open {
            open_at_end = open_at_end.saturating_add(of.open_at_end);
            longest_open_s = longest_open_s.max(of.longest_open_s);
            open_measured &= !beyond_measured(name, of);
        }
        let beyond = |of: &Outcomes| of.failed_share() > summary.allowed_errors;
        let unnamed = outcomes.is_empty() && failed > 0;
        let nothing = !outcomes.is_empty() && !asked && !early && summary.interval_s > 0.0;
        let (from, to) = (summary.ramp_up_s, summary.ramp_up_s + summary.interval_s);
        let within = |(start, length): &(f64, f64)| ((start + length).min(to) - start.max(from)).max(0.0);
        let connections = &summary.connections;
        let warm_up = WarmUpIncidents::of(summary);
        let outages = || connections.outages.iter();
        Incidents {
            failed,
            given_up: outcomes.values().fold(0, |sum, of| sum.saturating_add(of.given_up)),
            beyond_allowed: unnamed
                || nothing
                || warm_up.beyond_allowed
                || !idle.is_empty()
                || !idle_within.is_empty()
                || outcomes.values().any(beyond),
            idle,
            idle_within,
            nothing_within,
            open_at_end,
            longest_open_s,
            open_measured: open_measured && open_at_end > 0,
            allowed: summary.allowed_errors,
            lost: connections.lost,
            lost_commits: connections.lookup.as_ref().map_or(0, |lookup| lookup.acknowledged.lost),
            // An empty sum of floats is -0.
            dead_s: outages().map(within).fold(0.0, |sum, length| sum + length),
            standstill_s: standstill(summary),
            interval_s: summary.interval_s,
            longest_away_s: outages().fold(connections.longest_away_s, |most, (_, length)| most.max(*length)),
            warm_up,
            failed_checks: FailedCheck::all(summary),
            outcomes,
        }
    }

    /// Merges the incidents of two runs.
    pub fn and(mut self, other: &Incidents) -> Incidents {
        for (name, of) in &other.outcomes {
            let sum = self.outcomes.entry(name.clone()).or_default();
            sum.completed = sum.completed.saturating_add(of.completed);
            sum.failed = sum.failed.saturating_add(of.failed);
            sum.unknown = sum.unknown.saturating_add(of.unknown);
            sum.given_up = sum.given_up.saturating_add(of.given_up);
            sum.within_interval = sum.within_interval.zip(of.within_interval).map(|(mine, of)| mine.saturating_add(of));
            sum.open_at_end = sum.open_at_end.saturating_add(of.open_at_end);
            sum.longest_open_s = sum.longest_open_s.max(of.longest_open_s);
        }
        let join = |mine: &mut Vec<String>, theirs: &[String]| {
            let new: Vec<String> = theirs.iter().filter(|name| !mine.contains(name)).cloned().collect();
            mine.extend(new);
        };
        join(&mut self.idle, &other.idle);
        join(&mut self.idle_within, &other.idle_within);
        self.failed_checks.extend(&other.failed_checks);
        let open_in = |one: &Incidents| one.open_at_end == 0 || one.open_measured;
        Incidents {
            failed: self.failed.saturating_add(other.failed),
            nothing_within: self.nothing_within || other.nothing_within,
            given_up: self.given_up.saturating_add(other.given_up),
            open_measured: (self.open_measured || other.open_measured) && open_in(&self) && open_in(other),
            beyond_allowed: self.beyond_allowed || other.beyond_allowed,
            allowed: self.allowed.max(other.allowed),
            lost: self.lost.saturating_add(other.lost),
            lost_commits: self.lost_commits.saturating_add(other.lost_commits),
            dead_s: self.dead_s + other.dead_s,
            standstill_s: self.standstill_s + other.standstill_s,
            open_at_end: self.open_at_end.saturating_add(other.open_at_end),
            longest_open_s: self.longest_open_s.max(other.longest_open_s),
            interval_s: self.interval_s + other.interval_s,
            longest_away_s: self.longest_away_s.max(other.longest_away_s),
            warm_up: self.warm_up.and(other.warm_up),
            ..self
        }
    }

    /// Whether the run failed: its figure is no measurement of the database.
    pub fn fail(&self) -> bool {
        self.beyond_allowed || self.lost_commits > 0 || !self.failed_checks.is_empty()
    }

    /// All requested transactions.
    pub fn asked(&self) -> u64 {
        self.outcomes.values().fold(0, |sum, of| sum.saturating_add(of.asked()))
    }
}

/// Shorter waits at the end of the measurement interval are not reported, in seconds.
const MIN_OPEN_S: f64 = 1.0;
/// A wait at the interval's end is reported if it is longer than the longest response time by this factor.
const LONG_OPEN_FACTOR: f64 = 2.0;
/// A type is stuck if it was waited for during this share of the measurement interval, ...
const STUCK_SHARE: f64 = 0.1;
/// ... and for this many seconds: in a short run, no transaction of a rare type may complete by chance while one is in
/// progress at its end.
const STUCK_S: f64 = 5.0;
/// Standstills are reported with the figure if they take this share of the measurement interval, ...
const STANDSTILL_SHARE: f64 = 0.01;
/// ... or if one lasts this many seconds. Shorter ones are listed with the dips.
const STANDSTILL_S: f64 = 5.0;

/// Whether a transaction of a type was waited for in a good part of the interval, up to its end.
fn waited_long(of: &Outcomes, interval_s: f64) -> bool {
    of.longest_open_s >= STUCK_S.max(STUCK_SHARE * interval_s)
}

/// Whether no transaction of a type completed within the interval although it was requested: all failed, or waited.
fn stuck(of: &Outcomes, interval_s: f64) -> bool {
    of.within_interval == Some(0) && (waited_long(of, interval_s) || of.all_failed() > 0)
}

/// Seconds of the interval in which nothing completed although there were connections, if they are worth reporting.
fn standstill(summary: &Summary) -> f64 {
    let outages = &summary.connections.outages;
    let without_outages = |(start, length): &(f64, f64)| {
        let overlap =
            outages.iter().map(|(from, away)| ((from + away).min(start + length) - from.max(*start)).max(0.0));
        (length - overlap.fold(0.0, |sum, length| sum + length)).max(0.0)
    };
    let stretches = || summary.standstills.iter().map(without_outages);
    let (sum, longest) = (stretches().fold(0.0, |sum, length| sum + length), stretches().fold(0.0, f64::max));
    // The last second of an interrupted interval is a part of one.
    if standstills_count(sum, longest, summary.interval_s) { sum.min(summary.interval_s) } else { 0.0 }
}

/// Whether standstills of a sum of seconds, with this longest one, are reported with the figure.
pub(crate) fn standstills_count(sum_s: f64, longest_s: f64, interval_s: f64) -> bool {
    sum_s >= STANDSTILL_SHARE * interval_s || longest_s >= STANDSTILL_S
}

/// No transaction may fail, whatever the command allows.
pub(super) fn failures(id: &'static str, summary: &Summary) -> Clause {
    let rule = Rule::new(id, "transactions that failed after all retries, over the whole run", "none");
    let incidents = Incidents::of(summary);
    if incidents.outcomes.is_empty() && incidents.failed == 0 {
        return rule.not_tested("the summary does not have the outcomes of the transactions");
    }
    let by_type = incidents.outcomes.iter().filter(|(_, of)| of.all_failed() > 0);
    let by_type: Vec<String> =
        by_type.map(|(name, of)| format!("{name}: {} of {}", of.all_failed(), of.asked())).collect();
    let failed = incidents.failed.saturating_add(incidents.warm_up.failed);
    let held = failed == 0 && !incidents.beyond_allowed;
    let value = if held { "none".to_owned() } else { failed.to_string() };
    let idle = incidents.idle.iter().map(|name| format!("no {name} completed"));
    let within = incidents.idle_within.iter().map(|name| format!("no {name} completed within the interval"));
    let idle = idle.chain(within);
    let nothing = (incidents.asked() == 0).then(|| "no transaction completed".to_owned());
    let warming = (incidents.warm_up.failed > 0).then(|| format!("{} in the warm-up", incidents.warm_up.failed));
    let notes: Vec<String> = by_type.into_iter().chain(idle).chain(nothing).chain(warming).collect();
    with_note(rule.is(held, value), notes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::summary::State;

    #[test]
    fn a_check_that_failed_or_was_not_done_fails_the_run() {
        let sound = crate::study::tests::summary("none", 1, 10.0, 1.0);
        assert!(!Incidents::of(&sound).fail());
        let mut unchecked = sound.clone();
        unchecked.consistency.unchecked = "the server stopped".to_owned();
        unchecked.database.uncounted = "the server stopped".to_owned();
        let mut broken = sound.clone();
        broken.database.agrees = Some(false);
        broken.consistency.failed = vec!["3.3.2.1".to_owned()];
        let both = Incidents::of(&unchecked).and(&Incidents::of(&broken));
        assert!(Incidents::of(&unchecked).fail() && Incidents::of(&broken).fail() && both.fail());
        let all =
            [FailedCheck::Inconsistent, FailedCheck::CountsDiffer, FailedCheck::NotCounted, FailedCheck::NotChecked];
        assert_eq!(both.failed_checks, all.into());
        // What a stopped run did not finish is not a failure.
        unchecked.interrupted = true;
        assert!(!Incidents::of(&unchecked).fail());
    }

    #[test]
    fn what_was_given_up_is_a_failure_unless_the_run_was_stopped() {
        let mut summary = crate::study::tests::summary("none", 1, 10.0, 1.0);
        let outcomes =
            Outcomes { completed: 9, unknown: 1, open_at_end: 1, longest_open_s: 4.9, ..Outcomes::default() };
        summary.outcomes.insert("new_order".to_owned(), outcomes);
        summary.transactions.get_mut("new_order").unwrap().response_ms.max = 4_907.0;
        assert_eq!((Incidents::of(&summary).open_at_end, Incidents::of(&summary).failed), (0, 0));
        summary.connections.abandoned = 1;
        summary.interrupted = true;
        let stopped = Incidents::of(&summary);
        assert_eq!((stopped.open_at_end, stopped.longest_open_s, stopped.open_measured), (1, 4.9, true));
        assert!(!stopped.fail());
        summary.interrupted = false;
        summary.outcomes.get_mut("new_order").unwrap().given_up = 1;
        let ended = Incidents::of(&summary);
        assert_eq!((ended.failed, ended.given_up, ended.open_at_end), (1, 1, 0));
        assert!(ended.beyond_allowed && ended.fail());
        assert_eq!(failures("2.3.6", &summary).state, State::Broken);
        summary.allowed_errors = 0.1;
        assert!(!Incidents::of(&summary).beyond_allowed);
    }
}
