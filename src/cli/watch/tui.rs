//! `run --tui`: draws a run of this process during its load. A separate thread draws and reads keys; the
//! run never waits for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::{io, thread};

use nix::sys::signal::{Signal, raise};

use super::PAUSE;
use super::model::Model;
use super::screen::{self, Screen};
use super::view::{Choice, Key};
use crate::drive::Stop;
use crate::engine::Error;
use crate::result::{Event, Step};

/// State shared with the drawing thread.
struct Shared {
    model: Mutex<Model>,
    /// The run has ended, or the user closed the view.
    done: AtomicBool,
}

impl Shared {
    fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Draws a run.
pub(in crate::cli) struct Tui {
    shared: Arc<Shared>,
    stop: Stop,
    drawing: Mutex<Option<JoinHandle<()>>>,
}

impl Tui {
    /// The view of a run, which `stop` ends.
    ///
    /// # Errors
    /// If there is no terminal.
    pub(in crate::cli) fn new(called: &str, stop: &Stop) -> Result<Tui, Error> {
        screen::require_terminal("--tui", "remove it")?;
        let shared = Shared { model: Mutex::new(Model::new(called)), done: AtomicBool::new(false) };
        Ok(Tui { shared: Arc::new(shared), stop: stop.clone(), drawing: Mutex::new(None) })
    }

    /// Adds an event. Returns whether it is shown here, so that no progress line is needed.
    pub(in crate::cli) fn event(&self, event: &Event) -> bool {
        self.shared.model().event(event);
        match event {
            Event::Step(Step::DriveBegan { .. }) => {
                self.begin();
                true
            }
            Event::RunEnded { .. } => {
                self.end();
                true
            }
            Event::Step(_) => false,
            _ => true,
        }
    }

    fn begin(&self) {
        let (shared, stop) = (Arc::clone(&self.shared), self.stop.clone());
        let work = move || {
            if let Err(error) = draw(&shared, &stop) {
                tell!("run: cannot draw on the terminal: {error}; the run continues");
            }
        };
        match thread::Builder::new().name("tui".to_owned()).spawn(work) {
            Ok(handle) => *self.handle() = Some(handle),
            Err(error) => tell!("run: cannot draw: {error}; the run continues"),
        }
    }

    /// Waits until the terminal is restored.
    fn end(&self) {
        self.shared.done.store(true, Ordering::Release);
        let handle = self.handle().take();
        if let Some(Err(panic)) = handle.map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
    }

    fn handle(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.drawing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Tui {
    fn drop(&mut self) {
        self.shared.done.store(true, Ordering::Release);
        if let Some(handle) = self.handle().take() {
            // A panic was already reported.
            let _ = handle.join();
        }
    }
}

fn draw(shared: &Shared, stop: &Stop) -> io::Result<()> {
    let mut screen = Screen::take()?;
    let mut choice = Choice::default();
    let mut shown = Model::default();
    while !shared.done.load(Ordering::Acquire) {
        if !choice.paused {
            shown.clone_from(&shared.model());
        }
        screen.draw(&shown, choice, "end the run")?;
        match screen.key(PAUSE)? {
            Some(Key::Quit) => {
                drop(screen);
                tell!("graymark: stopping");
                stop.request();
                return Ok(());
            }
            Some(Key::Interrupt) => {
                // In drawing mode, Ctrl-C is a key instead of a signal.
                drop(screen);
                return raise(Signal::SIGINT).map_err(io::Error::from);
            }
            key => choice.key(key),
        }
    }
    Ok(())
}
