//! Clauses 3.3 and 5.1.2: what the database itself says after the run.

use super::scale::CARDINALITY;
use super::{Rule, noted};
use crate::record::summary::{Clause, State, Summary};

pub(super) fn rules(summary: &Summary) -> Vec<Clause> {
    vec![consistency(summary), count(summary)]
}

/// Clause 3.3.2, and the invariants that follow from it; cardinalities are clause 4's.
fn consistency(summary: &Summary) -> Clause {
    let consistency = &summary.consistency;
    let failed = consistency.failed.iter().filter(|id| *id != CARDINALITY).map(String::as_str).collect::<Vec<_>>();
    let rule = Rule::new("3.3.2", "the consistency conditions hold before and after the run", "0 failed");
    let value = format!("{} held, {} failed", consistency.held, failed.len());
    if !failed.is_empty() {
        noted(rule.is(false, value), failed.join(", "))
    } else if consistency.before.is_empty() || consistency.after.is_empty() {
        noted(rule.stands(State::NotTested, value), "run with --check both")
    } else {
        rule.is(true, value)
    }
}

/// Clause 5.1.2.
fn count(summary: &Summary) -> Clause {
    let database = &summary.database;
    let differing = database.effects.iter().filter(|(_, count)| !count.agrees()).map(|(name, _)| name.as_str());
    let differing = differing.collect::<Vec<_>>();
    let rule = Rule::new("5.1.2", "the database counts what the client was told is committed", "equal");
    match database.agrees {
        None => rule.not_tested("the database was not asked"),
        Some(agrees) if differing.is_empty() => rule.is(agrees, if agrees { "equal" } else { "unequal" }),
        Some(_) => rule.is(false, format!("{} differ", differing.join(", "))),
    }
}
