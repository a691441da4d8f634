//! The effects of a fault on a run: when the first error came, how far throughput fell, how long the service was
//! unavailable, and when throughput recovered. A pure function of the observations.
//!
//! Throughput is counted by tenths of a second. The level before a fault is the mean of up to ten seconds before it,
//! from the end of the previous fault. The service is unavailable in a period without any commit that begins before the
//! end of
//! the fault and in which at least ten transactions were expected: chance leaves such a period empty less
//! than once in 20,000 times. It is available again with the first commit after it.

use std::collections::BTreeMap;
use std::ops::Range;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::Interval;

/// Maximum seconds before a fault from which level and response times are computed.
const LEVEL_S: f64 = 10.0;
/// Minimum seconds for that.
const SHORTEST_LEVEL_S: f64 = 2.0;
/// Maximum seconds after a fault in which its effects are searched.
pub const AFTER_S: f64 = 60.0;
/// The share of the level before the fault that counts as recovered.
const PART: f64 = 0.9;
/// Minimum number of transactions expected in a period without commits.
const MISSED: f64 = 10.0;
/// Seconds in which answers to waiting users still count as during the fault.
const LATE_S: f64 = 1.0;
/// The shortest outage, in seconds, after which they do.
const LONG_OUTAGE_S: f64 = 1.0;
/// Classes of errors that are reported by name; the others are added up.
const CLASSES: usize = 8;
/// Tenths of a second in a second.
const TENTHS: usize = 10;

/// The effects of a fault on a run. Unknown values are `None`, and `unknown` says why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Resilience {
    /// Transactions per second before it.
    pub level_before: Option<f64>,
    /// Seconds from its start to the first error that a client received; `None` if there was none.
    pub first_error_s: Option<f64>,
    /// Transactions in its worst second, at most the level before.
    pub lowest_per_second: Option<f64>,
    /// The same in percent of the level before.
    pub lowest_percent: Option<f64>,
    /// Seconds without any commit; `None` if the level before is not known.
    pub away_s: Option<f64>,
    /// Seconds from its start to the first commit after the service was unavailable, to a tenth; `None` if it was
    /// always available, or did not come back.
    pub back_s: Option<f64>,
    /// Seconds from its start to the end of the first second, after the fault, with 90 % of the level before; 0 if
    /// throughput did not fall below that.
    pub recovered_s: Option<f64>,
    /// Response times of all types in up to ten seconds before it.
    pub before: Option<Responses>,
    /// The seconds of which at least half lay between its start and its end, or the one that has most of it; if the
    /// service was unavailable for a second or more, until a second after the first commit.
    pub during: Option<Responses>,
    /// After that, up to a minute.
    pub after: Option<Responses>,
    /// Errors from its start to a minute after it, by the message of the database or the operating system.
    pub errors: BTreeMap<String, u64>,
    /// Retries of transactions in that time.
    pub retries: u64,
    /// Sessions that lost their connection in that time.
    pub connections_lost: u64,
    /// Of these, lost during a commit, so that the session does not know its outcome.
    pub doubtful_commits: u64,
    /// Commits that the database had acknowledged, and that are missing after the run.
    pub lost_commits: Option<u64>,
    /// Values that are unknown, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// Response times in a period of a run, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Responses {
    /// Answered transactions, with or without an error.
    pub count: u64,
    /// The median.
    pub p50_ms: f64,
    /// The 95th percentile.
    pub p95_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
    /// The maximum: with few sessions, the wait of a session that a fault stopped. During a fault, also of the second
    /// after it, in which those who waited are answered.
    pub max_ms: f64,
}

/// When a fault began and ended, in seconds since the run's start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaultTimes {
    /// When it began.
    pub began: f64,
    /// When it ended; `None` if the run ended first.
    pub ended: Option<f64>,
}

/// An error that a client received.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedError {
    /// When, in seconds since the run's start.
    pub at: f64,
    /// The message of the database or the operating system.
    pub why: String,
    /// Whether a connection was lost, and if so whether a commit has an unknown outcome because of it.
    pub lost: Option<bool>,
}

/// Observations in a second near a fault.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedSecond {
    /// Response times in microseconds, with the number of transactions for each.
    pub responses: Vec<(u64, u64)>,
    /// Failed transactions.
    pub failed: u64,
    /// Retries of transactions.
    pub retries: u64,
}

impl ObservedSecond {
    /// From the measurements of a second.
    pub fn of(interval: &Interval) -> ObservedSecond {
        let values = |histogram: &Histogram<u64>| {
            let each = histogram.iter_recorded();
            each.map(|step| (step.value_iterated_to(), step.count_since_last_iteration())).collect::<Vec<_>>()
        };
        ObservedSecond {
            responses: interval.transactions.iter().flat_map(|measured| values(&measured.response)).collect(),
            failed: interval.transactions.iter().map(|measured| measured.errors).sum(),
            retries: interval.transactions.iter().map(|measured| measured.retries).sum(),
        }
    }
}

/// Observations of a run. Times are seconds since its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observations {
    /// Transactions that the database completed in each tenth of a second.
    pub tenths: Vec<u32>,
    /// Seconds near faults.
    pub seconds: BTreeMap<u32, ObservedSecond>,
    /// Errors, in the order of time.
    pub errors: Vec<ObservedError>,
}

impl Observations {
    /// Transactions completed between two tenths of a second.
    fn completed(&self, tenths: Range<usize>) -> f64 {
        let of = self.tenths.get(tenths.start..tenths.end.min(self.tenths.len())).unwrap_or_default();
        of.iter().map(|count| f64::from(*count)).sum()
    }

    /// Response times of whole seconds.
    fn responses(&self, seconds: Range<u32>) -> Option<Responses> {
        let mut all: BTreeMap<u64, u64> = BTreeMap::new();
        if seconds.start < seconds.end {
            for (value, count) in self.seconds.range(seconds).flat_map(|(_, second)| &second.responses) {
                *all.entry(*value).or_default() += count;
            }
        }
        let count = all.values().sum::<u64>();
        let at = |share: f64| {
            let rank = (share * count as f64).ceil().max(1.0) as u64;
            let mut below = 0;
            let found = all.iter().find(|(_, count)| {
                below += **count;
                below >= rank
            });
            found.map_or(0.0, |(micros, _)| *micros as f64 / 1e3)
        };
        (count > 0).then(|| Responses { count, p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99), max_ms: at(1.0) })
    }
}

/// The effects of each fault of a run, in the order of time. `interval` is the measurement interval.
pub fn of(seen: &Observations, interval: &Range<f64>, faults: &[FaultTimes]) -> Vec<Resilience> {
    let mut free_from = interval.start;
    let mut all = Vec::new();
    for (number, fault) in faults.iter().enumerate() {
        let next = faults.get(number + 1).map_or(interval.end, |next| next.began.min(interval.end));
        let ended = fault.ended.unwrap_or(interval.end).min(interval.end);
        let look = FaultView { seen, began: fault.began, ended, until: next.min(ended + AFTER_S), free_from };
        let mut found = look.resilience();
        if fault.ended.is_none() {
            found.unknown.push("what came after it: the run ended first".to_owned());
        }
        let over = found.recovered_s.or(found.back_s.map(|back| back + LATE_S));
        free_from = ended.max(fault.began + over.unwrap_or_default());
        all.push(found);
    }
    all
}

/// A fault to be evaluated.
struct FaultView<'a> {
    seen: &'a Observations,
    began: f64,
    ended: f64,
    /// The end of the search for effects.
    until: f64,
    /// The end of the previous fault and its effects.
    free_from: f64,
}

/// Periods without a commit.
struct Outage {
    seconds: f64,
    /// The end of the last of them, if it ended.
    back: Option<f64>,
}

impl FaultView<'_> {
    fn resilience(&self) -> Resilience {
        let mut found = Resilience { level_before: self.level(), ..Resilience::default() };
        let mut settled = self.ended;
        match found.level_before {
            Some(level) if level > 0.0 => settled = self.throughput(level, &mut found),
            Some(_) => found.unknown.push("throughput: nothing was completed before the fault either".to_owned()),
            None => found.unknown.push(format!(
                "throughput: there are less than {SHORTEST_LEVEL_S} s of the interval before it in which no other \
                 fault was at work"
            )),
        }
        self.answers(settled, &mut found);
        self.errors(&mut found);
        found
    }

    /// Transactions per second before the fault.
    fn level(&self) -> Option<f64> {
        let (from, to) = (ceil(self.free_from.max(self.began - LEVEL_S)), floor(self.began));
        let length = to.checked_sub(from)? as f64 / TENTHS as f64;
        (length >= SHORTEST_LEVEL_S).then(|| self.seen.completed(from..to) / length)
    }

    /// Evaluates throughput; returns when the fault had ended and the service was available again.
    fn throughput(&self, level: f64, found: &mut Resilience) -> f64 {
        let (first, until) = (floor(self.began), floor(self.until));
        let away = self.away(level, first..until);
        found.away_s = Some(away.as_ref().map_or(0.0, |away| away.seconds));
        found.back_s = away.as_ref().and_then(|away| away.back).map(|back| back - self.began);
        if away.as_ref().is_some_and(|away| away.back.is_none()) {
            found.unknown.push("when the service was back: not before the next fault, or the end".to_owned());
        }
        let back = away.as_ref().and_then(|away| away.back);
        let settled = self.ended.max(back.unwrap_or(self.ended));
        let second = |tenth: usize| self.seen.completed(tenth..tenth + TENTHS);
        let last = until.saturating_sub(TENTHS);
        let reached = (floor(settled)..=last).find(|tenth| second(*tenth) >= PART * level);
        let reached = reached.filter(|_| away.as_ref().is_none_or(|away| away.back.is_some()));
        found.recovered_s = match reached {
            _ if away.is_none() && self.mean() >= PART * level => Some(0.0),
            Some(tenth) => Some((tenth + TENTHS) as f64 / TENTHS as f64 - self.began),
            None => {
                let what = "when 90 % of the level were back: not before the next fault, the end, or within a minute";
                found.unknown.push(what.to_owned());
                None
            }
        };
        let lowest = (first..=reached.unwrap_or(last).min(last)).map(second).reduce(f64::min);
        found.lowest_per_second = lowest;
        found.lowest_percent = lowest.map(|lowest| 100.0 * lowest / level);
        if lowest.is_none() {
            found.unknown.push("how deep throughput fell: less than a second of it was seen".to_owned());
        }
        settled
    }

    /// Transactions per second during the fault, or in its first second if it was shorter.
    fn mean(&self) -> f64 {
        let (first, length) = (floor(self.began), floor((self.ended - self.began).max(1.0)));
        self.seen.completed(first..first + length) / (length as f64 / TENTHS as f64)
    }

    /// Whether and when the service was unavailable.
    fn away(&self, level: f64, within: Range<usize>) -> Option<Outage> {
        let at = |tenth: usize| tenth as f64 / TENTHS as f64;
        let least = (MISSED * TENTHS as f64 / level).ceil();
        let mut away: Option<Outage> = None;
        let mut begun = None;
        for tenth in within.clone() {
            let empty = self.seen.tenths.get(tenth).is_none_or(|count| *count == 0);
            if empty {
                begun = begun.or(Some(tenth));
            }
            let over = !empty || tenth + 1 == within.end;
            let Some(start) = begun.filter(|_| over) else { continue };
            begun = None;
            let length = tenth + usize::from(empty) - start;
            // The last tenth of a second of the fault may be empty because of it.
            if at(start) <= self.ended && length as f64 >= least {
                let before = away.map_or(0.0, |away| away.seconds);
                away = Some(Outage { seconds: before + at(length), back: (!empty).then(|| at(tenth)) });
            }
        }
        away
    }

    /// Response times in the three windows.
    fn answers(&self, settled: f64, found: &mut Resilience) {
        let second = |at: f64| at.max(0.0) as u32;
        let before = second(self.free_from.max(self.began - LEVEL_S).ceil())..second(self.began.floor());
        // Users who waited while the service was unavailable are answered after that. A shorter outage ends within the
        // seconds of the fault.
        let away = found.away_s.is_some_and(|away| away >= LONG_OUTAGE_S);
        let end = if away { (settled + LATE_S).min(self.until) } else { settled };
        // Whole seconds are known, and one that lay mostly outside must not count: its transactions were not affected.
        let (first, last) = whole_seconds(self.began, end);
        let during = second(first)..second(last);
        let after = during.end..second(self.until.floor());
        found.before = self.seen.responses(before);
        found.during = self.seen.responses(during);
        // Who waited until its end is answered in the second after it.
        let waited = second(self.began)..second((settled + LATE_S).min(self.until).ceil());
        if let (Some(during), Some(waited)) = (&mut found.during, self.seen.responses(waited)) {
            during.max_ms = during.max_ms.max(waited.max_ms);
        }
        found.after = self.seen.responses(after);
    }

    fn errors(&self, found: &mut Resilience) {
        let window = self.began..self.until;
        let errors = || self.seen.errors.iter().filter(|error| window.contains(&error.at));
        found.connections_lost = errors().filter(|error| error.lost.is_some()).count() as u64;
        found.doubtful_commits = errors().filter(|error| error.lost == Some(true)).count() as u64;
        let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
        for error in errors() {
            *classes.entry(&error.why).or_default() += 1;
        }
        let mut classes: Vec<(&str, u64)> = classes.into_iter().collect();
        classes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let others = classes.iter().skip(CLASSES).map(|(_, count)| count).sum::<u64>();
        found.errors = classes.into_iter().take(CLASSES).map(|(why, count)| (why.to_owned(), count)).collect();
        if others > 0 {
            found.errors.insert("others".to_owned(), others);
        }
        // The second in which the next fault begins counts for that one, because nearly all of its errors are due to
        // it.
        let first = self.began as u32;
        let seconds = self.seen.seconds.range(first..(self.until as u32).max(first.saturating_add(1)));
        let (mut failed, mut first) = (0, None);
        for (second, of) in seconds {
            failed += of.failed;
            found.retries += of.retries;
            first = first.or((of.failed > 0).then(|| f64::from(*second).max(self.began)));
        }
        let one_by_one = errors().filter(|error| error.lost.is_none()).count() as u64;
        if failed > one_by_one {
            found.errors.insert("failed, not reported one by one".to_owned(), failed - one_by_one);
        }
        found.first_error_s = errors().map(|error| error.at).reduce(f64::min).or(first).map(|at| at - self.began);
    }
}

/// The whole seconds of which at least half lies in a period, or the one of which most does.
fn whole_seconds(began: f64, ended: f64) -> (f64, f64) {
    // Half a second counts: 20.5 begins with second 20, and ends with it.
    let (first, last) = ((began - 0.5).ceil(), (ended + 0.5).floor());
    if last > first {
        return (first, last);
    }
    // Both times are in one second, or in two neighbours that the period covers less than half of.
    let border = began.floor() + 1.0;
    let first = if border - began >= ended - border { began.floor() } else { border };
    (first, first + 1.0)
}

/// The tenth of a second that contains a time.
fn floor(at: f64) -> usize {
    // A time that is meant to be a whole tenth may be slightly less.
    (at * TENTHS as f64 + 1e-6).floor().max(0.0) as usize
}

/// The first tenth of a second that begins at a time or later.
fn ceil(at: f64) -> usize {
    (at * TENTHS as f64 - 1e-6).ceil().max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of 60 s with 10 transactions in each tenth of a second, except those for which `other` returns a number.
    fn run(other: impl Fn(usize) -> Option<u32>) -> Observations {
        let tenths = (0..600).map(|tenth| other(tenth).unwrap_or(10)).collect();
        let second = |_| ObservedSecond { responses: vec![(1_000, 90), (5_000, 9), (9_000, 1)], failed: 0, retries: 0 };
        Observations { tenths, seconds: (0..60).map(|number| (number, second(number))).collect(), errors: Vec::new() }
    }

    fn one(seen: &Observations, began: f64, ended: f64) -> Resilience {
        of(seen, &(5.0..60.0), &[FaultTimes { began, ended: Some(ended) }]).remove(0)
    }

    fn near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 1e-6)
    }

    #[test]
    fn an_outage_is_as_long_as_it_was_planted() {
        // Nothing from 20.0 to 23.5 s, a fifth until 25.0 s, then everything.
        let mut seen = run(|tenth| match tenth {
            200..235 => Some(0),
            235..250 => Some(2),
            _ => None,
        });
        let error = |at, lost, why: &str| ObservedError { at, why: why.to_owned(), lost };
        seen.errors = vec![
            error(19.0, Some(false), "earlier"),
            error(20.25, Some(false), "reset"),
            error(20.5, Some(true), "reset"),
            error(21.0, None, "refused"),
        ];
        let second = seen.seconds.get_mut(&22).unwrap();
        (second.failed, second.retries, second.responses) = (3, 7, vec![(2_000_000, 1)]);
        let found = one(&seen, 20.0, 22.0);
        assert!(near(found.level_before, 100.0) && near(found.first_error_s, 0.25), "{found:?}");
        assert!(near(found.away_s, 3.5) && near(found.back_s, 3.5), "{found:?}");
        // The first second with 90 transactions: 2 from 24.9 on, 90 from 25.0 on.
        assert!(near(found.recovered_s, 5.9), "{found:?}");
        assert!(near(found.lowest_per_second, 0.0) && near(found.lowest_percent, 0.0), "{found:?}");
        assert_eq!((found.connections_lost, found.doubtful_commits, found.retries), (2, 1, 7));
        let expected = [("failed, not reported one by one", 2), ("refused", 1), ("reset", 2)];
        assert_eq!(found.errors, expected.map(|(why, count)| (why.to_owned(), count)).into());
        assert_eq!(found.unknown, Vec::<String>::new());
        let before = found.before.unwrap();
        assert_eq!((before.count, before.p50_ms, before.p95_ms, before.p99_ms), (1_000, 1.0, 5.0, 5.0));
        assert_eq!((before.max_ms, found.during.unwrap().max_ms), (9.0, 2_000.0));
        // Seconds 20 to 24: the service is back at 23.5.
        assert_eq!(found.during.unwrap().count, 401);
        assert_eq!(found.after.unwrap().count, 3_500);
    }

    #[test]
    fn response_times_during_a_fault_are_of_the_seconds_that_it_covered() {
        for ((began, ended), seconds) in [
            ((20.0, 25.0), (20.0, 25.0)),
            ((20.4, 24.6), (20.0, 25.0)),
            ((20.6, 24.4), (21.0, 24.0)),
            ((20.5, 24.5), (20.0, 25.0)),
            ((20.3, 20.4), (20.0, 21.0)),
            ((20.9, 21.3), (21.0, 22.0)),
            ((20.7, 21.1), (20.0, 21.0)),
            ((20.6, 21.4), (20.0, 21.0)),
        ] {
            assert_eq!(whole_seconds(began, ended), seconds, "{began} {ended}");
        }
        // A delay of 100 ms between 20.7 and 25.3 s, whose first and last tenths are empty: 5 ms outside of it.
        let mut seen = run(|tenth| match tenth {
            207 | 253 => Some(0),
            208..253 => Some(1),
            _ => None,
        });
        for (second, fast, slow) in [(20, 70, 3), (21, 0, 10), (22, 0, 10), (23, 0, 10), (24, 0, 10), (25, 60, 3)] {
            seen.seconds.get_mut(&second).unwrap().responses = vec![(5_000, fast), (105_000, slow)];
        }
        let found = one(&seen, 20.7, 25.3);
        let during = found.during.unwrap();
        assert!(during.count == 40 && during.p50_ms > 100.0, "{during:?}");
        // A short outage does not make later seconds part of the fault; a long one does.
        let outage = |tenths: Range<usize>| one(&run(move |tenth| tenths.contains(&tenth).then_some(0)), 20.0, 20.5);
        let (short, long) = (outage(200..205), outage(200..225));
        assert!(near(short.away_s, 0.5) && near(long.away_s, 2.5), "{short:?} {long:?}");
        assert_eq!((short.during.unwrap().count, long.during.unwrap().count), (100, 400));
    }

    #[test]
    fn failures_of_a_second_are_of_the_fault_that_begins_in_it() {
        let mut seen = run(|_| None);
        seen.seconds.get_mut(&30).unwrap().failed = 15;
        let faults = [(20.0001, 22.0), (30.0001, 32.0)].map(|(began, ended)| FaultTimes { began, ended: Some(ended) });
        let found = of(&seen, &(5.0..60.0), &faults);
        assert!(found[0].errors.is_empty() && found[0].first_error_s.is_none(), "{found:?}");
        assert_eq!(found[1].errors, [("failed, not reported one by one".to_owned(), 15)].into());
    }

    #[test]
    fn a_slow_stretch_is_no_outage_and_one_that_is_not_felt_is_said_to_be_none() {
        let slow = run(|tenth| (200..300).contains(&tenth).then_some(4));
        let found = one(&slow, 20.0, 30.0);
        assert!(near(found.away_s, 0.0) && found.back_s.is_none() && near(found.lowest_percent, 40.0), "{found:?}");
        assert!(near(found.recovered_s, 11.0), "{found:?}");
        assert_eq!((found.first_error_s, found.unknown.len()), (None, 0));
        let found = one(&run(|_| None), 20.0, 30.0);
        assert!(near(found.recovered_s, 0.0) && near(found.lowest_percent, 100.0) && near(found.away_s, 0.0));
    }

    #[test]
    fn what_chance_leaves_empty_is_no_outage() {
        // At one transaction per second, a second without any means nothing; half a minute does.
        let rare = |empty: Range<usize>| run(move |tenth| Some(u32::from(tenth % 10 == 0 && !empty.contains(&tenth))));
        assert!(near(one(&rare(200..215), 20.0, 21.0).away_s, 0.0));
        let found = one(&rare(200..500), 20.0, 45.0);
        assert!(near(found.away_s, 30.0), "{found:?}");
    }

    #[test]
    fn what_cannot_be_known_is_not_told_as_a_figure() {
        // The service does not come back.
        let found = one(&run(|tenth| (tenth >= 200).then_some(0)), 20.0, 22.0);
        assert!(near(found.away_s, 40.0) && found.back_s.is_none() && found.recovered_s.is_none());
        assert_eq!(found.unknown.len(), 2, "{found:?}");
        // The interval has just begun.
        let found = one(&run(|_| None), 6.0, 8.0);
        assert_eq!((found.level_before, found.away_s, found.recovered_s), (None, None, None));
        assert!(found.unknown[0].contains("less than 2 s"), "{found:?}");
        // No transactions before the fault, either.
        let found = one(&run(|_| Some(0)), 20.0, 22.0);
        assert!(found.away_s.is_none() && found.unknown[0].contains("nothing was completed"), "{found:?}");
        // The run ended during the fault, and no data exist for another one.
        let open = of(&run(|_| None), &(5.0..60.0), &[FaultTimes { began: 59.9, ended: None }]).remove(0);
        assert!(open.unknown.iter().any(|why| why.contains("the run ended first")), "{open:?}");
        assert!(open.lowest_per_second.is_none());
        assert_eq!(one(&Observations::default(), 20.0, 22.0).before, None);
    }

    #[test]
    fn the_level_before_a_fault_is_of_when_the_one_before_was_over() {
        // The first is over at 25.0, with 90 % in the second that ends at 25.9.
        let seen = run(|tenth| (200..250).contains(&tenth).then_some(0));
        let faults = [(20.0, 24.0), (28.5, 29.0), (30.0, 31.0)];
        let faults = faults.map(|(began, ended)| FaultTimes { began, ended: Some(ended) });
        let found = of(&seen, &(5.0..60.0), &faults);
        assert!(near(found[1].level_before, 100.0), "{:?}", found[1]);
        // A second between the two is not enough.
        assert!(found[2].level_before.is_none() && !found[2].unknown.is_empty(), "{:?}", found[2]);
        // The window after the first fault ends where the second begins.
        assert_eq!(found[0].after.map(|after| after.count), Some(200));
    }
}
