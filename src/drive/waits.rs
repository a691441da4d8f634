//! Samples what the sessions do, about twenty times a second, with its own thread and connection. It costs sessions and
//! driver threads nothing: the transaction in progress is in their ledgers anyway.

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
use crate::measure::waits::{Blocker, SessionSample, Wait, WaitsSeen, call_of, schedule_of};
use crate::result::{Event, Phase};
use crate::workload::Workload;

/// Timeout of a sample that has to connect first. The start of the run waits for the first one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of a sample. A slow sample says more about the server than about its sessions.
const SAMPLE_TIMEOUT: Duration = Duration::from_secs(1);
/// Consecutive failures after which samples become less frequent.
const FAILURES: u32 = 20;

/// The counter of a wait, in seconds of all sessions together.
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

/// Samples from the run's start to the end of the interval.
pub(super) fn thread<W: Workload>(
    engine: &dyn Engine<W>,
    run: &Run<W>,
    reports: &mpsc::Sender<Report>,
    started: &mpsc::Receiver<Instant>,
) {
    let tell = |report| {
        // The receiver is gone if the run was abandoned.
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
        tokio::time::timeout(CONNECT_TIMEOUT, guarded(observer.sessions())).await
    };
    tell(Report::Ready(Ok(())));
    let Ok(begin) = started.recv() else { return };
    let connected = matches!(first, Ok(Ok(_)));
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
    let mut watch = Watch { run, looks: WaitSamples::new::<W>(), tasks: HashMap::new(), driver: HashMap::new() };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(run.schedule.seed);
    let mut failures = u32::from(!connected);
    let mut failed = FailedSamples::default();
    let clock = run.phases.from(begin);
    let mut second = 0;
    loop {
        let pause = if failures < FAILURES {
            Duration::from_micros(random.random_range(observer.pause_us()))
        } else {
            SAMPLE_TIMEOUT
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
            // A sample that fails closes the connection. One second may be too short to connect to a busy server.
            let limit = if failures == 0 { SAMPLE_TIMEOUT } else { CONNECT_TIMEOUT };
            let asked = Instant::now();
            let answer = tokio::select! {
                biased;
                () = run.stop.wait() => break,
                () = clock.ended(0) => {
                    if asked.elapsed() > SAMPLE_TIMEOUT {
                        failed.add(&Error::Database("no answer by the end of the interval".to_owned()), true);
                    }
                    break
                }
                answer = tokio::time::timeout(limit, guarded(observer.sessions())) => answer,
            };
            match answer {
                Ok(answer) => answer.map(Option::unwrap_or_default),
                Err(_) => Err(Error::Database(format!("no answer within {} s", limit.as_secs()))),
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
                    failures = u32::from(!sample_activity(observer.as_mut(), run, tell, begin).await);
                }
            }
            Err(error) => {
                failures += 1;
                failed.add(&error, run.phases.phase_at(now.as_secs_f64()) == Phase::Measurement);
                if failures == 1 {
                    tracing::debug!("a sample of the sessions failed: {error}");
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
    if let Some(why) = failed.words() {
        // Without a single sample there is no breakdown whose sources could say it.
        if watch.looks.seen.looks == 0 {
            not_counted(format!("where the time goes: {why}"));
        }
        sources.push(why);
    }
    let seen = WaitsSeen { sources, ..watch.looks.seen };
    tell(Report::Happened(Event::Waits { at: begin.elapsed().as_secs_f64(), seen: Box::new(seen) }));
}

/// Samples of the measurement interval that the server did not answer.
#[derive(Default)]
struct FailedSamples {
    number: u64,
    /// What the last one was refused with.
    last: String,
}

impl FailedSamples {
    fn add(&mut self, error: &Error, measured: bool) {
        if measured {
            self.number += 1;
            self.last = error.to_string();
        }
    }

    /// In words; none if there were none.
    fn words(&self) -> Option<String> {
        let samples = if self.number == 1 { "1 sample".to_owned() } else { format!("{} samples", self.number) };
        (self.number > 0).then(|| format!("{samples} of the sessions failed, the last one with: {}", self.last))
    }
}

/// Samples activity besides the run's transactions, and reports it if there is any. Returns whether the server answered.
async fn sample_activity<W: Workload>(
    observer: &mut dyn Observer,
    run: &Run<W>,
    tell: &impl Fn(Report),
    begin: Instant,
) -> bool {
    // A failed sample is simply repeated later.
    let look = match tokio::time::timeout(SAMPLE_TIMEOUT, guarded(observer.server_activity())).await {
        Ok(Ok(Some(look))) => look,
        answer => return matches!(answer, Ok(Ok(None))),
    };
    let at = begin.elapsed().as_secs_f64();
    if !look.blockers.is_empty() {
        let own: Vec<u64> = in_progress(&run.ledgers).iter().map(|session| session.id).collect();
        let ours = |blocker: Blocker| Blocker { ours: own.contains(&blocker.id), ..blocker };
        let blockers = look.blockers.into_iter().map(ours).collect();
        tell(Report::Happened(Event::Blocked { at, blockers }));
    }
    if !look.work.is_empty() {
        tell(Report::Happened(Event::BackgroundWork { at, work: look.work }));
    }
    true
}

/// The sessions with a transaction in progress.
fn in_progress(ledgers: &[Ledger]) -> Vec<InProgress> {
    ledgers.iter().flat_map(Ledger::in_progress).collect()
}

/// The states of the threads that run in-process sessions.
fn threads(ledgers: &[Ledger]) -> Vec<SessionSample> {
    let look = |ledger: &Ledger| {
        let thread = ledger.thread()?;
        Some(SessionSample { id: thread.into(), task: Some(thread), wait: call_of(thread)? })
    };
    ledgers.iter().filter_map(look).collect()
}

struct WaitSamples {
    names: &'static [&'static str],
    seen: WaitsSeen,
    last: f64,
    /// Seconds of all sessions, by wait.
    spent: [f64; Wait::ALL.len()],
    scheduled: bool,
}

impl WaitSamples {
    fn new<W: Workload>() -> WaitSamples {
        let (seen, spent) = (WaitsSeen::default(), [0.0; Wait::ALL.len()]);
        WaitSamples { names: W::TRANSACTIONS, seen, last: 0.0, spent, scheduled: false }
    }
}

struct Watch<'a, W: Workload> {
    run: &'a Run<W>,
    looks: WaitSamples,
    /// The last clock readings of tasks: time on CPU and time waiting for one.
    tasks: HashMap<u32, (f64, f64)>,
    driver: HashMap<u32, (f64, f64)>,
}

impl<W: Workload> Watch<'_, W> {
    /// Adds a sample taken between two readings of the ledgers.
    fn looked(&mut self, before: &[InProgress], after: &[InProgress], sessions: &[SessionSample], now: f64) {
        let looks = &mut self.looks;
        let (passed, measured) = (now - looks.last, self.run.phases.phase_at(now) == Phase::Measurement);
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
    fn clocks(&mut self, sessions: &[SessionSample], in_process: bool) {
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

/// Reads the clocks of tasks, and returns the sums over all tasks ever read: a task that ends keeps its last reading.
fn grown(known: &mut HashMap<u32, (f64, f64)>, tasks: impl Iterator<Item = u32>) -> Option<(f64, f64)> {
    for task in tasks {
        if let Some(clock) = schedule_of(task) {
            known.insert(task, clock);
        }
    }
    let sum = |sum: (f64, f64), clock: &(f64, f64)| (sum.0 + clock.0, sum.1 + clock.1);
    (!known.is_empty()).then(|| known.values().fold((0.0, 0.0), sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_samples_of_the_interval_are_told() {
        let mut failed = FailedSamples::default();
        failed.add(&Error::Database("too early".to_owned()), false);
        assert_eq!(failed.words(), None);
        failed.add(&Error::Database("gone".to_owned()), true);
        assert_eq!(failed.words().unwrap(), "1 sample of the sessions failed, the last one with: gone");
        failed.add(&Error::Database("no answer within 1 s".to_owned()), true);
        assert!(failed.words().unwrap().starts_with("2 samples") && failed.words().unwrap().ends_with("within 1 s"));
    }
}
