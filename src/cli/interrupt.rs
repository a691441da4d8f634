//! Ctrl-C: a run ends with a partial record; other commands end at once, and can be restarted. SIGTERM and SIGHUP
//! do the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use crate::drive::Stop;
use crate::engine::Error;
use crate::result::{Event, Step};
use crate::run::open::runtime;

/// The exit code of an interrupted command.
pub(super) const EXIT_CODE: u8 = 130;

/// Time limit after Ctrl-C for a command to end by itself, even if something hangs.
const STOP_TIMEOUT: Duration = Duration::from_secs(9);
/// Additional time on slow machines for a run whose sessions have ended: its requests have limits of their own, and it
/// writes the record.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Listens for SIGINT, SIGTERM and SIGHUP.
#[derive(Clone)]
pub(super) struct Interrupt {
    pub(super) stop: Stop,
    /// Whether a run is in progress, which ends by itself after a stop request.
    running: Arc<AtomicBool>,
    /// Whether it has come so far that it only counts, writes and removes.
    ending: Arc<AtomicBool>,
}

impl Interrupt {
    /// Starts to listen, on a separate thread. No signal that comes after this call has returned is missed.
    pub(super) fn listen() -> Result<Interrupt, Error> {
        let interrupt = Interrupt { stop: Stop::new(), running: Arc::default(), ending: Arc::default() };
        let runtime = runtime()?;
        let heard = interrupt.clone();
        let within = runtime.enter();
        let hear = |kind| signal(kind).map_err(|error| Error::Usage(format!("cannot listen for signals: {error}")));
        let (mut int, mut term) = (hear(SignalKind::interrupt())?, hear(SignalKind::terminate())?);
        let mut hup = if hangup_is_ignored() { None } else { Some(hear(SignalKind::hangup())?) };
        drop(within);
        let listener = move || {
            runtime.block_on(async {
                let mut next = async || {
                    let hang_up = async {
                        match &mut hup {
                            Some(hup) => hup.recv().await,
                            None => std::future::pending().await,
                        }
                    };
                    tokio::select! {
                        _ = int.recv() => {}
                        _ = term.recv() => {}
                        _ = hang_up => {}
                    }
                };
                next().await;
                let running = heard.running.load(Ordering::Acquire);
                tell!("graymark: stopping; press again to stop at once");
                heard.stop.request();
                let in_time = async {
                    tokio::time::sleep(STOP_TIMEOUT).await;
                    if heard.ending.load(Ordering::Acquire) {
                        tokio::time::sleep(WRITE_TIMEOUT).await;
                    }
                };
                tokio::select! {
                    () = next() => {}
                    () = in_time => if running {
                        tell!("graymark: the run did not end in time; what it measured is in its record");
                    }
                }
                crate::engine::server::abandon();
                super::watch::screen::restore_terminal();
                std::process::exit(i32::from(EXIT_CODE));
            });
        };
        thread::Builder::new()
            .name("interrupt".to_owned())
            .spawn(listener)
            .map_err(|error| Error::Usage(format!("cannot start a thread: {error}")))?;
        Ok(interrupt)
    }

    /// Tracks from the events whether a run is in progress.
    pub(super) fn event(&self, event: &Event) {
        match event {
            Event::Step(Step::SteadyBegan { .. } | Step::DriveBegan { .. }) => {
                self.ending.store(false, Ordering::Release);
                self.running(true);
            }
            Event::Step(Step::LoadBegan { .. }) => self.ending.store(false, Ordering::Release),
            Event::Step(Step::SteadyEnded { .. }) => self.running(false),
            Event::RunEnded { .. } | Event::Step(Step::DatabaseDone) => self.ending(),
            _ => {}
        }
    }

    /// Sets whether a run is in progress.
    pub(super) fn running(&self, running: bool) {
        self.running.store(running, Ordering::Release);
    }

    /// Grants more time to end: what is done from now on has limits of its own.
    pub(super) fn ending(&self) {
        self.ending.store(true, Ordering::Release);
    }
}

/// Whether the process was started with SIGHUP ignored, as by nohup, which is kept.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // Bit 0 is signal 1, which is SIGHUP.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
