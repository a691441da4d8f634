//! Generates the load: sessions, phases, and the stream of events.
//!
//! A run has one or more driver threads, each with its own single-threaded runtime and its own sessions. Threads share
//! nothing during transactions; once a second each thread passes its measurements to the collector, which emits the
//! events.

mod arrivals;
mod backlog;
mod closed_loop;
mod collector;
mod controllers;
mod faults;
mod hosts;
mod ledger;
mod limits;
mod open_loop;
mod paced;
mod phases;
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
mod trips;
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
pub use faults::FaultSchedule;
pub use hosts::HostTotals;
pub use slices::{Slices, StartBarrier};
pub use stages::Stages;
pub use stop::Stop;
pub use totals::{Totals, UncertainCommits};
pub use trips::Trips;

/// How load is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Each session requests its next transaction as soon as it has the last reply.
    ClosedLoop,
    /// Terminals with keying and think times send to one queue, from which the sessions take.
    Paced,
    /// Transactions arrive at a fixed rate, whether or not sessions are free.
    OpenLoop {
        /// Transactions a second.
        rate: Rate,
        /// The distribution of arrivals.
        arrivals: Arrivals,
    },
}

/// The settings of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// How load is generated.
    pub load: Load,
    /// Database sessions.
    pub clients: u32,
    /// Terminals. In a closed loop each session stands for some of them, so there are at least as many as sessions.
    pub terminals: u64,
    /// Whether each session of a closed loop stands for consecutive terminals, so that it stays in one warehouse or
    /// branch if there are enough; otherwise it uses terminals of all warehouses.
    pub at_home: bool,
    /// Each pass of a closed loop uses different random streams.
    pub pass: u64,
    /// The terminal whose screens are shown, if any; paced runs only.
    pub shown: Option<u32>,
    /// The seed of the driver's own random choices.
    pub seed: u64,
    /// Whether completed transactions are counted by tenths of a second.
    pub tenths: bool,
    /// Keys per million for which reads and writes of transactions are recorded.
    pub history: u32,
    /// Driver threads; `None` lets [`driver_threads`] choose.
    pub threads: Option<u32>,
    /// Keying times as a multiple of the workload's; ignored in a closed loop.
    pub keying: Factor,
    /// Think times as a multiple of the workload's; ignored in a closed loop.
    pub think: Factor,
    /// Whole seconds of the ramp-up; the maximum if it ends when the load is steady.
    pub ramp_up: u32,
    /// Whether the measurement interval begins as soon as the load is steady; only for a constant load.
    pub settles: bool,
    /// Whole seconds of the measurement interval.
    pub duration: u32,
    /// Whole seconds for opening a session, and for transactions in progress at the end of the interval. After that
    /// they are abandoned, and their outcome is unknown.
    pub patience: u32,
    /// The maximum number of connection attempts per second of all sessions.
    pub connect_rate: Option<u32>,
}

/// The time for transactions in progress after a stop request. After that they are abandoned, and their outcome is
/// unknown.
pub const GRACE: Duration = Duration::from_millis(2_500);
/// The time of a thread to report that it timed out, before it is abandoned itself.
const MARGIN: Duration = Duration::from_millis(500);
/// Interval between checks of the stop request.
const PAUSE: Duration = Duration::from_millis(100);
/// If set, the state of sessions is not sampled, so that the cost of sampling can be measured.
const NO_SAMPLING: &str = "GRAYMARK_NO_LOOKS";

/// Maintenance and faults during the run. Times are whole seconds.
#[derive(Clone, Debug, Default)]
pub struct Controllers {
    /// Seconds between checkpoints; the first one comes in the ramp-up, the second begins the measurement interval.
    pub checkpoint: Option<u32>,
    /// Seconds between vacuums, and from the start of the measurement interval to the first.
    pub vacuum: Option<u32>,
    /// The maximum number of vacuums; `None` is no limit.
    pub vacuums: Option<u32>,
    /// Faults in the measurement interval.
    pub faults: FaultSchedule,
}

/// The default number of driver threads: one for each session of an engine that blocks its thread, otherwise one for
/// every four processors, because a driver thread can keep several server processors busy.
pub fn driver_threads(clients: u32, blocking: bool) -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    if blocking { clients } else { (processors / 4).clamp(1, clients.max(1)) }
}

/// A report of a thread.
enum Report {
    /// Its sessions are open, or cannot be opened.
    Ready(Result<(), Error>),
    /// Its measurements of a second, and the deferred transactions that were committed in it.
    Measured(u32, Box<Interval>, Vec<Deferred>),
    /// An event.
    Happened(Event),
    /// A session that was given up left its host, or was opened again at one.
    HostChanged(hosts::HostChange),
    /// A connection was lost after these commits; `whole` says whether they are all of the last second.
    Uncertain { traces: Vec<Trace>, whole: bool },
    /// A transaction has an unknown outcome.
    Unknown(Footprint),
    /// The thread has ended.
    Ended,
}

/// Reports the end of a thread when dropped, even after a panic.
struct EndNotice(mpsc::Sender<Report>);

impl Drop for EndNotice {
    fn drop(&mut self) {
        // The receiver is gone if the run was abandoned.
        let _ = self.0.send(Report::Ended);
    }
}

/// The threads of a run. Every wait for one has a limit: a call that blocks its thread may never return.
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
        let thread_name = name.clone();
        let thread = move || {
            let last = EndNotice(reports);
            work(&last.0, &started);
        };
        let handle = std::thread::Builder::new().name(name).spawn(thread).map_err(|error| {
            Error::Usage(format!(
                "cannot start the thread {thread_name}: {error}; ask for fewer clients with --clients"
            ))
        })?;
        self.starters.push(start);
        self.handles.push(handle);
        Ok(())
    }

    /// Joins the threads that have ended, or all threads if `all` of them are about to; the others are left running.
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

/// An engine as the target of load, independent of its session type.
pub trait LoadTarget<W: Workload>: Engine<W> {
    /// Runs on a driver thread, which it blocks until the end of the run.
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
/// `stages` say which clients of a closed loop are active when; their total length is that of the measurement interval.
/// The sessions of a run in slices are not sampled: their states mean nothing while it pauses. Blocks the calling
/// thread until the run has ended, with a limit: see [`Schedule::patience`] and [`GRACE`].
/// `tell` receives every event on the calling thread; sessions never wait for it.
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
    // The task that sends transactions gets its own thread if sessions block theirs, or if it blocks its own.
    let separate_sender = match schedule.load {
        Load::ClosedLoop => false,
        Load::Paced => engine.blocking(),
        Load::OpenLoop { .. } => true,
    };
    let backlog = match schedule.load {
        Load::OpenLoop { rate, arrivals } => Some(backlog::Backlog::new(rate, arrivals, schedule.seed)),
        Load::ClosedLoop | Load::Paced => None,
    };
    let all = threads + u32::from(separate_sender);
    limits::allow(all)?;
    let share = |number: u32| (number..schedule.clients).step_by(threads as usize).filter(move |_| number < threads);
    let run = Arc::new(shared::Run::<W> {
        terminals: terminals.clone(),
        schedule,
        phases: phases::PhaseTimes::of(&schedule),
        stages: stages.clone(),
        stop: stop.clone(),
        monitor: queue::Monitor::new(),
        backlog,
        ledgers: (0..all).map(|number| ledger::Ledger::new::<W>(share(number).count())).collect(),
        clocks: shared::Clocks::default(),
        connects: shared::ConnectGate::new(schedule.connect_rate),
    });
    let (reports, inbox) = mpsc::channel();
    let mut spawned = Threads { reports, starters: Vec::new(), handles: Vec::new() };
    for number in 0..all {
        let sessions = share(number).collect::<Vec<_>>();
        let has_terminals = schedule.load != Load::ClosedLoop && number == if separate_sender { threads } else { 0 };
        let (engine, run) = (Arc::clone(engine), Arc::clone(&run));
        spawned.spawn(format!("driver-{number}"), move |reports, started| {
            let (run, number, sessions) = (&*run, number as usize, &sessions[..]);
            engine.drive(&thread::Assignment { run, number, sessions, has_terminals, reports, started });
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
    if looks && std::env::var_os(NO_SAMPLING).is_some() {
        tell(&Event::NotCounted { why: format!("where the time goes: turned off by {NO_SAMPLING}") });
    } else if looks {
        others += 1;
        let of_waits = (Arc::clone(engine), Arc::clone(&run));
        spawned.spawn("waits".to_owned(), move |reports, started| {
            let (engine, run) = of_waits;
            waits::thread::<W>(&*engine, &run, reports, started);
        })?;
    }
    // A call that blocks its thread cannot be interrupted.
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
        // A thread that is gone reports nothing more; the collector notices that.
        let _ = start.send(begin);
    }
    let (hosts, ledgers) = (engine.hosts(), &run.ledgers[..]);
    let phases = &run.phases;
    let running = collector::Running { threads: all, others, schedule, phases, stages, begin, ledgers, hosts };
    let (totals, whole) = collector::collect::<W>(&inbox, running, stop, tell);
    spawned.join(whole);
    if sampler::is_gone::<W>(&**engine) {
        return Err(Error::Database("the run was stopped".to_owned()));
    }
    Ok(totals)
}

/// Waits until all threads are ready; returns false after a stop request.
fn wait_until_ready(
    inbox: &mpsc::Receiver<Report>,
    threads: u32,
    last: Option<&Instant>,
    stop: &Stop,
) -> Result<bool, Error> {
    let mut ready = 0;
    while ready < threads {
        match inbox.recv_timeout(PAUSE) {
            Ok(Report::Ready(Ok(()))) => ready += 1,
            // Threads whose sessions were not open when the stop was requested report an error, or nothing.
            _ if stop.requested() => return Ok(false),
            Ok(Report::Ready(Err(error))) => return Err(error),
            Err(RecvTimeoutError::Timeout) if last.is_some_and(|last| Instant::now() > *last) => {
                return Err(Error::Database(
                    "the database did not open the sessions in time; --timeout sets a longer limit".to_owned(),
                ));
            }
            Err(RecvTimeoutError::Timeout) => {}
            _ => {
                return Err(Error::Database(
                    "a driver thread ended before its sessions were open; see the messages above".to_owned(),
                ));
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a run says that was asked to stop, or not, when its threads reported these things.
    fn ready(stopped: bool, reports: Vec<Result<(), Error>>) -> Result<bool, Error> {
        let (sender, inbox) = mpsc::channel();
        let stop = Stop::new();
        if stopped {
            stop.request();
        }
        for report in reports {
            sender.send(Report::Ready(report)).unwrap();
        }
        drop(sender);
        wait_until_ready(&inbox, 2, None, &stop)
    }

    #[test]
    fn sessions_that_a_stop_left_unopened_are_no_error_of_the_database() {
        let unopened = || Err(Error::Database("stopped before the sessions were open".to_owned()));
        assert!(!ready(true, vec![Ok(()), unopened()]).unwrap());
        assert!(!ready(true, vec![]).unwrap());
        assert!(ready(false, vec![Ok(()), Ok(())]).unwrap());
        assert!(ready(false, vec![Ok(()), unopened()]).is_err());
        assert!(ready(false, vec![Ok(())]).is_err());
    }
}
