//! Ctrl-C: a run ends with a partial record; anything else ends at once, and can be started again. SIGTERM and SIGHUP
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

/// How long work that cannot be cancelled may go on after Ctrl-C before the process ends without it.
const GRACE: Duration = Duration::from_secs(3);
/// How long a run has to end by itself, whatever hangs: what it measured is kept long before that.
const LAST_RESORT: Duration = Duration::from_secs(9);
/// How much longer it has where nothing can hang any more, and a slow machine writes its report.
const WRITING: Duration = Duration::from_secs(30);

/// Listens for SIGINT, SIGTERM and SIGHUP.
#[derive(Clone)]
pub(super) struct Interrupt {
    pub(super) stop: Stop,
    /// Whether a run is going on, which ends by itself once asked to stop.
    running: Arc<AtomicBool>,
    /// Whether nothing is asked of the database any more.
    writing: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to listen, on a thread of its own.
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
                tell!("graymark: stopping{}", if running { "; once more to stop at once" } else { "" });
                heard.stop.request();
                if running {
                    let in_time = async {
                        tokio::time::sleep(LAST_RESORT).await;
                        if heard.writing.load(Ordering::Acquire) {
                            tokio::time::sleep(WRITING).await;
                        }
                    };
                    tokio::select! {
                        () = next() => {}
                        () = in_time => tell!("graymark: the run did not end in time; what it measured is in its \
                            record"),
                    }
                } else {
                    tokio::time::sleep(GRACE).await;
                }
                crate::engine::server::abandon();
                super::watch::screen::give_back();
                std::process::exit(i32::from(EXIT_CODE));
            });
        };
        thread::Builder::new()
            .name("interrupt".to_owned())
            .spawn(listener)
            .map_err(|error| Error::Usage(format!("cannot start a thread: {error}")))?;
        Ok(interrupt)
    }

    /// Learns from what happens whether a run is going on.
    pub(super) fn event(&self, event: &Event) {
        match event {
            Event::Step(Step::SteadyBegan { .. } | Step::DriveBegan { .. }) => self.running(true),
            Event::Step(Step::SteadyEnded { .. }) => self.running(false),
            Event::Step(Step::DatabaseDone) => self.writing.store(true, Ordering::Release),
            _ => {}
        }
    }

    /// Says whether a run is going on.
    pub(super) fn running(&self, running: bool) {
        self.running.store(running, Ordering::Release);
    }
}

/// Whether the process was started with SIGHUP ignored, as by nohup: then it stays so.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // Bit 0 is signal 1, which is SIGHUP.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
