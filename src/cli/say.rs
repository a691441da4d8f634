//! What is said to the user. A reader that goes away, such as `head`, ends neither a run nor its record: the standard macros would panic.

use std::fmt::Arguments;
use std::io::{IsTerminal, Write};

use crate::report::text::ALARM;

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

/// Text in red if it is `coloured`.
pub(super) fn red(text: &str, coloured: bool) -> String {
    if coloured { format!("\x1b[1;31m{text}\x1b[0m") } else { text.to_owned() }
}

/// Whether what is written to a stream is coloured: on a terminal whose user has not asked for no colours (<https://no-color.org>).
pub(super) fn coloured(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|no| no.is_empty())
}

/// What a reader of standard error must see.
pub(super) fn alarm(of: &str, text: &str) {
    tell!("{}", red(&format!("{of}: {text}"), coloured(&std::io::stderr())));
}

/// A report for standard output, with the lines that the reader must see in red if that is a terminal.
pub(super) fn alarms(report: &str) -> String {
    marked(report, coloured(&std::io::stdout()))
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
        let lines: Vec<bool> = red.lines().map(|line| line.starts_with("\x1b[1;31m") && line.ends_with("\x1b[0m")).collect();
        assert_eq!(lines, [false, true, true, false, false], "{red:?}");
    }
}
