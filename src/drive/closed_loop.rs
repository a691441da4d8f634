//! One driver thread and its sessions: each asks for the next transaction as soon as the last one is answered.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::task::LocalSet;

use super::desk::Desk;
use super::worker::Worker;
use super::{Report, Schedule, Stop};
use crate::engine::{Engine, Error};
use crate::workload::{Terminal, Workload};

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
    let desk = RefCell::new(Desk::new::<W>(schedule, begin, reports));
    let end = begin + Duration::from_secs(u64::from(schedule.seconds()));
    tasks.block_on(&runtime, async {
        let clients = opened.into_iter().map(|(number, session, crowd)| {
            let worker = Worker::<W, E>::new(engine, &desk, stop, end, number, session);
            client(worker, &desk, stop, end, crowd)
        });
        tokio::select! {
            biased;
            _ = futures_util::future::join_all(clients) => {}
            () = tick(&desk) => {}
        }
    });
    desk.borrow_mut().close();
}

/// Turns the seconds over while no transaction completes. Never returns.
async fn tick(desk: &RefCell<Desk<'_>>) {
    loop {
        let next = desk.borrow().next_turn();
        tokio::time::sleep_until(next.into()).await;
        desk.borrow_mut().turn(Instant::now());
    }
}

/// One closed loop.
async fn client<W: Workload, E: Engine<W>>(
    mut worker: Worker<'_, W, E>,
    desk: &RefCell<Desk<'_>>,
    stop: &Stop,
    end: Instant,
    mut crowd: Crowd<W>,
) {
    while worker.alive() && !stop.requested() {
        let intended = Instant::now();
        if intended >= end {
            return;
        }
        let input = crowd.next_input();
        let transaction = W::transaction(&input);
        if let Some(output) = worker.work(transaction, &input).await {
            let now = Instant::now();
            let mut desk = desk.borrow_mut();
            W::count(&output, &mut desk.totals.effects);
            desk.completed(transaction, W::outcome(&output), intended, intended, now);
        }
    }
}
