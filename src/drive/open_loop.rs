//! The open loop: transactions arrive at a fixed rate, whether or not the database keeps up, and sessions take them in
//! the order in which they are due.
//!
//! A separate thread releases each transaction when it is due; it waits only for the clock. A transaction waits while
//! no session is free, and its response time starts when it is due. A stall is therefore in the response times of all
//! transactions that were due in it, not only of those that were in progress: coordinated omission cannot happen.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use super::Stop;
use super::arrivals::DueTimes;
use super::backlog::Backlog;
use super::closed_loop::TerminalGroup;
use super::phases::PhaseTimes;
use super::stats::{PendingTransaction, ThreadStats, micros};
use super::worker::Worker;
use crate::engine::Sessions;
use crate::measure::note;
use crate::result::Phase;
use crate::workload::{Terminal, Workload};

/// Interval between checks of the stop request.
const PAUSE: Duration = Duration::from_millis(100);

/// Releases transactions to the sessions when they are due. It blocks its thread until the run ends.
pub(super) struct Dispatcher<'a, 'd, W: Workload> {
    pub(super) phases: &'a PhaseTimes,
    pub(super) times: DueTimes,
    pub(super) backlog: &'a Backlog,
    pub(super) stats: &'a RefCell<ThreadStats<'d>>,
    pub(super) stop: &'a Stop,
    pub(super) begin: Instant,
    /// Chooses the types of transactions that no session took.
    pub(super) terminal: W::Terminal,
}

impl<W: Workload> Dispatcher<'_, '_, W> {
    /// Runs until the end of the run, and records the waits of transactions that no session took.
    pub(super) fn run(mut self) {
        let mut next = self.moment();
        let mut due = 0;
        let end = self.phases.from(self.begin).end();
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
        let left = self.backlog.close();
        let closing = Instant::now().min(end);
        // The rest belongs to the last moment before the end.
        self.stats.borrow_mut().turn(closing - Duration::from_nanos(1));
        while next < closing {
            self.offer(next, closing);
            next = self.moment();
        }
        self.give_up(left, closing);
    }

    fn moment(&mut self) -> Instant {
        self.begin + Duration::from_nanos(self.times.draw())
    }

    fn phase(&self, due: Instant) -> Phase {
        self.phases.phase_at(due.saturating_duration_since(self.begin).as_secs_f64())
    }

    /// Releases a transaction that is due.
    fn offer(&self, due: Instant, now: Instant) {
        let measured = self.phase(due) == Phase::Measurement;
        let mut stats = self.stats.borrow_mut();
        let arrivals = stats.interval.arrivals();
        arrivals.offered += u64::from(measured);
        note(&mut arrivals.lateness, micros(due, now));
    }

    /// Records the transactions that no session will take.
    fn give_up(mut self, mut left: DueTimes, closing: Instant) {
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

/// A session: executes the next transaction that is due until the run ends.
pub(super) async fn session<W: Workload, E: Sessions<W>>(
    mut worker: Worker<'_, '_, W, E>,
    backlog: &Backlog,
    stats: &RefCell<ThreadStats<'_>>,
    (begin, end): (Instant, Instant),
    mut group: TerminalGroup<W>,
) {
    while worker.alive() {
        let Some((due, taken)) = backlog.take(end).await else { return };
        let intended = begin + Duration::from_nanos(due);
        let input = group.next_input();
        let asked = PendingTransaction { transaction: W::transaction(&input), intended, taken, deferred: false };
        let output = worker.work(&input, asked).await;
        let now = Instant::now();
        {
            let mut stats = stats.borrow_mut();
            if let Some(output) = &output {
                stats.completed_of_open_loop::<W>(&input, output, asked, now);
            }
            note(&mut stats.interval.arrivals().queued, micros(intended, taken));
            if now >= end && output.is_some() {
                // The transaction was not done when the interval ended; its user waited until then.
                stats.cut_off::<W>(asked, end);
            }
        }
        worker.settled();
        if output.is_none() {
            worker.recover().await;
        }
    }
}
