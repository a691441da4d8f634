//! The terminal while a run is drawn on it; its state is restored in all cases.

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

/// A terminal in drawing mode.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
}

/// Checks that standard input and error are a terminal.
///
/// # Errors
/// If not; `instead` says what to do.
pub(super) fn require_terminal(what: &str, instead: &str) -> Result<(), Error> {
    if io::stderr().is_terminal() && io::stdin().is_terminal() {
        return Ok(());
    }
    Err(Error::Usage(format!("{what} needs a terminal, but standard input or standard error is not one: {instead}")))
}

impl Screen {
    /// Switches the terminal to drawing mode.
    ///
    /// # Errors
    /// If it cannot be drawn on.
    pub(super) fn take() -> io::Result<Screen> {
        let terminal = Terminal::new(CrosstermBackend::new(BufWriter::new(io::stderr())))?;
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::Release);
        // From here on, dropping restores it.
        let mut screen = Screen { terminal };
        // Also works on terminals that do not report the cursor position.
        execute!(screen.terminal.backend_mut(), EnterAlternateScreen, Hide, Clear(ClearType::All))?;
        Ok(screen)
    }

    /// Draws a run. `quit` is what the key q does.
    pub(super) fn draw(&mut self, model: &Model, choice: Choice, quit: &str) -> io::Result<()> {
        self.terminal.draw(|frame| view::draw(frame, model, choice, quit)).map(drop)
    }

    /// The next known key, if one is pressed within this time.
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
            _ if key.modifiers.contains(KeyModifiers::CONTROL) => None,
            KeyCode::Char('q') | KeyCode::Esc => Some(Key::Quit),
            KeyCode::Char('p' | ' ') => Some(Key::Pause),
            KeyCode::Char('e') => Some(Key::Errors),
            _ => None,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore_terminal();
    }
}

/// Whether the terminal is in drawing mode.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Restores the terminal, if it is in drawing mode: also before the process is ended at once.
pub(in crate::cli) fn restore_terminal() {
    if TAKEN.swap(false, Ordering::AcqRel) {
        // A closed terminal needs no restore.
        let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}
