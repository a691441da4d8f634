//! Clauses 2.1.6 and 4: the database and the terminals are of the size that the result speaks for.

use super::{Rule, noted};
use crate::record::summary::{Clause, Summary};

/// New-Orders a minute and warehouse between which a result must lie (clause 4.1.3).
const PER_WAREHOUSE: std::ops::RangeInclusive<f64> = 9.0..=12.86;
/// Terminals of a warehouse (clause 4.2.2).
const TERMINALS: u64 = 10;
/// The invariant of the check that counts the tables of fixed size.
pub(super) const CARDINALITY: &str = "cardinality";

pub(super) fn rules(summary: &Summary) -> Vec<Clause> {
    vec![names(summary), throughput(summary), terminals(summary), cardinality(summary)]
}

/// Clause 2.1.6.1.
fn names(summary: &Summary) -> Clause {
    let rule = Rule::new("2.1.6.1", "distance of C for last names between load and run", "65 to 119, not 96, not 112");
    let load = summary.population.as_ref().and_then(|population| population.parameters.get("c_load"));
    match load.zip(summary.constants.get("c_last")) {
        Some((load, run)) => {
            let distance = load.abs_diff(*run);
            let legal = (65..=119).contains(&distance) && distance != 96 && distance != 112;
            noted(rule.is(legal, distance.to_string()), format!("load {load}, run {run}"))
        }
        None => rule.not_tested("the summary does not hold both constants"),
    }
}

/// Clause 4.1.3.
fn throughput(summary: &Summary) -> Clause {
    let rule = Rule::new("4.1.3", "New-Orders a minute and warehouse", "9 to 12.86");
    match summary.new_orders_per_minute {
        Some(rate) if summary.scale > 0 && summary.interval_s > 0.0 => {
            let each = rate / f64::from(summary.scale);
            let clause = rule.is(PER_WAREHOUSE.contains(&each), format!("{each:.2}"));
            let note = if each > *PER_WAREHOUSE.end() {
                "more than keying and think times allow: the database is too small for this rate"
            } else if each < *PER_WAREHOUSE.start() {
                "the database is larger than this rate may claim"
            } else {
                ""
            };
            noted(clause, note)
        }
        _ => rule.not_tested("nothing was measured"),
    }
}

/// Clause 4.2.2.
fn terminals(summary: &Summary) -> Clause {
    let rule = Rule::new("4.2.2", "ten terminals a warehouse, each with a user of its own", format!("{TERMINALS} a warehouse"));
    if summary.pacing.is_none() {
        let clause = rule.is(false, format!("{} closed loops", summary.clients));
        return noted(clause, "without think time the figure is called NOPM: it is no tpmC and may not be compared with one");
    }
    let due = u64::from(summary.scale) * TERMINALS;
    let terminals = summary.client.terminals;
    rule.is(terminals == due, format!("{terminals} for {} warehouses", summary.scale))
}

/// Clause 4.2.2 by the tables that neither grow nor shrink.
fn cardinality(summary: &Summary) -> Clause {
    let rule = Rule::new("4.2.2", "rows of warehouses, districts, customers, items and stock at the start", "as populated");
    let found = |findings: &[crate::engine::Finding]| findings.iter().find(|finding| finding.id == CARDINALITY).cloned();
    let (before, after) = (found(&summary.consistency.before), found(&summary.consistency.after));
    let wrong = [&before, &after].into_iter().flatten().find(|finding| !finding.held());
    match (before.is_some(), wrong) {
        (_, Some(finding)) => noted(rule.is(false, format!("{} wrong", finding.offending)), finding.examples.join("; ")),
        (true, None) => noted(
            rule.is(true, "as populated"),
            "orders and history grow with each run: load or restore before one that is published",
        ),
        (false, None) => rule.not_tested("run with --check both"),
    }
}
