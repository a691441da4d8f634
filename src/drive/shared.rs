//! What all threads of a run share.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::course::Course;
use super::ledger::Ledger;
use super::open_loop::Backlog;
use super::queue::Monitor;
use super::{GRACE, Schedule, Stages, Stop};
use crate::engine::guard::guarded;
use crate::engine::{Error, Sessions};
use crate::measure::counters::{Counter, Counters};
use crate::workload::Workload;

/// What all threads of a run share.
pub(super) struct Run<W: Workload> {
    pub(super) terminals: W::Terminals,
    pub(super) schedule: Schedule,
    pub(super) course: Course,
    pub(super) stages: Stages,
    pub(super) stop: Stop,
    pub(super) monitor: Monitor<W::Input>,
    /// Of an open loop.
    pub(super) backlog: Option<Backlog>,
    /// One for each driver thread.
    pub(super) ledgers: Vec<Ledger>,
    pub(super) clocks: Clocks,
}

impl<W: Workload> Run<W> {
    /// Opens a session, which must not take forever.
    pub(super) async fn open<E: Sessions<W>>(&self, engine: &E) -> Result<E::Session, Error> {
        let patience = Duration::from_secs(self.schedule.patience.into());
        tokio::select! {
            biased;
            opened = guarded(engine.open_session()) => opened,
            () = tokio::time::sleep(patience) => {
                Err(Error::Database(format!(
                    "{} gave no session within {} s; --timeout waits longer",
                    engine.identity().url,
                    patience.as_secs()
                )))
            }
            // Nobody waits for this session.
            () = self.stop.wait() => Err(Error::Database("stopped before the sessions were open".to_owned())),
        }
    }

    /// Returns when transactions under way are not waited for any longer.
    pub(super) async fn out_of_patience(&self, begin: Instant) {
        let clock = self.course.from(begin);
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

/// Clocks of sessions and driver, for the sampler to put beside its own counters.
#[derive(Debug, Default)]
pub(super) struct Clocks(Mutex<Counters>);

impl Clocks {
    /// Adds what is known now.
    pub(super) fn add_to(&self, counters: &mut Counters) {
        counters.merge(&self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Sets what is known of one of them.
    pub(super) fn set(&self, counter: Counter, value: f64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).set(counter, value);
    }
}
