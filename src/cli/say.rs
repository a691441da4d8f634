//! What is said to the user. A reader that goes away, such as `head`, ends neither a run nor its record: the standard macros would panic.

use std::fmt::Arguments;
use std::io::Write;

/// A line on standard output: what the command was asked for.
macro_rules! answer {
    ($($text:tt)*) => { $crate::cli::say::line(std::io::stdout().lock(), format_args!($($text)*)) };
}

/// A line on standard error: everything else.
macro_rules! tell {
    ($($text:tt)*) => { $crate::cli::say::line(std::io::stderr().lock(), format_args!($($text)*)) };
}

/// Writes a line, and lets it go if nobody takes it.
pub(super) fn line(mut to: impl Write, text: Arguments<'_>) {
    let _ = writeln!(to, "{text}");
}
