//! Events that a session thread sends to the test runner.

use super::values::Values;
use crate::engine::{Error, Failure};

/// An event of a session.
pub(super) enum SessionEvent {
    /// The session is open. The number by which the server knows it, if it has one.
    Opened(Option<i64>),
    /// The session could not be opened.
    OpenFailed(Error),
    /// Its transaction is held open at its pause point.
    Paused,
    /// Its current request waits for another session.
    Waiting,
    /// Its request has ended: with values or a failure, after this many retries.
    Finished(Result<Values, Failure>, u32),
}
