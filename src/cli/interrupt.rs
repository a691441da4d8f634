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

/// Time limit after Ctrl-C for work that cannot be cancelled, before the process ends without it.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(3);
/// Time limit for a run to end by itself, even if something hangs: its measurements are written long before that.
const RUN_STOP_TIMEOUT: Duration = Duration::from_secs(9);
/// Additional time on slow machines to write the report, after the last request to the database.
const REPORT_TIMEOUT: Duration = Duration::from_secs(30);

/// Listens for SIGINT, SIGTERM and SIGHUP.
#[derive(Clone)]
pub(super) struct Interrupt {
    pub(super) stop: Stop,
    /// Whether a run is in progress, which ends by itself after a stop request.
    running: Arc<AtomicBool>,
    /// Whether all requests to the database have ended.
    writing: Arc<AtomicBool>,
}

impl Interrupt {
    /// Starts to listen, on a separate thread.
    pub(super) fn listen() -> Result<Interrupt, Error> {
        let interrupt = Interrupt { stop: Stop::new(), running: Arc::default(), writing: Arc::default() };
        let runtime = runtime()?;
        let heard = interrupt.clone();
        let listener = move || {
            runtime.block_on(async {
                let (Ok(mut int), Ok(mut term)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
                else {
                    return;
                };
                let mut hup = if hangup_is_ignored() { None } else { signal(SignalKind::hangup()).ok() };
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
                tell!("graymark: stopping{}", if running { "; press again to stop at once" } else { "" });
                heard.stop.request();
                if running {
                    let in_time = async {
                        tokio::time::sleep(RUN_STOP_TIMEOUT).await;
                        if heard.writing.load(Ordering::Acquire) {
                            tokio::time::sleep(REPORT_TIMEOUT).await;
                        }
                    };
                    tokio::select! {
                        () = next() => {}
                        () = in_time => tell!("graymark: the run did not end in time; what it measured is in its \
                            record"),
                    }
                } else {
                    tokio::time::sleep(CANCEL_TIMEOUT).await;
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
            Event::Step(Step::SteadyBegan { .. } | Step::DriveBegan { .. }) => self.running(true),
            Event::Step(Step::SteadyEnded { .. }) => self.running(false),
            Event::Step(Step::DatabaseDone) => self.writing.store(true, Ordering::Release),
            _ => {}
        }
    }

    /// Sets whether a run is in progress.
    pub(super) fn running(&self, running: bool) {
        self.running.store(running, Ordering::Release);
    }
}

/// Whether the process was started with SIGHUP ignored, as by nohup, which is kept.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // Bit 0 is signal 1, which is SIGHUP.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
