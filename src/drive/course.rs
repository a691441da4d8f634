//! When the phases of a run begin. This is known beforehand, unless the ramp-up ends when the load is steady: then the
//! collector says so while the run goes on, and all others look it up.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::Schedule;
use crate::result::Phase;

/// How long whoever waits for the run's end sleeps at most while the end is not known yet. The ramp-up ends later than
/// this after it was decided.
const UNKNOWN: Duration = Duration::from_millis(500);
/// Whole seconds from the one in which a ramp-up's end is decided to the interval's begin: by then everybody knows.
const NOTICE: u32 = 2;

/// When the phases of a run begin, in seconds since its start.
#[derive(Debug)]
pub(super) struct Course {
    /// Seconds before the measurement interval, at most while that is not decided.
    ramp_up: AtomicU32,
    /// The most that they can be.
    most: u32,
    /// Seconds of the measurement interval.
    duration: u32,
    /// Whether the ramp-up may still become shorter.
    settles: bool,
}

impl Course {
    pub(super) fn of(schedule: &Schedule) -> Course {
        Course {
            ramp_up: AtomicU32::new(schedule.ramp_up),
            most: schedule.ramp_up,
            duration: schedule.duration,
            settles: schedule.settles,
        }
    }

    /// Whole seconds before the measurement interval.
    #[inline]
    pub(super) fn ramp_up(&self) -> u32 {
        self.ramp_up.load(Ordering::Relaxed)
    }

    /// Whole seconds until the measurement interval ends.
    #[inline]
    pub(super) fn seconds(&self) -> u32 {
        self.ramp_up() + self.duration
    }

    /// Whether the ramp-up may still become shorter, so many seconds after the run's start.
    pub(super) fn is_open(&self, now: f64) -> bool {
        self.settles && self.ramp_up() == self.most && now < f64::from(self.most.saturating_sub(NOTICE))
    }

    /// Ends the ramp-up as soon as everybody can know; tells when that is.
    pub(super) fn settle(&self, now: f64) -> u32 {
        let ramp_up = (now as u32).saturating_add(NOTICE).min(self.most);
        self.ramp_up.store(ramp_up, Ordering::Relaxed);
        ramp_up
    }

    /// The phase at so many seconds since the run's start.
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

    /// How long a user of the measurement interval has waited in it in vain; none for one of another phase. Times are
    /// seconds since the run's start.
    pub(super) fn waited(&self, intended: f64, now: f64) -> Option<f64> {
        let measured = self.phase_at(intended) == Phase::Measurement;
        measured.then(|| (now.min(f64::from(self.seconds())) - intended).max(0.0))
    }

    /// The same with the moment of the run's start.
    pub(super) fn from(&self, begin: Instant) -> Clock<'_> {
        Clock { course: self, begin }
    }
}

/// When the phases of a run begin that has begun.
#[derive(Clone, Copy)]
pub(super) struct Clock<'a> {
    course: &'a Course,
    begin: Instant,
}

impl Clock<'_> {
    /// The end of the measurement interval, as far as it is known now.
    #[inline]
    pub(super) fn end(&self) -> Instant {
        self.begin + Duration::from_secs(self.course.seconds().into())
    }

    /// Until when one may sleep who has to notice the end.
    pub(super) fn latest(&self, now: Instant) -> Instant {
        if self.course.is_open(now.saturating_duration_since(self.begin).as_secs_f64()) {
            now + UNKNOWN
        } else {
            self.end()
        }
    }

    /// Returns so many whole seconds after the end.
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

    /// Returns when it is decided how long the ramp-up is, with its seconds.
    pub(super) async fn decided(&self) -> u32 {
        while self.course.is_open(self.begin.elapsed().as_secs_f64()) {
            tokio::time::sleep(UNKNOWN / 5).await;
        }
        self.course.ramp_up()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Load;
    use super::*;
    use crate::plan::Factor;

    fn course(settles: bool) -> Course {
        Course::of(&Schedule {
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
        })
    }

    #[test]
    fn a_ramp_up_ends_when_it_is_decided_and_all_phases_follow() {
        let course = course(true);
        assert!(course.is_open(30.5));
        assert_eq!((course.phase_at(99.9), course.phase_at(100.0)), (Phase::RampUp, Phase::Measurement));
        assert_eq!(course.settle(30.5), 32);
        assert!(!course.is_open(30.6));
        let phases = [31.9, 32.0, 41.9, 42.0].map(|at| course.phase_at(at));
        assert_eq!(phases, [Phase::RampUp, Phase::Measurement, Phase::Measurement, Phase::WindDown]);
        assert_eq!((course.waited(40.0, 99.0), course.waited(31.0, 40.0)), (Some(2.0), None));
    }

    #[test]
    fn a_ramp_up_of_a_given_length_keeps_it_and_one_of_its_own_its_limit() {
        assert!(!course(false).is_open(1.0));
        let late = course(true);
        assert!(!late.is_open(98.5), "it could not end earlier any more");
        assert_eq!(late.settle(99.5), 100);
    }
}
