//! The terminal while a run is drawn on it: given back as it was, however the drawing ends.

use std::io::{self, BufWriter, IsTerminal, Stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::model::Model;
use super::view::{self, Choice, Key};
use crate::engine::Error;

/// A terminal that is drawn on.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
}

/// That there is a terminal to be drawn on and to hear keys from.
///
/// # Errors
/// If there is none; `instead` is what to do then.
pub(super) fn there_is_one(what: &str, instead: &str) -> Result<(), Error> {
    if io::stderr().is_terminal() && io::stdin().is_terminal() {
        return Ok(());
    }
    Err(Error::Usage(format!("{what} draws on a terminal, and standard input or standard error is none: {instead}")))
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// If it cannot be drawn on.
    pub(super) fn take() -> io::Result<Screen> {
        let terminal = Terminal::new(CrosstermBackend::new(BufWriter::new(io::stderr())))?;
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::Release);
        // From here on dropping gives it back.
        let mut screen = Screen { terminal };
        // A terminal that answers no questions can be drawn on, too: nobody asks where its cursor is.
        execute!(screen.terminal.backend_mut(), EnterAlternateScreen, Hide, Clear(ClearType::All))?;
        Ok(screen)
    }

    /// Draws a run. `quit` is what the key q does.
    pub(super) fn draw(&mut self, model: &Model, choice: Choice, quit: &str) -> io::Result<()> {
        self.terminal.draw(|frame| view::draw(frame, model, choice, quit)).map(drop)
    }

    /// The next key that means something, if one is pressed within this time.
    pub(super) fn key(&self, within: Duration) -> io::Result<Option<Key>> {
        if !event::poll(within)? {
            return Ok(None);
        }
        let Event::Key(key) = event::read()? else { return Ok(None) };
        if key.kind == KeyEventKind::Release {
            return Ok(None);
        }
        Ok(match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Interrupt),
            KeyCode::Char('q') | KeyCode::Esc => Some(Key::Quit),
            KeyCode::Char('p' | ' ') => Some(Key::Pause),
            KeyCode::Char('e') => Some(Key::Errors),
            _ => None,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Whether the terminal is taken.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back, if it is taken: also for who ends the process at once.
pub(in crate::cli) fn give_back() {
    if TAKEN.swap(false, Ordering::AcqRel) {
        // A terminal that is gone needs nothing.
        let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}
