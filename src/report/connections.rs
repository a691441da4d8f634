//! Connections that were lost, and what each of several hosts did.

use super::counts::Check;
use super::durability;
use super::format::{count, plain, plural, seconds};
use super::nodes;
use crate::result::summary::{Connections, HostSummary, Summary};

/// What became of the connections.
pub(super) fn check(connections: &Connections) -> Check {
    if connections.lost == 0 {
        return Check {
            name: "Connections",
            held: Some(true),
            sentence: "None was lost.".to_owned(),
            details: Vec::new(),
        };
    }
    let mut details = vec![format!("{} restored", count(connections.restored))];
    for (start, length) in &connections.outages {
        details.push(format!("Outage of {} from second {start:.1}: no transaction completed", seconds(*length)));
    }
    if connections.ambiguous > 0 {
        details.push(format!("{} of unknown fate", plural(connections.ambiguous, "commit", "commits")));
    }
    details.extend(connections.lookup.iter().flat_map(durability::looked_up));
    let sentence = format!(
        "{} lost; {} without any completed transaction.",
        plural(connections.lost, "connection", "connections"),
        seconds(connections.outage_s)
    );
    Check { name: "Connections", held: Some(false), sentence, details }
}

/// What each host and each node did, where there are several.
pub(super) fn places(summary: &Summary) -> impl Iterator<Item = Check> {
    hosts(&summary.hosts).into_iter().chain(nodes::check(&summary.nodes))
}

/// A line for each host; none where there are not several.
fn hosts(hosts: &[HostSummary]) -> Option<Check> {
    if hosts.is_empty() {
        return None;
    }
    let served = |host: &HostSummary| host.transactions.values().sum::<u64>();
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
