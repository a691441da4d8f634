//! The costs of statements within stored procedures.

use serde::{Deserialize, Serialize};

/// The cost of a statement within a stored procedure in a run, ramp-up included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatementWithin {
    /// The procedure or function.
    pub routine: String,
    /// Its position in the routine, from 1.
    pub place: usize,
    /// The beginning of its text.
    pub text: String,
    /// Calls per completed transaction of any type.
    pub calls_per_transaction: f64,
    /// Microseconds per call, without planning.
    pub us_per_call: f64,
    /// Microseconds per transaction: the product of the two above.
    pub us_per_transaction: f64,
    /// Blocks per call, found in the server's buffers or read.
    pub blocks_per_call: f64,
}

/// Running totals of a statement since the server started counting.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementTotals {
    /// The procedure or function.
    pub routine: String,
    /// Its position in the routine, from 1.
    pub place: usize,
    /// The beginning of its text.
    pub text: String,
    /// Number of calls.
    pub calls: f64,
    /// Milliseconds of all calls.
    pub ms: f64,
    /// Blocks of all calls.
    pub blocks: f64,
}

/// The costs of statements between two samples of their totals, for this number of completed transactions: the most
/// expensive first.
pub fn between(before: &[StatementTotals], after: &[StatementTotals], transactions: u64) -> Vec<StatementWithin> {
    let transactions = transactions.max(1) as f64;
    let mut all: Vec<StatementWithin> = after
        .iter()
        .filter_map(|after| {
            let same = |one: &&StatementTotals| (&one.routine, one.place) == (&after.routine, after.place);
            let of = |figure: fn(&StatementTotals) -> f64| figure(after) - before.iter().find(same).map_or(0.0, figure);
            let (calls, us, blocks) = (of(|one| one.calls), 1e3 * of(|one| one.ms), of(|one| one.blocks));
            (calls > 0.0).then(|| StatementWithin {
                routine: after.routine.clone(),
                place: after.place,
                text: after.text.clone(),
                calls_per_transaction: calls / transactions,
                us_per_call: us / calls,
                us_per_transaction: us / transactions,
                blocks_per_call: blocks / calls,
            })
        })
        .collect();
    all.sort_by(|one, other| other.us_per_transaction.total_cmp(&one.us_per_transaction));
    all
}
