//! The open loop: transactions come at a rate of their own, whether or not the database keeps up, and sessions take
//! them in the order in which they were due.
//!
//! A thread of its own lets sessions know of each transaction when it is due; it waits for nothing but the clock. What
//! no session is free for waits, and its response time began when it was due. So a stall is in the response times of
//! all who would have met it, and not only in those of the few that were under way: what is called coordinated omission
//! cannot happen.

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::Stop;
use super::arrivals::DueTimes;
use super::closed_loop::TerminalGroup;
use super::course::Course;
use super::stats::{Asked, ThreadStats, micros};
use super::worker::Worker;
use crate::engine::Sessions;
use crate::measure::note;
use crate::plan::Rate;
use crate::result::{Arrivals, Phase};
use crate::workload::{Terminal, Workload};

/// From one look at the wish to stop to the next.
const PAUSE: Duration = Duration::from_millis(100);

/// Transactions that are due and that no session has taken yet. Only their number is kept: when each was due follows
/// from the rate and the seed, so that the longest backlog takes no memory.
pub(super) struct Backlog {
    /// As many permits as transactions; sessions wait for one in the order in which they came.
    waiting: Semaphore,
    taken: Mutex<Taken>,
}

struct Taken {
    times: DueTimes,
    count: u64,
    closed: bool,
}

impl Backlog {
    /// Of a rate; the run's seed decides about random times.
    pub(super) fn new(rate: Rate, arrivals: Arrivals, seed: u64) -> Backlog {
        let times = DueTimes::new(rate, arrivals, seed);
        Backlog { waiting: Semaphore::new(0), taken: Mutex::new(Taken { times, count: 0, closed: false }) }
    }

    /// When the next transaction was due, in nanoseconds since the run's start; waits for it. None when the run has
    /// ended.
    async fn take(&self) -> Option<u64> {
        self.waiting.acquire().await.ok()?.forget();
        let mut taken = self.lock();
        if taken.closed {
            return None;
        }
        taken.count += 1;
        Some(taken.times.draw())
    }

    /// How many are due that no session has taken.
    pub(super) fn queued(&self) -> usize {
        self.waiting.available_permits()
    }

    /// So many more are due, `due` in all; tells how many wait.
    fn release(&self, more: usize, due: u64) -> u64 {
        self.waiting.add_permits(more);
        due.saturating_sub(self.lock().count)
    }

    /// Lets the sessions end; the times of the transactions that none of them has taken.
    fn close(&self) -> DueTimes {
        self.waiting.close();
        let mut taken = self.lock();
        taken.closed = true;
        taken.times.clone()
    }

    /// A thread that panicked while it held the lock left the times whole: nothing in between can panic.
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What lets sessions know of transactions when they are due. It blocks its thread until the run ends.
pub(super) struct Dispatcher<'a, 'd, W: Workload> {
    pub(super) course: &'a Course,
    pub(super) times: DueTimes,
    pub(super) backlog: &'a Backlog,
    pub(super) stats: &'a RefCell<ThreadStats<'d>>,
    pub(super) stop: &'a Stop,
    pub(super) begin: Instant,
    /// Draws the types of transactions that no session took.
    pub(super) terminal: W::Terminal,
}

impl<W: Workload> Dispatcher<'_, '_, W> {
    /// Works until the run ends, and notes how long those have waited in vain whom nobody has served.
    pub(super) fn run(mut self) {
        let mut next = self.moment();
        let mut due = 0;
        let end = self.course.from(self.begin).end();
        loop {
            let now = Instant::now();
            if now >= end || self.stop.requested() {
                break;
            }
            self.stats.borrow_mut().turn(now);
            let mut more = 0;
            while next <= now {
                self.offer(next, now);
                more += 1;
                next = self.moment();
            }
            if more > 0 {
                due += more as u64;
                let waiting = self.backlog.release(more, due);
                let mut stats = self.stats.borrow_mut();
                let arrivals = stats.interval.arrivals();
                arrivals.longest_queue = arrivals.longest_queue.max(waiting);
            }
            std::thread::sleep(next.min(end).saturating_duration_since(Instant::now()).min(PAUSE));
        }
        let closing = Instant::now().min(end);
        // What follows belongs to the last moment before the end.
        self.stats.borrow_mut().turn(closing - Duration::from_nanos(1));
        while next < closing {
            self.offer(next, closing);
            next = self.moment();
        }
        self.give_up(closing);
    }

    fn moment(&mut self) -> Instant {
        self.begin + Duration::from_nanos(self.times.draw())
    }

    fn phase(&self, due: Instant) -> Phase {
        self.course.phase_at(due.saturating_duration_since(self.begin).as_secs_f64())
    }

    /// A transaction was due, and sessions may take it now.
    fn offer(&self, due: Instant, now: Instant) {
        let measured = self.phase(due) == Phase::Measurement;
        let mut stats = self.stats.borrow_mut();
        let arrivals = stats.interval.arrivals();
        arrivals.offered += u64::from(measured);
        note(&mut arrivals.lateness, micros(due, now));
    }

    /// Nobody will serve those who still wait.
    fn give_up(mut self, closing: Instant) {
        let mut left = self.backlog.close();
        loop {
            let due = self.begin + Duration::from_nanos(left.draw());
            if due >= closing {
                return;
            }
            if self.phase(due) != Phase::Measurement {
                continue;
            }
            let transaction = self.terminal.choose();
            let mut stats = self.stats.borrow_mut();
            stats.interval.arrivals().unserved += 1;
            note(&mut stats.interval.transactions[transaction].response, micros(due, closing));
        }
    }
}

/// A session: takes the next transaction that is due until the run ends.
pub(super) async fn session<W: Workload, E: Sessions<W>>(
    mut worker: Worker<'_, '_, W, E>,
    backlog: &Backlog,
    stats: &RefCell<ThreadStats<'_>>,
    (begin, end): (Instant, Instant),
    mut crowd: TerminalGroup<W>,
) {
    while worker.alive() {
        let Some(due) = backlog.take().await else { return };
        let (intended, taken) = (begin + Duration::from_nanos(due), Instant::now());
        let input = crowd.next_input();
        let asked = Asked { transaction: W::transaction(&input), intended, taken, deferred: false };
        let output = worker.work(&input, asked).await;
        let now = Instant::now();
        {
            let mut stats = stats.borrow_mut();
            if let Some(output) = &output {
                stats.completed_of_open_loop::<W>(&input, output, asked, now);
            }
            note(&mut stats.interval.arrivals().queued, micros(intended, taken));
            if now >= end && output.is_some() {
                // It was not done when the interval ended, and its user had waited until then.
                stats.cut_off::<W>(asked, end);
            }
        }
        worker.settled();
        if output.is_none() {
            worker.recover().await;
        }
    }
}
