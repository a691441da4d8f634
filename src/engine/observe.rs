//! Who looks at a database's own counters while a run goes on.

use std::ops::Range;

use async_trait::async_trait;

use super::Error;
use crate::measure::counters::Counters;
use crate::measure::pages::PageReads;
use crate::measure::waits::{BesideLook, SessionLook};
use crate::result::nodes::StandbyLag;

/// Looks at a database's counters, on a connection of its own where it needs one. It is asked about once a second.
#[async_trait(?Send)]
pub trait Observer {
    /// The counters as they stand now; what cannot be known is left out. After an error it may be asked again: it finds
    /// its way back to a database that was gone. Dropped before its end, it leaves the observer usable.
    async fn look(&mut self) -> Result<Counters, Error>;

    /// Running totals of the pages that it asked its buffers for, of the workload's tables and indexes; none where it
    /// does not count them. Asked at the two ends of the measurement interval only, so it may cost a query or two.
    /// Dropped before its end, it leaves the observer usable.
    async fn pages(&mut self) -> Result<Option<PageReads>, Error> {
        Ok(None)
    }

    /// How far standbys are behind; none where there are none, or that is not known. It is asked about once a second.
    /// Dropped before its end, it leaves the observer usable.
    async fn standbys(&mut self) -> Result<Vec<StandbyLag>, Error> {
        Ok(Vec::new())
    }

    /// What the server's sessions are at right now; none where it cannot be asked. It is asked many times a second, so
    /// it must be cheap. Dropped before its end, it leaves the observer usable.
    async fn sessions(&mut self) -> Result<Option<Vec<SessionLook>>, Error> {
        Ok(None)
    }

    /// The time from one such look to the next, in microseconds: drawn anew each time, so that looks keep no time with
    /// anything else.
    fn pause_us(&self) -> Range<u64> {
        35_000..65_000
    }

    /// What goes on at the server beside the run's transactions: who has held up sessions for a while, and what is done
    /// in background; none where it cannot be asked. It is asked about once a second. Dropped before its end, it leaves
    /// the observer usable.
    async fn beside(&mut self) -> Result<Option<BesideLook>, Error> {
        Ok(None)
    }

    /// Where [`Observer::sessions`] has it from, in words.
    fn sessions_source(&self) -> &'static str {
        ""
    }

    /// Why there is nothing to be had from [`Observer::sessions`].
    fn no_sessions(&self) -> &'static str {
        "Graymark does not know what the sessions of this database wait for"
    }

    /// What this database cannot tell, and why, a line each. All of it is known after the first answer.
    fn left_out(&self) -> Vec<String>;
}

/// Looks at nothing, for a database that has no counters.
pub struct Unobserved {
    /// Why it has none.
    pub why: &'static str,
}

#[async_trait(?Send)]
impl Observer for Unobserved {
    async fn look(&mut self) -> Result<Counters, Error> {
        Ok(Counters::default())
    }

    fn left_out(&self) -> Vec<String> {
        vec![self.why.to_owned()]
    }
}
