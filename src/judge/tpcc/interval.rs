//! Clause 5.5: steady state, the measurement interval, and checkpoints in it.

use super::{Rule, SHORT, because, because_of_pace, noted};
use crate::result::maintenance::{Maintenance, MaintenanceKind};
use crate::result::summary::{Clause, Summary};

/// The shortest measurement interval in seconds (clause 5.5.2.1).
pub(super) const SHORTEST_S: f64 = 7_200.0;
/// By how much throughput may differ, in percent, before it was steady by the rule MSER-5: noise moves the point that
/// the rule finds.
const SETTLED: f64 = 5.0;
/// Checkpoints in the interval, at least (clause 5.5.2.2).
const CHECKPOINTS: usize = 4;
/// From one checkpoint to the next, at most, in seconds (clause 5.5.2.2).
const APART_S: f64 = 1_800.0;

pub(super) fn rules(summary: &Summary) -> Vec<Clause> {
    let mut clauses = vec![unfinished(summary), length(summary), steady(summary)];
    clauses.extend(checkpoints(summary));
    clauses
}

/// Clause 5.5.1.2: what terminals send is worked, so that the rate can be kept up.
fn unfinished(summary: &Summary) -> Clause {
    let rule = Rule::new(super::STEADY, "transactions that were still queued 10 s after the interval", "none");
    match &summary.pacing {
        Some(pacing) => rule.is(pacing.unfinished == 0, pacing.unfinished.to_string()),
        None if summary.open_loop.is_some() => {
            because_of_pace(rule.not_tested("what waits is counted at the interval's end"), summary)
        }
        None => because_of_pace(rule.not_tested("a closed loop offers only what the database takes"), summary),
    }
}

/// Clause 5.5.2.1.
fn length(summary: &Summary) -> Clause {
    let long = summary.interval_s >= SHORTEST_S && !summary.interrupted;
    let rule = Rule::new("5.5.2.1", "measurement interval", format!(">= {SHORTEST_S:.0} s"));
    let clause = rule.is(long, format!("{:.0} s", summary.interval_s));
    if summary.interrupted { noted(clause, "the run was interrupted") } else { because(clause, SHORT) }
}

/// Clause 5.5.2.1: the interval lies in a steady state.
fn steady(summary: &Summary) -> Clause {
    let limit = format!("steady throughput, or within {SETTLED:.0} % of it");
    let rule = Rule::new("5.5.2.1", "throughput when measuring begins", limit);
    let own = summary.ramp_up_auto.as_ref();
    if let Some(limited) = own.filter(|own| !own.steady) {
        let clause = rule.is(false, format!("not steady after {:.0} s", limited.ramp_up_s));
        return noted(clause, format!("--ramp-up auto: {}", limited.found));
    }
    let Some(steady) = &summary.steady else {
        return match own {
            Some(own) => noted(rule.is(true, "steady"), format!("--ramp-up auto: {}", own.found)),
            None => rule.not_tested("the run was too short to tell, or its number of clients changed"),
        };
    };
    let from = format!("the run was steady from second {:.0} on (MSER-5)", steady.from_s);
    match steady.start_percent {
        None => noted(rule.is(true, "steady"), from),
        Some(percent) => {
            let settled = (percent - 100.0).abs() <= SETTLED;
            let clause =
                noted(rule.is(settled, format!("{percent:.1} % of it")), format!("{from}: lengthen --ramp-up"));
            because(clause, "a ramp-up too short to become steady was asked for")
        }
    }
}

/// Clause 5.5.2.2.
fn checkpoints(summary: &Summary) -> [Clause; 3] {
    let before = Rule::new("5.5.2.2", "checkpoints in steady state before the interval", ">= 1");
    let within = Rule::new("5.5.2.2", "checkpoints in the interval", format!(">= {CHECKPOINTS}"));
    let apart = Rule::new("5.5.2.2", "longest time from one checkpoint to the next", format!("<= {APART_S:.0} s"));
    let mut all: Vec<&Maintenance> = summary
        .maintenance
        .iter()
        .filter(|work| work.kind == MaintenanceKind::Checkpoint && work.start_s >= 0.0)
        .collect();
    all.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
    if all.is_empty() {
        return match summary.maintenance_notes.as_slice() {
            [] => [before, within, apart].map(|rule| {
                because(rule.not_tested("none was asked for: run with --checkpoint"), "no checkpoints were asked for")
            }),
            notes => [before, within, apart].map(|rule| rule.not_tested(notes.join("; "))),
        };
    }
    let (open, close) = (summary.ramp_up_s, summary.ramp_up_s + summary.interval_s);
    let done = |from: f64, to: f64| {
        all.iter().filter(|work| work.start_s >= from && work.start_s + work.seconds <= to).count()
    };
    let (early, inside) = (done(0.0, open), done(open, close));
    let (longest, overrun) = gaps(&all, open, close);
    let apart = apart.is(longest <= APART_S && !overrun, format!("{longest:.0} s"));
    let apart = if overrun { noted(apart, "one was not done when the next was due") } else { apart };
    let within = within.is(inside >= CHECKPOINTS, inside.to_string());
    let within = if summary.interval_s < SHORTEST_S { because(within, SHORT) } else { within };
    [before.is(early >= 1, early.to_string()), within, apart]
}

/// The longest time without the start of a checkpoint, from the last one before the interval to the interval's end, and
/// whether one went on until the next began.
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
    fn a_ramp_up_that_met_its_limit_is_not_steady_whatever_is_found_afterwards() {
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
