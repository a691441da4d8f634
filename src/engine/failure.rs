//! Failures of transactions, and errors of commands.

use std::fmt;
use std::sync::Arc;

use crate::url;

/// Why a database refused a transaction that it expects to be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryReason {
    /// SQLSTATE 40001.
    Serialization,
    /// SQLSTATE 40P01 and equivalents.
    Deadlock,
    /// A lock was not granted in time.
    LockTimeout,
    /// A part of the database is not available for a moment.
    Unavailable,
    /// The database has more work than it can do.
    Overloaded,
}

impl RetryReason {
    /// The name under which it is counted.
    pub fn name(self) -> &'static str {
        match self {
            RetryReason::Serialization => "serialization",
            RetryReason::Deadlock => "deadlock",
            RetryReason::LockTimeout => "lock_timeout",
            RetryReason::Unavailable => "unavailable",
            RetryReason::Overloaded => "overloaded",
        }
    }
}

/// Why a transaction did not complete.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// Rolled back by the database; the same input should be retried.
    #[error("{}: {detail}", reason.name())]
    Retry {
        /// Why.
        reason: RetryReason,
        /// The database's message.
        detail: String,
    },
    /// The connection is lost and the session unusable.
    #[error("connection lost: {detail}")]
    Disconnected {
        /// Whether the transaction may have been committed.
        ambiguous: bool,
        /// The message of the database or the operating system.
        detail: String,
    },
    /// The reply to a command that has committed cannot be read or is not as expected. The outcome of the transaction
    /// is unknown. The session is abandoned, although its connection may be usable.
    #[error("{0}")]
    Unreadable(String),
    /// The database refused a statement, or a row that must exist was missing (clause 2.3.6). Rolled back.
    #[error("{0}")]
    Invalid(String),
}

impl Failure {
    /// For a bad reply to a command that has committed: the session must not continue as if it were rolled back.
    pub fn unreadable(why: &Failure) -> Failure {
        Failure::Unreadable(format!("given up, as a committed transaction's reply is not as expected: {why}"))
    }
}

/// Why a command failed. The text is one line that says what to do.
#[derive(Clone, Debug)]
pub enum Error {
    /// The arguments or the state of the database do not allow it.
    Usage(String),
    /// The database cannot be reached or used.
    Database(String),
    /// The result, or a part of it, cannot be written where it should be kept.
    Output(String),
    /// Something other than a database failed, such as a record. The source is the original error.
    Other {
        /// Its kind.
        kind: ErrorKind,
        /// The original error.
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage(why) | Error::Database(why) | Error::Output(why) => to.write_str(why),
            Error::Other { source, .. } => source.fmt(to),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Other { source, .. } => Some(source.as_ref()),
            Error::Usage(_) | Error::Database(_) | Error::Output(_) => None,
        }
    }
}

/// Kinds of errors; each has an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The arguments or the state of the database do not allow it.
    Usage,
    /// The database cannot be reached or used.
    Database,
    /// The result cannot be written.
    Output,
}

/// Errors of the same kind with the same text are equal.
impl PartialEq for Error {
    fn eq(&self, other: &Error) -> bool {
        self.kind() == other.kind() && self.to_string() == other.to_string()
    }
}

impl Eq for Error {}

impl Error {
    /// An error of another part of the program.
    pub fn of(kind: ErrorKind, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error::Other { kind, source: Arc::new(source) }
    }

    /// Its kind.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Usage(_) => ErrorKind::Usage,
            Error::Database(_) => ErrorKind::Database,
            Error::Output(_) => ErrorKind::Output,
            Error::Other { kind, .. } => *kind,
        }
    }
}
impl From<url::Error> for Error {
    fn from(error: url::Error) -> Error {
        Error::Usage(error.to_string())
    }
}
