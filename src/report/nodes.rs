//! The nodes of a cluster: a line for each, with role, replication lag, and the check after the run.

use super::counts::Check;
use super::format::{bytes, plain, plural, seconds};
use crate::result::nodes::{NodeCheck, NodeLag, NodeSummary};

/// A line for each node; `None` without nodes.
pub(super) fn check(nodes: &[NodeSummary]) -> Option<Check> {
    if nodes.is_empty() {
        return None;
    }
    let now: Vec<String> =
        nodes.iter().map(|node| format!("{} {}", plain(&node.node), plain(&node.role_end))).collect();
    let sound = |node: &NodeSummary| node.check.as_ref().is_none_or(|check| check.fault().is_none());
    Some(Check {
        name: "Nodes",
        held: Some(nodes.iter().all(|node| sound(node) && (node.role_end != "down" || node.role_begin == "down"))),
        sentence: format!("At the end: {}.", now.join(", ")),
        details: nodes.iter().map(line).collect(),
    })
}

fn line(node: &NodeSummary) -> String {
    let role = match (node.role_begin.as_str(), node.role_end.as_str()) {
        (begin, end) if begin == end => plain(end),
        (begin, end) => format!("{} at the start, {} at the end", plain(begin), plain(end)),
    };
    let parts = [Some(role), node.lag.map(behind), node.check.as_ref().map(said)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{}: {}", plain(&node.node), parts.join("; "))
}

fn behind(lag: NodeLag) -> String {
    let mut text =
        format!("replication lag {} on average, {} at most", bytes(lag.bytes_mean as u64), bytes(lag.bytes_max));
    if let Some((mean, most)) = lag.seconds_mean.zip(lag.seconds_max) {
        text.push_str(&format!(" ({:.1} ms on average, {:.1} ms at most)", 1e3 * mean, 1e3 * most));
    }
    text
}

fn said(check: &NodeCheck) -> String {
    match check.fault() {
        Some(fault) => format!("FAILED: {}", plain(&fault)),
        None => format!(
            "caught up in {}, {} held, same counts as the primary",
            seconds(check.caught_up_s),
            plural(check.held.into(), "condition", "conditions")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_role_and_the_faults_of_a_node() {
        let lag = NodeLag {
            looks: 2,
            bytes_mean: 2048.0,
            bytes_max: 4096,
            seconds_mean: Some(0.002),
            seconds_max: Some(0.01),
            ..NodeLag::default()
        };
        let sound = NodeCheck { held: 21, counts_agree: true, ..NodeCheck::default() };
        let two = NodeSummary {
            node: "node 2".to_owned(),
            role_begin: "standby".to_owned(),
            role_end: "standby".to_owned(),
            lag: Some(lag),
            check: Some(sound),
        };
        let one = NodeSummary {
            node: "node 1".to_owned(),
            role_begin: "primary".to_owned(),
            role_end: "down".to_owned(),
            ..NodeSummary::default()
        };
        let found = check(&[one.clone(), two.clone()]).unwrap();
        assert_eq!((found.held, found.sentence.as_str()), (Some(false), "At the end: node 1 down, node 2 standby."));
        assert_eq!(found.details[0], "node 1: primary at the start, down at the end");
        assert!(found.details[1].contains("(2.0 ms on average, 10.0 ms at most)"), "{}", found.details[1]);
        assert!(found.details[1].ends_with("21 conditions held, same counts as the primary"), "{}", found.details[1]);
        assert_eq!(check(std::slice::from_ref(&two)).unwrap().held, Some(true));
        let behind = NodeCheck { behind_bytes: 9, ..NodeCheck::default() };
        let late = check(&[NodeSummary { check: Some(behind), ..two }]).unwrap();
        assert!(late.held == Some(false) && late.details[0].contains("FAILED: did not catch up"), "{late:?}");
        assert!(check(&[]).is_none());
    }
}
