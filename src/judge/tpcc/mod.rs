//! TPC-C's rules: what a run can show of its clauses 2 to 5. Atomicity and isolation need tests of their own, and so
//! does durability where settings do not tell already that it is not there. A price is no matter of ours.

mod database;
mod input;
mod interval;
mod scale;
mod terminals;

use super::acid::Shown;
use super::ahead::Needs;
use super::{Rule, SCALE_OF_ONE, SHORT, UNCHECKED, because, because_of_pace, noted};
use crate::result::summary::{Clause, Summary, TransactionSummary};

/// What the standard asks of a transaction type (clause 5.2.5.7). Written out here, and not taken from where the load
/// is made, so that a mistake there is found here.
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
    /// The smallest mean of think times in seconds (clause 5.2.5.4); 0 where the standard sets none.
    pub think_s: f64,
    /// What the 90th percentile of response times must stay below, in seconds (clause 5.2.5.3).
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

/// Nine in ten deferred Deliveries must be done within so many seconds of their queueing (clause 2.7.2.2).
pub const DEFERRED_LIMIT_S: f64 = 80.0;

/// What only tests of their own show.
pub(super) const SHOWN: [Shown; 2] = [
    Shown { id: "3.2", rule: "a transaction is worked whole or not at all" },
    Shown { id: "3.4", rule: "transactions do not see of each other what the standard forbids" },
];

/// The clause on the rate that can be kept up.
pub(super) const STEADY: &str = "5.5.1.2";

/// What a plan alone can break.
pub(super) const NEEDS: Needs = Needs {
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

/// The type's figures, if it completed anything.
fn worked<'a>(summary: &'a Summary, transaction: &str) -> Option<&'a TransactionSummary> {
    summary.transactions.get(transaction).filter(|found| found.completed > 0)
}

const NO_TRANSACTION: &str = "no transaction of this type was completed";
