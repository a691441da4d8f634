//! A client under load, of any workload: a terminal and its session.

use std::future::Future;
use std::pin::Pin;

use super::suite::{Player, Told};
use crate::engine::guard::guarded;
use crate::engine::sql::{AnyConnection, SqlWorkload};
use crate::engine::{Error, Failure, Session};
use crate::result::{Manifest, Via};
use crate::workload::trace::{Footprint, Mark, Trace};
use crate::workload::{Outcome, Terminal};

/// A terminal and its session. What a crash audit looks for are rows of the marks.
pub(super) struct Client<W: SqlWorkload> {
    terminal: W::Terminal,
    session: Option<W::Session<AnyConnection>>,
    marks: Vec<&'static Mark>,
}

impl<W: SqlWorkload> Client<W> {
    /// The client of a number. Each stands at a home of its own, as far as there are enough.
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

    /// A row with the number of its mark; none of a mark that nobody looks for.
    fn marked(&self, trace: Trace) -> Option<(usize, Trace)> {
        self.marks.iter().position(|mark| *mark == trace.mark).map(|number| (number, trace))
    }
}

impl<W: SqlWorkload<Session<AnyConnection>: Send>> Player for Client<W> {
    fn begin(&mut self, connection: AnyConnection, via: Via) {
        self.session = Some(W::session(connection, via));
    }

    fn next<'a>(&'a mut self) -> Pin<Box<dyn Future<Output = Told> + 'a>> {
        Box::pin(async move {
            let input = self.terminal.next_input();
            let footprint = W::footprint(&input);
            let Some(session) = &mut self.session else {
                return Told::Failed(Failure::Invalid("there is no session".to_owned()), footprint);
            };
            let done = loop {
                match guarded(session.execute(&input)).await {
                    Err(Failure::Retry { .. }) => {}
                    done => break done,
                }
            };
            match done {
                Err(failure) => Told::Failed(failure, footprint),
                Ok(output) if W::outcome(&output) == Outcome::RolledBack => match footprint {
                    Footprint::Row(trace) => Told::RolledBack(self.marked(trace)),
                    _ => Told::RolledBack(None),
                },
                Ok(output) => Told::Committed(W::trace(&input, &output).and_then(|trace| self.marked(trace))),
            }
        })
    }

    fn end(&mut self) {
        self.session = None;
    }
}
