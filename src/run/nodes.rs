//! The nodes of a cluster in a run: the wait for standbys before it, replication lag, and checks after the run.

use std::collections::BTreeMap;

use super::requests::{Requests, Timeouts};
use crate::engine::{Engine, Error};
use crate::result::nodes::{NodeCheck, NodeLag, NodeSummary, StandbyLag};
use crate::result::{Event, Finding, Step};
use crate::workload::Workload;

/// The name and role of each node: `primary`, `standby` or `down`.
pub(super) type Roles = Vec<(String, &'static str)>;

/// Replication lag of each standby, by name.
#[derive(Debug, Default)]
pub(super) struct LagMeter(BTreeMap<String, LagSeen>);

#[derive(Debug, Default)]
struct LagSeen {
    looks: u64,
    bytes: f64,
    most: u64,
    last: u64,
    timed: u64,
    seconds: f64,
    longest: f64,
}

impl LagMeter {
    /// Adds an event.
    pub(super) fn event(&mut self, event: &Event) {
        let Event::StandbysSeen { standbys, .. } = event else { return };
        for StandbyLag { node, bytes, seconds } in standbys {
            let seen = self.0.entry(node.clone()).or_default();
            seen.looks += 1;
            seen.bytes += *bytes as f64;
            seen.most = seen.most.max(*bytes);
            seen.last = *bytes;
            if let Some(seconds) = seconds {
                seen.timed += 1;
                seen.seconds += seconds;
                seen.longest = seen.longest.max(*seconds);
            }
        }
    }

    fn of(&self, node: &str) -> Option<NodeLag> {
        let seen = self.0.get(node)?;
        let timed = seen.timed > 0;
        Some(NodeLag {
            looks: seen.looks,
            bytes_mean: seen.bytes / seen.looks.max(1) as f64,
            bytes_max: seen.most,
            bytes_last: seen.last,
            seconds_mean: timed.then(|| seen.seconds / seen.timed as f64),
            seconds_max: timed.then_some(seen.longest),
        })
    }

    /// A row for each node of a cluster, or for each standby that was observed.
    pub(super) fn summaries(&self, begin: &Roles, end: &Roles, checks: &[(String, NodeCheck)]) -> Vec<NodeSummary> {
        let seen: Roles = self.0.keys().map(|node| (node.clone(), "standby")).collect();
        let begin = if begin.is_empty() { &seen } else { begin };
        let row = |(node, role): &(String, &'static str)| NodeSummary {
            node: node.clone(),
            role_begin: (*role).to_owned(),
            role_end: end.iter().find(|(other, _)| other == node).map_or(*role, |(_, role)| role).to_owned(),
            lag: self.of(node),
            check: checks.iter().find(|(other, _)| other == node).map(|(_, check)| check.clone()),
        };
        begin.iter().map(row).collect()
    }
}

/// Waits until the standbys that will be read have all that the database has now. Returns warnings; `None` if stopped.
///
/// # Errors
/// If a standby does not catch up in time, or the primary cannot be reached.
pub(super) fn await_standbys<W: Workload>(
    requests: &Requests<W>,
    tell: &mut dyn FnMut(&Event),
) -> Result<Option<Vec<String>>, Error> {
    requests.follow(tell, async |engine: &dyn Engine<W>, progress| {
        let mut on_step = |standby, bytes| progress.tell(Step::StandbyBehind { standby, bytes });
        engine.await_standbys(&mut on_step).await
    })
}

/// The checks of all standbys; `None` if stopped.
///
/// # Errors
/// If the primary cannot be queried.
pub(super) fn check<W: Workload>(
    requests: &Requests<W>,
    timeout: Option<u32>,
    tell: &mut dyn FnMut(&Event),
) -> Result<Option<Vec<(String, NodeCheck)>>, Error> {
    requests.with(Timeouts::of(timeout)).follow(tell, async |engine: &dyn Engine<W>, progress| {
        engine.check_nodes(&mut |what| progress.tell(Step::Checking(what))).await
    })
}

/// A finding that holds if all standbys have the primary's data; `None` if there are no standbys.
pub(super) fn finding(checks: &[(String, NodeCheck)]) -> Option<Finding> {
    let faults: Vec<String> =
        checks.iter().filter_map(|(node, check)| Some(format!("{node}: {}", check.fault()?))).collect();
    (!checks.is_empty()).then(|| Finding {
        id: "standbys".to_owned(),
        title: format!(
            "Each of {} standbys replays the primary's whole log, holds the conditions and has the same counts",
            checks.len()
        ),
        offending: faults.len() as u64,
        examples: faults,
        seconds: checks.iter().map(|(_, check)| check.caught_up_s).sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(bytes: u64, seconds: Option<f64>) -> Event {
        Event::StandbysSeen { at: 1.0, standbys: vec![StandbyLag { node: "node 2".to_owned(), bytes, seconds }] }
    }

    #[test]
    fn a_node_has_a_row_with_its_lag_and_roles() {
        let mut meter = LagMeter::default();
        [seen(100, Some(0.5)), seen(300, None), seen(200, Some(1.5))].iter().for_each(|event| meter.event(event));
        let roles = |one, two| vec![("node 1".to_owned(), one), ("node 2".to_owned(), two)];
        let checks = [("node 2".to_owned(), NodeCheck { held: 21, counts_agree: true, ..NodeCheck::default() })];
        let rows = meter.summaries(&roles("primary", "standby"), &roles("down", "primary"), &checks);
        let [one, two] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((one.role_begin.as_str(), one.role_end.as_str(), one.lag), ("primary", "down", None));
        let lag = two.lag.unwrap();
        assert_eq!((lag.looks, lag.bytes_mean, lag.bytes_max, lag.bytes_last), (3, 200.0, 300, 200));
        assert_eq!((lag.seconds_mean, lag.seconds_max), (Some(1.0), Some(1.5)));
        assert_eq!(two.check.as_ref().map(|check| check.held), Some(21));
        // A server that Graymark did not start reports the names of its standbys.
        let rows = meter.summaries(&Vec::new(), &Vec::new(), &[]);
        assert!(rows.len() == 1 && rows[0].role_end == "standby");
        assert!(LagMeter::default().summaries(&Vec::new(), &Vec::new(), &[]).is_empty());
    }

    #[test]
    fn every_fault_of_a_standby_fails_the_finding() {
        let sound = NodeCheck { held: 21, counts_agree: true, ..NodeCheck::default() };
        let of = |check: NodeCheck| finding(&[("node 3".to_owned(), check)]).unwrap();
        assert!(of(sound.clone()).held() && finding(&[]).is_none());
        for (check, says) in [
            (NodeCheck { unasked: "gone".to_owned(), ..sound.clone() }, "node 3: could not be queried: gone"),
            (NodeCheck { behind_bytes: 7, ..sound.clone() }, "node 3: did not catch up: 7 bytes"),
            (NodeCheck { failed: vec!["3.3.2.1".to_owned()], ..sound.clone() }, "conditions that failed: 3.3.2.1"),
            (NodeCheck { counts_agree: false, ..sound }, "its counts differ"),
        ] {
            let finding = of(check);
            assert!(!finding.held() && finding.examples[0].contains(says), "{finding:?}");
        }
    }
}
