//! What is said to the user. A reader that goes away, such as `head`, ends neither a run nor its record: the standard
//! macros would panic. Text of servers, files and users comes through here, so what a terminal would obey is made
//! visible here.

use std::fmt::Arguments;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use crate::engine::Error;
use crate::report::text::ALARM;
use crate::visible::visible;

/// The first error of standard output, but for a reader that went away.
static FAILED: OnceLock<io::Error> = OnceLock::new();

/// A line on standard output: what the command was asked for.
macro_rules! answer {
    ($($text:tt)*) => { $crate::cli::say::answered(format_args!($($text)*)) };
}

/// A line on standard error: everything else.
macro_rules! tell {
    ($($text:tt)*) => { $crate::cli::say::told(format_args!($($text)*)) };
}

/// Writes a line on standard output. Its error is kept for [`kept`].
pub(super) fn answered(text: Arguments<'_>) {
    note(line(io::stdout().lock(), text));
}

/// Writes a line on standard error, and lets it go if nobody takes it.
pub(super) fn told(text: Arguments<'_>) {
    let _ = line(io::stderr().lock(), text);
}

fn line(mut to: impl Write, text: Arguments<'_>) -> io::Result<()> {
    writeln!(to, "{}", visible(&text.to_string()))
}

/// Keeps an error of standard output for [`kept`].
pub(super) fn note(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        FAILED.get_or_init(|| error);
    }
}

/// Whether all that was written on standard output is there, as far as someone reads it.
///
/// # Errors
/// If it is not.
pub(super) fn kept() -> Result<(), Error> {
    note(io::stdout().flush());
    match FAILED.get() {
        Some(error) => {
            Err(Error::Output(format!("cannot write the result to standard output: {error}; send it to another place")))
        }
        None => Ok(()),
    }
}

/// Text in red if it is `coloured`. It must be visible before.
fn red(text: &str, coloured: bool) -> String {
    if coloured { format!("\x1b[1;31m{text}\x1b[0m") } else { text.to_owned() }
}

/// Whether what is written to a stream is coloured: on a terminal whose user has not asked for no colours
/// (<https://no-color.org>).
fn coloured(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty())
}

/// What a reader of standard error must see.
pub(super) fn alarm(of: &str, text: &str) {
    let text = format!("{of}: {text}");
    let _ = writeln!(io::stderr().lock(), "{}", red(&visible(&text), coloured(&io::stderr())));
}

/// A report on standard output, with the lines that the reader must see in red if that is a terminal.
pub(super) fn report(report: &str) {
    note(writeln!(io::stdout().lock(), "{}", marked(&visible(report), coloured(&io::stdout()))));
}

/// A script on standard output, byte by byte: it is of this program's making.
pub(super) fn script(bytes: &[u8]) {
    note(io::stdout().lock().write_all(bytes));
}

fn marked(report: &str, coloured: bool) -> String {
    let further = " ".repeat(ALARM.len());
    let mut alarm = false;
    let lines = report.lines().map(|line| {
        alarm = line.starts_with(ALARM) || (alarm && line.starts_with(&further));
        if alarm { red(line, coloured) } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_are_red_on_a_terminal_alone() {
        let report = "10 NOPM\n! 5 transactions\n  failed\nTPC-C\n  else";
        assert_eq!(marked(report, false), report);
        let red = marked(report, true);
        let lines: Vec<bool> =
            red.lines().map(|line| line.starts_with("\x1b[1;31m") && line.ends_with("\x1b[0m")).collect();
        assert_eq!(lines, [false, true, true, false, false], "{red:?}");
    }
}
