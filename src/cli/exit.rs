//! Exit codes.

use std::process::ExitCode;

use super::{Ended, interrupt, say};
use crate::engine::{Error, ErrorKind};

/// Maximum length of an argument in a message.
const MOST_SHOWN: usize = 200;

const HELD: u8 = 0;
const FAILED: u8 = 1;
const USAGE: u8 = 2;
const DATABASE: u8 = 3;
const OUTPUT: u8 = 4;
const UNDECIDED: u8 = 5;

/// All exit codes and their meaning.
const CODES: [(u8, &str); 7] = [
    (HELD, "success, all checks passed"),
    (FAILED, "transactions failed, or a check failed"),
    (USAGE, "bad usage"),
    (DATABASE, "the database cannot be reached or used"),
    (OUTPUT, "the result could not be written"),
    (UNDECIDED, "the comparison is inconclusive"),
    (interrupt::EXIT_CODE, "interrupted"),
];

/// All exit codes in a sentence, for help and documentation.
pub(super) fn codes() -> String {
    let codes = CODES.map(|(code, what)| format!("{code} {what}"));
    format!("Exit codes: {}.", codes.join("; "))
}

/// The exit code of an error.
fn of(error: &Error) -> u8 {
    match error.kind() {
        ErrorKind::Usage => USAGE,
        ErrorKind::Database => DATABASE,
        ErrorKind::Output => OUTPUT,
    }
}

/// Prints the error of a command, if any, and returns its exit code. A result that could not be printed
/// is an error in any case.
pub(super) fn with(ended: Result<Ended, Error>) -> ExitCode {
    match ended.and_then(|ended| say::kept().map(|()| ended)) {
        Ok(Ended::Held) => ExitCode::from(HELD),
        Ok(Ended::Failed) => ExitCode::from(FAILED),
        Ok(Ended::Undecided) => ExitCode::from(UNDECIDED),
        Ok(Ended::Interrupted) => ExitCode::from(interrupt::EXIT_CODE),
        Err(error) => {
            tell!("graymark: {}", without_secrets(&error.to_string()));
            ExitCode::from(of(&error))
        }
    }
}

/// Prints a usage error on one line.
pub(super) fn bad_usage(text: &str) -> ExitCode {
    let text = without_secrets(text);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or("error: bad usage").trim_start_matches("error: ");
    let (tips, named): (Vec<&str>, Vec<&str>) =
        lines.take_while(|line| line.starts_with("  ")).map(str::trim).partition(|line| line.starts_with("tip:"));
    let named = named.join(", ");
    let separator = if named.is_empty() { "" } else { " " };
    // The similar option or value; clap's other tips are about passing it as a value anyway.
    let near = tips
        .iter()
        .find(|tip| tip.contains("similar"))
        .map(|tip| format!("; {}", tip.trim_start_matches("tip:").trim()));
    tell!("graymark: {first}{separator}{named}{}; try --help", near.unwrap_or_default());
    ExitCode::from(USAGE)
}

/// Removes secrets from a message about the command line, which may contain a misplaced URL or a long value.
fn without_secrets(text: &str) -> String {
    let mut text = text.to_owned();
    for argument in std::env::args_os().skip(1).filter_map(|argument| argument.into_string().ok()) {
        let value = argument.split_once('=').filter(|(name, _)| name.starts_with('-')).map_or("", |(_, value)| value);
        for part in [argument.as_str(), value].into_iter().filter(|part| crate::url::may_hold_secret(part)) {
            text = text.replace(part, &crate::url::DatabaseUrl::from(part).to_string());
        }
        for part in [argument.as_str(), value].into_iter().filter(|part| part.len() > MOST_SHOWN) {
            text = text.replace(part, &shortened(part));
        }
    }
    text
}

/// Truncates a long text.
fn shortened(text: &str) -> String {
    text.chars().take(MOST_SHOWN).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::io;

    use crate::engine::Error;
    use crate::record;

    #[test]
    fn errors_of_records_have_the_right_exit_code() {
        let full = record::Error::Write { path: "x/series.csv".into(), source: io::ErrorKind::StorageFull.into() };
        let none = record::Error::NoRecord { directory: "x".into() };
        for (error, code, caused) in [(full, super::OUTPUT, true), (none, super::USAGE, false)] {
            let text = error.to_string();
            let error = Error::from(error);
            assert_eq!((super::of(&error), error.to_string()), (code, text));
            let record = error.source().and_then(|source| source.downcast_ref::<record::Error>()).unwrap();
            assert_eq!(record.source().is_some(), caused);
        }
    }

    #[test]
    fn the_documentation_lists_all_exit_codes() {
        let codes = super::codes();
        for (name, text) in [
            ("README.md", include_str!("../../README.md")),
            ("docs/security.md", include_str!("../../docs/security.md")),
        ] {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(&codes), "{name} lacks: {codes}");
        }
    }
}
