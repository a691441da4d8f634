//! Offers the load: sessions, phases, and the stream of what happens.
//!
//! A run has one or more driver threads, each with its own single-threaded runtime and its own sessions. A thread
//! shares nothing with the others while transactions go on; once a second it hands what it measured to the collector,
//! which tells the world.

mod arrivals;
mod closed_loop;
mod collector;
mod controllers;
mod course;
mod faults;
mod hosts;
mod ledger;
mod limits;
mod open_loop;
mod paced;
mod queue;
mod sampler;
pub(crate) mod script;
mod shared;
mod slices;
mod stages;
mod states;
mod stats;
mod stop;
mod thread;
mod totals;
mod waits;
pub mod wheel;
mod worker;

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::engine::registry::AnyEngine;
use crate::engine::{Engine, Error, Sessions};
use crate::measure::{Deferred, Interval};
use crate::plan::{Factor, Rate};
use crate::result::{Arrivals, Event};
use crate::workload::Workload;
use crate::workload::trace::{Footprint, Trace};
pub use faults::Timetable;
pub use hosts::HostTotals;
pub use slices::{Meeting, Slices};
pub use stages::Stages;
pub use stop::Stop;
pub use totals::{Doubts, Totals};

/// How load is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Each session asks for its next transaction as soon as the last one is answered.
    ClosedLoop,
    /// Terminals with keying and think times send to one queue, which the sessions work.
    Paced,
    /// Transactions come at a rate of their own, whether or not sessions are free to take them.
    OpenLoop {
        /// Transactions a second.
        rate: Rate,
        /// How they come.
        arrivals: Arrivals,
    },
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
    /// Whether each session of a closed loop stands for terminals that follow one another, so that it stays in one
    /// warehouse or branch where their number allows it; otherwise for some of all warehouses.
    pub at_home: bool,
    /// Terminals of another pass have random streams of their own; for closed loops.
    pub pass: u64,
    /// The terminal whose screens are told, if any; with pace only.
    pub shown: Option<u32>,
    /// The seed of what the driver itself draws.
    pub seed: u64,
    /// Whether it is counted in which tenth of a second transactions complete.
    pub tenths: bool,
    /// Of a million keys, those of which it is kept what transactions read and wrote.
    pub history: u32,
    /// Driver threads; none lets [`driver_threads`] choose.
    pub threads: Option<u32>,
    /// Keying times as a multiple of the workload's; of no meaning in a closed loop.
    pub keying: Factor,
    /// Think times as a multiple of the workload's; of no meaning in a closed loop.
    pub think: Factor,
    /// Whole seconds before the measurement interval, at most if it begins when the load is steady.
    pub ramp_up: u32,
    /// Whether the measurement interval begins as soon as the load is steady; for a load that stays the same.
    pub settles: bool,
    /// Whole seconds of the measurement interval.
    pub duration: u32,
    /// Whole seconds that opening a session may take, and that transactions under way have beyond the interval's end.
    /// Then they are given up, and their fate is unknown.
    pub patience: u32,
}

/// How long transactions under way have when someone asks to stop. Then they are given up, and their fate is unknown.
pub const GRACE: Duration = Duration::from_millis(2_500);
/// What a thread that gives up in time has to say so, before it is given up itself.
const MARGIN: Duration = Duration::from_millis(500);
/// From one look at the wish to stop to the next.
const PAUSE: Duration = Duration::from_millis(100);
/// Set, nobody looks at what the sessions are at, so that what looking costs can be measured.
const NO_LOOKS: &str = "GRAYMARK_NO_LOOKS";

/// What is asked of the database beside the transactions. Times are whole seconds.
#[derive(Clone, Debug, Default)]
pub struct Controllers {
    /// From one checkpoint to the next; the first one comes in the ramp-up, the second opens the measurement interval.
    pub checkpoint: Option<u32>,
    /// From one vacuum to the next, beginning one such time into the measurement interval.
    pub vacuum: Option<u32>,
    /// The most vacuums; none sets no limit.
    pub vacuums: Option<u32>,
    /// What goes wrong in the measurement interval.
    pub faults: Timetable,
}

/// The number of driver threads when none is asked for: one for each session of an engine that blocks its thread, else
/// one for every four processors, for a driver thread can keep several server processors busy.
pub fn driver_threads(clients: u32, blocking: bool) -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    if blocking { clients } else { (processors / 4).clamp(1, clients.max(1)) }
}

/// What a thread reports.
enum Report {
    /// Its sessions are open, or cannot be opened.
    Ready(Result<(), Error>),
    /// What it measured in a second, and the deferred transactions that were committed in it.
    Measured(u32, Box<Interval>, Vec<Deferred>),
    /// Something happened.
    Happened(Event),
    /// A connection was lost after these commits; whether they are all of their second.
    Doubted { traces: Vec<Trace>, whole: bool },
    /// The fate of a transaction is unknown.
    Unknown(Footprint),
    /// It has ended.
    Ended,
}

/// Tells that a thread has ended, however it ends.
struct Last(mpsc::Sender<Report>);

impl Drop for Last {
    fn drop(&mut self) {
        // Nobody listens any more if the run was given up.
        let _ = self.0.send(Report::Ended);
    }
}

/// The threads of a run. None of them is waited for without end: a call that blocks its thread may never come back.
struct Threads {
    reports: mpsc::Sender<Report>,
    starters: Vec<mpsc::Sender<Instant>>,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    fn spawn(
        &mut self,
        name: String,
        work: impl FnOnce(&mpsc::Sender<Report>, &mpsc::Receiver<Instant>) + Send + 'static,
    ) -> Result<(), Error> {
        let (start, started) = mpsc::channel::<Instant>();
        let reports = self.reports.clone();
        let told = name.clone();
        let thread = move || {
            let last = Last(reports);
            work(&last.0, &started);
        };
        let handle = std::thread::Builder::new().name(name).spawn(thread).map_err(|error| {
            Error::Usage(format!("cannot start the thread {told}: {error}; ask for fewer clients with --clients"))
        })?;
        self.starters.push(start);
        self.handles.push(handle);
        Ok(())
    }

    /// Waits for the threads that have ended, or are about to if `all` of them are; the others are left alone.
    fn join(self, all: bool) {
        for handle in self.handles {
            if (all || handle.is_finished())
                && let Err(panic) = handle.join()
            {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

/// An engine that load can be offered to, whatever its sessions are.
pub trait LoadTarget<W: Workload>: Engine<W> {
    /// Works on a driver thread, which it blocks to the end of the run.
    #[doc(hidden)]
    fn drive(&self, assignment: &thread::Assignment<'_, W>);
}

impl<W: Workload> AnyEngine<W> for Arc<dyn LoadTarget<W>> {
    fn of<E: Sessions<W>>(engine: E) -> Arc<dyn LoadTarget<W>> {
        Arc::new(engine)
    }
}

impl<W: Workload, E: Sessions<W>> LoadTarget<W> for E {
    fn drive(&self, assignment: &thread::Assignment<'_, W>) {
        assignment.work(self);
    }
}

/// Runs a workload on a loaded database.
///
/// `stages` say which clients of a closed loop work when; together they have to be as long as the measurement interval.
/// A run in slices is not looked at: what it is at says nothing while it rests.
/// Blocks the calling thread until the run has ended, but not for ever: see [`Schedule::patience`] and [`GRACE`].
/// `tell` hears of every event, on the calling thread; sessions never wait for it.
pub fn run<W: Workload>(
    engine: &Arc<dyn LoadTarget<W>>,
    terminals: &W::Terminals,
    schedule: Schedule,
    stages: &Stages,
    mut controllers: Controllers,
    stop: &Stop,
    tell: &mut dyn FnMut(&Event),
) -> Result<Totals, Error> {
    let threads = if engine.blocking() {
        schedule.clients
    } else {
        schedule.threads.unwrap_or_else(|| driver_threads(schedule.clients, false)).clamp(1, schedule.clients)
    };
    // What sends transactions has a thread of its own where sessions block theirs, or where it blocks its own.
    let floor_apart = match schedule.load {
        Load::ClosedLoop => false,
        Load::Paced => engine.blocking(),
        Load::OpenLoop { .. } => true,
    };
    let backlog = match schedule.load {
        Load::OpenLoop { rate, arrivals } => Some(open_loop::Backlog::new(rate, arrivals, schedule.seed)),
        Load::ClosedLoop | Load::Paced => None,
    };
    let all = threads + u32::from(floor_apart);
    limits::allow(all)?;
    let share = |number: u32| (number..schedule.clients).step_by(threads as usize).filter(move |_| number < threads);
    let run = Arc::new(shared::Run::<W> {
        terminals: terminals.clone(),
        schedule,
        course: course::Course::of(&schedule),
        stages: stages.clone(),
        stop: stop.clone(),
        monitor: queue::Monitor::new(),
        backlog,
        ledgers: (0..all).map(|number| ledger::Ledger::new::<W>(share(number).count())).collect(),
        clocks: shared::Clocks::default(),
    });
    let (reports, inbox) = mpsc::channel();
    let mut spawned = Threads { reports, starters: Vec::new(), handles: Vec::new() };
    for number in 0..all {
        let sessions = share(number).collect::<Vec<_>>();
        let floor = schedule.load != Load::ClosedLoop && number == if floor_apart { threads } else { 0 };
        let (engine, run) = (Arc::clone(engine), Arc::clone(&run));
        spawned.spawn(format!("driver-{number}"), move |reports, started| {
            let (run, number, sessions) = (&*run, number as usize, &sessions[..]);
            engine.drive(&thread::Assignment { run, number, sessions, floor, reports, started });
        })?;
    }
    let mut others = 0;
    let faults = std::mem::take(&mut controllers.faults);
    if !faults.is_empty() {
        others += 1;
        let (engine, run) = (Arc::clone(engine), Arc::clone(&run));
        spawned.spawn("faults".to_owned(), move |reports, started| {
            faults.work::<W>(&*engine, &run, reports, started);
        })?;
    }
    if controllers.have_work() {
        others += 1;
        let (engine, run) = (Arc::clone(engine), Arc::clone(&run));
        spawned.spawn("controllers".to_owned(), move |reports, started| {
            controllers::thread::<W>(&*engine, &run, controllers, reports, started);
        })?;
    }
    let looks = stages.slices().is_none();
    if looks {
        others += 1;
        let of_sampler = (Arc::clone(engine), Arc::clone(&run));
        spawned.spawn("sampler".to_owned(), move |reports, started| {
            let (engine, run) = of_sampler;
            sampler::thread::<W>(&*engine, &run, reports, started);
        })?;
    }
    if looks && std::env::var_os(NO_LOOKS).is_some() {
        tell(&Event::NotCounted { why: format!("where the time goes: {NO_LOOKS} turns it off") });
    } else if looks {
        others += 1;
        let of_waits = (Arc::clone(engine), Arc::clone(&run));
        spawned.spawn("waits".to_owned(), move |reports, started| {
            let (engine, run) = of_waits;
            waits::thread::<W>(&*engine, &run, reports, started);
        })?;
    }
    // A call that blocks its thread cannot be cut off there.
    let last = engine.blocking().then(|| Instant::now() + Duration::from_secs(schedule.patience.into()) + MARGIN);
    let ready = wait_until_ready(&inbox, all + others, last.as_ref(), stop)?;
    let begin = match (ready, stages.slices()) {
        (true, Some(slices)) => slices.begin(stop),
        (ready, _) => ready.then(Instant::now),
    };
    let Some(begin) = begin else {
        tell(&Event::RunEnded { at: 0.0, interrupted: true });
        let nothing = || vec![0; W::EFFECTS.len()];
        return Ok(Totals {
            effects: nothing(),
            ambiguous_effects: nothing(),
            threads: all,
            ramp_up: schedule.ramp_up,
            ..Totals::default()
        });
    };
    for start in &spawned.starters {
        // A thread that is gone reports nothing more, which the collector sees.
        let _ = start.send(begin);
    }
    let (hosts, ledgers) = (engine.hosts(), &run.ledgers[..]);
    let course = &run.course;
    let running = collector::Running { threads: all, others, schedule, course, stages, begin, ledgers, hosts };
    let (totals, whole) = collector::collect::<W>(&inbox, running, stop, tell);
    spawned.join(whole);
    if sampler::is_gone::<W>(&**engine) {
        return Err(Error::Database("the run was ended".to_owned()));
    }
    Ok(totals)
}

/// Waits until all threads have what they need; false if someone asks to stop before.
fn wait_until_ready(
    inbox: &mpsc::Receiver<Report>,
    threads: u32,
    last: Option<&Instant>,
    stop: &Stop,
) -> Result<bool, Error> {
    let mut ready = 0;
    while ready < threads {
        match inbox.recv_timeout(PAUSE) {
            Ok(Report::Ready(result)) => {
                result?;
                ready += 1;
            }
            Err(RecvTimeoutError::Timeout) if stop.requested() => return Ok(false),
            Err(RecvTimeoutError::Timeout) if last.is_some_and(|last| Instant::now() > *last) => {
                return Err(Error::Database(
                    "the database gave no sessions in time; --timeout waits longer".to_owned(),
                ));
            }
            Err(RecvTimeoutError::Timeout) => {}
            _ => {
                return Err(Error::Database(
                    "a driver thread ended before it had its sessions; see the messages above".to_owned(),
                ));
            }
        }
    }
    Ok(true)
}
