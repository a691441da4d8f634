//! Transactions of an open loop that are due and that no session has taken yet.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Semaphore;

use super::arrivals::DueTimes;
use crate::plan::Rate;
use crate::result::Arrivals;

/// Transactions that are due and that no session has taken yet. Only their number is stored: their due times follow
/// from rate and seed, so a long backlog takes no memory.
pub(super) struct Backlog {
    /// One permit for each transaction; sessions wait for permits in arrival order.
    waiting: Semaphore,
    taken: Mutex<Taken>,
}

struct Taken {
    times: DueTimes,
    count: u64,
    closed: bool,
}

impl Backlog {
    /// An empty backlog. Random arrivals depend on the run's seed.
    pub(super) fn new(rate: Rate, arrivals: Arrivals, seed: u64) -> Backlog {
        let times = DueTimes::new(rate, arrivals, seed);
        Backlog { waiting: Semaphore::new(0), taken: Mutex::new(Taken { times, count: 0, closed: false }) }
    }

    /// Waits for the next transaction, and returns its due time in nanoseconds since the run's start, and when it was
    /// taken; `None` when the run has ended. From `end` on, transactions are left for [`Backlog::close`], which may be
    /// called later than that.
    pub(super) async fn take(&self, end: Instant) -> Option<(u64, Instant)> {
        self.waiting.acquire().await.ok()?.forget();
        let mut taken = self.lock();
        let now = Instant::now();
        if taken.closed || now >= end {
            return None;
        }
        taken.count += 1;
        Some((taken.times.draw(), now))
    }

    /// The number of transactions that are due and not taken.
    pub(super) fn queued(&self) -> usize {
        self.waiting.available_permits()
    }

    /// Adds `more` transactions that are due, `due` since the start; returns how many wait.
    pub(super) fn release(&self, more: usize, due: u64) -> u64 {
        self.waiting.add_permits(more);
        due.saturating_sub(self.lock().count)
    }

    /// Lets the sessions end; returns the due times of the transactions that no session took.
    pub(super) fn close(&self) -> DueTimes {
        self.waiting.close();
        let mut taken = self.lock();
        taken.closed = true;
        taken.times.clone()
    }

    /// A panic cannot leave the due times inconsistent: nothing that runs under the lock can panic.
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn what_is_not_taken_before_the_end_is_left() {
        let backlog = Backlog::new(Rate::new(10.0).unwrap(), Arrivals::Constant, 1);
        assert_eq!(backlog.release(3, 3), 3);
        let (past, later) = (Instant::now(), Instant::now() + Duration::from_secs(600));
        let (due, taken) = backlog.take(later).now_or_never().flatten().unwrap();
        assert!(due == 0 && taken >= past);
        // The interval has ended, and nobody has closed the backlog yet.
        assert_eq!(backlog.take(past).now_or_never(), Some(None));
        let mut left = backlog.close();
        assert_eq!([left.draw(), left.draw()], [100_000_000, 200_000_000]);
        assert_eq!(backlog.take(later).now_or_never(), Some(None));
    }
}
