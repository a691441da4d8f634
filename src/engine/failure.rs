//! What can go wrong between Graymark and a database.

use std::fmt;
use std::sync::Arc;

use crate::url;

/// Why a transaction was refused by a database that expects it to be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryReason {
    /// SQLSTATE 40001.
    Serialization,
    /// SQLSTATE 40P01 and its like.
    Deadlock,
    /// A lock was not granted in time.
    LockTimeout,
}

impl RetryReason {
    /// The name under which it is counted.
    pub fn name(self) -> &'static str {
        match self {
            RetryReason::Serialization => "serialization",
            RetryReason::Deadlock => "deadlock",
            RetryReason::LockTimeout => "lock_timeout",
        }
    }
}

/// Why a transaction did not complete.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// Rolled back by the database; the same input should be tried again.
    #[error("{}: {detail}", reason.name())]
    Retry {
        /// Why.
        reason: RetryReason,
        /// In the database's words.
        detail: String,
    },
    /// The connection is gone and the session cannot be used any more.
    #[error("connection lost: {detail}")]
    Disconnected {
        /// Whether the transaction may have been committed all the same.
        ambiguous: bool,
        /// In the words of the database or the operating system.
        detail: String,
    },
    /// The reply to a command that has committed cannot be read or is not as expected. What it did is done, so the fate
    /// of the transaction is unknown. The session is given up, though its connection may be sound.
    #[error("{0}")]
    Unreadable(String),
    /// The database refused a statement, or a row that must be there was not (clause 2.3.6). Rolled back.
    #[error("{0}")]
    Invalid(String),
}

impl Failure {
    /// Of what the reply to a command that has committed lacks: the session must not go on as if it were rolled back.
    pub fn unreadable(why: &Failure) -> Failure {
        Failure::Unreadable(format!("given up, as a committed transaction's reply is not as expected: {why}"))
    }
}

/// Why a command cannot go on. The text is one line that says what to do.
#[derive(Clone, Debug)]
pub enum Error {
    /// What was asked for makes no sense.
    Usage(String),
    /// The database cannot be reached or used.
    Database(String),
    /// The result, or a part of it, cannot be written where it should be kept.
    Output(String),
    /// Something else than a database failed, such as a record. What failed is the source.
    Other {
        /// Of which kind it is.
        kind: ErrorKind,
        /// The error itself.
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

/// Kinds of errors, by whose matter they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// What was asked for makes no sense.
    Usage,
    /// The database cannot be reached or used.
    Database,
    /// The result cannot be kept.
    Output,
}

/// Errors of one kind with the same words are equal.
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

    /// Of which kind it is.
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
