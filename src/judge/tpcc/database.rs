//! Clauses 2.3.6, 3.3, 3.5 and 5.1.2: what the database itself says of what it keeps.

use super::scale::CARDINALITY;
use super::{Rule, because, noted};
use crate::result::summary::{Clause, Summary};

/// Clause 3.3.2 and the invariants that follow from it, cardinalities being clause 4's; clause 3.5 by settings; clause
/// 5.1.2; and clause 2.3.6: a transaction that fails is detected and told, and is none of those that the run was to
/// show.
pub(super) fn rules(summary: &Summary) -> Vec<Clause> {
    let conditions = Rule::new("3.3.2", "the consistency conditions hold before and after the run", "0 failed");
    let counts = Rule::new("5.1.2", "the database counts what the client was told is committed", "equal");
    vec![
        crate::judge::consistency(conditions, summary, &[CARDINALITY]),
        crate::judge::durability::rule(crate::judge::durability::ID, summary),
        crate::judge::count(counts, summary),
        crate::judge::incidents::failures("2.3.6", summary),
    ]
    .into_iter()
    .chain(stale(summary))
    .collect()
}

/// What Order-Status (clause 3.4.1) and Stock-Level (clause 2.8.2.3) read must be no older than what was committed
/// before they began. On a standby it is older as long as the standby has not replayed that; nothing of a run that
/// reads where it writes.
fn stale(summary: &Summary) -> Vec<Clause> {
    if summary.read_only_on.is_none() {
        return Vec::new();
    }
    let rules = [("3.4.1", "Order-Status"), ("2.8.2.3", "Stock-Level")];
    let rules = rules.map(|(id, name)| {
        Rule::new(id, format!("{name} reads no data older than the last commit before it, on a standby"), "0 s")
    });
    let lags = || summary.nodes.iter().filter_map(|node| node.lag);
    let bytes = lags().map(|lag| lag.bytes_max).max();
    let seconds = lags().filter_map(|lag| lag.seconds_max).fold(0.0, f64::max);
    let clause = |rule: Rule| match bytes {
        Some(bytes) if bytes > 0 || seconds > 0.0 => {
            let clause = rule.is(false, format!("up to {seconds:.3} s"));
            let note = format!("standbys were up to {bytes} bytes of the log behind, as seen once a second");
            because(noted(clause, note), "--read-only-on standby was asked for")
        }
        Some(_) => rule.not_tested("no lag was seen, but a look a second does not show that there was none"),
        None => rule.not_tested("the lag of the standbys is not known"),
    };
    rules.into_iter().map(clause).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::nodes::{NodeLag, NodeSummary};
    use crate::result::summary::State;
    use crate::result::{ReadOnlyOn, Recorded};

    #[test]
    fn reads_on_a_standby_break_the_rule_with_the_staleness_that_was_seen() {
        let kept = crate::study::tests::kept();
        assert!(stale(&kept).is_empty());
        let of = |lag: Option<NodeLag>| {
            let nodes = vec![NodeSummary { lag, ..NodeSummary::default() }];
            stale(&Summary { read_only_on: Some(Recorded::Known(ReadOnlyOn::Standby)), nodes, ..kept.clone() })
        };
        let seen = of(Some(NodeLag { bytes_max: 80, seconds_max: Some(0.25), ..NodeLag::default() }));
        assert!(seen.iter().all(|clause| clause.state == State::Broken && clause.value == "up to 0.250 s"), "{seen:?}");
        assert_eq!(seen.iter().map(|clause| clause.id.as_str()).collect::<Vec<_>>(), ["3.4.1", "2.8.2.3"]);
        for unknown in [None, Some(NodeLag::default())] {
            assert!(of(unknown).iter().all(|clause| clause.state == State::NotTested));
        }
    }
}
