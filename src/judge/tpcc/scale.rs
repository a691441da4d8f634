//! Clauses 2.1.6 and 4: the database and the terminals are of the size that the result speaks for.

use super::{Rule, UNCHECKED, because, because_of_pace, noted};
use crate::result::summary::{Clause, State, Summary};
use crate::workload::tpcc::NEW_ORDERS_PER_WAREHOUSE;

/// Terminals of a warehouse (clause 4.2.2).
const TERMINALS: u64 = 10;
/// Rows a warehouse of the tables that New-Order and Delivery work on (clause 4.2.2).
const POPULATED: [(&str, u64); 3] = [("orders", 30_000), ("new_order", 9_000), ("order_line", 300_000)];
/// Rows of HISTORY a warehouse (clause 4.2.2).
const HISTORY: u64 = 30_000;
/// The invariant of the check that counts the tables of fixed size.
pub(super) const CARDINALITY: &str = "cardinality";

pub(super) fn rules(summary: &Summary) -> Vec<Clause> {
    vec![names(summary), throughput(summary), terminals(summary), cardinality(summary), initial(summary)]
}

/// Clause 4.2.2 by the tables that grow and shrink: what a run began with, if nothing had been worked since the load.
fn initial(summary: &Summary) -> Clause {
    let rule = Rule::new(
        "4.2.2",
        "rows of ORDER, NEW-ORDER and ORDER-LINE at the start",
        format!("{}, {} and {} a warehouse, ±1 %", POPULATED[0].1, POPULATED[1].1, POPULATED[2].1),
    );
    let rows = |table: &str| summary.initial_rows.get(table).copied();
    let found: Vec<u64> = POPULATED.iter().filter_map(|(table, _)| rows(table)).collect();
    let (&[orders, open, lines], Some(history)) = (&found[..], rows("history")) else {
        return because(rule.not_tested("they are counted before the run with --check both"), UNCHECKED);
    };
    let scale = u64::from(summary.scale);
    let value = format!("{orders}, {open} and {lines}");
    let (ordered, paid) = (orders.saturating_sub(POPULATED[0].1 * scale), history.saturating_sub(HISTORY * scale));
    if ordered > 0 || paid > 0 {
        let why = format!(
            "the database has been worked since it was loaded ({ordered} New-Orders, {paid} Payments): load or restore \
             it before a run \
             that is published"
        );
        return because(
            noted(rule.stands(State::NotTested, value), why),
            "the database was not restored before the run",
        );
    }
    let near = |(rows, (_, each)): (u64, &(&str, u64))| (rows * 100).abs_diff(each * scale * 100) <= each * scale;
    rule.is(found.into_iter().zip(&POPULATED).all(near), value)
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
    let allowed = NEW_ORDERS_PER_WAREHOUSE;
    let (least, most) = (*allowed.start(), *allowed.end());
    let rule = Rule::new("4.1.3", "New-Orders a minute and warehouse", format!("{least} to {most}"));
    match summary.new_orders_per_minute {
        Some(rate) if summary.scale > 0 && summary.interval_s > 0.0 => {
            let each = rate / f64::from(summary.scale);
            let clause = rule.is(allowed.contains(&each), format!("{each:.2}"));
            let note = if each > most {
                "more than keying and think times allow: the database is too small for this rate"
            } else if each < least {
                "the database is larger than this rate may claim"
            } else {
                ""
            };
            because_of_pace(noted(clause, note), summary)
        }
        _ => rule.not_tested("nothing was measured"),
    }
}

/// Clause 4.2.2.
fn terminals(summary: &Summary) -> Clause {
    let rule = Rule::new(
        "4.2.2",
        "ten terminals a warehouse, each with a user of its own",
        format!("{TERMINALS} a warehouse"),
    );
    if summary.pacing.is_none() {
        let clause = rule.is(false, format!("{} closed loops", summary.clients));
        let clause = noted(
            clause,
            "without think time the figure is called NOPM: it is no tpmC and may not be compared with one",
        );
        return because_of_pace(clause, summary);
    }
    let due = u64::from(summary.scale) * TERMINALS;
    let terminals = summary.client.terminals;
    rule.is(terminals == due, format!("{terminals} for {} warehouses", summary.scale))
}

/// Clause 4.2.2 by the tables that neither grow nor shrink.
fn cardinality(summary: &Summary) -> Clause {
    let rule =
        Rule::new("4.2.2", "rows of warehouses, districts, customers, items and stock at the start", "as populated");
    let found =
        |findings: &[crate::result::Finding]| findings.iter().find(|finding| finding.id == CARDINALITY).cloned();
    let (before, after) = (found(&summary.consistency.before), found(&summary.consistency.after));
    let wrong = [&before, &after].into_iter().flatten().find(|finding| !finding.held());
    match (before.is_some(), wrong) {
        (_, Some(finding)) => {
            noted(rule.is(false, format!("{} wrong", finding.offending)), finding.examples.join("; "))
        }
        (true, None) => rule.is(true, "as populated"),
        (false, None) => because(rule.not_tested("run with --check both"), UNCHECKED),
    }
}
