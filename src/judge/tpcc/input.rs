//! Clauses 5.2.3, 5.5.1.5 and 2.7.4.2: the mix, and the inputs of the transactions in the interval.

use super::{LIMITS, NO_TRANSACTION, Rule, SCALE_OF_ONE, completed_summary, with_note, with_reason};
use crate::result::summary::{Clause, Summary};

pub(super) fn rules(summary: &Summary) -> Vec<Clause> {
    let mut clauses = mix(summary);
    clauses.push(rollbacks(summary));
    clauses.push(lines(summary));
    clauses.extend(shares(summary));
    clauses.push(skips(summary));
    clauses
}

/// Clause 5.2.3.
fn mix(summary: &Summary) -> Vec<Clause> {
    let completed = summary.transactions.values().map(|transaction| transaction.completed);
    let all = completed.fold(0, u64::saturating_add);
    let judged = |limits: &super::Limits| {
        let least = limits.share?;
        let rule = Rule::new("5.2.3", format!("share of {}", limits.name), format!(">= {least:.1} %"));
        if all == 0 {
            return Some(rule.not_tested("no transaction completed"));
        }
        let count = summary.transactions.get(limits.transaction).map_or(0, |transaction| transaction.completed);
        // The deck is dealt without replacement, so the true error is smaller.
        Some(rule.sample(percent(count, all), error(least, all), &(least..=100.0), " %"))
    };
    LIMITS.iter().filter_map(judged).collect()
}

fn rollbacks(summary: &Summary) -> Clause {
    let rule = Rule::new("5.5.1.5", "New-Orders rolled back", "0.9 to 1.1 %");
    match completed_summary(summary, "new_order") {
        Some(new_order) => {
            let share = percent(new_order.rolled_back, new_order.completed);
            rule.sample(share, error(1.0, new_order.completed), &(0.9..=1.1), " %")
        }
        None => rule.not_tested(NO_TRANSACTION),
    }
}

fn lines(summary: &Summary) -> Clause {
    let rule = Rule::new("5.5.1.5", "lines of an order, mean", "9.5 to 10.5");
    match completed_summary(summary, "new_order").zip(summary.tallies.get("order_lines")) {
        Some((new_order, lines)) => {
            let orders = new_order.completed as f64;
            // Uniform distribution of the integers 5 to 15.
            let error = (10.0 / orders).sqrt();
            rule.sample(*lines as f64 / orders, error, &(9.5..=10.5), "")
        }
        None => rule.not_tested(NO_TRANSACTION),
    }
}

/// The counted quantity, its base, the rule, the share that inputs are drawn with, and its tolerance, in percent.
type Share = (&'static str, Base, &'static str, f64, f64);

/// The base of a share.
#[derive(Clone, Copy)]
enum Base {
    Transactions(&'static str),
    OrderLines,
}

const SHARES: [Share; 4] = [
    ("remote_order_lines", Base::OrderLines, "order lines supplied by a remote warehouse", 1.0, 0.05),
    ("remote_payments", Base::Transactions("payment"), "Payments of a remote customer", 15.0, 1.0),
    ("payments_by_name", Base::Transactions("payment"), "Payments by last name", 60.0, 3.0),
    ("order_status_by_name", Base::Transactions("order_status"), "Order-Statuses by last name", 60.0, 3.0),
];

fn shares(summary: &Summary) -> impl Iterator<Item = Clause> {
    SHARES.into_iter().map(|(tally, of, what, drawn, tolerance)| {
        let bounds = drawn - tolerance..=drawn + tolerance;
        let rule = Rule::new("5.5.1.5", what, format!("{} to {} %", bounds.start(), bounds.end()));
        let all = match of {
            Base::Transactions(name) => completed_summary(summary, name).map(|transaction| transaction.completed),
            Base::OrderLines => summary.tallies.get("order_lines").copied().filter(|lines| *lines > 0),
        };
        let Some((count, all)) = summary.tallies.get(tally).zip(all) else { return rule.not_tested(NO_TRANSACTION) };
        let clause = rule.sample(percent(*count, all), error(drawn, all), &bounds, " %");
        if tally.starts_with("remote") && summary.scale == 1 {
            let clause = with_note(clause, "this cannot be met at scale 1, which has no remote warehouse");
            return with_reason(clause, SCALE_OF_ONE);
        }
        clause
    })
}

/// Clause 2.7.4.2.
fn skips(summary: &Summary) -> Clause {
    let rule = Rule::new("2.7.4.2", "Deliveries that skipped a district", "at most 1 % or one, whichever is more");
    // In a paced run a Delivery counts for its user when it is queued, and its skipped districts when it is executed.
    let all = summary.pacing.as_ref().map_or_else(
        || completed_summary(summary, "delivery").map_or(0, |transaction| transaction.completed),
        |pacing| pacing.deferred_completed,
    );
    match summary.tallies.get("deliveries_with_skips").filter(|_| all > 0) {
        Some(skipped) => {
            let most = (all as f64 / 100.0).max(1.0);
            rule.is(*skipped as f64 <= most, format!("{skipped} of {all}"))
        }
        None => rule.not_tested("no Delivery was executed"),
    }
}

fn percent(count: u64, of: u64) -> f64 {
    100.0 * count as f64 / of as f64
}

/// Standard error of a share in percent, by the binomial distribution.
fn error(share: f64, of: u64) -> f64 {
    (share * (100.0 - share) / of.max(1) as f64).max(0.0).sqrt()
}
