//! One driver thread and its sessions: each asks for the next transaction as soon as the last one is answered.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::task::LocalSet;

use super::event::Event;
use super::{MOST_RETRIES, RECONNECT_PAUSE, Report, Schedule, Stop};
use crate::engine::{Engine, Error, Failure, Session};
use crate::measure::Interval;
use crate::workload::{Outcome, Terminal, Workload};

/// What a thread counted over the whole run.
#[derive(Debug, Default)]
pub(super) struct ThreadTotals {
    pub completed: u64,
    pub effects: Vec<u64>,
    pub ambiguous_effects: Vec<u64>,
    pub ambiguous: u64,
    pub retries: BTreeMap<&'static str, u64>,
    pub errors: BTreeMap<String, u64>,
}

/// Failures of one thread that are told one by one; the rest is only counted.
const FAILURES_TOLD: u64 = 20;
/// Pause after a transaction that failed for good, so that a broken database is not hammered.
const FAILURE_PAUSE: Duration = Duration::from_millis(10);

/// What the sessions of a thread share. Only this thread touches it.
struct Desk<'a> {
    schedule: Schedule,
    begin: Instant,
    reports: &'a mpsc::Sender<Report>,
    second: u32,
    interval: Box<Interval>,
    totals: ThreadTotals,
    failures: u64,
}

impl Desk<'_> {
    fn at(&self, now: Instant) -> f64 {
        now.duration_since(self.begin).as_secs_f64()
    }

    fn tell(&self, event: Event) {
        // The collector outlives all threads; if it is gone, so is the run.
        let _ = self.reports.send(Report::Happened(event));
    }

    /// Hands over every second that has passed.
    fn turn(&mut self, now: Instant) {
        let current = now.duration_since(self.begin).as_secs() as u32;
        while self.second < current {
            let transactions = self.interval.transactions.len();
            let measured = std::mem::replace(&mut self.interval, Box::new(Interval::new(transactions)));
            let _ = self.reports.send(Report::Measured(self.second, measured));
            self.second += 1;
        }
    }

    /// A transaction completed. `intended` is when its user meant to send it, `taken` when the session took it.
    fn completed(&mut self, transaction: usize, outcome: Outcome, intended: Instant, taken: Instant, now: Instant) {
        self.turn(now);
        self.totals.completed += 1;
        let same_phase = self.phase_of(intended) == self.phase_of(now);
        let measured = &mut self.interval.transactions[transaction];
        measured.completed += 1;
        if same_phase {
            measured.response.saturating_record(micros(intended, now));
            measured.service.saturating_record(micros(taken, now));
            measured.rolled_back += u64::from(outcome == Outcome::RolledBack);
        }
    }

    fn phase_of(&self, moment: Instant) -> u8 {
        let second = moment.duration_since(self.begin).as_secs();
        match second {
            s if s < u64::from(self.schedule.ramp_up) => 0,
            s if s < u64::from(self.schedule.seconds()) => 1,
            _ => 2,
        }
    }
}

fn micros(from: Instant, to: Instant) -> u64 {
    to.duration_since(from).as_micros() as u64
}

/// The terminals that one closed loop stands for. It asks a random one for each transaction, so that all warehouses are in use
/// and any two loops can meet in one, however few loops there are.
struct Crowd<W: Workload> {
    terminals: Vec<W::Terminal>,
    choice: Xoshiro256PlusPlus,
}

impl<W: Workload> Crowd<W> {
    fn new(terminals: &W::Terminals, schedule: Schedule, session: u32) -> Self {
        let numbers = (u64::from(session)..schedule.terminals).step_by(schedule.clients as usize);
        let terminals = numbers.map(|number| W::terminal(terminals, number)).collect();
        Crowd { terminals, choice: Xoshiro256PlusPlus::seed_from_u64(schedule.seed.wrapping_add(u64::from(session))) }
    }

    fn next_input(&mut self) -> W::Input {
        let chosen = self.choice.random_range(0..self.terminals.len());
        self.terminals[chosen].next_input()
    }
}

/// Opens the thread's sessions, waits for the start, and drives them to the end.
pub(super) fn thread<W: Workload, E: Engine<W>>(
    engine: &Arc<E>,
    terminals: &W::Terminals,
    schedule: Schedule,
    sessions: &[u32],
    stop: &Stop,
    reports: &mpsc::Sender<Report>,
    started: &mpsc::Receiver<Instant>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let text = format!("cannot start a driver thread: {error}; raise the limit of open files (ulimit -n)");
            let _ = reports.send(Report::Ready(Err(Error::Usage(text))));
            return;
        }
    };
    let tasks = LocalSet::new();
    let opened = tasks.block_on(&runtime, async {
        let mut opened = Vec::with_capacity(sessions.len());
        for number in sessions {
            opened.push((*number, engine.open_session().await?, Crowd::<W>::new(terminals, schedule, *number)));
        }
        Ok(opened)
    });
    let opened = match opened {
        Ok(opened) => {
            let _ = reports.send(Report::Ready(Ok(())));
            opened
        }
        Err(error) => {
            let _ = reports.send(Report::Ready(Err(error)));
            return;
        }
    };
    // No start is given when another thread could not open its sessions.
    let Ok(begin) = started.recv() else { return };
    let effects = vec![0; W::EFFECTS.len()];
    let desk = Rc::new(RefCell::new(Desk {
        schedule,
        begin,
        reports,
        second: 0,
        interval: Box::new(Interval::new(W::TRANSACTIONS.len())),
        totals: ThreadTotals { ambiguous_effects: effects.clone(), effects, ..ThreadTotals::default() },
        failures: 0,
    }));
    let end = begin + Duration::from_secs(u64::from(schedule.seconds()));
    tasks.block_on(&runtime, async {
        let clock = tick(&desk);
        let all = futures_util::future::join_all(
            opened.into_iter().map(|(number, session, crowd)| client::<W, E>(engine, &desk, stop, end, number, session, crowd)),
        );
        tokio::select! {
            biased;
            _ = all => {}
            () = clock => {}
        }
    });
    let mut desk = desk.borrow_mut();
    desk.turn(Instant::now());
    let transactions = desk.interval.transactions.len();
    let last = std::mem::replace(&mut desk.interval, Box::new(Interval::new(transactions)));
    let _ = reports.send(Report::Measured(desk.second, last));
    let _ = reports.send(Report::Ended(Box::new(std::mem::take(&mut desk.totals))));
}

/// Turns the seconds over while no transaction completes. Never returns.
async fn tick(desk: &RefCell<Desk<'_>>) {
    loop {
        let next = {
            let desk = desk.borrow();
            desk.begin + Duration::from_secs(u64::from(desk.second) + 1)
        };
        tokio::time::sleep_until(next.into()).await;
        desk.borrow_mut().turn(Instant::now());
    }
}

/// One closed loop.
async fn client<W: Workload, E: Engine<W>>(
    engine: &Arc<E>,
    desk: &RefCell<Desk<'_>>,
    stop: &Stop,
    end: Instant,
    number: u32,
    session: E::Session,
    mut crowd: Crowd<W>,
) {
    let mut session = Some(session);
    loop {
        let intended = Instant::now();
        if intended >= end || stop.requested() {
            return;
        }
        let input = crowd.next_input();
        let transaction = W::transaction(&input);
        let mut attempts = 0;
        loop {
            let Some(open) = session.as_mut() else { return };
            match open.execute(&input).await {
                Ok(output) => {
                    let now = Instant::now();
                    let mut desk = desk.borrow_mut();
                    W::count(&output, &mut desk.totals.effects);
                    desk.completed(transaction, W::outcome(&output), intended, intended, now);
                    break;
                }
                Err(Failure::Retry { reason, detail }) => {
                    attempts += 1;
                    {
                        let mut desk = desk.borrow_mut();
                        desk.interval.transactions[transaction].retries += 1;
                        *desk.totals.retries.entry(reason.name()).or_default() += 1;
                    }
                    if attempts > MOST_RETRIES {
                        failed(desk, transaction, format!("given up after {MOST_RETRIES} retries: {detail}")).await;
                        break;
                    }
                    if attempts > 2 {
                        tokio::time::sleep(Duration::from_millis(u64::from(attempts.min(50)))).await;
                    }
                }
                Err(Failure::Invalid(detail)) => {
                    failed(desk, transaction, detail).await;
                    break;
                }
                Err(Failure::Disconnected { ambiguous, detail }) => {
                    drop(session.take());
                    let lost = Instant::now();
                    {
                        let mut desk = desk.borrow_mut();
                        if ambiguous {
                            desk.totals.ambiguous += 1;
                            W::count_at_most(&input, &mut desk.totals.ambiguous_effects);
                        }
                        let at = desk.at(lost);
                        desk.tell(Event::SessionLost { at, session: number, why: detail, ambiguous });
                    }
                    session = reconnect::<W, E>(engine, desk, stop, end, number, lost).await;
                    if ambiguous {
                        break;
                    }
                }
            }
        }
    }
}

/// A transaction failed for good.
async fn failed(desk: &RefCell<Desk<'_>>, transaction: usize, why: String) {
    {
        let mut desk = desk.borrow_mut();
        desk.interval.transactions[transaction].errors += 1;
        desk.failures += 1;
        *desk.totals.errors.entry(why.clone()).or_default() += 1;
        if desk.failures <= FAILURES_TOLD {
            let at = desk.at(Instant::now());
            desk.tell(Event::TransactionFailed { at, transaction, why });
        }
    }
    tokio::time::sleep(FAILURE_PAUSE).await;
}

/// Tries until the database is back, the run ends or someone asks to stop.
async fn reconnect<W: Workload, E: Engine<W>>(
    engine: &Arc<E>,
    desk: &RefCell<Desk<'_>>,
    stop: &Stop,
    end: Instant,
    number: u32,
    lost: Instant,
) -> Option<E::Session> {
    let mut pause = Duration::from_millis(10);
    while Instant::now() < end && !stop.requested() {
        if let Ok(session) = engine.open_session().await {
            let desk = desk.borrow();
            let now = Instant::now();
            let event = Event::SessionRestored { at: desk.at(now), session: number, after: now.duration_since(lost).as_secs_f64() };
            desk.tell(event);
            return Some(session);
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.wait() => {}
        }
        pause = (pause * 2).min(RECONNECT_PAUSE);
    }
    None
}
