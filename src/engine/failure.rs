//! What can go wrong between Graymark and a database.

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
    /// The database refused a statement, or a row that must be there was not (clause 2.3.6). Rolled back.
    #[error("{0}")]
    Invalid(String),
}

impl Failure {
    /// The reply to a command that has committed is not as expected. What it did is done, so the fate of the
    /// transaction is unknown and the session must not go on as if it were rolled back.
    pub fn unreadable(why: &Failure) -> Failure {
        Failure::Disconnected {
            ambiguous: true,
            detail: format!("given up, as a committed transaction's reply is not as expected: {why}"),
        }
    }
}

/// Why a command cannot go on with a database. The text is one line that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// What was asked for makes no sense: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// The database cannot be reached or used: exit code 3.
    #[error("{0}")]
    Database(String),
    /// The result, or a part of it, cannot be written where it should be kept: exit code 4.
    #[error("{0}")]
    Output(String),
}
