//! Slices: two runs of one program begin at the same moment, and each works in slices of time of its own. Their
//! sessions stay open in between.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use super::{PAUSE, Stop};

/// When a run works, and with which other it begins.
#[derive(Clone, Debug)]
pub struct Slices {
    windows: Vec<(u32, u32)>,
    meeting: Meeting,
}

impl Slices {
    /// In these windows, from and to, in whole seconds since both runs began, in order.
    pub fn new(windows: Vec<(u32, u32)>, meeting: &Meeting) -> Slices {
        Slices { windows, meeting: meeting.clone() }
    }

    /// The windows.
    pub(super) fn windows(&self) -> &[(u32, u32)] {
        &self.windows
    }

    /// Waits until the other run is ready, too: when both begin. None if someone asks to stop first.
    pub(super) fn begin(&self, stop: &Stop) -> Option<Instant> {
        self.meeting.wait(stop)
    }
}

/// Where two runs wait for one another.
#[derive(Clone, Debug, Default)]
pub struct Meeting(Arc<(Mutex<Arrived>, Condvar)>);

#[derive(Debug, Default)]
struct Arrived {
    runs: u32,
    begin: Option<Instant>,
}

impl Meeting {
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
        let meeting = Meeting::default();
        let (other, stop) = (meeting.clone(), Stop::new());
        let heard = stop.clone();
        let there = std::thread::spawn(move || other.wait(&heard));
        let here = meeting.wait(&stop);
        assert!(here.is_some());
        assert_eq!(there.join().unwrap(), here);
        stop.request();
        assert_eq!(Meeting::default().wait(&stop), None);
    }
}
