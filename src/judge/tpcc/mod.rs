//! The rules of TPC-C that a run can show, from clauses 2 to 5. Atomicity and isolation need ACID tests, and so does
//! durability unless the settings already rule it out. Pricing is not judged.

mod consistency_run;
mod database;
mod input;
mod interval;
mod scale;
mod terminals;

use super::acid::AcidRule;
use super::precheck::PlanRequirements;
use super::{
    CHECKS_NOT_REQUESTED, NO_CHECKPOINTS, Rule, SCALE_OF_ONE, SHORT, with_note, with_pace_reason, with_reason,
};
use crate::result::summary::{Clause, Summary, TransactionSummary};

/// The limits of a transaction type (clause 5.2.5.7). They are repeated here, and not taken from the load generator, so
/// that a mistake there is found here.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Its name in records.
    pub transaction: &'static str,
    /// Its name in texts.
    pub name: &'static str,
    /// The least share of all transactions, in percent (clause 5.2.3).
    pub share: Option<f64>,
    /// The shortest keying time in seconds (clause 5.2.5.2).
    pub keying_s: f64,
    /// The smallest mean of think times in seconds (clause 5.2.5.4); 0 where the standard sets none.
    pub think_s: f64,
    /// The upper limit of the 90th percentile of response times, in seconds (clause 5.2.5.3).
    pub response_s: f64,
}

/// Limits of the five types, in the standard's order.
pub const LIMITS: [Limits; 5] = [
    Limits { transaction: "new_order", name: "New-Order", share: None, keying_s: 18.0, think_s: 12.0, response_s: 5.0 },
    Limits {
        transaction: "payment",
        name: "Payment",
        share: Some(43.0),
        keying_s: 3.0,
        think_s: 12.0,
        response_s: 5.0,
    },
    Limits {
        transaction: "order_status",
        name: "Order-Status",
        share: Some(4.0),
        keying_s: 2.0,
        think_s: 10.0,
        response_s: 5.0,
    },
    Limits {
        transaction: "delivery",
        name: "Delivery",
        share: Some(4.0),
        keying_s: 2.0,
        think_s: 5.0,
        response_s: 5.0,
    },
    Limits {
        transaction: "stock_level",
        name: "Stock-Level",
        share: Some(4.0),
        keying_s: 2.0,
        think_s: 5.0,
        response_s: 20.0,
    },
];

/// 90 % of deferred Deliveries must be executed within this many seconds of being queued (clause 2.7.2.2).
pub const DEFERRED_LIMIT_S: f64 = 80.0;

/// Rules that only ACID tests can show.
pub(super) const ACID_RULES: [AcidRule; 2] = [
    AcidRule { id: "3.2", rule: "a transaction takes effect completely or not at all" },
    AcidRule { id: "3.4", rule: "transactions show none of the phenomena that the standard forbids" },
];

/// The clause on the sustainable rate.
pub(super) const STEADY: &str = "5.5.1.2";

/// The requirements that a plan alone can violate.
pub(super) const REQUIREMENTS: PlanRequirements = PlanRequirements {
    interval_s: interval::SHORTEST_S,
    isolation: "3.4",
    conditions: "3.3.2",
    mix: "5.2.3",
    steady: STEADY,
    durability: "3.5",
};

pub(super) fn rules(summary: &Summary) -> Vec<Clause> {
    let mut clauses = scale::rules(summary);
    clauses.extend(input::rules(summary));
    clauses.extend(terminals::rules(summary));
    clauses.extend(interval::rules(summary));
    clauses.extend(database::rules(summary));
    clauses
}

/// The summary of a type, if any of its transactions completed.
fn completed_summary<'a>(summary: &'a Summary, transaction: &str) -> Option<&'a TransactionSummary> {
    summary.transactions.get(transaction).filter(|found| found.completed > 0)
}

const NO_TRANSACTION: &str = "no transaction of this type completed";
