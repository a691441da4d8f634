//! The start times of a run's phases. They are known in advance, except when the ramp-up ends as soon as the load is
//! steady: then the collector sets them during the run, and all others read them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::Schedule;
use crate::result::Phase;

/// The longest sleep of a task that waits for the run's end while that is unknown. The ramp-up ends later than this
/// after the decision.
const UNKNOWN: Duration = Duration::from_millis(500);
/// Whole seconds from the decision to end the ramp-up to the start of the interval: enough for all threads to notice.
const NOTICE: u32 = 2;

/// The start times of a run's phases, in seconds since its start.
#[derive(Debug)]
pub(super) struct PhaseTimes {
    /// Seconds of the ramp-up; an upper limit until they are decided.
    ramp_up: AtomicU32,
    /// The limit of the ramp-up.
    most: u32,
    /// Seconds of the measurement interval.
    duration: u32,
    /// Whether the ramp-up may still become shorter.
    settles: bool,
}

impl PhaseTimes {
    pub(super) fn of(schedule: &Schedule) -> PhaseTimes {
        PhaseTimes {
            ramp_up: AtomicU32::new(schedule.ramp_up),
            most: schedule.ramp_up,
            duration: schedule.duration,
            settles: schedule.settles,
        }
    }

    /// Whole seconds of the ramp-up.
    #[inline]
    pub(super) fn ramp_up(&self) -> u32 {
        self.ramp_up.load(Ordering::Relaxed)
    }

    /// Whole seconds until the measurement interval ends.
    #[inline]
    pub(super) fn seconds(&self) -> u32 {
        self.ramp_up() + self.duration
    }

    /// Whether the ramp-up may still become shorter at `now` seconds after the run's start.
    pub(super) fn is_open(&self, now: f64) -> bool {
        self.settles && self.ramp_up() == self.most && now < f64::from(self.most.saturating_sub(NOTICE))
    }

    /// Ends the ramp-up as soon as all threads can know; returns that time.
    pub(super) fn settle(&self, now: f64) -> u32 {
        let ramp_up = (now as u32).saturating_add(NOTICE).min(self.most);
        self.ramp_up.store(ramp_up, Ordering::Relaxed);
        ramp_up
    }

    /// The phase at a time in seconds since the run's start.
    #[inline]
    pub(super) fn phase_at(&self, at: f64) -> Phase {
        let ramp_up = self.ramp_up();
        if at < f64::from(ramp_up) {
            Phase::RampUp
        } else if at < f64::from(ramp_up + self.duration) {
            Phase::Measurement
        } else {
            Phase::WindDown
        }
    }

    /// How long of a wait lies in the measurement interval. Times are seconds since the run's start.
    pub(super) fn within_interval(&self, intended: f64, now: f64) -> f64 {
        (now.min(f64::from(self.seconds())) - intended.max(f64::from(self.ramp_up()))).max(0.0)
    }

    /// How long a user has waited without an answer during the measurement interval; `None` for a user who did not wait
    /// in it. Times are seconds since the run's start.
    pub(super) fn waited(&self, intended: f64, now: f64) -> Option<f64> {
        let within = self.within_interval(intended, now);
        (within > 0.0).then_some(within)
    }

    /// Adds the moment of the run's start.
    pub(super) fn from(&self, begin: Instant) -> Clock<'_> {
        Clock { phases: self, begin }
    }
}

/// The start times of the phases of a run in progress, as instants.
#[derive(Clone, Copy)]
pub(super) struct Clock<'a> {
    phases: &'a PhaseTimes,
    begin: Instant,
}

impl Clock<'_> {
    /// The end of the measurement interval, as far as it is known now.
    #[inline]
    pub(super) fn end(&self) -> Instant {
        self.begin + Duration::from_secs(self.phases.seconds().into())
    }

    /// How long a task may sleep that has to notice the end.
    pub(super) fn latest(&self, now: Instant) -> Instant {
        if self.phases.is_open(now.saturating_duration_since(self.begin).as_secs_f64()) {
            now + UNKNOWN
        } else {
            self.end()
        }
    }

    /// Returns `seconds` whole seconds after the end.
    pub(super) async fn ended(&self, seconds: u32) {
        let more = Duration::from_secs(seconds.into());
        loop {
            let now = Instant::now();
            if now >= self.end() + more {
                return;
            }
            tokio::time::sleep_until((self.latest(now) + more).into()).await;
        }
    }

    /// Waits until the length of the ramp-up is decided; returns its seconds.
    pub(super) async fn decided(&self) -> u32 {
        while self.phases.is_open(self.begin.elapsed().as_secs_f64()) {
            tokio::time::sleep(UNKNOWN / 5).await;
        }
        self.phases.ramp_up()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Load;
    use super::*;
    use crate::plan::Factor;

    fn phases(settles: bool) -> PhaseTimes {
        PhaseTimes::of(&Schedule {
            history: 0,
            tenths: false,
            load: Load::ClosedLoop,
            clients: 1,
            terminals: 10,
            at_home: false,
            shown: None,
            seed: 0,
            pass: 0,
            threads: None,
            keying: Factor::ONE,
            think: Factor::ONE,
            ramp_up: 100,
            settles,
            duration: 10,
            patience: 60,
            connect_rate: None,
        })
    }

    #[test]
    fn a_ramp_up_ends_when_it_is_decided_and_all_phases_follow() {
        let phases = phases(true);
        assert!(phases.is_open(30.5));
        assert_eq!((phases.phase_at(99.9), phases.phase_at(100.0)), (Phase::RampUp, Phase::Measurement));
        assert_eq!(phases.settle(30.5), 32);
        assert!(!phases.is_open(30.6));
        let found = [31.9, 32.0, 41.9, 42.0].map(|at| phases.phase_at(at));
        assert_eq!(found, [Phase::RampUp, Phase::Measurement, Phase::Measurement, Phase::WindDown]);
        let waited = [(40.0, 99.0), (31.0, 40.0), (1.0, 2.0)].map(|(intended, now)| phases.waited(intended, now));
        assert_eq!(waited, [Some(2.0), Some(8.0), None], "the wait of the ramp-up does not count");
        let of = [(31.0, 40.0), (40.0, 41.5), (31.0, 99.0), (1.0, 2.0)];
        assert_eq!(of.map(|(intended, now)| phases.within_interval(intended, now)), [8.0, 1.5, 10.0, 0.0]);
    }

    #[test]
    fn a_ramp_up_of_a_given_length_keeps_it_and_one_of_its_own_its_limit() {
        assert!(!phases(false).is_open(1.0));
        let late = phases(true);
        assert!(!late.is_open(98.5), "it can no longer end earlier");
        assert_eq!(late.settle(99.5), 100);
    }
}
