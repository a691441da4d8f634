//! Reads a database's own counters during a run.

use std::ops::Range;

use async_trait::async_trait;

use super::Error;
use crate::measure::counters::Counters;
use crate::measure::pages::PageReads;
use crate::measure::waits::{ServerActivity, SessionSample};
use crate::result::nodes::StandbyLag;

/// Reads a database's counters, on its own connection if it needs one. It is called about once a second.
#[async_trait(?Send)]
pub trait Observer {
    /// The current counters; unknown ones are left out. It may be called again after an error: it reconnects to a
    /// database that was unreachable. If the future is dropped, the observer remains usable.
    async fn look(&mut self) -> Result<Counters, Error>;

    /// Cumulative page requests to its buffers, for the workload's tables and indexes; `None` if it does not count
    /// them. Called only at both ends of the measurement interval, so it may cost a query or two. If the future is
    /// dropped, the observer remains usable.
    async fn pages(&mut self) -> Result<Option<PageReads>, Error> {
        Ok(None)
    }

    /// The replication lag of standbys; empty if there are none, or it is unknown. It is called about once a second. If
    /// the future is dropped, the observer remains usable.
    async fn standbys(&mut self) -> Result<Vec<StandbyLag>, Error> {
        Ok(Vec::new())
    }

    /// The current states of the server's sessions; `None` if unsupported. It is called many times a second, so it must
    /// be cheap. If the future is dropped, the observer remains usable.
    async fn sessions(&mut self) -> Result<Option<Vec<SessionSample>>, Error> {
        Ok(None)
    }

    /// The time between such samples, in microseconds: random each time, so that samples are not in step with anything
    /// else.
    fn pause_us(&self) -> Range<u64> {
        35_000..65_000
    }

    /// Activity at the server besides the run's transactions: blocking sessions and background work; `None` if
    /// unsupported. It is called about once a second. If the future is dropped, the observer remains usable.
    async fn server_activity(&mut self) -> Result<Option<ServerActivity>, Error> {
        Ok(None)
    }

    /// The source of [`Observer::sessions`], in words.
    fn sessions_source(&self) -> &'static str {
        ""
    }

    /// Why [`Observer::sessions`] is not supported.
    fn no_sessions(&self) -> &'static str {
        "Graymark does not know what the sessions of this database wait for"
    }

    /// The counters that this database does not have, and why, a line each. Complete after the first answer.
    fn left_out(&self) -> Vec<String>;
}

/// An observer for a database without counters.
pub struct NoObserver {
    /// Why it has none.
    pub why: &'static str,
}

#[async_trait(?Send)]
impl Observer for NoObserver {
    async fn look(&mut self) -> Result<Counters, Error> {
        Ok(Counters::default())
    }

    fn left_out(&self) -> Vec<String> {
        vec![self.why.to_owned()]
    }
}
