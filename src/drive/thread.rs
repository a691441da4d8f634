//! A driver thread: its own runtime, its sessions, and perhaps the terminals.

use std::cell::RefCell;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tokio::task::LocalSet;

use super::arrivals::DueTimes;
use super::closed_loop::{self, TerminalGroup};
use super::open_loop;
use super::paced::{self, TerminalScheduler};
use super::shared::Run;
use super::stats::ThreadStats;
use super::worker::Worker;
use super::{Load, Report};
use crate::engine::{Error, Sessions};
use crate::measure::waits::this_thread;
use crate::workload::Workload;

/// The work of a driver thread.
pub struct Assignment<'a, W: Workload> {
    pub(super) run: &'a Run<W>,
    /// Its number in the run.
    pub(super) number: usize,
    /// The numbers of its sessions.
    pub(super) sessions: &'a [u32],
    /// Whether it runs the terminals of a paced run.
    pub(super) has_terminals: bool,
    pub(super) reports: &'a mpsc::Sender<Report>,
    pub(super) started: &'a mpsc::Receiver<Instant>,
}

impl<W: Workload> Assignment<'_, W> {
    /// Opens the thread's sessions, waits for the start, and runs them (and the terminals, if it has them) to the end.
    pub(super) fn work<E: Sessions<W>>(&self, engine: &E) {
        let Assignment { run, number, sessions, reports, started, .. } = *self;
        run.ledgers[number].begun(this_thread());
        let ready = |result| {
            // The receiver is gone if the run was abandoned.
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
                opened.push((*number, run.open(engine).await?));
            }
            Ok(opened)
        });
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => return ready(Err(error)),
        };
        ready(Ok(()));
        // The run does not start if another thread could not open its sessions.
        let Ok(begin) = started.recv() else { return };
        let ledger = &run.ledgers[number];
        let stats = RefCell::new(ThreadStats::new::<W>(
            run.schedule,
            (&run.phases, begin),
            reports,
            ledger,
            (sessions.len(), engine.hosts().len()),
        ));
        tasks.block_on(&runtime, async {
            tokio::select! {
                biased;
                () = self.drive(engine, &stats, opened, begin) => {}
                () = tick(&stats) => {}
                // Transactions in progress stay so in the ledger.
                () = run.timed_out(begin) => {}
            }
        });
        stats.borrow_mut().close();
    }

    async fn drive<E: Sessions<W>>(
        &self,
        engine: &E,
        stats: &RefCell<ThreadStats<'_>>,
        opened: Vec<(u32, E::Session)>,
        begin: Instant,
    ) {
        let Run { terminals, schedule, phases, stages, stop, monitor, .. } = self.run;
        let schedule = *schedule;
        let at = |second: u32| begin + Duration::from_secs(u64::from(second));
        let clock = phases.from(begin);
        let worker = |(place, (number, session))| {
            Worker::<'_, '_, W, E>::new(engine, stats, self.run, clock, (place, number), session)
        };
        let opened = opened.into_iter().enumerate();
        match schedule.load {
            Load::ClosedLoop => {
                let clients = opened.map(|opened| {
                    let number = opened.1.0;
                    let group = TerminalGroup::<W>::new(terminals, schedule, stages, number);
                    let shifts = stages.shifts(number, phases.ramp_up(), phases.seconds());
                    let shifts = shifts.into_iter().map(|(from, to)| (at(from), at(to))).collect();
                    closed_loop::client(worker(opened), stats, stop, clock, (shifts, group))
                });
                futures_util::future::join_all(clients).await;
            }
            Load::Paced => {
                let sessions = opened.map(|opened| paced::session(worker(opened), monitor, stats));
                let sessions = futures_util::future::join_all(sessions);
                if self.has_terminals {
                    let has_terminals = TerminalScheduler::<W>::new(terminals, schedule, begin).run(
                        monitor,
                        stats,
                        stop,
                        clock,
                        schedule.clients,
                    );
                    futures_util::future::join(has_terminals, sessions).await;
                } else {
                    sessions.await;
                }
            }
            Load::OpenLoop { rate, arrivals } => {
                let Some(backlog) = &self.run.backlog else { return };
                if self.has_terminals {
                    let times = DueTimes::new(rate, arrivals, schedule.seed);
                    // The first terminal after those of the sessions.
                    let terminal = W::terminal(terminals, schedule.terminals);
                    open_loop::Dispatcher::<W> { phases, times, backlog, stats, stop, begin, terminal }.run();
                    return;
                }
                let sessions = opened.map(|opened| {
                    let group = TerminalGroup::<W>::new(terminals, schedule, stages, opened.1.0);
                    open_loop::session(worker(opened), backlog, stats, (begin, clock.end()), group)
                });
                futures_util::future::join_all(sessions).await;
            }
        }
    }
}

/// Hands over each second, even while no transaction completes. Never returns.
async fn tick(stats: &RefCell<ThreadStats<'_>>) {
    loop {
        let next = stats.borrow().next_turn();
        tokio::time::sleep_until(next.into()).await;
        stats.borrow_mut().turn(Instant::now());
    }
}
