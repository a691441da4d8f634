//! A driver thread: its own runtime, its sessions, and perhaps the terminals.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tokio::task::LocalSet;

use super::closed_loop::{self, Crowd};
use super::desk::Desk;
use super::paced::{self, Floor};
use super::queue::Monitor;
use super::worker::Worker;
use super::{Load, Report, Schedule, Stages, Stop};
use crate::engine::{Engine, Error};
use crate::workload::Workload;

/// What all threads of a run share.
pub(super) struct Run<'a, W: Workload, E: Engine<W>> {
    pub(super) engine: &'a Arc<E>,
    pub(super) terminals: &'a W::Terminals,
    pub(super) schedule: Schedule,
    pub(super) stages: &'a Stages,
    pub(super) stop: &'a Stop,
    pub(super) monitor: &'a Monitor<W::Input>,
}

impl<W: Workload, E: Engine<W>> Clone for Run<'_, W, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: Workload, E: Engine<W>> Copy for Run<'_, W, E> {}

impl<W: Workload, E: Engine<W>> Run<'_, W, E> {
    /// Opens the thread's sessions, waits for the start, and drives them, and the terminals if it has the `floor`, to the end.
    pub(super) fn thread(self, sessions: &[u32], floor: bool, reports: &mpsc::Sender<Report>, started: &mpsc::Receiver<Instant>) {
        let ready = |result| {
            // The collector outlives all threads.
            let _ = reports.send(Report::Ready(result));
        };
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                let text = format!("cannot start a driver thread: {error}; raise the limit of open files (ulimit -n)");
                return ready(Err(Error::Usage(text)));
            }
        };
        let tasks = LocalSet::new();
        let opened = tasks.block_on(&runtime, async {
            let mut opened = Vec::with_capacity(sessions.len());
            for number in sessions {
                opened.push((*number, self.engine.open_session().await?));
            }
            Ok(opened)
        });
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => return ready(Err(error)),
        };
        ready(Ok(()));
        // No start is given when another thread could not open its sessions.
        let Ok(begin) = started.recv() else { return };
        let desk = RefCell::new(Desk::new::<W>(self.schedule, begin, reports));
        tasks.block_on(&runtime, async {
            tokio::select! {
                biased;
                () = self.drive(&desk, opened, floor, begin) => {}
                () = tick(&desk) => {}
            }
        });
        desk.borrow_mut().close();
    }

    async fn drive(self, desk: &RefCell<Desk<'_>>, opened: Vec<(u32, E::Session)>, floor: bool, begin: Instant) {
        let Run { engine, terminals, schedule, stages, stop, monitor } = self;
        let at = |second: u32| begin + Duration::from_secs(u64::from(second));
        let end = at(schedule.seconds());
        let worker = |(number, session)| Worker::<'_, '_, W, E>::new(engine, desk, stop, end, number, session);
        match schedule.load {
            Load::ClosedLoop => {
                let clients = opened.into_iter().map(|opened| {
                    let crowd = Crowd::<W>::new(terminals, schedule, stages, opened.0);
                    let shifts = stages.shifts(opened.0, schedule.ramp_up, schedule.seconds());
                    let shifts = shifts.into_iter().map(|(from, to)| (at(from), at(to))).collect();
                    closed_loop::client(worker(opened), desk, stop, shifts, crowd)
                });
                futures_util::future::join_all(clients).await;
            }
            Load::Paced => {
                let sessions = opened.into_iter().map(|opened| paced::session(worker(opened), monitor, desk));
                let sessions = futures_util::future::join_all(sessions);
                if floor {
                    let floor = Floor::<W>::new(terminals, schedule, begin).run(monitor, desk, stop, end, schedule.clients);
                    futures_util::future::join(floor, sessions).await;
                } else {
                    sessions.await;
                }
            }
        }
    }
}

/// Turns the seconds over while no transaction completes. Never returns.
async fn tick(desk: &RefCell<Desk<'_>>) {
    loop {
        let next = desk.borrow().next_turn();
        tokio::time::sleep_until(next.into()).await;
        desk.borrow_mut().turn(Instant::now());
    }
}
