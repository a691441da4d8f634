//! Clauses 2.1.6 and 4: the size of the database and the number of terminals.

use super::{CHECKS_NOT_REQUESTED, Rule, with_note, with_pace_reason, with_reason};
use crate::result::summary::{Clause, State, Summary};
use crate::workload::tpcc::NEW_ORDERS_PER_WAREHOUSE;

/// Terminals for each warehouse (clause 4.2.2).
const TERMINALS: u64 = 10;
/// Rows for each warehouse of the tables that New-Order and Delivery change (clause 4.2.2).
const POPULATED: [(&str, u64); 3] = [("orders", 30_000), ("new_order", 9_000), ("order_line", 300_000)];
/// Rows of HISTORY for each warehouse (clause 4.2.2).
const HISTORY: u64 = 30_000;
/// The id of the invariant that counts the tables of fixed size.
pub(super) const CARDINALITY: &str = "cardinality";

pub(super) fn rules(summary: &Summary) -> Vec<Clause> {
    vec![names(summary), throughput(summary), terminals(summary), cardinality(summary), initial(summary)]
}

/// Clause 4.2.2, for tables that grow and shrink: the state before a run, without transactions since the load.
fn initial(summary: &Summary) -> Clause {
    let rule = Rule::new(
        "4.2.2",
        "rows of ORDER, NEW-ORDER and ORDER-LINE at the start",
        format!("{}, {} and {} per warehouse, ±1 %", POPULATED[0].1, POPULATED[1].1, POPULATED[2].1),
    );
    let rows = |table: &str| summary.initial_rows.get(table).copied();
    let found: Vec<u64> = POPULATED.iter().filter_map(|(table, _)| rows(table)).collect();
    let (&[orders, open, lines], Some(history)) = (&found[..], rows("history")) else {
        return with_reason(rule.not_tested("counted before the run only with --check both"), CHECKS_NOT_REQUESTED);
    };
    let scale = u64::from(summary.scale);
    let value = format!("{orders}, {open} and {lines}");
    let (ordered, paid) = (orders.saturating_sub(POPULATED[0].1 * scale), history.saturating_sub(HISTORY * scale));
    if ordered > 0 || paid > 0 {
        let why = format!(
            "the database was changed after its load ({ordered} New-Orders, {paid} Payments): load or restore \
             it before a published run"
        );
        return with_reason(
            with_note(rule.with_state(State::NotTested, value), why),
            "the database was not restored before the run",
        );
    }
    let near = |(rows, (_, each)): (u64, &(&str, u64))| (rows * 100).abs_diff(each * scale * 100) <= each * scale;
    let payments = near((history, &("history", HISTORY)));
    let clause = rule.is(payments && found.into_iter().zip(&POPULATED).all(near), value);
    with_note(clause, if payments { String::new() } else { format!("HISTORY has {history} rows") })
}

/// Clause 2.1.6.1.
fn names(summary: &Summary) -> Clause {
    let rule = Rule::new("2.1.6.1", "distance of C for last names between load and run", "65 to 119, not 96, not 112");
    let load = summary.population.as_ref().and_then(|population| population.parameters.get("c_load"));
    match load.zip(summary.constants.get("c_last")) {
        Some((load, run)) => {
            let distance = load.abs_diff(*run);
            let legal = (65..=119).contains(&distance) && distance != 96 && distance != 112;
            with_note(rule.is(legal, distance.to_string()), format!("load {load}, run {run}"))
        }
        None => rule.not_tested("the summary does not have both constants"),
    }
}

/// Clause 4.1.3.
fn throughput(summary: &Summary) -> Clause {
    let allowed = NEW_ORDERS_PER_WAREHOUSE;
    let (least, most) = (*allowed.start(), *allowed.end());
    let rule = Rule::new("4.1.3", "New-Orders per minute and warehouse", format!("{least} to {most}"));
    match summary.new_orders_per_minute {
        Some(rate) if summary.scale > 0 && summary.interval_s > 0.0 => {
            let each = rate / f64::from(summary.scale);
            let clause = rule.is(allowed.contains(&each), format!("{each:.2}"));
            let note = if each > most {
                "more than keying and think times allow: the database is too small for this rate"
            } else if each < least {
                "the database is too large for this rate"
            } else {
                ""
            };
            with_pace_reason(with_note(clause, note), summary)
        }
        _ => rule.not_tested("nothing was measured"),
    }
}

/// Clause 4.2.2.
fn terminals(summary: &Summary) -> Clause {
    let rule = Rule::new(
        "4.2.2",
        "ten terminals for each warehouse, each with its own user",
        format!("{TERMINALS} per warehouse"),
    );
    if summary.pacing.is_none() {
        let clause = rule.is(false, format!("{} clients without think time", summary.clients));
        let clause =
            with_note(clause, "without think time the figure is called NOPM and must not be compared with tpmC");
        return with_pace_reason(clause, summary);
    }
    let due = due_terminals(summary);
    let terminals = summary.client.terminals;
    rule.is(terminals == due, format!("{terminals} for {} warehouses", summary.scale))
}

/// The number of terminals that the scale requires.
pub(super) fn due_terminals(summary: &Summary) -> u64 {
    u64::from(summary.scale) * TERMINALS
}

/// Clause 4.2.2, for the tables of fixed size.
fn cardinality(summary: &Summary) -> Clause {
    let rule =
        Rule::new("4.2.2", "rows of warehouses, districts, customers, items and stock at the start", "as populated");
    let found =
        |findings: &[crate::result::Finding]| findings.iter().find(|finding| finding.id == CARDINALITY).cloned();
    let (before, after) = (found(&summary.consistency.before), found(&summary.consistency.after));
    let wrong = [&before, &after].into_iter().flatten().find(|finding| !finding.held());
    match (before.is_some(), wrong) {
        (_, Some(finding)) => {
            with_note(rule.is(false, format!("{} wrong", finding.offending)), finding.examples.join("; "))
        }
        (true, None) => rule.is(true, "as populated"),
        (false, None) => with_reason(rule.not_tested("run with --check both"), CHECKS_NOT_REQUESTED),
    }
}
