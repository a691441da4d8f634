//! State shared by all threads of a run.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::backlog::Backlog;
use super::ledger::Ledger;
use super::phases::PhaseTimes;
use super::queue::Monitor;
use super::{GRACE, Schedule, Stages, Stop};
use crate::engine::guard::guarded;
use crate::engine::{Error, Sessions};
use crate::measure::counters::{Counter, Counters};
use crate::workload::Workload;

/// State shared by all threads of a run.
pub(super) struct Run<W: Workload> {
    pub(super) terminals: W::Terminals,
    pub(super) schedule: Schedule,
    pub(super) phases: PhaseTimes,
    pub(super) stages: Stages,
    pub(super) stop: Stop,
    pub(super) monitor: Monitor<W::Input>,
    /// In an open loop only.
    pub(super) backlog: Option<Backlog>,
    /// One for each driver thread.
    pub(super) ledgers: Vec<Ledger>,
    pub(super) clocks: Clocks,
    pub(super) connects: ConnectGate,
}

impl<W: Workload> Run<W> {
    /// Opens a session when the connection gate allows it, with a time limit.
    pub(super) async fn open<E: Sessions<W>>(&self, engine: &E) -> Result<E::Session, Error> {
        let patience = Duration::from_secs(self.schedule.patience.into());
        let stopped = || Error::Database("stopped before the sessions were open".to_owned());
        tokio::select! {
            () = self.connects.turn() => {}
            () = self.stop.wait() => return Err(stopped()),
        }
        tokio::select! {
            biased;
            opened = guarded(engine.open_session()) => opened,
            () = tokio::time::sleep(patience) => {
                Err(Error::Database(format!(
                    "{} opened no session within {} s; --timeout sets a longer limit",
                    engine.identity().url,
                    patience.as_secs()
                )))
            }
            // Nobody waits for this session.
            () = self.stop.wait() => Err(stopped()),
        }
    }

    /// Returns when the time for transactions in progress at the end of the run is over.
    pub(super) async fn timed_out(&self, begin: Instant) {
        let clock = self.phases.from(begin);
        let stopped = async {
            self.stop.wait().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            () = clock.ended(self.schedule.patience) => {}
            () = stopped => {}
        }
    }
}

/// Limits the rate of connection attempts of all sessions.
pub(super) struct ConnectGate {
    /// Minimum time between attempts; `None` is no limit.
    interval: Option<Duration>,
    /// The earliest time of the next attempt.
    next: Mutex<Instant>,
}

impl ConnectGate {
    /// Allows at most `per_second` attempts in a second.
    pub(super) fn new(per_second: Option<u32>) -> Self {
        let interval = per_second.map(|rate| Duration::from_secs(1) / rate.max(1));
        ConnectGate { interval, next: Mutex::new(Instant::now()) }
    }

    /// Waits until another attempt may be made.
    pub(super) async fn turn(&self) {
        let Some(interval) = self.interval else { return };
        let at = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let at = (*next).max(Instant::now());
            *next = at + interval;
            at
        };
        tokio::time::sleep_until(at.into()).await;
    }
}

/// Clocks of sessions and driver, which the sampler adds to its own counters.
#[derive(Debug, Default)]
pub(super) struct Clocks(Mutex<Counters>);

impl Clocks {
    /// Adds the known values to `counters`.
    pub(super) fn add_to(&self, counters: &mut Counters) {
        counters.merge(&self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Sets the value of a counter.
    pub(super) fn set(&self, counter: Counter, value: f64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).set(counter, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_to_connect_are_spaced() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let begin = Instant::now();
        let gate = ConnectGate::new(Some(100));
        let turns = (0..21).map(|_| async {
            gate.turn().await;
            begin.elapsed()
        });
        let mut turns = runtime.block_on(futures_util::future::join_all(turns));
        turns.sort_unstable();
        // The first at once, the others no earlier than planned.
        for (number, at) in turns.iter().enumerate() {
            assert!(*at >= Duration::from_millis(10) * number as u32, "{number}: {at:?}");
        }
        // Unused time does not accumulate.
        std::thread::sleep(Duration::from_millis(50));
        let again = Instant::now();
        runtime.block_on(futures_util::future::join_all([gate.turn(), gate.turn(), gate.turn()]));
        assert!(again.elapsed() >= Duration::from_millis(20));
        runtime.block_on(ConnectGate::new(None).turn());
    }
}
