//! A client of TPC-C under load. What the crash audit looks for are orders.

use std::future::Future;
use std::pin::Pin;

use crate::acid::suite::{Player, Told};
use crate::engine::guard::guarded;
use crate::engine::sql::{AnyConnection, SqlWorkload};
use crate::engine::{Error, Failure, Session};
use crate::result::{Manifest, Via};
use crate::workload::tpcc::{ORDER_MARKS, Tpcc};
use crate::workload::trace::{Footprint, Trace};
use crate::workload::{Outcome, Terminal, Workload};

/// A terminal and its session.
pub(super) struct Client {
    terminal: <Tpcc as Workload>::Terminal,
    session: Option<<Tpcc as SqlWorkload>::Session<AnyConnection>>,
}

impl Client {
    /// The client of a number. Each stands at a warehouse of its own, as far as there are enough.
    pub(super) fn new(manifest: &Manifest, seed: u64, number: u64) -> Result<Client, Error> {
        let terminals = Tpcc::terminals(manifest.scale, &manifest.parameters, seed)
            .map_err(|what| Error::Database(format!("the database's manifest lacks {what}: load it again")))?;
        let per_warehouse = u64::from(Tpcc::TERMINALS);
        let place = number % u64::from(manifest.scale) * per_warehouse + number / u64::from(manifest.scale);
        Ok(Client { terminal: Tpcc::terminal(&terminals, place), session: None })
    }
}

impl Player for Client {
    fn begin(&mut self, connection: AnyConnection, via: Via) {
        self.session = Some(Tpcc::session(connection, via));
    }

    fn next<'a>(&'a mut self) -> Pin<Box<dyn Future<Output = Told> + 'a>> {
        Box::pin(async move {
            let input = self.terminal.next_input();
            let footprint = Tpcc::footprint(&input);
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
                Ok(output) if Tpcc::outcome(&output) == Outcome::RolledBack => match footprint {
                    Footprint::Row(trace) => Told::RolledBack(marked(trace)),
                    _ => Told::RolledBack(None),
                },
                Ok(output) => Told::Committed(Tpcc::trace(&input, &output).and_then(marked)),
            }
        })
    }

    fn end(&mut self) {
        self.session = None;
    }
}

/// A row with the number of its mark; none for one that is no order.
fn marked(trace: Trace) -> Option<(usize, Trace)> {
    ORDER_MARKS.iter().position(|mark| *mark == trace.mark).map(|number| (number, trace))
}
