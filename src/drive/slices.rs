//! Slices: two runs in one program begin at the same moment, and each is active in its own slices of time. Their
//! sessions stay open in between.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use super::{PAUSE, Stop};

/// The windows in which a run is active, and the barrier that it shares with the other run.
#[derive(Clone, Debug)]
pub struct Slices {
    windows: Vec<(u32, u32)>,
    barrier: StartBarrier,
}

impl Slices {
    /// Windows from and to, in whole seconds since both runs began, in order.
    pub fn new(windows: Vec<(u32, u32)>, barrier: &StartBarrier) -> Slices {
        Slices { windows, barrier: barrier.clone() }
    }

    /// The windows.
    pub(super) fn windows(&self) -> &[(u32, u32)] {
        &self.windows
    }

    /// Waits until the other run is ready, too; returns the common start, or `None` after a stop request.
    pub(super) fn begin(&self, stop: &Stop) -> Option<Instant> {
        self.barrier.wait(stop)
    }
}

/// A barrier at which two runs wait for each other.
#[derive(Clone, Debug, Default)]
pub struct StartBarrier(Arc<(Mutex<Arrived>, Condvar)>);

#[derive(Debug, Default)]
struct Arrived {
    runs: u32,
    begin: Option<Instant>,
}

impl StartBarrier {
    fn wait(&self, stop: &Stop) -> Option<Instant> {
        let (arrived, changed) = &*self.0;
        let mut arrived = arrived.lock().unwrap_or_else(PoisonError::into_inner);
        arrived.runs += 1;
        if arrived.runs == 2 {
            arrived.begin = Some(Instant::now());
            changed.notify_all();
        }
        while arrived.begin.is_none() && !stop.requested() {
            arrived = changed.wait_timeout(arrived, PAUSE).unwrap_or_else(PoisonError::into_inner).0;
        }
        arrived.begin.filter(|_| !stop.requested())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_begin_at_the_same_moment_or_not_at_all() {
        let barrier = StartBarrier::default();
        let (other, stop) = (barrier.clone(), Stop::new());
        let heard = stop.clone();
        let there = std::thread::spawn(move || other.wait(&heard));
        let here = barrier.wait(&stop);
        assert!(here.is_some());
        assert_eq!(there.join().unwrap(), here);
        stop.request();
        assert_eq!(StartBarrier::default().wait(&stop), None);
    }
}
