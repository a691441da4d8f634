//! What sessions tell the stage that moves them.

use super::values::Values;
use crate::engine::{Error, Failure};

/// What a session reports.
pub(super) enum Report {
    /// It is open; under which number the server knows it, if it has one.
    Ready(Option<i64>),
    /// It could not be opened.
    Unopened(Error),
    /// Its transaction is held open.
    Held,
    /// What it does waits for another session.
    Waits,
    /// It has done what it was told, after so many refusals.
    Ended(Result<Values, Failure>, u32),
}
