//! What Graymark does, told step by step on standard error with `-v`, and in more detail with `-vv`. Without either,
//! nothing listens and a step costs a look at one flag.

use std::io::{self, Write};

use tracing::Level;
use tracing_subscriber::fmt::time::Uptime;

use crate::visible::visible;

/// Listens from now on.
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
    // It is the first and only one in the process of a command.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Standard error, without what a terminal would obey: a step may hold a server's words.
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
