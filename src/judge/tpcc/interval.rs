//! Clause 5.5: steady state, the measurement interval, and its checkpoints.

use super::{NO_CHECKPOINTS, Rule, SHORT, with_note, with_pace_reason, with_reason};
use crate::result::maintenance::{Maintenance, MaintenanceKind};
use crate::result::summary::{Clause, Summary};

/// The shortest measurement interval in seconds (clause 5.5.2.1).
pub(super) const SHORTEST_S: f64 = 7_200.0;
/// How far throughput may be from its steady mean if it was not steady yet by the rule MSER-5, in percent: noise moves
/// the point that the rule finds.
const STEADY_PERCENT: f64 = 5.0;
/// Least number of checkpoints in the interval (clause 5.5.2.2).
const CHECKPOINTS: usize = 4;
/// Longest time from one checkpoint to the next, in seconds (clause 5.5.2.2).
const MAX_CHECKPOINT_DISTANCE_S: f64 = 1_800.0;

pub(super) fn rules(summary: &Summary) -> Vec<Clause> {
    let mut clauses = vec![unfinished(summary), length(summary), steady(summary)];
    clauses.extend(checkpointing(summary));
    clauses
}

/// Clause 5.5.1.2: requests of terminals do not accumulate, so the rate is sustainable.
fn unfinished(summary: &Summary) -> Clause {
    let rule = Rule::new(super::STEADY, "transactions that were still queued 10 s after the interval", "none");
    match &summary.pacing {
        Some(pacing) => rule.is(pacing.unfinished == 0, pacing.unfinished.to_string()),
        None if summary.open_loop.is_some() => {
            with_pace_reason(rule.not_tested("the queue is only counted at the end of an interval"), summary)
        }
        None => with_pace_reason(rule.not_tested("a closed loop has no queue"), summary),
    }
}

/// Clause 5.5.2.1.
fn length(summary: &Summary) -> Clause {
    let long = summary.interval_s >= SHORTEST_S && !summary.interrupted;
    let rule = Rule::new("5.5.2.1", "measurement interval", format!(">= {SHORTEST_S:.0} s"));
    let clause = rule.is(long, format!("{:.0} s", summary.interval_s));
    if summary.interrupted { with_note(clause, "the run was interrupted") } else { with_reason(clause, SHORT) }
}

/// Clause 5.5.2.1: the interval lies in a steady state.
pub(super) fn steady(summary: &Summary) -> Clause {
    let limit = format!("steady throughput, or within {STEADY_PERCENT:.0} % of it");
    let rule = Rule::new("5.5.2.1", "throughput at the start of the interval", limit);
    let own = summary.ramp_up_auto.as_ref();
    if let Some(limited) = own.filter(|own| !own.steady) {
        let clause = rule.is(false, format!("not steady after {:.0} s", limited.ramp_up_s));
        return with_note(clause, format!("--ramp-up auto: {}", limited.found));
    }
    let Some(steady) = &summary.steady else {
        return match own {
            Some(own) => with_note(rule.is(true, "steady"), format!("--ramp-up auto: {}", own.found)),
            None => rule.not_tested("the run was too short, or its number of clients changed"),
        };
    };
    let from = format!("the run was steady from second {:.0} on (MSER-5)", steady.from_s);
    match steady.start_percent {
        None => with_note(rule.is(true, "steady"), from),
        Some(percent) => {
            let settled = (percent - 100.0).abs() <= STEADY_PERCENT;
            let clause =
                with_note(rule.is(settled, format!("{percent:.1} % of it")), format!("{from}: use a longer --ramp-up"));
            with_reason(clause, "the requested ramp-up was too short")
        }
    }
}

/// The checkpoints of the run, in order of time.
pub(super) fn checkpoints(summary: &Summary) -> Vec<&Maintenance> {
    let is_checkpoint = |work: &&Maintenance| work.kind == MaintenanceKind::Checkpoint && work.start_s >= 0.0;
    let mut all: Vec<&Maintenance> = summary.maintenance.iter().filter(is_checkpoint).collect();
    all.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
    all
}

/// The number of checkpoints that began and ended between two seconds of the run.
fn done(checkpoints: &[&Maintenance], from: f64, to: f64) -> usize {
    checkpoints.iter().filter(|work| work.start_s >= from && work.start_s + work.seconds <= to).count()
}

/// The number of checkpoints that began and ended in the interval.
pub(super) fn checkpoints_within(summary: &Summary) -> usize {
    done(&checkpoints(summary), summary.ramp_up_s, summary.ramp_up_s + summary.interval_s)
}

/// Clause 5.5.2.2.
fn checkpointing(summary: &Summary) -> [Clause; 3] {
    let before = Rule::new("5.5.2.2", "checkpoints in steady state before the interval", ">= 1");
    let within = Rule::new("5.5.2.2", "checkpoints in the interval", format!(">= {CHECKPOINTS}"));
    let apart = Rule::new(
        "5.5.2.2",
        "longest time from one checkpoint to the next",
        format!("<= {MAX_CHECKPOINT_DISTANCE_S:.0} s"),
    );
    let all = checkpoints(summary);
    if all.is_empty() {
        return match summary.maintenance_notes.as_slice() {
            [] => [before, within, apart]
                .map(|rule| with_reason(rule.not_tested("none was requested: run with --checkpoint"), NO_CHECKPOINTS)),
            notes => [before, within, apart].map(|rule| rule.not_tested(notes.join("; "))),
        };
    }
    let (open, close) = (summary.ramp_up_s, summary.ramp_up_s + summary.interval_s);
    let (early, inside) = (done(&all, 0.0, open), checkpoints_within(summary));
    let (longest, overrun) = gaps(&all, open, close);
    let apart = apart.is(longest <= MAX_CHECKPOINT_DISTANCE_S && !overrun, format!("{longest:.0} s"));
    let apart = if overrun { with_note(apart, "one had not finished when the next was due") } else { apart };
    let within = within.is(inside >= CHECKPOINTS, inside.to_string());
    let within = if summary.interval_s < SHORTEST_S { with_reason(within, SHORT) } else { within };
    [before.is(early >= 1, early.to_string()), within, apart]
}

/// The longest time without the start of a checkpoint, from the last one before the interval to its end, and whether a
/// checkpoint lasted until the next began.
fn gaps(all: &[&Maintenance], open: f64, close: f64) -> (f64, bool) {
    let last_before = all.iter().rev().find(|work| work.start_s <= open);
    let mut last = last_before.map_or(open, |work| work.start_s);
    let mut busy_until = last_before.map_or(open, |work| work.start_s + work.seconds);
    let (mut longest, mut overrun) = (0.0_f64, false);
    for work in all.iter().filter(|work| work.start_s > open && work.start_s < close) {
        longest = longest.max(work.start_s - last);
        overrun |= busy_until > work.start_s;
        (last, busy_until) = (work.start_s, work.start_s + work.seconds);
    }
    (longest.max(close - last), overrun)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::steady::Settled;
    use crate::measure::transient::SteadyState;
    use crate::result::summary::State;

    #[test]
    fn a_ramp_up_that_reached_its_limit_is_never_steady() {
        let flat = Some(SteadyState { from_s: 0.0, start_percent: None });
        for (own, afterwards, state) in [
            (Some(true), None, State::Held),
            (Some(true), flat, State::Held),
            (Some(false), None, State::Broken),
            (Some(false), flat, State::Broken),
            (None, flat, State::Held),
            (None, None, State::NotTested),
        ] {
            let own = own.map(|steady| Settled { steady, ..Settled::default() });
            let summary = Summary { ramp_up_auto: own, steady: afterwards, ..crate::study::tests::kept() };
            assert_eq!(steady(&summary).state, state, "{:?}", summary.ramp_up_auto);
        }
    }
}
