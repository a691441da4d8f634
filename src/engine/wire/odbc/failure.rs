//! What a driver says when a call fails, and what that means.

use std::fmt;

use super::dialect::Dialect;
use crate::engine::{Failure, RetryReason};

/// The length from which a word is recognized in a message.
const QUOTED: usize = 3;

/// What a failed call left behind: SQLSTATE, the database's own number, and its words on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    state: String,
    native: i32,
    message: String,
}

/// What a [`Diagnostic`] means to a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It is rolled back, or has to be; the same input should be tried again.
    Retry(RetryReason),
    /// The connection is gone.
    Lost,
    /// The statement is refused.
    Refused,
}

impl Diagnostic {
    pub(super) fn new(state: &[u8], native: i32, message: &str) -> Self {
        let mut text = message.trim_start();
        // Each layer that handed the message on has put its name in brackets before it.
        while let Some((_, rest)) = text.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            text = rest.trim_start();
        }
        let message = crate::visible::one_line(text);
        Diagnostic { state: String::from_utf8_lossy(state).into_owned(), native, message }
    }

    /// Of this program or the driver manager, without a driver's own state.
    pub(super) fn of_driver_manager(message: String) -> Self {
        Diagnostic { state: "HY000".to_owned(), native: 0, message }
    }

    /// Adds what a further record says.
    pub(super) fn append(&mut self, further: &Diagnostic) {
        if !further.message.is_empty() && !self.message.contains(&further.message) {
            self.message = format!("{}; {}", self.message, further.message);
        }
    }

    /// SQLSTATE: five characters.
    pub fn state(&self) -> &str {
        &self.state
    }

    /// The number that the database itself gives the error.
    pub fn native(&self) -> i32 {
        self.native
    }

    /// The words of the database, on one line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Takes a secret out of the message. Databases quote a part of a statement that they refuse, so the whole message
    /// goes if it contains a word of a secret of several words.
    pub(super) fn without(mut self, secret: &str) -> Self {
        if !secret.is_empty() {
            self.message = self.message.replace(secret, "***");
        }
        let is_quoted = |word: &str| word.len() >= QUOTED && self.message.contains(word);
        if secret.contains(char::is_whitespace) && secret.split(|c: char| !c.is_alphanumeric()).any(is_quoted) {
            self.message = "its message is not shown, for it quotes the connection string".to_owned();
        }
        self
    }

    /// What it means. SQLSTATE decides; where a database keeps to the general state HY000, its number and words do.
    pub fn meaning(&self) -> Meaning {
        let says = |word: &str| self.message.to_ascii_lowercase().contains(word);
        match (self.state.as_str(), self.native) {
            // MariaDB and Virtuoso give this state to deadlocks too.
            ("40001", _) if self.native == 1213 || says("deadlock") => Meaning::Retry(RetryReason::Deadlock),
            ("40001", _) => Meaning::Retry(RetryReason::Serialization),
            ("40P01", _) | (_, 1213) => Meaning::Retry(RetryReason::Deadlock),
            // PostgreSQL's lock_timeout, MariaDB's innodb_lock_wait_timeout, SQLite's busy and locked.
            ("55P03", _) | (_, 1205) => Meaning::Retry(RetryReason::LockTimeout),
            ("HY000", 5 | 6) if says("locked") || says("busy") => Meaning::Retry(RetryReason::LockTimeout),
            // MariaDB's innodb_snapshot_isolation: a row has changed since the snapshot.
            ("HY000", 1020) => Meaning::Retry(RetryReason::Serialization),
            // An administrator's shutdown of PostgreSQL; MariaDB's "cannot connect", "gone away", "lost" and "killed".
            ("57P01" | "57P02" | "57P03", _) | ("HY000", 2002 | 2003 | 2006 | 2013 | 1927) | ("70100", 1927) => {
                Meaning::Lost
            }
            (state, _) if state.starts_with("08") => Meaning::Lost,
            // ODBC's "transaction state unknown", SQL's "statement completion unknown", and no answer in time.
            ("25S01" | "40003" | "HYT01", _) => Meaning::Lost,
            _ => Meaning::Refused,
        }
    }

    /// What to do about it; empty where nothing is known.
    pub(super) fn advice(&self) -> &'static str {
        match (self.meaning(), self.state(), self.native) {
            (Meaning::Retry(RetryReason::LockTimeout), ..) => {
                "; another session holds locks on the tables: wait for its transaction or end it, then start the same \
                 command again"
            }
            // Insufficient privilege, as PostgreSQL and Db2 say it; MariaDB and MySQL, SQL Server, and Oracle.
            (_, "42501", _)
            | (_, _, 1044 | 1142 | 1143 | 1227 | 1370)
            | (_, "42000", 229 | 230 | 262)
            | (_, _, 1031) => {
                "; grant this user SELECT, INSERT, UPDATE and DELETE on Graymark's tables and EXECUTE on its \
                 procedures, or connect as their owner; a load also creates and drops them"
            }
            _ => "",
        }
    }

    /// Why a transaction did not complete. `ambiguous`: whether it may be committed if the connection is gone.
    pub fn failure(&self, ambiguous: bool) -> Failure {
        match self.meaning() {
            Meaning::Retry(reason) => Failure::Retry { reason, detail: self.to_string() },
            Meaning::Lost => Failure::Disconnected { ambiguous, detail: self.to_string() },
            Meaning::Refused => Failure::Invalid(format!("{self}{}", self.advice())),
        }
    }
}

impl Diagnostic {
    /// As [`Diagnostic::failure`], with the errors that only this dialect knows: by SQLSTATE, by the database's own
    /// number, or by both (`1205/40001`).
    pub fn failure_in(&self, dialect: Dialect, ambiguous: bool) -> Failure {
        let codes = [self.native.to_string(), self.state.clone(), format!("{}/{}", self.native, self.state)];
        let knows = |known: &[&str]| codes.iter().any(|code| known.contains(&code.as_str()));
        let lost = knows(dialect.lost) || ambiguous && codes.iter().any(|code| dialect.whole.leaves_open(code));
        match codes.iter().find_map(|code| dialect.whole.retries(code)) {
            Some(reason) => Failure::Retry { reason, detail: self.to_string() },
            None if lost => Failure::Disconnected { ambiguous, detail: self.to_string() },
            None => self.failure(ambiguous),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.native {
            0 => write!(f, "{} (SQLSTATE {})", self.message, self.state),
            native => write!(f, "{} (SQLSTATE {}, {native})", self.message, self.state),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_secret_statement_is_shown() {
        let refused = |message: &str| Diagnostic::new(b"42000", 1064, message).without("SETT @key = 'hunter2-plain'");
        assert_eq!(refused("no such host").message(), "no such host");
        for message in
            ["in `SETT @key = 'hunter2-plain'`", "near 'SETT @key = 'hunter2-pl' at line 1", "near 'hunter2'"]
        {
            assert!(!refused(message).message().contains("hunter"), "{message}");
        }
    }

    #[test]
    fn states_and_numbers_say_what_to_do() {
        use Meaning::*;
        for (state, native, message, meaning) in [
            ("40001", 7, "could not serialize access", Retry(RetryReason::Serialization)),
            ("40001", 1213, "Deadlock found when trying to get lock", Retry(RetryReason::Deadlock)),
            ("40001", -1, "SR172: Transaction deadlocked", Retry(RetryReason::Deadlock)),
            ("40P01", 7, "deadlock detected", Retry(RetryReason::Deadlock)),
            ("HY000", 1205, "Lock wait timeout exceeded", Retry(RetryReason::LockTimeout)),
            ("HY000", 5, "database is locked (5)", Retry(RetryReason::LockTimeout)),
            ("HY000", 5, "something else", Refused),
            ("08S01", 0, "Communication link failure", Lost),
            ("08003", 0, "Connection not open", Lost),
            ("57P01", 7, "terminating connection due to administrator command", Lost),
            ("HY000", 2013, "Lost connection to MySQL server during query", Lost),
            ("25S01", 0, "Transaction state", Lost),
            ("40003", 7, "statement completion unknown", Lost),
            ("HYT01", 0, "Connection timeout expired", Lost),
            ("23000", 1062, "Duplicate entry", Refused),
            ("42P01", 7, "relation does not exist", Refused),
        ] {
            assert_eq!(
                Diagnostic::new(state.as_bytes(), native, message).meaning(),
                meaning,
                "{state} {native} {message}"
            );
        }
    }

    #[test]
    fn a_lock_and_a_missing_right_come_with_advice() {
        for (state, native, wanted) in [
            ("55P03", 7, "another session holds locks"),
            ("HY000", 1205, "another session holds locks"),
            ("42501", 7, "grant this user SELECT"),
            ("42000", 1142, "grant this user SELECT"),
            ("42000", 229, "grant this user SELECT"),
        ] {
            let advice = Diagnostic::new(state.as_bytes(), native, "no").advice();
            assert!(advice.contains(wanted), "{state} {native}: {advice}");
        }
        assert_eq!(Diagnostic::new(b"42P01", 7, "no such table").advice(), "");
        let Failure::Invalid(why) = Diagnostic::new(b"42501", 7, "permission denied").failure(false) else {
            panic!("another failure")
        };
        assert!(why.ends_with("or connect as their owner; a load also creates and drops them"), "{why}");
    }

    #[test]
    fn a_message_is_one_line_without_the_names_of_its_bearers() {
        let diagnostic = Diagnostic::new(b"42P01", 1, "[unixODBC][psqlodbc] ERROR: no\n such [table]");
        assert_eq!(diagnostic.to_string(), "ERROR: no such [table] (SQLSTATE 42P01, 1)");
        assert_eq!(Diagnostic::new(b"28000", 0, "user x, PWD=a b").without("a b").message(), "user x, PWD=***");
    }
}
