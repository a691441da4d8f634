//! Requests to a database. Each is made on a thread of its own, so that none keeps the program from ending: not a
//! server that says nothing any more, not a lock that nobody gives back, not a call that blocks its thread.

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

/// From one look at the wish to stop to the next.
const PAUSE: Duration = Duration::from_millis(100);
/// When a request has shown no progress for so long, the server is asked by another connection whether it says
/// anything at all.
const PROBE_AFTER: Duration = Duration::from_secs(5);
/// How long a server may say nothing at all, where `--timeout` gives no shorter time.
const SILENCE: Duration = Duration::from_secs(60);
/// What a request that is given up has to come to its end by itself.
const FAREWELL: Duration = Duration::from_millis(500);

/// How long an answer is waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timeouts {
    /// The longest time without progress; none waits as long as the server says anything.
    pub(crate) limit: Option<Duration>,
    /// How long it is still waited for when someone asks to stop.
    pub(crate) after_stop: Duration,
}

impl Timeouts {
    /// As the option `--timeout` has it.
    pub(crate) fn of(timeout: Option<u32>) -> Timeouts {
        Timeouts { limit: timeout.map(|seconds| Duration::from_secs(seconds.into())), ..Timeouts::default() }
    }
}

/// When something last showed a sign of life.
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

/// What the thread of a request hands to the one that waits for it.
enum Message {
    Event(Event),
    /// The request has come to its end, or was cut off.
    Ended {
        cut: bool,
    },
}

/// A request, which keeps its answer itself.
type Work<W> = Box<dyn for<'a> FnOnce(&'a dyn Engine<W>, &'a Progress<'a>) -> LocalBoxFuture<'a, ()> + Send>;

/// The progress of a request that takes long.
pub(crate) struct Progress<'a> {
    heartbeat: Heartbeat,
    events: &'a (dyn Fn(Event) + Send + Sync),
}

impl Progress<'_> {
    /// A step is done, which is a sign of life.
    pub(crate) fn tell(&self, step: Step) {
        self.heartbeat.beat();
        (self.events)(Event::Step(step));
    }
}

/// One who makes requests to a database of workload `W`.
pub(crate) struct Requests<W: Workload> {
    engine: Arc<dyn LoadTarget<W>>,
    stop: Stop,
    timeouts: Timeouts,
}

impl<W: Workload> Requests<W> {
    /// Requests that end when someone asks to stop.
    pub(crate) fn new(engine: &Arc<dyn LoadTarget<W>>, stop: &Stop, timeouts: Timeouts) -> Self {
        Requests { engine: Arc::clone(engine), stop: stop.clone(), timeouts }
    }

    /// The same with other timeouts.
    pub(crate) fn with(&self, timeouts: Timeouts) -> Self {
        Requests::new(&self.engine, &self.stop, timeouts)
    }

    /// The database.
    pub(crate) fn engine(&self) -> &Arc<dyn LoadTarget<W>> {
        &self.engine
    }

    /// The wish to stop.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Asks a database something; none when someone asks to stop first. What is given up goes on, or hangs, where
    /// nobody sees it: the program has to end soon.
    ///
    /// # Errors
    /// What the database says, or that it says nothing.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&dyn Engine<W>) -> Result<T, Error> + Send + 'static,
    ) -> Result<Option<T>, Error> {
        self.follow(&mut |_| {}, async move |engine: &dyn Engine<W>, _: &Progress<'_>| work(engine).await)
    }

    /// As [`Requests::ask`], with something that takes long and tells its steps to `tell`, on the calling thread.
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
        answer.unwrap_or_else(|| Err(Error::Database("the thread that asked it has no answer".to_owned()))).map(Some)
    }

    /// As [`Requests::follow`], whatever the answer; whether it came to its end.
    fn follow_any(&self, tell: &mut dyn FnMut(&Event), work: Work<W>) -> Result<bool, Error> {
        let (sender, messages) = mpsc::channel();
        let (cut, heartbeat) = (Stop::new(), Heartbeat::new());
        let runtime = runtime()?;
        let asked = (Arc::clone(&self.engine), cut.clone(), heartbeat.clone());
        let thread = spawn("request", move || {
            let (engine, cut, heartbeat) = asked;
            // Nobody listens any more if the request was given up.
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
            match messages.recv_timeout(PAUSE) {
                Ok(Message::Event(event)) => tell(&event),
                Ok(Message::Ended { cut: false }) => return Ok(true),
                Err(RecvTimeoutError::Disconnected) => match thread.join() {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(()) => break Some("the thread that asked it has ended without an answer".to_owned()),
                },
                Ok(Message::Ended { cut: true }) | Err(RecvTimeoutError::Timeout) => {}
            }
            if self.stop.requested() && stopped.get_or_insert_with(Instant::now).elapsed() >= self.timeouts.after_stop {
                break None;
            }
            if let Some(limit) = self.timeouts.limit.filter(|limit| heartbeat.since() > *limit) {
                break Some(format!("it gave no answer within {} s (--timeout waits longer)", limit.as_secs()));
            }
            if heartbeat.since() > PROBE_AFTER && probe.is_none() {
                probe = Some(Probe::start::<W>(&self.engine)?);
            }
            let silence = self.timeouts.limit.map_or(SILENCE, |limit| limit.min(SILENCE));
            if probe.as_ref().is_some_and(|probe: &Probe| probe.silent() > silence) {
                break Some(format!("for {} s it has said nothing, not even to another connection", silence.as_secs()));
            }
        };
        cut.request();
        let end = Instant::now() + FAREWELL;
        while let Ok(Message::Event(_)) = messages.recv_timeout(end.saturating_duration_since(Instant::now())) {}
        match why {
            None => Ok(false),
            Some(why) => Err(Error::Database(format!("{} does not answer: {why}", self.engine.identity().url))),
        }
    }

    /// What a database holds of the workload; none when someone asks to stop first.
    pub(crate) fn database_state(&self) -> Result<Option<DatabaseState>, Error> {
        self.ask(async |engine: &dyn Engine<W>| engine.database_state().await)
    }

    /// The findings of all conditions, each told as it ends; none when someone asks to stop first.
    pub(crate) fn check(
        &self,
        manifest: &Manifest,
        depth: Depth,
        tell: &mut dyn FnMut(&Event),
    ) -> Result<Option<Vec<Finding>>, Error> {
        let manifest = manifest.clone();
        self.follow(tell, async move |engine: &dyn Engine<W>, progress: &Progress<'_>| {
            let mut told = |step: CheckStep<'_>| {
                progress.tell(match step {
                    CheckStep::Began(id) => Step::Checking(id.to_owned()),
                    CheckStep::Ended(finding) => Step::Checked(finding.clone()),
                })
            };
            seed::check(engine, &manifest, depth, &mut told).await
        })
    }
}

/// Asks a server again and again, by other connections, whether it says anything at all.
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
                        // An answer that cannot be read is one, too.
                        answers = guarded(async { Ok::<_, Error>(engine.answers().await) }) => if answers.unwrap_or(true) {
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

    /// For how long the server has said nothing.
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
