//! Clauses 2.3.6, 3.3, 3.5 and 5.1.2: rules about the contents of the database.

use super::scale::CARDINALITY;
use super::{Rule, with_note, with_reason};
use crate::result::Finding;
use crate::result::summary::{Clause, Summary};

/// Clause 3.3.2 and the invariants that follow from it (cardinalities belong to clause 4, lost commits to 3.5.3);
/// clause 3.3.3.2; clause 3.5 by settings; clause 5.1.2; and clause 2.3.6: a transaction that fails is detected and
/// reported, and is not one of those that the run has to show.
pub(super) fn rules(summary: &Summary) -> Vec<Clause> {
    let conditions = Rule::new("3.3.2", "the consistency conditions hold before and after the run", "0 failed");
    let counts = Rule::new("5.1.2", "the database has all commits that the client saw", "equal");
    vec![
        crate::judge::consistency(conditions, summary, &[CARDINALITY, Finding::ACKNOWLEDGED]),
        super::consistency_run::rule(summary),
        crate::judge::durability::rule(crate::judge::durability::ID, summary),
        crate::judge::count(counts, summary),
        crate::judge::incidents::failures("2.3.6", summary),
    ]
    .into_iter()
    .chain(stale(summary))
    .collect()
}

/// Order-Status (clause 3.4.1) and Stock-Level (clause 2.8.2.3) must see everything that was committed before they
/// began. A standby lacks what it has not replayed yet. Empty for a run that reads where it writes.
fn stale(summary: &Summary) -> Vec<Clause> {
    if summary.read_only_on.is_none() {
        return Vec::new();
    }
    let rules = [("3.4.1", "Order-Status"), ("2.8.2.3", "Stock-Level")];
    let rules = rules.map(|(id, name)| Rule::new(id, format!("{name} reads no stale data on a standby"), "0 s"));
    let lags = || summary.nodes.iter().filter_map(|node| node.lag);
    let bytes = lags().map(|lag| lag.bytes_max).max();
    let seconds = lags().filter_map(|lag| lag.seconds_max).fold(0.0, f64::max);
    let none_served = crate::judge::no_standby_served(summary);
    let clause = |rule: Rule| match bytes {
        _ if none_served => rule.not_tested("no transaction was read on a standby"),
        Some(bytes) if bytes > 0 || seconds > 0.0 => {
            let clause = rule.is(false, format!("up to {seconds:.3} s"));
            let note = format!("standbys were up to {bytes} bytes of the log behind, sampled once a second");
            with_reason(with_note(clause, note), "--read-only-on standby was requested")
        }
        Some(_) => rule.not_tested("no lag was seen, but one sample per second does not rule it out"),
        None => rule.not_tested("the lag of the standbys is not known"),
    };
    rules.into_iter().map(clause).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::nodes::{NodeLag, NodeSummary};
    use crate::result::summary::{HostSummary, State};
    use crate::result::{ReadOnlyOn, Recorded};

    #[test]
    fn a_standby_that_served_nothing_breaks_no_rule() {
        let kept = crate::study::tests::kept();
        let of = |hosts: &[(&str, &[(&str, u64)])]| {
            let host = |(name, served): &(&str, &[(&str, u64)])| HostSummary {
                host: (*name).to_owned(),
                transactions: served.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
                ..HostSummary::default()
            };
            let lag = Some(NodeLag { bytes_max: 80, seconds_max: Some(5.0), ..NodeLag::default() });
            let nodes = vec![NodeSummary { lag, ..NodeSummary::default() }];
            let read_only_on = Some(Recorded::Known(ReadOnlyOn::Standby));
            let hosts = hosts.iter().map(host).collect();
            let summary = Summary { workload: "tpcc".to_owned(), read_only_on, nodes, hosts, ..kept.clone() };
            (stale(&summary), crate::judge::no_standby_served(&summary))
        };
        let primary: (&str, &[(&str, u64)]) = ("node 1", &[("new_order", 9), ("order_status", 2), ("stock_level", 1)]);
        let (clauses, none) = of(&[primary, ("node 2", &[("new_order", 0), ("order_status", 0)])]);
        assert!(none && clauses.iter().all(|clause| clause.state == State::NotTested), "{clauses:?}");
        assert_eq!(clauses[0].note, "no transaction was read on a standby");
        // A standby that served reads, and one that took over.
        for served in ["order_status", "new_order"] {
            let (clauses, none) = of(&[primary, ("node 2", &[(served, 1)])]);
            assert!(!none && clauses.iter().all(|clause| clause.state == State::Broken), "{clauses:?}");
        }
    }

    #[test]
    fn reads_on_a_standby_break_the_rule_with_the_staleness_that_was_measured() {
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
