//! Terminals with keying and think times: plain data moved by a timer wheel, decoupled from the sessions by one queue.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::phases::Clock;
use super::queue::{Monitor, Request, Terminals};
use super::stats::{PendingTransaction, ThreadStats, micros};
use super::wheel::Wheel;
use super::worker::Worker;
use super::{Schedule, Stop};
use crate::engine::Sessions;
use crate::measure::note;
use crate::workload::{Terminal, Workload};

/// How long transactions that are still queued at the end of the run may take before they are dropped, at most: half of
/// the time for those in progress, after which the thread itself is abandoned.
const DRAIN: Duration = Duration::from_secs(10);
/// Interval between counts of the terminals' states.
const COUNT: Duration = Duration::from_secs(1);

/// A terminal and the last input of its user.
struct Place<W: Workload> {
    terminal: W::Terminal,
    chosen: u8,
}

/// All terminals of a run.
pub(super) struct TerminalScheduler<W: Workload> {
    places: Vec<Place<W>>,
    wheel: Wheel,
    begin: Instant,
    schedule: Schedule,
}

impl<W: Workload> TerminalScheduler<W> {
    /// All terminals, asleep in the middle of their cycles: each has a random age of up to two passes of its deck when
    /// the run begins. So they do not run in step, and the load is steady from the first second.
    pub(super) fn new(terminals: &W::Terminals, schedule: Schedule, begin: Instant) -> Self {
        let count = schedule.terminals as usize;
        let mut wheel = Wheel::new(count);
        let mut past = Xoshiro256PlusPlus::seed_from_u64(schedule.seed);
        let mut places = Vec::with_capacity(count);
        // The approximate length of a pass; the greater of the two multiples is accurate enough for a terminal's
        // position in it.
        let pass = schedule.keying.of(W::PASS).max(schedule.think.of(W::PASS));
        for number in 0..count {
            let mut terminal = W::terminal(terminals, number as u64);
            let past = past.random_range(0..2 * pass);
            let (mut lived, mut chosen) = (0, terminal.choose());
            loop {
                lived += schedule.keying.of(W::keying_time(chosen));
                if lived > past {
                    break;
                }
                lived += schedule.think.of(terminal.think_time(chosen, 0));
                chosen = terminal.choose();
            }
            wheel.sleep(number as u32, lived - past);
            places.push(Place { terminal, chosen: chosen as u8 });
        }
        TerminalScheduler { places, wheel, begin, schedule }
    }

    fn micros(&self, moment: Instant) -> u64 {
        moment.saturating_duration_since(self.begin).as_micros() as u64
    }

    fn moment(&self, micros: u64) -> Instant {
        self.begin + Duration::from_micros(micros)
    }

    /// The user thinks about the result received at `from`, chooses the next transaction and keys it in. The menu needs
    /// no database request, so its response time is zero (clause 5.3.3).
    fn rest(&mut self, number: u32, from: Instant, stats: &RefCell<ThreadStats<'_>>) {
        let from = self.micros(from);
        let place = &mut self.places[number as usize];
        let response = from.saturating_sub(self.wheel.last_due(number));
        let think = self.schedule.think.of(place.terminal.think_time(usize::from(place.chosen), response));
        let mut stats = stats.borrow_mut();
        let pacing = stats.interval.pacing();
        pacing.think[usize::from(place.chosen)].note(think);
        if usize::from(place.chosen) == W::HEADLINE {
            note(&mut pacing.headline_think, think);
        }
        let chosen = place.terminal.choose();
        let keying = self.schedule.keying.of(W::keying_time(chosen));
        pacing.keying[chosen].note(keying);
        place.chosen = chosen as u8;
        self.wheel.sleep(number, from + think + keying);
    }

    /// The user has keyed in the last character at `due`.
    fn send(
        &mut self,
        number: u32,
        due: u64,
        now: Instant,
        monitor: &Monitor<W::Input>,
        stats: &RefCell<ThreadStats<'_>>,
    ) {
        let intended = self.moment(due);
        let place = &mut self.places[number as usize];
        let chosen = usize::from(place.chosen);
        let deferred = W::DEFERRED == Some(chosen);
        let input = place.terminal.input(chosen);
        stats.borrow().show::<W>(number, &input, None);
        let length = monitor.send(Request { terminal: number, intended, deferred, input });
        {
            let mut stats = stats.borrow_mut();
            stats.turn(now);
            let pacing = stats.interval.pacing();
            note(&mut pacing.lateness, micros(intended, now));
            pacing.longest_queue = pacing.longest_queue.max(length as u64);
            if deferred {
                stats.queued_deferred(chosen, intended, now);
            }
        }
        if deferred {
            self.rest(number, now, stats);
        }
    }

    /// Counts the states of the terminals. Keying comes last, so a terminal is keying if its remaining sleep is no
    /// longer than that.
    fn count(&self, now: u64) -> Terminals {
        let keying: Vec<u64> =
            (0..W::TRANSACTIONS.len()).map(|chosen| self.schedule.keying.of(W::keying_time(chosen))).collect();
        let mut terminals = Terminals::default();
        for (number, place) in self.places.iter().enumerate() {
            let state = match self.wheel.last_due(number as u32).checked_sub(now) {
                None | Some(0) => &mut terminals.waiting,
                Some(left) if left <= keying[usize::from(place.chosen)] => &mut terminals.keying,
                Some(_) => &mut terminals.thinking,
            };
            *state += 1;
        }
        terminals
    }

    /// Moves the terminals until the run ends, then lets `sessions` end. Transactions that are still queued some time
    /// later are dropped.
    pub(super) async fn run(
        mut self,
        monitor: &Monitor<W::Input>,
        stats: &RefCell<ThreadStats<'_>>,
        stop: &Stop,
        clock: Clock<'_>,
        sessions: u32,
    ) {
        let mut woken = Vec::new();
        let mut answers = Vec::new();
        let mut count = self.begin;
        loop {
            let now = Instant::now();
            if now >= clock.end() || stop.requested() {
                break;
            }
            monitor.take_answers(&mut answers);
            for (number, at) in answers.drain(..) {
                self.rest(number, at, stats);
            }
            self.wheel.wake(self.micros(now), &mut woken);
            for (due, number) in woken.drain(..) {
                self.send(number, due, now, monitor, stats);
            }
            if now >= count {
                monitor.counted(self.count(self.micros(now)));
                count = now + COUNT;
            }
            let latest = clock.latest(now).min(count);
            let next = self.wheel.next_due().map_or(latest, |due| self.moment(due).min(latest));
            tokio::select! {
                () = tokio::time::sleep_until(next.into()) => {}
                () = monitor.wait_for_answer() => {}
                () = stop.wait() => {}
            }
        }
        monitor.close(sessions);
        let drain = DRAIN.min(Duration::from_secs(self.schedule.patience.into()) / 2);
        if !stop.requested() {
            tokio::select! {
                () = tokio::time::sleep(drain) => {}
                () = monitor.wait_for_sessions(sessions) => {}
                () = stop.wait() => {}
            }
        }
        let (dropped, now) = (monitor.clear(), Instant::now());
        stats.borrow_mut().totals.unfinished += dropped.len() as u64;
        for Request { intended, deferred, input, .. } in dropped {
            let asked = PendingTransaction { transaction: W::transaction(&input), intended, taken: now, deferred };
            stats.borrow().cut_off::<W>(asked, now);
        }
    }
}

/// A session: executes what the queue gives it until it is asked to end.
pub(super) async fn session<W: Workload, E: Sessions<W>>(
    mut worker: Worker<'_, '_, W, E>,
    monitor: &Monitor<W::Input>,
    stats: &RefCell<ThreadStats<'_>>,
) {
    while worker.alive() {
        let Some(request) = monitor.receive().await else { break };
        let taken = Instant::now();
        let transaction = W::transaction(&request.input);
        let asked = PendingTransaction { transaction, intended: request.intended, taken, deferred: request.deferred };
        let output = worker.work(&request.input, asked).await;
        let now = Instant::now();
        {
            let mut stats = stats.borrow_mut();
            note(&mut stats.interval.pacing().queued, micros(request.intended, taken));
            stats.show::<W>(request.terminal, &request.input, output.as_ref());
            match &output {
                Some(output) if request.deferred => {
                    stats.completed_deferred::<W>(&request.input, output, request.intended, taken, now);
                }
                Some(output) => stats.completed::<W>(&request.input, output, request.intended, taken, now),
                None => {}
            }
        }
        worker.settled();
        if !request.deferred {
            monitor.answer(request.terminal, now);
        }
        if output.is_none() {
            worker.recover().await;
        }
    }
    monitor.session_ended();
}
