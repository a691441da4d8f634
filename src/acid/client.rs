//! A client of a crash audit's load, for any workload: a terminal and its session.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use super::suite::{ClientOutcome, LoadClient};
use crate::engine::guard::guarded;
use crate::engine::sql::{AnyConnection, SqlWorkload};
use crate::engine::{Error, Failure, Session};
use crate::result::{Manifest, Via};
use crate::workload::trace::{Footprint, Mark, Trace};
use crate::workload::{Outcome, Terminal};

/// Retries of a transaction before the client goes on with another one.
const MOST_RETRIES: u64 = 100;
/// Retries without a pause; later ones wait a little.
const EAGER_RETRIES: u64 = 2;

/// A terminal and its session. The crash audit looks up the rows of the marks.
pub(super) struct Client<W: SqlWorkload> {
    terminal: W::Terminal,
    session: Option<W::Session<AnyConnection>>,
    marks: Vec<&'static Mark>,
}

impl<W: SqlWorkload> Client<W> {
    /// The client with this number. Clients have different homes as long as there are enough.
    pub(super) fn new(
        manifest: &Manifest,
        seed: u64,
        number: u64,
        marks: Vec<&'static Mark>,
    ) -> Result<Client<W>, Error> {
        let terminals = W::terminals(manifest.scale, &manifest.parameters, seed)
            .map_err(|what| Error::Database(format!("the database's manifest lacks {what}: load it again")))?;
        let per_home = u64::from(W::TERMINALS);
        let place = number % u64::from(manifest.scale) * per_home + number / u64::from(manifest.scale);
        Ok(Client { terminal: W::terminal(&terminals, place), session: None, marks })
    }

    /// A row with the number of its mark; none if the audit does not look up this mark.
    fn marked(&self, trace: Trace) -> Option<(usize, Trace)> {
        self.marks.iter().position(|mark| *mark == trace.mark).map(|number| (number, trace))
    }
}

impl<W: SqlWorkload> LoadClient for Client<W> {
    fn begin(&mut self, connection: AnyConnection, via: Via) {
        self.session = Some(W::session(connection, via));
    }

    fn next<'a>(&'a mut self) -> Pin<Box<dyn Future<Output = ClientOutcome> + 'a>> {
        Box::pin(async move {
            let input = self.terminal.next_input();
            let footprint = W::footprint(&input);
            let Some(session) = &mut self.session else {
                return ClientOutcome::Failed(Failure::Invalid("there is no session".to_owned()), footprint);
            };
            let mut retries = 0;
            let done = loop {
                match guarded(session.execute(&input)).await {
                    Err(Failure::Retry { .. }) if retries < MOST_RETRIES => retries += 1,
                    done => break done,
                }
                if retries > EAGER_RETRIES {
                    tokio::time::sleep(Duration::from_millis(retries.min(50))).await;
                }
            };
            match done {
                Err(failure) => ClientOutcome::Failed(failure, footprint),
                Ok(output) if W::outcome(&output) == Outcome::RolledBack => match footprint {
                    Footprint::Row(trace) => ClientOutcome::RolledBack(self.marked(trace)),
                    _ => ClientOutcome::RolledBack(None),
                },
                Ok(output) => ClientOutcome::Committed(W::trace(&input, &output).and_then(|trace| self.marked(trace))),
            }
        })
    }

    fn end(&mut self) {
        self.session = None;
    }
}
