//! Offers the load: sessions, phases, and the stream of what happens.
//!
//! A run has one or more driver threads, each with its own single-threaded runtime and its own sessions. A thread shares nothing with
//! the others while transactions go on; once a second it hands what it measured to the collector, which tells the world.

mod closed_loop;
mod collector;
mod controllers;
mod desk;
pub mod event;
mod paced;
mod queue;
mod sampler;
mod stages;
mod stop;
mod thread;
pub mod wheel;
mod worker;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Instant;

use crate::engine::{Engine, Error};
use crate::plan::Factor;
use crate::workload::Workload;
use event::{Event, Phase};
pub use stages::Stages;
pub use stop::Stop;

/// How load is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Each session asks for its next transaction as soon as the last one is answered.
    ClosedLoop,
    /// Terminals with keying and think times send to one queue, which the sessions work.
    Paced,
}

/// How a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// How load is offered.
    pub load: Load,
    /// Sessions at the database.
    pub clients: u32,
    /// Terminals. In a closed loop the sessions stand for them, so there are at least as many as sessions.
    pub terminals: u64,
    /// Whether each session of a closed loop stands for terminals that follow one another, so that it stays in one warehouse or branch where
    /// their number allows it; otherwise for some of all warehouses.
    pub at_home: bool,
    /// Terminals of another pass have random streams of their own; for closed loops.
    pub pass: u64,
    /// The terminal whose screens are told, if any; with pace only.
    pub shown: Option<u32>,
    /// The seed of what the driver itself draws.
    pub seed: u64,
    /// Driver threads; none lets [`driver_threads`] choose.
    pub threads: Option<u32>,
    /// Keying times as a multiple of the workload's; of no meaning in a closed loop.
    pub keying: Factor,
    /// Think times as a multiple of the workload's; of no meaning in a closed loop.
    pub think: Factor,
    /// Whole seconds before the measurement interval.
    pub ramp_up: u32,
    /// Whole seconds of the measurement interval.
    pub duration: u32,
}

impl Schedule {
    fn seconds(&self) -> u32 {
        self.ramp_up + self.duration
    }

    /// The phase at so many seconds since the run's start.
    fn phase_at(&self, at: f64) -> Phase {
        if at < f64::from(self.ramp_up) {
            Phase::RampUp
        } else if at < f64::from(self.seconds()) {
            Phase::Measurement
        } else {
            Phase::WindDown
        }
    }
}

/// What is asked of the database beside the transactions. Times are whole seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Controllers {
    /// From one checkpoint to the next; the first one comes in the ramp-up, the second opens the measurement interval.
    pub checkpoint: Option<u32>,
    /// From one vacuum to the next, beginning one such time into the measurement interval.
    pub vacuum: Option<u32>,
    /// The most vacuums; none sets no limit.
    pub vacuums: Option<u32>,
}

/// What a run came to as a whole, ramp-up and wind-down included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Transactions completed.
    pub completed: u64,
    /// Effects that sessions were told are committed, in the order of [`Workload::EFFECTS`].
    pub effects: Vec<u64>,
    /// The most that transactions of unknown fate can add to each effect.
    pub ambiguous_effects: Vec<u64>,
    /// Transactions of unknown fate.
    pub ambiguous: u64,
    /// Retries by reason.
    pub retries: BTreeMap<&'static str, u64>,
    /// Transactions that failed for good, by the database's words.
    pub errors: BTreeMap<String, u64>,
    /// Connections lost.
    pub lost: u64,
    /// Connections restored.
    pub restored: u64,
    /// Times in which no session had a connection: start in seconds since the run's start, and length in seconds.
    pub outages: Vec<(f64, f64)>,
    /// Transactions that paced terminals had sent and no session ever worked.
    pub unfinished: u64,
    /// Length of the measurement interval in seconds, as it was.
    pub interval_s: f64,
    /// Driver threads.
    pub threads: u32,
}

/// The number of driver threads when none is asked for: one for each session of an engine that blocks its thread, else one for every
/// four processors, for a driver thread can keep several server processors busy.
pub fn driver_threads(clients: u32, blocking: bool) -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    if blocking { clients } else { (processors / 4).clamp(1, clients.max(1)) }
}

/// What a driver thread reports.
enum Report {
    /// Its sessions are open, or cannot be opened.
    Ready(Result<(), Error>),
    /// What it measured in a second.
    Measured(u32, Box<crate::measure::Interval>),
    /// Something happened.
    Happened(Event),
    /// It has ended.
    Ended(Box<desk::ThreadTotals>),
}

/// Runs a workload on a loaded database.
///
/// `stages` say which clients of a closed loop work when; together they have to be as long as the measurement interval. Blocks the calling
/// thread until the run has ended. `tell` hears of every event, on the calling thread; sessions never wait for it.
pub fn run<W: Workload, E: Engine<W>>(
    engine: &Arc<E>,
    terminals: &W::Terminals,
    schedule: Schedule,
    stages: &Stages,
    controllers: Controllers,
    stop: &Stop,
    tell: &mut dyn FnMut(&Event),
) -> Result<Totals, Error> {
    let threads = if engine.blocking() {
        schedule.clients
    } else {
        schedule.threads.unwrap_or_else(|| driver_threads(schedule.clients, false)).clamp(1, schedule.clients)
    };
    let monitor = queue::Monitor::new();
    let run = thread::Run::<W, E> { engine, terminals, schedule, stages, stop, monitor: &monitor };
    let (reports, inbox) = mpsc::channel();
    // Terminals have a thread of their own where sessions block theirs.
    let floor_apart = schedule.load == Load::Paced && engine.blocking();
    let all = threads + u32::from(floor_apart);
    std::thread::scope(|scope| {
        let mut starters = Vec::new();
        for number in 0..all {
            let (start, started) = mpsc::channel::<Instant>();
            starters.push(start);
            let reports = reports.clone();
            let sessions = (number..schedule.clients).step_by(threads as usize).filter(|_| number < threads).collect::<Vec<_>>();
            let floor = schedule.load == Load::Paced && number == if floor_apart { threads } else { 0 };
            std::thread::Builder::new()
                .name(format!("driver-{number}"))
                .spawn_scoped(scope, move || run.thread(&sessions, floor, &reports, &started))
                .map_err(|error| {
                    Error::Usage(format!("cannot start driver thread {number}: {error}; ask for fewer clients with --clients"))
                })?;
        }
        let agenda = controllers.agenda(&schedule);
        let controllers = u32::from(!agenda.is_empty());
        if controllers > 0 {
            let (start, started) = mpsc::channel::<Instant>();
            starters.push(start);
            let reports = reports.clone();
            scope.spawn(move || controllers::thread::<W, E>(engine, &agenda, stop, &reports, &started));
        }
        let (start, started) = mpsc::channel::<Instant>();
        starters.push(start);
        let sampled = reports.clone();
        std::thread::Builder::new()
            .name("sampler".to_owned())
            .spawn_scoped(scope, move || sampler::thread::<W, E>(engine, schedule, stop, &sampled, &started))
            .map_err(|error| Error::Usage(format!("cannot start the thread that reads counters: {error}")))?;
        let others = controllers + 1;
        drop(reports);
        for _ in 0..all + others {
            match inbox.recv() {
                Ok(Report::Ready(Ok(()))) => {}
                Ok(Report::Ready(Err(error))) => return Err(error),
                _ => {
                    return Err(Error::Database(
                        "a driver thread ended before it had its sessions; see the messages above".to_owned(),
                    ));
                }
            }
        }
        let begin = Instant::now();
        for start in starters {
            // A thread that is gone reports nothing more, which the collector sees.
            let _ = start.send(begin);
        }
        let running = collector::Running { threads: all, others, schedule, stages, begin };
        Ok(collector::collect::<W>(&inbox, running, stop, tell))
    })
}
