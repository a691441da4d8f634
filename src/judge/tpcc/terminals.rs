//! Clauses 5.2.5, 5.3, 2.7.2 and 6.6.2: keying and think times, response times, and the driver itself.

use super::{DEFERRED_LIMIT_S, LIMITS, Limits, NO_TRANSACTION, Rule, because, because_of_pace, noted, worked};
use crate::judge::SMALL_SAMPLE;
use crate::judge::incidents::Incidents;
use crate::result::summary::{Clause, PacingSummary, Summary};

/// The 90th percentile of the menu must stay below so many seconds (clause 5.2.5.1).
const MENU_S: f64 = 2.0;
/// Times that differ by less count as equal, in seconds (clause 5.2.5.6).
const EQUAL_S: f64 = 0.1;
/// Draws below which a mean says nothing.
const FEW: u64 = 30;
/// Response times below which a single stall lifts their mean above their 90th percentile.
const FEW_RESPONSES: u64 = 100;
/// A lost session must be back within so many seconds (clause 6.6.2).
const AWAY_S: f64 = 90.0;
const UNPACED: &str = "without pace nobody keys in, thinks or sees a menu";

pub(super) fn rules(summary: &Summary) -> Vec<Clause> {
    let pacing = summary.pacing.as_ref();
    let mut clauses = vec![menu(pacing)];
    clauses.extend(LIMITS.iter().map(|limits| because_of_pace(keying(limits, pacing), summary)));
    clauses.extend(LIMITS.iter().map(|limits| response(limits, summary)));
    clauses.extend(LIMITS.iter().map(|limits| because_of_pace(think(limits, pacing), summary)));
    clauses.extend(LIMITS.iter().map(|limits| skew(limits, summary)));
    clauses.push(deferred(summary));
    clauses.push(results(summary));
    clauses.push(lateness(pacing));
    if pacing.is_none() {
        // Nobody waits at a terminal, so that none of these has been met or missed.
        let of_terminals = ["5.2.5.1", "2.7.2.2", "5.3.4"];
        clauses = clauses
            .into_iter()
            .map(|clause| match of_terminals.contains(&clause.id.as_str()) {
                true => because_of_pace(clause, summary),
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
            noted(rule.is(p90 < MENU_S, seconds(p90)), "the menu needs nothing of the database (clause 5.3.3)")
        }
        None => rule.not_tested(UNPACED),
    }
}

/// Clause 5.2.5.2.
fn keying(limits: &Limits, pacing: Option<&PacingSummary>) -> Clause {
    let rule = Rule::new("5.2.5.2", format!("keying time of {}", limits.name), format!(">= {} s", limits.keying_s));
    let Some(pacing) = pacing else { return rule.is(false, "none") };
    match pacing.keying_s.get(limits.transaction).filter(|keying| keying.count > 0) {
        // It is constant, so that the shortest one tells all.
        Some(keying) => rule.is(keying.min >= limits.keying_s, format!("{:.3} s at least", keying.min)),
        None => rule.not_tested(NO_TRANSACTION),
    }
}

/// Clause 5.2.5.3.
fn response(limits: &Limits, summary: &Summary) -> Clause {
    let rule =
        Rule::new("5.2.5.3", format!("90th percentile of {}", limits.name), format!("< {:.0} s", limits.response_s));
    match worked(summary, limits.transaction) {
        Some(transaction) => {
            let p90 = transaction.response_ms.p90 / 1e3;
            rule.is(p90 < limits.response_s, seconds(p90))
        }
        None => rule.not_tested(NO_TRANSACTION),
    }
}

/// Clause 5.2.5.4. See the module's parent for what is allowed for chance.
fn think(limits: &Limits, pacing: Option<&PacingSummary>) -> Clause {
    let least = limits.think_s;
    let rule = Rule::new("5.2.5.4", format!("mean think time of {}", limits.name), format!(">= {least} s"));
    let Some(pacing) = pacing else { return rule.is(false, "none") };
    let Some(think) = pacing.think_s.get(limits.transaction).filter(|think| think.count >= FEW) else {
        return rule.not_tested(format!("fewer than {FEW} think times say nothing of their mean"));
    };
    // The standard deviation of a negative exponential distribution is its mean.
    let error = least / (think.count as f64).sqrt();
    let clause = rule.is(think.mean >= least - 2.0 * error, format!("{:.3} s", think.mean));
    let allowed = if (least - 2.0 * error..least).contains(&think.mean) {
        ": below the limit by less than two of them, which is taken for met"
    } else {
        ""
    };
    noted(clause, format!("standard error {error:.3} s{allowed}"))
}

/// Clause 5.2.5.6.
fn skew(limits: &Limits, summary: &Summary) -> Clause {
    let rule = Rule::new(
        "5.2.5.6",
        format!("90th percentile of {} not below its mean", limits.name),
        "90th percentile >= mean",
    );
    match worked(summary, limits.transaction) {
        Some(transaction) => {
            let (p90, mean) = (transaction.response_ms.p90 / 1e3, transaction.response_ms.mean / 1e3);
            let clause = rule.is(mean - p90 < EQUAL_S, format!("{}, mean {}", seconds(p90), seconds(mean)));
            let clause = if mean > p90 { noted(clause, "a difference below 0.1 s counts as none") } else { clause };
            if transaction.completed < FEW_RESPONSES { because(clause, SMALL_SAMPLE) } else { clause }
        }
        None => rule.not_tested(NO_TRANSACTION),
    }
}

/// Clause 2.7.2.2.
fn deferred(summary: &Summary) -> Clause {
    let rule = Rule::new("2.7.2.2", "Deliveries done within 80 s of their queueing", ">= 90 %");
    let Some(pacing) = &summary.pacing else {
        return noted(rule.is(false, "not deferred"), "without pace a Delivery is executed while its client waits");
    };
    let queued = worked(summary, "delivery").map_or(0, |transaction| transaction.completed);
    let done = pacing.deferred_completed;
    if queued == 0 || summary.interval_s <= 0.0 {
        return rule.not_tested(NO_TRANSACTION);
    }
    // What is not done at the end of the interval but was queued more than 80 s before it is late too, and so is what
    // failed.
    let recent = (queued as f64 * (DEFERRED_LIMIT_S / summary.interval_s).min(1.0)).ceil() as u64;
    let open = queued.saturating_sub(done);
    let failed = worked(summary, "delivery").map_or(0, |transaction| transaction.errors + transaction.unknown);
    let late = open.saturating_sub(recent).max(failed.min(open));
    if done + late == 0 {
        return rule.not_tested("none was done, and none had been queued for longer than 80 s");
    }
    let share = 100.0 * pacing.deferred_within_limit as f64 / (done + late) as f64;
    let clause = rule.is(share >= 90.0, format!("{share:.2} %"));
    if open > 0 { noted(clause, format!("{open} of {queued} were not done when the interval ended")) } else { clause }
}

/// Clause 2.7.2.2: the result file against the Deliveries that sessions were told are committed, over the whole run.
fn results(summary: &Summary) -> Clause {
    let rule = Rule::new("2.7.2.2", "Deliveries in the result file", "all");
    let Some(pacing) = &summary.pacing else { return rule.not_tested("without pace no Delivery is deferred") };
    let Some(lines) = pacing.result_lines else { return rule.not_tested("the run kept no result file") };
    let done = summary.outcomes.get("delivery").map_or(0, |outcomes| outcomes.completed);
    rule.is(lines == done, format!("{lines} lines of {done}"))
}

/// Clause 5.3.4: the driver's clock.
fn lateness(pacing: Option<&PacingSummary>) -> Clause {
    let rule = Rule::new("5.3.4", "the driver is not the limit: 99th percentile of its lateness", "<= 100 ms");
    match pacing {
        Some(pacing) => rule.is(!pacing.driver_limited, format!("{:.3} ms", pacing.lateness_ms.p99)),
        None => rule.not_tested("a closed loop has no times of its own to be late for"),
    }
}

/// Clause 6.6.2: of each session that was lost, however many others still worked.
fn lost(summary: &Summary) -> Clause {
    let connections = &summary.connections;
    let rule = Rule::new("6.6.2", "lost sessions are back within 90 s", "all");
    let gone = connections.lost.saturating_sub(connections.restored);
    let longest = Incidents::of(summary).longest_away_s;
    let value = match connections.lost {
        0 => "none lost".to_owned(),
        lost => format!("{lost} lost, {} restored, one was away for {longest:.1} s", connections.restored),
    };
    rule.is(gone == 0 && longest <= AWAY_S, value)
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.4} s")
}
