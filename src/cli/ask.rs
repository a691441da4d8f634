//! Questions to a database. Each is asked on a thread of its own, so that none keeps the command from ending: not a
//! server that says nothing any more, not a lock that nobody gives back, not a call that blocks its thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::interrupt::Interrupt;
use crate::drive::Stop;
use crate::engine::guard::guarded;
use crate::engine::seed::{self, Depth};
use crate::engine::{DatabaseState, Engine, Error};
use crate::result::{Finding, Manifest};
use crate::workload::Workload;

/// From one look at the wish to stop to the next.
const PAUSE: Duration = Duration::from_millis(100);
/// When the first question of a command has taken so long, the server is asked by another connection whether it says
/// anything at all.
const PROBE_AFTER: Duration = Duration::from_secs(5);
/// How long a server may say nothing at all, where `--timeout` gives no shorter time.
const SILENCE: Duration = Duration::from_secs(60);
/// What a question that is given up has to come to its end by itself.
const FAREWELL: Duration = Duration::from_secs(1);

/// How long an answer is waited for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    /// The longest time without progress; none waits as long as the server says anything.
    pub(super) limit: Option<Duration>,
    /// How long it is still waited for when someone asks to stop.
    pub(super) after_stop: Duration,
}

impl Patience {
    /// As the option `--timeout` has it.
    pub(super) fn of(timeout: Option<u32>) -> Patience {
        Patience { limit: timeout.map(|seconds| Duration::from_secs(seconds.into())), ..Patience::default() }
    }
}

/// The progress of a question that takes long: each beat is a sign of life.
#[derive(Clone, Debug)]
pub(super) struct Pulse {
    began: Instant,
    last_ms: Arc<AtomicU64>,
}

impl Pulse {
    fn new() -> Pulse {
        Pulse { began: Instant::now(), last_ms: Arc::default() }
    }

    /// A part of the work is done.
    pub(super) fn beat(&self) {
        self.last_ms.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    fn since(&self) -> Duration {
        self.began.elapsed().saturating_sub(Duration::from_millis(self.last_ms.load(Ordering::Relaxed)))
    }
}

impl Interrupt {
    /// Asks a database something; none when someone asks to stop first. What is given up goes on, or hangs, where
    /// nobody sees it: the command has to end soon.
    ///
    /// # Errors
    /// What the database says, or that it says nothing.
    pub(super) fn ask<W: Workload, E: Engine<W>, T: Send + 'static>(
        &self,
        engine: &Arc<E>,
        patience: Patience,
        work: impl AsyncFnOnce(&E, &Pulse) -> Result<T, Error> + Send + 'static,
    ) -> Result<Option<T>, Error> {
        let (sender, answer) = mpsc::channel();
        let (cut, pulse) = (Stop::new(), Pulse::new());
        let runtime = super::runtime()?;
        let asked = (Arc::clone(engine), cut.clone(), pulse.clone());
        let thread = spawn("question", move || {
            let (engine, cut, pulse) = asked;
            let done = runtime.block_on(async {
                tokio::select! {
                    biased;
                    done = guarded(work(&engine, &pulse)) => Some(done),
                    () = cut.wait() => None,
                }
            });
            drop((runtime, engine));
            // Nobody listens any more if it was given up.
            let _ = sender.send(done);
        })?;
        let mut probe = None;
        let mut stopped: Option<Instant> = None;
        let why = loop {
            match answer.recv_timeout(PAUSE) {
                Ok(Some(done)) => return done.map(Some),
                Err(RecvTimeoutError::Disconnected) => match thread.join() {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(()) => break Some("the thread that asked it has ended without an answer".to_owned()),
                },
                Ok(None) | Err(RecvTimeoutError::Timeout) => {}
            }
            if self.stop.requested() && stopped.get_or_insert_with(Instant::now).elapsed() >= patience.after_stop {
                break None;
            }
            if let Some(limit) = patience.limit.filter(|limit| pulse.since() > *limit) {
                break Some(format!("it gave no answer within {} s (--timeout waits longer)", limit.as_secs()));
            }
            if pulse.since() > PROBE_AFTER && probe.is_none() {
                probe = Some(Probe::start::<W, E>(engine)?);
            }
            let silence = patience.limit.map_or(SILENCE, |limit| limit.min(SILENCE));
            if probe.as_ref().is_some_and(|probe: &Probe| probe.silent() > silence) {
                break Some(format!("for {} s it has said nothing, not even to another connection", silence.as_secs()));
            }
        };
        cut.request();
        let _ = answer.recv_timeout(FAREWELL);
        match why {
            None => Ok(None),
            Some(why) => Err(Error::Database(format!("{} does not answer: {why}", engine.identity().url))),
        }
    }
}

impl Interrupt {
    /// What a database holds of the workload; none when someone asks to stop first.
    pub(super) fn database_state<W: Workload, E: Engine<W>>(
        &self,
        engine: &Arc<E>,
        patience: Patience,
    ) -> Result<Option<DatabaseState>, Error> {
        self.ask::<W, E, _>(engine, patience, async |engine: &E, _: &Pulse| engine.database_state().await)
    }

    /// The findings of all conditions, each told as it ends; none when someone asks to stop first.
    pub(super) fn check<W: Workload, E: Engine<W>>(
        &self,
        engine: &Arc<E>,
        manifest: &Manifest,
        depth: Depth,
        patience: Patience,
        mut told: impl FnMut(&Finding) + Send + 'static,
    ) -> Result<Option<Vec<Finding>>, Error> {
        let manifest = manifest.clone();
        self.ask::<W, E, _>(engine, patience, async move |engine: &E, pulse: &Pulse| {
            let mut told = |finding: &Finding| {
                pulse.beat();
                told(finding);
            };
            seed::check::<W, E>(engine, &manifest, depth, &mut told).await
        })
    }
}

/// Asks a server again and again, by other connections, whether it says anything at all.
struct Probe {
    pulse: Pulse,
    over: Stop,
}

impl Probe {
    fn start<W: Workload, E: Engine<W>>(engine: &Arc<E>) -> Result<Probe, Error> {
        let probe = Probe { pulse: Pulse::new(), over: Stop::new() };
        let (engine, pulse, over) = (Arc::clone(engine), probe.pulse.clone(), probe.over.clone());
        let runtime = super::runtime()?;
        spawn("probe", move || {
            runtime.block_on(async {
                while !over.requested() {
                    tokio::select! {
                        biased;
                        () = over.wait() => break,
                        // An answer that cannot be read is one, too.
                        answers = guarded(async { Ok::<_, Error>(engine.answers().await) }) => if answers.unwrap_or(true) {
                            pulse.beat();
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
        self.pulse.since()
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
