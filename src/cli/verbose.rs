//! Prints steps on standard error with `-v`, and more details with `-vv`. Without either,
//! a step costs only the test of a flag.

use std::io::{self, Write};

use tracing::Level;
use tracing_subscriber::fmt::time::Uptime;

use crate::visible::visible;

/// Enables the output.
pub(super) fn listen(times: u8) {
    let level = match times {
        0 => return,
        1 => Level::INFO,
        2 => Level::DEBUG,
        _ => Level::TRACE,
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_timer(Uptime::default())
        .with_target(false)
        .with_writer(|| Visible)
        .finish();
    // It is the only subscriber of the process.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Standard error with escaped control characters: a step may contain text of a server.
struct Visible;

impl Write for Visible {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().lock().write_all(visible(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
