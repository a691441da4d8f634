//! Is the number honest: rules of the standard, one by one, from a summary alone.
//!
//! A run that leaves the standard runs all the same; its departures stand here. Judged is what a run can show of clauses 2 to 5 of
//! TPC-C: durability and isolation need tests of their own. The [`price`] is reckoned, and not judged.
//!
//! - **States follow the limits of the standard strictly.** Many figures are of samples, and a short run may miss a limit by chance: the
//!   note gives the standard error, and says if the deviation is within two of them. It is broken nevertheless.
//! - **One exception:** clause 5.2.5.4 bounds the mean of the distribution that think times are drawn from. The mean of a run's draws falls
//!   below that of its distribution half of the time, so a mean that is at most two standard errors too small is taken for met, and
//!   the note says so.
//! - **Valid is only what was shown:** a rule that was not tested forbids `valid` as a broken one does.

mod database;
mod input;
mod interval;
pub mod price;
mod scale;
mod terminals;

use std::ops::RangeInclusive;

use crate::record::summary::{Clause, State, Summary, TransactionSummary, Verdict};

/// What the standard asks of a transaction type (clause 5.2.5.7). Written out here, and not taken from where the load is made, so that
/// a mistake there is found here.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// As in records.
    pub transaction: &'static str,
    /// As in sentences.
    pub name: &'static str,
    /// The least share of all transactions, in percent (clause 5.2.3).
    pub share: Option<f64>,
    /// The shortest keying time in seconds (clause 5.2.5.2).
    pub keying_s: f64,
    /// The smallest mean of think times in seconds (clause 5.2.5.4).
    pub think_s: f64,
    /// What the 90th percentile of response times must stay below, in seconds (clause 5.2.5.3).
    pub response_s: f64,
}

/// Limits of the five types, in the standard's order.
pub const LIMITS: [Limits; 5] = [
    Limits { transaction: "new_order", name: "New-Order", share: None, keying_s: 18.0, think_s: 12.0, response_s: 5.0 },
    Limits { transaction: "payment", name: "Payment", share: Some(43.0), keying_s: 3.0, think_s: 12.0, response_s: 5.0 },
    Limits { transaction: "order_status", name: "Order-Status", share: Some(4.0), keying_s: 2.0, think_s: 10.0, response_s: 5.0 },
    Limits { transaction: "delivery", name: "Delivery", share: Some(4.0), keying_s: 2.0, think_s: 5.0, response_s: 5.0 },
    Limits { transaction: "stock_level", name: "Stock-Level", share: Some(4.0), keying_s: 2.0, think_s: 5.0, response_s: 20.0 },
];

/// Nine in ten deferred Deliveries must be done within so many seconds of their queueing (clause 2.7.2.2).
pub const DEFERRED_LIMIT_S: f64 = 80.0;

/// Judges a TPC-C run by all of its summary but the verdict.
pub fn tpcc(summary: &Summary) -> Verdict {
    let mut clauses = scale::rules(summary);
    clauses.extend(input::rules(summary));
    clauses.extend(terminals::rules(summary));
    clauses.extend(interval::rules(summary));
    clauses.extend(database::rules(summary));
    Verdict { valid: clauses.iter().all(|clause| clause.state == State::Held), clauses }
}

/// A rule that a run is about to be held against.
struct Rule {
    id: &'static str,
    rule: String,
    limit: String,
}

impl Rule {
    fn new(id: &'static str, rule: impl Into<String>, limit: impl Into<String>) -> Rule {
        Rule { id, rule: rule.into(), limit: limit.into() }
    }

    fn stands(self, state: State, value: impl Into<String>) -> Clause {
        Clause { id: self.id.to_owned(), rule: self.rule, value: value.into(), limit: self.limit, state, note: String::new() }
    }

    /// Held or broken.
    fn is(self, held: bool, value: impl Into<String>) -> Clause {
        self.stands(if held { State::Held } else { State::Broken }, value)
    }

    /// The run cannot tell, for this reason.
    fn not_tested(self, why: impl Into<String>) -> Clause {
        noted(self.stands(State::NotTested, "none"), why)
    }

    /// A figure of a sample that must lie within bounds.
    fn sample(self, figure: f64, error: f64, allowed: &RangeInclusive<f64>, unit: &str) -> Clause {
        let clause = self.is(allowed.contains(&figure), format!("{figure:.3}{unit}"));
        let beyond = (allowed.start() - figure).max(figure - allowed.end());
        let near = if clause.state == State::Broken && beyond <= 2.0 * error {
            ": the deviation is within two of them, so that a longer run may well hold"
        } else {
            ""
        };
        noted(clause, format!("standard error {error:.3}{unit}{near}"))
    }
}

fn noted(mut clause: Clause, note: impl Into<String>) -> Clause {
    clause.note = note.into();
    clause
}

/// The type's figures, if it completed anything.
fn worked<'a>(summary: &'a Summary, transaction: &str) -> Option<&'a TransactionSummary> {
    summary.transactions.get(transaction).filter(|found| found.completed > 0)
}

const NO_TRANSACTION: &str = "no transaction of this type was completed";
