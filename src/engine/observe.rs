//! Who looks at a database's own counters while a run goes on.

use std::future::Future;

use super::Error;
use crate::measure::counters::Counters;

/// Looks at a database's counters, on a connection of its own where it needs one. It is asked about once a second.
pub trait Observer {
    /// The counters as they stand now; what cannot be known is left out. After an error it may be asked again: it finds its way back to a
    /// database that was gone. Dropped before its end, it leaves the observer usable.
    fn look(&mut self) -> impl Future<Output = Result<Counters, Error>>;

    /// What this database cannot tell, and why, a line each. All of it is known after the first answer.
    fn left_out(&self) -> Vec<String>;
}

/// Looks at nothing, for a database that has no counters.
pub struct Unobserved {
    /// Why it has none.
    pub why: &'static str,
}

impl Observer for Unobserved {
    async fn look(&mut self) -> Result<Counters, Error> {
        Ok(Counters::default())
    }

    fn left_out(&self) -> Vec<String> {
        vec![self.why.to_owned()]
    }
}
