//! States of terminals and sessions, as counters: sums over time of the number in each state.
//!
//! Executing a transaction costs nothing more for it. Session states are read from the ledgers; terminals are counted
//! once a second by their scheduler.

use super::Load;
use super::ledger::{Ledger, States};
use super::shared::Run;
use crate::measure::counters::{Counter, Counters};
use crate::workload::Workload;

/// The sums so far.
#[derive(Debug, Default)]
pub(super) struct Sums {
    counters: Counters,
    /// Time of the last addition, in seconds since the run's start.
    at: f64,
}

impl Sums {
    /// Reads the states of a run, adds them for the time since the last reading, and returns the sums.
    pub(super) fn look<W: Workload>(&mut self, run: &Run<W>, at: f64) -> &Counters {
        let mut seen = of_sessions(&run.ledgers).to_vec();
        match run.schedule.load {
            Load::ClosedLoop => {}
            Load::Paced => {
                let terminals = run.monitor.terminals();
                seen.extend([
                    (Counter::TerminalsKeying, terminals.keying as usize),
                    (Counter::TerminalsThinking, terminals.thinking as usize),
                    (Counter::TerminalsWaiting, terminals.waiting as usize),
                    (Counter::RequestsQueued, run.monitor.queued()),
                ]);
            }
            Load::OpenLoop { .. } => {
                seen.extend(run.backlog.iter().map(|backlog| (Counter::RequestsQueued, backlog.queued())));
            }
        }
        self.add(&seen, at)
    }

    fn add(&mut self, seen: &[(Counter, usize)], at: f64) -> &Counters {
        let passed = (at - self.at).max(0.0);
        self.at = at;
        for (counter, count) in seen {
            let sum = self.counters.get(*counter).unwrap_or_default();
            self.counters.set(*counter, sum + *count as f64 * passed);
        }
        &self.counters
    }
}

fn of_sessions(ledgers: &[Ledger]) -> [(Counter, usize); 3] {
    let of = |state: fn(&States) -> u32| ledgers.iter().map(|ledger| state(&ledger.states()) as usize).sum();
    [
        (Counter::SessionsInTransaction, of(|states| states.in_transaction)),
        (Counter::SessionsReconnecting, of(|states| states.reconnecting)),
        (Counter::SessionsIdle, of(|states| states.idle)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tpcc::Tpcc;

    #[test]
    fn each_second_grows_by_how_many_were_seen() {
        let (ledger, other) = (Ledger::new::<Tpcc>(3), Ledger::new::<Tpcc>(1));
        ledger.sent(0, 0, [0, 0]);
        ledger.lost(1);
        let ledgers = [ledger, other];
        let mut sums = Sums::default();
        sums.add(&of_sessions(&ledgers), 0.0);
        let once = sums.add(&of_sessions(&ledgers), 2.0).clone();
        ledgers[0].opened(1, None);
        let twice = sums.add(&of_sessions(&ledgers), 3.0).clone();
        let of = |counters: &Counters| {
            [Counter::SessionsInTransaction, Counter::SessionsReconnecting, Counter::SessionsIdle]
                .map(|counter| counters.get(counter).unwrap())
        };
        assert_eq!((of(&once), of(&twice)), ([2.0, 2.0, 4.0], [3.0, 2.0, 7.0]));
    }
}
