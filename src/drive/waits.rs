//! Looks at what sessions are at, about twenty times a second, on a thread and a connection of its own. Neither
//! sessions nor the driver's threads do anything for it: which transaction is in progress stands in their ledgers
//! anyway.

use std::collections::HashMap;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Report;
use super::ledger::{InProgress, Ledger};
use super::shared::Run;
use crate::engine::guard::guarded;
use crate::engine::{Engine, Error, Observer, ServerProcess};
use crate::measure::counters::Counter;
use crate::measure::waits::{Blocker, SessionLook, Wait, WaitsSeen, call_of, schedule_of};
use crate::result::{Event, Phase};
use crate::workload::Workload;

/// How long the run's start waits for the first look, which opens the connection.
const FIRST_LOOK: Duration = Duration::from_secs(5);
/// How long the answer to a look may take. One that takes long says more about the server than about its sessions.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a look may fail in a row before it is asked for less often.
const FAILURES: u32 = 20;

/// The counter of what sessions were at, in seconds of all sessions together.
fn counter(wait: Wait) -> Counter {
    match wait {
        Wait::Running => Counter::SeenRunning,
        Wait::Log => Counter::SeenLog,
        Wait::RowLock => Counter::SeenRowLock,
        Wait::OtherLock => Counter::SeenOtherLock,
        Wait::PageRead => Counter::SeenPageRead,
        Wait::Other => Counter::SeenOther,
        Wait::Client => Counter::SeenClient,
        Wait::Unknown => Counter::SeenUnknown,
    }
}

/// Looks from the run's start to the end of the interval.
pub(super) fn thread<W: Workload>(
    engine: &dyn Engine<W>,
    run: &Run<W>,
    reports: &mpsc::Sender<Report>,
    started: &mpsc::Receiver<Instant>,
) {
    let tell = |report| {
        // Nobody listens any more if the run was given up.
        let _ = reports.send(report);
    };
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(looks(engine, run, &tell, started)),
        Err(error) => {
            tell(Report::Ready(Ok(())));
            tell(Report::Happened(Event::NotCounted { why: format!("where the time goes: {error}") }));
        }
    }
}

async fn looks<W: Workload>(
    engine: &dyn Engine<W>,
    run: &Run<W>,
    tell: &impl Fn(Report),
    started: &mpsc::Receiver<Instant>,
) {
    let not_counted = |why: String| tell(Report::Happened(Event::NotCounted { why }));
    let mut observer = engine.observer();
    let in_process = engine.blocking() && engine.server_process() == ServerProcess::InProcess;
    let first = if in_process {
        Ok(Ok(Some(Vec::new())))
    } else {
        tokio::time::timeout(FIRST_LOOK, guarded(observer.sessions())).await
    };
    tell(Report::Ready(Ok(())));
    let Ok(begin) = started.recv() else { return };
    let known = match first {
        Ok(Ok(Some(_))) if in_process => {
            run.ledgers.iter().any(|ledger| ledger.thread().is_some_and(|thread| call_of(thread).is_some()))
        }
        Ok(Ok(looked)) => {
            looked.is_some() && run.ledgers.iter().any(|ledger| ledger.in_progress().any(|session| session.id > 0))
        }
        // It may be answered later.
        _ => true,
    };
    if !known {
        return not_counted(format!("where the time goes: {}", observer.no_sessions()));
    }
    let mut watch = Watch { run, looks: Looks::new::<W>(), tasks: HashMap::new(), driver: HashMap::new() };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(run.schedule.seed);
    let mut failures = 0;
    let clock = run.course.from(begin);
    let mut second = 0;
    loop {
        let pause = if failures < FAILURES {
            Duration::from_micros(random.random_range(observer.pause_us()))
        } else {
            PATIENCE
        };
        tokio::select! {
            biased;
            () = run.stop.wait() => break,
            () = clock.ended(0) => break,
            () = tokio::time::sleep(pause) => {}
        }
        let before = in_progress(&run.ledgers);
        let sessions = if in_process {
            Ok(threads(&run.ledgers))
        } else {
            match tokio::time::timeout(PATIENCE, guarded(observer.sessions())).await {
                Ok(answer) => answer.map(Option::unwrap_or_default),
                Err(_) => Err(Error::Database("no answer within a second".to_owned())),
            }
        };
        let now = begin.elapsed();
        match sessions {
            Ok(sessions) => {
                failures = 0;
                watch.looked(&before, &in_progress(&run.ledgers), &sessions, now.as_secs_f64());
                if now.as_secs() >= second {
                    second = now.as_secs() + 1;
                    watch.clocks(&sessions, in_process);
                    beside(observer.as_mut(), run, tell, begin).await;
                }
            }
            Err(error) => {
                failures += 1;
                if failures == 1 {
                    tracing::debug!("a look at the sessions failed: {error}");
                }
            }
        }
    }
    let source = if in_process {
        "waits: the system calls in which the sessions' threads were seen (/proc/self/task)".to_owned()
    } else {
        observer.sessions_source().to_owned()
    };
    let mut sources = vec![source];
    if watch.looks.scheduled {
        sources.push("on CPU and waiting for a CPU: the scheduler's own clocks (/proc/PID/schedstat)".to_owned());
    }
    let seen = WaitsSeen { sources, ..watch.looks.seen };
    tell(Report::Happened(Event::Waits { at: begin.elapsed().as_secs_f64(), seen: Box::new(seen) }));
}

/// Looks at what goes on beside the run's transactions, and tells it if there is anything.
async fn beside<W: Workload>(observer: &mut dyn Observer, run: &Run<W>, tell: &impl Fn(Report), begin: Instant) {
    // What fails now is asked for again.
    let Ok(Ok(Some(look))) = tokio::time::timeout(PATIENCE, guarded(observer.beside())).await else { return };
    let at = begin.elapsed().as_secs_f64();
    if !look.blockers.is_empty() {
        let own: Vec<u64> = in_progress(&run.ledgers).iter().map(|session| session.id).collect();
        let ours = |blocker: Blocker| Blocker { ours: own.contains(&blocker.id), ..blocker };
        let blockers = look.blockers.into_iter().map(ours).collect();
        tell(Report::Happened(Event::Blocked { at, blockers }));
    }
    if !look.work.is_empty() {
        tell(Report::Happened(Event::Upkeep { at, work: look.work }));
    }
}

/// All sessions with a transaction in progress, or none.
fn in_progress(ledgers: &[Ledger]) -> Vec<InProgress> {
    ledgers.iter().flat_map(Ledger::in_progress).collect()
}

/// What the threads are at that are sessions in process.
fn threads(ledgers: &[Ledger]) -> Vec<SessionLook> {
    let look = |ledger: &Ledger| {
        let thread = ledger.thread()?;
        Some(SessionLook { id: thread.into(), task: Some(thread), wait: call_of(thread)? })
    };
    ledgers.iter().filter_map(look).collect()
}

struct Looks {
    names: &'static [&'static str],
    seen: WaitsSeen,
    last: f64,
    /// Seconds of all sessions, by what they were at.
    spent: [f64; Wait::ALL.len()],
    scheduled: bool,
}

impl Looks {
    fn new<W: Workload>() -> Looks {
        let (seen, spent) = (WaitsSeen::default(), [0.0; Wait::ALL.len()]);
        Looks { names: W::TRANSACTIONS, seen, last: 0.0, spent, scheduled: false }
    }
}

struct Watch<'a, W: Workload> {
    run: &'a Run<W>,
    looks: Looks,
    /// What the clocks of tasks showed last, on CPU and waiting for one.
    tasks: HashMap<u32, (f64, f64)>,
    driver: HashMap<u32, (f64, f64)>,
}

impl<W: Workload> Watch<'_, W> {
    /// Notes what sessions were at between two readings of the ledgers.
    fn looked(&mut self, before: &[InProgress], after: &[InProgress], sessions: &[SessionLook], now: f64) {
        let looks = &mut self.looks;
        let (passed, measured) = (now - looks.last, self.run.course.phase_at(now) == Phase::Measurement);
        looks.last = now;
        looks.seen.looks += u64::from(measured);
        let waits: HashMap<u64, Wait> = sessions.iter().map(|session| (session.id, session.wait)).collect();
        for session in before.iter().chain(after) {
            let Some(name) = session.transaction.and_then(|transaction| looks.names.get(transaction)) else { continue };
            let wait = waits.get(&session.id).copied().unwrap_or(Wait::Unknown);
            if measured {
                looks.seen.note(name, wait, 0.5);
            }
            if let Some(spent) = looks.spent.get_mut(wait as usize) {
                *spent += 0.5 * passed;
            }
        }
        for wait in Wait::ALL {
            if let Some(spent) = looks.spent.get(wait as usize) {
                self.run.clocks.set(counter(wait), *spent);
            }
        }
    }

    /// Reads the scheduler's clocks of sessions and driver.
    fn clocks(&mut self, sessions: &[SessionLook], in_process: bool) {
        let ours: Vec<u64> = in_progress(&self.run.ledgers).iter().map(|session| session.id).collect();
        let tasks = sessions.iter().filter(|session| ours.contains(&session.id)).filter_map(|session| session.task);
        if !in_process && let Some((cpu, wait)) = grown(&mut self.tasks, tasks) {
            self.looks.scheduled = true;
            self.run.clocks.set(Counter::SessionsCpu, cpu);
            self.run.clocks.set(Counter::SessionsCpuWait, wait);
        }
        let threads = self.run.ledgers.iter().filter_map(Ledger::thread);
        if let Some((cpu, wait)) = grown(&mut self.driver, threads) {
            self.looks.scheduled |= in_process;
            self.run.clocks.set(Counter::DriverCpu, cpu);
            self.run.clocks.set(Counter::DriverCpuWait, wait);
        }
    }
}

/// Reads the clocks of tasks, and gives the sums of all that were ever read: a task that ends keeps its last reading.
fn grown(known: &mut HashMap<u32, (f64, f64)>, tasks: impl Iterator<Item = u32>) -> Option<(f64, f64)> {
    for task in tasks {
        if let Some(clock) = schedule_of(task) {
            known.insert(task, clock);
        }
    }
    let sum = |sum: (f64, f64), clock: &(f64, f64)| (sum.0 + clock.0, sum.1 + clock.1);
    (!known.is_empty()).then(|| known.values().fold((0.0, 0.0), sum))
}
