//! Requests to a database. Each runs on its own thread, so that none prevents the program from ending: not a server
//! that
//! stopped responding, a lock that is never released, or a call that blocks its thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::LocalBoxFuture;

use super::open::runtime;
use crate::drive::{LoadTarget, Stop};
use crate::engine::guard::guarded;
use crate::engine::seed::{self, Depth};
use crate::engine::{DatabaseState, Engine, Error};
use crate::result::{CheckStep, Event, Finding, Manifest, Step};
use crate::workload::Workload;

/// Interval at which a stop is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// After this time without progress, a second connection checks whether the server responds at all.
const PROBE_AFTER: Duration = Duration::from_secs(5);
/// How long a server may be silent if `--timeout` is not shorter.
const MAX_SILENCE: Duration = Duration::from_secs(60);
/// How long a request that was abandoned may take to end.
const ABANDON_TIMEOUT: Duration = Duration::from_millis(500);

/// Time limits of a response.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timeouts {
    /// The longest time without progress; `None` waits as long as the server responds to a second connection.
    pub(crate) limit: Option<Duration>,
    /// How long to wait after a stop.
    pub(crate) after_stop: Duration,
}

impl Timeouts {
    /// From the option `--timeout`.
    pub(crate) fn of(timeout: Option<u32>) -> Timeouts {
        Timeouts { limit: timeout.map(|seconds| Duration::from_secs(seconds.into())), ..Timeouts::default() }
    }
}

/// Time of the last progress.
#[derive(Clone, Debug)]
struct Heartbeat {
    began: Instant,
    last_ms: Arc<AtomicU64>,
}

impl Heartbeat {
    fn new() -> Heartbeat {
        Heartbeat { began: Instant::now(), last_ms: Arc::default() }
    }

    fn beat(&self) {
        self.last_ms.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    fn since(&self) -> Duration {
        self.began.elapsed().saturating_sub(Duration::from_millis(self.last_ms.load(Ordering::Relaxed)))
    }
}

/// Messages of the thread of a request.
enum Message {
    Event(Event),
    /// The request has ended, or was interrupted.
    Ended {
        cut: bool,
    },
}

/// A request, which stores its result itself.
type RequestWork<W> = Box<dyn for<'a> FnOnce(&'a dyn Engine<W>, &'a Progress<'a>) -> LocalBoxFuture<'a, ()> + Send>;

/// The progress of a long request.
pub(crate) struct Progress<'a> {
    heartbeat: Heartbeat,
    events: &'a (dyn Fn(Event) + Send + Sync),
}

impl Progress<'_> {
    /// Reports a finished step, which counts as progress.
    pub(crate) fn tell(&self, step: Step) {
        self.heartbeat.beat();
        (self.events)(Event::Step(step));
    }
}

/// Sends requests to a database of workload `W`.
pub(crate) struct Requests<W: Workload> {
    engine: Arc<dyn LoadTarget<W>>,
    stop: Stop,
    timeouts: Timeouts,
}

impl<W: Workload> Requests<W> {
    /// Requests that end when `stop` is requested.
    pub(crate) fn new(engine: &Arc<dyn LoadTarget<W>>, stop: &Stop, timeouts: Timeouts) -> Self {
        Requests { engine: Arc::clone(engine), stop: stop.clone(), timeouts }
    }

    /// The same with other time limits.
    pub(crate) fn with(&self, timeouts: Timeouts) -> Self {
        Requests::new(&self.engine, &self.stop, timeouts)
    }

    /// The database.
    pub(crate) fn engine(&self) -> &Arc<dyn LoadTarget<W>> {
        &self.engine
    }

    /// The stop handle.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Sends a request; `None` if stopped. An abandoned request continues or hangs in the background, because the
    /// program has to end soon.
    ///
    /// # Errors
    /// The database's error, or that it did not respond.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&dyn Engine<W>) -> Result<T, Error> + Send + 'static,
    ) -> Result<Option<T>, Error> {
        self.follow(&mut |_| {}, async move |engine: &dyn Engine<W>, _: &Progress<'_>| work(engine).await)
    }

    /// As [`Requests::ask`], for a long request whose steps are passed to `tell` on the calling thread.
    ///
    /// # Errors
    /// As [`Requests::ask`].
    pub(crate) fn follow<T: Send + 'static>(
        &self,
        tell: &mut dyn FnMut(&Event),
        work: impl AsyncFnOnce(&dyn Engine<W>, &Progress<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<Option<T>, Error> {
        let answer = Arc::new(Mutex::new(None));
        let keep = Arc::clone(&answer);
        let ended = self.follow_any(
            tell,
            Box::new(move |engine, progress| {
                Box::pin(async move {
                    let done = guarded(work(engine, progress)).await;
                    *keep.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
                })
            }),
        )?;
        if !ended {
            return Ok(None);
        }
        let answer = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        answer
            .unwrap_or_else(|| Err(Error::Database("the thread of the request returned no result".to_owned())))
            .map(Some)
    }

    /// As [`Requests::follow`], for any result. Returns whether the request ended.
    fn follow_any(&self, tell: &mut dyn FnMut(&Event), work: RequestWork<W>) -> Result<bool, Error> {
        let (sender, messages) = mpsc::channel();
        let (cut, heartbeat) = (Stop::new(), Heartbeat::new());
        let runtime = runtime()?;
        let asked = (Arc::clone(&self.engine), cut.clone(), heartbeat.clone());
        let thread = spawn("request", move || {
            let (engine, cut, heartbeat) = asked;
            // The receiver is gone if the request was abandoned.
            let events = |event| drop(sender.send(Message::Event(event)));
            let progress = Progress { heartbeat, events: &events };
            let cut = runtime.block_on(async {
                tokio::select! {
                    biased;
                    () = work(&*engine, &progress) => false,
                    () = cut.wait() => true,
                }
            });
            drop((runtime, engine));
            let _ = sender.send(Message::Ended { cut });
        })?;
        let mut probe = None;
        let mut stopped: Option<Instant> = None;
        let why = loop {
            match messages.recv_timeout(POLL_INTERVAL) {
                Ok(Message::Event(event)) => tell(&event),
                Ok(Message::Ended { cut: false }) => return Ok(true),
                Err(RecvTimeoutError::Disconnected) => match thread.join() {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(()) => break Some("the thread of the request ended without a result".to_owned()),
                },
                Ok(Message::Ended { cut: true }) | Err(RecvTimeoutError::Timeout) => {}
            }
            if self.stop.requested() && stopped.get_or_insert_with(Instant::now).elapsed() >= self.timeouts.after_stop {
                break None;
            }
            if let Some(limit) = self.timeouts.limit.filter(|limit| heartbeat.since() > *limit) {
                break Some(format!("no response within {} s (increase --timeout to wait longer)", limit.as_secs()));
            }
            if heartbeat.since() > PROBE_AFTER && probe.is_none() {
                probe = Some(Probe::start::<W>(&self.engine)?);
            }
            let silence = self.timeouts.limit.map_or(MAX_SILENCE, |limit| limit.min(MAX_SILENCE));
            if probe.as_ref().is_some_and(|probe: &Probe| probe.silent() > silence) {
                break Some(format!("no response for {} s, not even on another connection", silence.as_secs()));
            }
        };
        cut.request();
        let end = Instant::now() + ABANDON_TIMEOUT;
        while let Ok(Message::Event(_)) = messages.recv_timeout(end.saturating_duration_since(Instant::now())) {}
        match why {
            None => Ok(false),
            Some(why) => Err(Error::Database(format!("{} does not respond: {why}", self.engine.identity().url))),
        }
    }

    /// The state of the workload's tables in the database; `None` if stopped.
    pub(crate) fn database_state(&self) -> Result<Option<DatabaseState>, Error> {
        self.ask(async |engine: &dyn Engine<W>| engine.database_state().await)
    }

    /// The findings of all conditions, each reported as it ends; `None` if stopped.
    pub(crate) fn check(
        &self,
        manifest: &Manifest,
        depth: Depth,
        tell: &mut dyn FnMut(&Event),
    ) -> Result<Option<Vec<Finding>>, Error> {
        let manifest = manifest.clone();
        self.follow(tell, async move |engine: &dyn Engine<W>, progress: &Progress<'_>| {
            let mut on_step = |step: CheckStep<'_>| {
                progress.tell(match step {
                    CheckStep::Conditions(number) => Step::Conditions(number),
                    CheckStep::Began(id) => Step::Checking(id.to_owned()),
                    CheckStep::Ended(finding) => Step::Checked(finding.clone()),
                })
            };
            seed::check(engine, &manifest, depth, &mut on_step).await
        })
    }
}

/// Checks repeatedly, on other connections, whether the server responds at all.
struct Probe {
    heartbeat: Heartbeat,
    over: Stop,
}

impl Probe {
    fn start<W: Workload>(engine: &Arc<dyn LoadTarget<W>>) -> Result<Probe, Error> {
        let probe = Probe { heartbeat: Heartbeat::new(), over: Stop::new() };
        let (engine, heartbeat, over) = (Arc::clone(engine), probe.heartbeat.clone(), probe.over.clone());
        let runtime = runtime()?;
        spawn("probe", move || {
            runtime.block_on(async {
                while !over.requested() {
                    tokio::select! {
                        biased;
                        () = over.wait() => break,
                        // An unreadable reply counts as a response.
                        answers = guarded(async { Ok::<_, Error>(engine.answers().await) })
                            => if answers.unwrap_or(true) {
                            heartbeat.beat();
                        }
                    }
                    tokio::select! {
                        biased;
                        () = over.wait() => break,
                        () = tokio::time::sleep(PROBE_AFTER) => {}
                    }
                }
            });
        })?;
        Ok(probe)
    }

    /// How long the server has been silent.
    fn silent(&self) -> Duration {
        self.heartbeat.since()
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.over.request();
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<std::thread::JoinHandle<()>, Error> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map_err(|error| Error::Usage(format!("cannot start a thread: {error}")))
}
