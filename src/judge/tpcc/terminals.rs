//! Clauses 5.2.5, 5.3, 2.7.2 and 6.6.2: keying and think times, response times, deferred Deliveries, and the driver.

use super::{
    DEFERRED_LIMIT_S, LIMITS, Limits, NO_TRANSACTION, Rule, completed_summary, with_note, with_pace_reason, with_reason,
};
use crate::judge::SMALL_SAMPLE;
use crate::judge::incidents::Incidents;
use crate::result::summary::{Clause, PacingSummary, Summary};

/// Upper limit of the 90th percentile of the menu's response time, in seconds (clause 5.2.5.1).
const MENU_S: f64 = 2.0;
/// Times that differ by less are equal, in seconds (clause 5.2.5.6).
const EQUAL_WITHIN_S: f64 = 0.1;
/// Samples below which a mean is meaningless.
const MIN_SAMPLES: u64 = 30;
/// Number of response times below which a single stall lifts their mean above their 90th percentile.
const MIN_RESPONSES: u64 = 100;
/// A lost session must be restored within this many seconds (clause 6.6.2).
const MAX_AWAY_S: f64 = 90.0;
const UNPACED: &str = "a run without pace has no keying, think or menu times";

pub(super) fn rules(summary: &Summary) -> Vec<Clause> {
    let pacing = summary.pacing.as_ref();
    let mut clauses = vec![menu(pacing)];
    clauses.extend(LIMITS.iter().map(|limits| with_pace_reason(keying(limits, pacing), summary)));
    clauses.extend(LIMITS.iter().map(|limits| response(limits, summary)));
    clauses.extend(LIMITS.iter().map(|limits| with_pace_reason(think(limits, pacing), summary)));
    clauses.extend(LIMITS.iter().map(|limits| skew(limits, summary)));
    clauses.push(deferred(summary));
    clauses.push(results(summary));
    clauses.push(lateness(pacing));
    if pacing.is_none() {
        // Without terminals none of these can be met or missed.
        let of_terminals = ["5.2.5.1", "2.7.2.2", "5.3.4"];
        clauses = clauses
            .into_iter()
            .map(|clause| match of_terminals.contains(&clause.id.as_str()) {
                true => with_pace_reason(clause, summary),
                false => clause,
            })
            .collect();
    }
    clauses.push(lost(summary));
    clauses
}

/// Clause 5.2.5.1.
fn menu(pacing: Option<&PacingSummary>) -> Clause {
    let rule = Rule::new("5.2.5.1", "90th percentile of the menu", format!("< {MENU_S} s"));
    match pacing {
        Some(pacing) => {
            let p90 = pacing.menu_ms.p90 / 1e3;
            with_note(rule.is(p90 < MENU_S, seconds(p90)), "the menu does not use the database (clause 5.3.3)")
        }
        None => rule.not_tested(UNPACED),
    }
}

/// Clause 5.2.5.2.
fn keying(limits: &Limits, pacing: Option<&PacingSummary>) -> Clause {
    let rule = Rule::new("5.2.5.2", format!("keying time of {}", limits.name), format!(">= {} s", limits.keying_s));
    let Some(pacing) = pacing else { return rule.is(false, "none") };
    match pacing.keying_s.get(limits.transaction).filter(|keying| keying.count > 0) {
        // Keying time is constant, so the shortest one decides.
        Some(keying) => rule.is(keying.min >= limits.keying_s, format!("{:.3} s at least", keying.min)),
        None => rule.not_tested(NO_TRANSACTION),
    }
}

/// Clause 5.2.5.3.
fn response(limits: &Limits, summary: &Summary) -> Clause {
    let rule =
        Rule::new("5.2.5.3", format!("90th percentile of {}", limits.name), format!("< {:.0} s", limits.response_s));
    match completed_summary(summary, limits.transaction) {
        Some(transaction) => {
            let p90 = transaction.response_ms.p90 / 1e3;
            rule.is(p90 < limits.response_s, seconds(p90))
        }
        None => rule.not_tested(NO_TRANSACTION),
    }
}

/// Clause 5.2.5.4. See the parent module for the tolerance of random deviations.
fn think(limits: &Limits, pacing: Option<&PacingSummary>) -> Clause {
    let least = limits.think_s;
    let rule = Rule::new("5.2.5.4", format!("mean think time of {}", limits.name), format!(">= {least} s"));
    let Some(pacing) = pacing else { return rule.is(false, "none") };
    let Some(think) = pacing.think_s.get(limits.transaction).filter(|think| think.count >= MIN_SAMPLES) else {
        return rule.not_tested(format!("fewer than {MIN_SAMPLES} think times are too few for a mean"));
    };
    // The standard deviation of a negative exponential distribution is its mean.
    let error = least / (think.count as f64).sqrt();
    let clause = rule.is(think.mean >= least - 2.0 * error, format!("{:.3} s", think.mean));
    let allowed = if (least - 2.0 * error..least).contains(&think.mean) {
        ": less than two standard errors below the limit, counts as met"
    } else {
        ""
    };
    with_note(clause, format!("standard error {error:.3} s{allowed}"))
}

/// Clause 5.2.5.6.
fn skew(limits: &Limits, summary: &Summary) -> Clause {
    let rule = Rule::new(
        "5.2.5.6",
        format!("90th percentile of {} not below its mean", limits.name),
        "90th percentile >= mean",
    );
    match completed_summary(summary, limits.transaction) {
        Some(transaction) => {
            let (p90, mean) = (transaction.response_ms.p90 / 1e3, transaction.response_ms.mean / 1e3);
            let clause = rule.is(mean - p90 < EQUAL_WITHIN_S, format!("{}, mean {}", seconds(p90), seconds(mean)));
            let clause = if mean > p90 { with_note(clause, "a difference below 0.1 s is ignored") } else { clause };
            if transaction.completed < MIN_RESPONSES { with_reason(clause, SMALL_SAMPLE) } else { clause }
        }
        None => rule.not_tested(NO_TRANSACTION),
    }
}

/// Clause 2.7.2.2.
fn deferred(summary: &Summary) -> Clause {
    let rule = Rule::new("2.7.2.2", "Deliveries executed within 80 s of being queued", ">= 90 %");
    let Some(pacing) = &summary.pacing else {
        return with_note(rule.is(false, "not deferred"), "without pace a Delivery is executed while its client waits");
    };
    let queued = completed_summary(summary, "delivery").map_or(0, |transaction| transaction.completed);
    let done = pacing.deferred_completed;
    if queued == 0 || summary.interval_s <= 0.0 {
        return rule.not_tested(NO_TRANSACTION);
    }
    // Deliveries that were queued more than 80 s before the end and not executed are late, and so are failed ones.
    let recent = (queued as f64 * (DEFERRED_LIMIT_S / summary.interval_s).min(1.0)).ceil() as u64;
    let open = queued.saturating_sub(done);
    let failed = completed_summary(summary, "delivery")
        .map_or(0, |transaction| transaction.errors.saturating_add(transaction.unknown));
    let late = open.saturating_sub(recent).max(failed.min(open));
    if done + late == 0 {
        return rule.not_tested("none was executed, and none was queued for more than 80 s");
    }
    let share = 100.0 * pacing.deferred_within_limit as f64 / (done + late) as f64;
    let clause = rule.is(share >= 90.0, format!("{share:.2} %"));
    if open > 0 {
        with_note(clause, format!("{open} of {queued} were not executed when the interval ended"))
    } else {
        clause
    }
}

/// Clause 2.7.2.2: the result file has every Delivery that sessions reported as committed, over the whole run.
fn results(summary: &Summary) -> Clause {
    let rule = Rule::new("2.7.2.2", "Deliveries in the result file", "all");
    let Some(pacing) = &summary.pacing else { return rule.not_tested("without pace no Delivery is deferred") };
    let Some(lines) = pacing.result_lines else { return rule.not_tested("the run kept no result file") };
    let done = summary.outcomes.get("delivery").map_or(0, |outcomes| outcomes.completed);
    rule.is(lines == done, format!("{lines} lines of {done}"))
}

/// Clause 5.3.4: the driver's clock.
fn lateness(pacing: Option<&PacingSummary>) -> Clause {
    let rule = Rule::new("5.3.4", "99th percentile of the driver's lateness", "<= 100 ms");
    match pacing {
        Some(pacing) => rule.is(!pacing.driver_limited, format!("{:.3} ms", pacing.lateness_ms.p99)),
        None => rule.not_tested("without pace there are no terminals to be late for"),
    }
}

/// Clause 6.6.2, for each lost session, however many others still worked.
fn lost(summary: &Summary) -> Clause {
    let connections = &summary.connections;
    let rule = Rule::new("6.6.2", "lost sessions are restored within 90 s", "all");
    let gone = connections.lost.saturating_sub(connections.restored);
    let longest = Incidents::of(summary).longest_away_s;
    let value = match connections.lost {
        0 => "none lost".to_owned(),
        lost => format!("{lost} lost, {} restored, the longest was away for {longest:.1} s", connections.restored),
    };
    rule.is(gone == 0 && longest <= MAX_AWAY_S, value)
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.4} s")
}
