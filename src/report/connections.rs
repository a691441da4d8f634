//! Lost connections, and the figures of each of several hosts.

use std::collections::BTreeMap;

use super::counts::Check;
use super::durability;
use super::format::{count, plain, plural, seconds};
use super::nodes;
use crate::result::nodes::ByNodes;
use crate::result::summary::{Connections, HostSummary, Summary};

/// The check of connections.
pub(super) fn check(connections: &Connections) -> Check {
    let ambiguous = || format!("{} with unknown outcome", plural(connections.ambiguous, "commit", "commits"));
    let looked_up = || connections.lookup.iter().flat_map(durability::looked_up);
    if connections.lost == 0 {
        let uncertain = (connections.ambiguous > 0).then(ambiguous);
        return Check {
            name: "Connections",
            held: Some(true),
            sentence: "None was lost.".to_owned(),
            details: uncertain.into_iter().chain(looked_up()).collect(),
        };
    }
    let mut details = vec![format!("{} restored", count(connections.restored))];
    for (start, length) in &connections.outages {
        details.push(format!("Outage of {} from second {start:.1}: no transaction completed", seconds(*length)));
    }
    if connections.ambiguous > 0 {
        details.push(ambiguous());
    }
    details.extend(looked_up());
    let sentence = format!(
        "{} lost; {} without any completed transaction.",
        plural(connections.lost, "connection", "connections"),
        seconds(connections.outage_s)
    );
    Check { name: "Connections", held: Some(false), sentence, details }
}

/// The figures of each host and each node, if there are several.
pub(super) fn places(summary: &Summary) -> impl Iterator<Item = Check> {
    hosts(&summary.hosts).into_iter().chain(nodes::check(&summary.nodes)).chain(by_nodes(&summary.by_nodes))
}

/// How many transactions had rows on several nodes; `None` if unknown.
fn by_nodes(by_type: &BTreeMap<String, ByNodes>) -> Option<Check> {
    let add = |sum: ByNodes, of: &ByNodes| ByNodes {
        known: sum.known.saturating_add(of.known),
        several: sum.several.saturating_add(of.several),
    };
    let all = by_type.values().fold(ByNodes::default(), add);
    let share = |of: ByNodes| {
        let percent = 100.0 * of.several as f64 / of.known.max(1) as f64;
        format!("{percent:.1} % ({} of {})", count(of.several), count(of.known))
    };
    (all.known > 0).then(|| Check {
        name: "Several nodes",
        held: Some(true),
        sentence: format!("{} of the transactions of the whole run had rows on more than one node.", share(all)),
        details: by_type.iter().map(|(name, of)| format!("{}: {}", plain(name), share(*of))).collect(),
    })
}

/// A line for each host; `None` for a single host.
fn hosts(hosts: &[HostSummary]) -> Option<Check> {
    if hosts.is_empty() {
        return None;
    }
    let served = |host: &HostSummary| host.transactions.values().copied().fold(0, u64::saturating_add);
    let shares: Vec<String> =
        hosts.iter().map(|host| format!("{} {}", plain(&host.host), count(served(host)))).collect();
    Some(Check {
        name: "Hosts",
        held: Some(hosts.iter().all(|host| host.outages.is_empty())),
        sentence: format!("Transactions of the whole run: {}.", shares.join(", ")),
        details: hosts.iter().map(line).collect(),
    })
}

fn line(host: &HostSummary) -> String {
    let HostSummary { sessions_begin, sessions_end, lost, outages, .. } = host;
    let by_type = host.transactions.iter().filter(|(_, served)| **served > 0);
    let by_type: Vec<String> = by_type.map(|(name, served)| format!("{} {}", plain(name), count(*served))).collect();
    let served = if by_type.is_empty() { "no transactions".to_owned() } else { by_type.join(", ") };
    let mut line = format!(
        "{}: {}, {sessions_end} at the end; {served}",
        plain(&host.host),
        plural(*sessions_begin, "session", "sessions")
    );
    if *lost > 0 {
        line.push_str(&format!("; {} lost", plural(*lost, "connection", "connections")));
    }
    for (start, length) in outages {
        line.push_str(&format!("; without sessions from second {start:.1} for {}", seconds(*length)));
    }
    line
}
