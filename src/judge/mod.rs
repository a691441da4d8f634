//! Is the number honest: rules of the standard, one by one, from a summary alone.
//!
//! A run that leaves the standard runs all the same; its departures stand here.

use std::collections::BTreeMap;

use crate::record::summary::{Clause, Consistency, DatabaseCount, State, Summary, TransactionSummary, Verdict};

/// Minimum shares of clause 5.2.3, in percent of all completed transactions.
const MINIMUM_SHARES: [(&str, f64); 4] = [("payment", 43.0), ("order_status", 4.0), ("delivery", 4.0), ("stock_level", 4.0)];
/// Limits of the 90th percentile of clause 5.2.5.3, in milliseconds.
const RESPONSE_LIMITS: [(&str, f64); 5] =
    [("new_order", 5_000.0), ("payment", 5_000.0), ("order_status", 5_000.0), ("delivery", 5_000.0), ("stock_level", 20_000.0)];
/// The shortest measurement interval of clause 5.5.2.1, in seconds.
const SHORTEST_INTERVAL: f64 = 7_200.0;

/// Judges a TPC-C run by all of its summary but the verdict.
pub fn tpcc(summary: &Summary) -> Verdict {
    let mut clauses = vec![consistency(&summary.consistency), count(&summary.database)];
    clauses.push(pacing(&summary.pace));
    clauses.extend(shares(&summary.transactions));
    clauses.extend(response_times(&summary.transactions));
    clauses.push(rollbacks(&summary.transactions));
    clauses.push(interval(summary));
    clauses.push(clause(
        "5.5.2.2",
        "checkpoints at most 30 minutes apart, one before and four in the interval",
        "not followed".to_owned(),
        ">= 5".to_owned(),
        State::NotTested,
    ));
    clauses.push(deferred_delivery());
    let valid = clauses.iter().all(|clause| clause.state == State::Held);
    Verdict { valid, clauses }
}

fn clause(id: &str, rule: &str, value: String, limit: String, state: State) -> Clause {
    Clause { id: id.to_owned(), rule: rule.to_owned(), value, limit, state, note: String::new() }
}

fn held(holds: bool) -> State {
    if holds { State::Held } else { State::Broken }
}

fn consistency(consistency: &Consistency) -> Clause {
    let value = format!("{} held, {} failed", consistency.held, consistency.failed.len());
    let state = match (consistency.failed.is_empty(), consistency.before.is_empty() || consistency.after.is_empty()) {
        (false, _) => State::Broken,
        (true, true) => State::NotTested,
        (true, false) => State::Held,
    };
    let mut clause =
        clause("3.3.2", "the consistency conditions hold before and after the run", value, "0 failed".to_owned(), state);
    if state == State::NotTested {
        clause.note = "run with --check both".to_owned();
    }
    clause
}

fn count(database: &DatabaseCount) -> Clause {
    let state = database.agrees.map_or(State::NotTested, held);
    let differing = database.effects.iter().filter(|(_, count)| !count.agrees()).map(|(name, _)| name.as_str());
    let differing = differing.collect::<Vec<_>>();
    let value = match (database.agrees, differing.is_empty()) {
        (None, _) => "not asked".to_owned(),
        (_, true) => "equal".to_owned(),
        (_, false) => format!("{} differ", differing.join(", ")),
    };
    clause("5.1.2", "the database counts what the client was told is committed", value, "equal".to_owned(), state)
}

fn pacing(pace: &str) -> Clause {
    let mut clause = clause(
        "5.2.5",
        "ten terminals a warehouse, with keying and think times",
        pace.to_owned(),
        "standard".to_owned(),
        held(pace == "standard"),
    );
    if pace != "standard" {
        let why = if pace == "none" { "without think time" } else { "with other times than the standard's" };
        clause.note = format!("{why} the figure is called NOPM: it is no tpmC and may not be compared with one");
    }
    clause
}

fn completed(transactions: &BTreeMap<String, TransactionSummary>) -> u64 {
    transactions.values().map(|transaction| transaction.completed).sum()
}

fn shares(transactions: &BTreeMap<String, TransactionSummary>) -> impl Iterator<Item = Clause> {
    let all = completed(transactions);
    MINIMUM_SHARES.into_iter().map(move |(name, least)| {
        let count = transactions.get(name).map_or(0, |transaction| transaction.completed);
        let rule = format!("share of {}", name.replace('_', "-"));
        if all == 0 {
            return clause("5.2.3", &rule, "no transaction".to_owned(), format!(">= {least:.1} %"), State::NotTested);
        }
        let share = 100.0 * count as f64 / all as f64;
        let error = standard_error(share, all);
        let mut clause = clause("5.2.3", &rule, format!("{share:.2} %"), format!(">= {least:.1} %"), held(share >= least));
        clause.note = format!("standard error {error:.2} %");
        clause
    })
}

/// Of a share in percent, by the binomial distribution.
fn standard_error(share: f64, of: u64) -> f64 {
    (share * (100.0 - share) / of.max(1) as f64).max(0.0).sqrt()
}

fn response_times(transactions: &BTreeMap<String, TransactionSummary>) -> impl Iterator<Item = Clause> {
    RESPONSE_LIMITS.into_iter().map(move |(name, limit)| {
        let rule = format!("90th percentile of {}", name.replace('_', "-"));
        let limit_text = format!("< {:.0} s", limit / 1_000.0);
        match transactions.get(name).filter(|transaction| transaction.completed > 0) {
            Some(transaction) => {
                let p90 = transaction.response_ms.p90;
                clause("5.2.5.3", &rule, format!("{:.4} s", p90 / 1_000.0), limit_text, held(p90 < limit))
            }
            None => clause("5.2.5.3", &rule, "no transaction".to_owned(), limit_text, State::NotTested),
        }
    })
}

fn rollbacks(transactions: &BTreeMap<String, TransactionSummary>) -> Clause {
    let (completed, rolled_back) = transactions.get("new_order").map_or((0, 0), |t| (t.completed, t.rolled_back));
    let rule = "New-Orders rolled back";
    let limit = "0.9 to 1.1 %".to_owned();
    if completed == 0 {
        return clause("5.5.1.5", rule, "no transaction".to_owned(), limit, State::NotTested);
    }
    let share = 100.0 * rolled_back as f64 / completed as f64;
    let mut clause = clause("5.5.1.5", rule, format!("{share:.2} %"), limit, held((0.9..=1.1).contains(&share)));
    clause.note = format!("standard error {:.2} %", standard_error(1.0, completed));
    clause
}

fn interval(summary: &Summary) -> Clause {
    let long = summary.interval_s >= SHORTEST_INTERVAL && !summary.interrupted;
    let mut clause = clause(
        "5.5.2.1",
        "measurement interval",
        format!("{:.0} s", summary.interval_s),
        format!(">= {SHORTEST_INTERVAL:.0} s"),
        held(long),
    );
    if summary.interrupted {
        clause.note = "the run was interrupted".to_owned();
    }
    clause
}

fn deferred_delivery() -> Clause {
    let mut clause = clause(
        "2.7.2",
        "Delivery is queued and answered at once, then done within 80 s",
        "done at once".to_owned(),
        "deferred".to_owned(),
        State::Broken,
    );
    clause.note = "without think time Delivery is executed while its client waits".to_owned();
    clause
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Finding;
    use crate::record::summary::{EffectCount, Spread};

    fn transactions() -> BTreeMap<String, TransactionSummary> {
        let shares = [("new_order", 447_u64), ("payment", 431), ("order_status", 41), ("delivery", 41), ("stock_level", 40)];
        let spread = Spread { p90: 10.0, ..Spread::default() };
        shares
            .into_iter()
            .map(|(name, thousands)| {
                let completed = thousands * 1_000;
                let rolled_back = if name == "new_order" { completed / 100 } else { 0 };
                let summary = TransactionSummary { completed, rolled_back, response_ms: spread, ..TransactionSummary::default() };
                (name.to_owned(), summary)
            })
            .collect()
    }

    fn states(clauses: impl IntoIterator<Item = Clause>) -> Vec<State> {
        clauses.into_iter().map(|clause| clause.state).collect()
    }

    #[test]
    fn a_mix_below_a_minimum_is_broken_and_only_that() {
        assert!(states(shares(&transactions())).iter().all(|state| *state == State::Held));
        let mut skewed = transactions();
        skewed.get_mut("delivery").unwrap().completed = 39_000;
        assert_eq!(states(shares(&skewed)), [State::Held, State::Held, State::Broken, State::Held]);
        assert_eq!(states(shares(&BTreeMap::new())), [State::NotTested; 4]);
    }

    #[test]
    fn a_slow_type_is_broken_and_only_that() {
        assert!(states(response_times(&transactions())).iter().all(|state| *state == State::Held));
        let mut slow = transactions();
        slow.get_mut("payment").unwrap().response_ms.p90 = 5_000.0;
        slow.get_mut("stock_level").unwrap().response_ms.p90 = 19_999.0;
        assert_eq!(states(response_times(&slow)), [State::Held, State::Broken, State::Held, State::Held, State::Held]);
    }

    #[test]
    fn rollbacks_must_be_one_in_a_hundred() {
        assert_eq!(rollbacks(&transactions()).state, State::Held);
        let mut none = transactions();
        none.get_mut("new_order").unwrap().rolled_back = 0;
        assert_eq!(rollbacks(&none).state, State::Broken);
    }

    #[test]
    fn counts_differ_by_no_more_than_what_is_ambiguous() {
        let judged = |client, database, ambiguous| {
            let effect = EffectCount { client, database, ambiguous };
            count(&DatabaseCount {
                agrees: Some(effect.agrees()),
                new_orders: None,
                effects: BTreeMap::from([("payments".to_owned(), effect)]),
            })
            .state
        };
        assert_eq!(judged(10, 10, 0), State::Held);
        assert_eq!(judged(10, 11, 0), State::Broken);
        assert_eq!(judged(10, 9, 5), State::Broken);
        assert_eq!(judged(10, 11, 1), State::Held);
        assert_eq!(judged(10, 12, 1), State::Broken);
        assert_eq!(count(&DatabaseCount::default()).state, State::NotTested);
    }

    #[test]
    fn consistency_counts_only_when_seen_on_both_sides_of_the_run() {
        let finding =
            |offending| Finding { id: "3.3.2.1".to_owned(), title: String::new(), offending, examples: Vec::new(), seconds: 0.0 };
        let after_only = Consistency { held: 1, failed: Vec::new(), before: Vec::new(), after: vec![finding(0)] };
        assert_eq!(consistency(&after_only).state, State::NotTested);
        let both = Consistency { before: vec![finding(0)], ..after_only.clone() };
        assert_eq!(consistency(&both).state, State::Held);
        let failed = Consistency { held: 0, failed: vec!["3.3.2.1".to_owned()], after: vec![finding(2)], ..after_only };
        assert_eq!(consistency(&failed).state, State::Broken);
    }
}
