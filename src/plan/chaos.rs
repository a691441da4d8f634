//! The standard schedule of `graymark chaos`: ten faults of increasing severity.

use std::time::Duration;

use super::Action;
use super::Fault;

/// Number of faults.
const FAULTS: u32 = 10;
/// The shortest interval, in seconds: each fault needs a reference level before it, and time to recover.
pub const SHORTEST_CHAOS: u32 = 60;

/// The system that the faults are injected into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultTarget {
    /// A server that Graymark did not start.
    Foreign,
    /// A private server.
    Private,
    /// A private server with standbys.
    Standbys,
    /// Private servers all of which take writes.
    Nodes,
}

/// Ten faults spread over a measurement interval of `seconds`. A private server is also stopped, restarted and killed,
/// and nodes of a cluster are partitioned; other servers only get network faults. The most severe faults come last,
/// because a slow recovery delays the faults after it.
pub fn chaos(seconds: u32, ground: FaultTarget) -> Vec<Fault> {
    let second = Duration::from_secs(1);
    let hiccup = Duration::from_millis(200);
    // Half a slot before the first fault, one slot from the start of the last to the end.
    let slot = Duration::from_secs(seconds.into()) * 2 / (2 * FAULTS + 1);
    let long = whole(slot / 4, second / 10);
    let delay = |ms| Action::Delay { by: Duration::from_millis(ms), length: long };
    let bandwidth = |bytes_per_second| Action::Bandwidth { bytes_per_second, length: long };
    let (kb, mb) = (100 << 10, 1 << 20);
    let stop = |number, length| Action::StopNode { number, length };
    let part = |number, length| Action::PartitionNode { number, length };
    let actions: [Action; FAULTS as usize] = match ground {
        // The first node takes writes until the last fault.
        FaultTarget::Standbys => [
            stop(2, hiccup),
            stop(2, long),
            part(2, hiccup),
            part(2, long),
            part(1, hiccup),
            part(1, long),
            Action::Stop(long),
            Action::KillStandby(Some(long)),
            Action::Kill,
            Action::KillPrimary,
        ],
        FaultTarget::Nodes => [
            Action::Stop(hiccup),
            Action::Stop(long),
            stop(1, hiccup),
            stop(2, long),
            part(2, hiccup),
            part(1, long),
            part(2, long),
            Action::Restart,
            Action::KillNode(2),
            Action::KillNode(1),
        ],
        FaultTarget::Private => [
            delay(1),
            delay(10),
            bandwidth(mb),
            Action::Partition(hiccup),
            Action::Partition(long),
            Action::Stop(hiccup),
            Action::Stop(long),
            Action::Restart,
            Action::Kill,
            Action::Kill,
        ],
        FaultTarget::Foreign => [
            delay(1),
            delay(5),
            delay(20),
            delay(100),
            bandwidth(10 * mb),
            bandwidth(mb),
            bandwidth(kb),
            Action::Partition(hiccup),
            Action::Partition(long / 2),
            Action::Partition(long),
        ],
    };
    let at = |number: u32| whole(slot * (2 * number + 1) / 2, second / 10);
    (0..).zip(actions).map(|(number, action)| Fault { at: at(number), action }).collect()
}

/// Rounds down to a multiple of a step, for readability.
fn whole(time: Duration, step: Duration) -> Duration {
    step * (time.as_millis() / step.as_millis().max(1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    #[test]
    fn ten_faults_fit_into_any_interval_that_is_long_enough() {
        for ground in [FaultTarget::Foreign, FaultTarget::Private, FaultTarget::Standbys, FaultTarget::Nodes] {
            for seconds in [SHORTEST_CHAOS, 300, 7_200, 30 * 86_400] {
                let plan = Plan { fault: chaos(seconds, ground), ..Plan::default() };
                let faults = plan.timetable(seconds).unwrap();
                assert_eq!((faults.len(), &faults), (10, &plan.fault));
                let written: Plan = toml::from_str(&plan.to_toml().unwrap()).unwrap();
                assert_eq!(written, plan, "{seconds}");
                // Each fault has enough time before it for a reference level.
                let apart = faults.windows(2).all(|two| {
                    let end = two[0].at + two[0].action.length().unwrap_or_default();
                    two[1].at >= end + Duration::from_secs(4)
                });
                assert!(apart && faults[0].at >= Duration::from_secs(2), "{faults:?}");
                let any = |is: fn(&Action) -> bool| faults.iter().any(|fault| is(&fault.action));
                assert_eq!(any(Action::needs_private_server), ground != FaultTarget::Foreign);
                assert_eq!(any(|it| it.node().is_some()), matches!(ground, FaultTarget::Standbys | FaultTarget::Nodes));
                assert_eq!(any(Action::needs_standbys), ground == FaultTarget::Standbys);
                // Only the sessions of a single host go through a relay.
                assert_eq!(any(Action::is_of_network), matches!(ground, FaultTarget::Foreign | FaultTarget::Private));
            }
        }
    }
}
