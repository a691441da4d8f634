//! Virtuoso's own counters while a run goes on, and what a private server's process reads and writes.

use super::catalog::Trouble;
use super::database::Virtuoso;
use super::load::explain;
use crate::engine::odbc::connection::Connection;
use crate::engine::server::io;
use crate::engine::server::virtuoso::PAGE;
use crate::engine::sql::script;
use crate::engine::{Error, Observer};
use crate::measure::counters::{Counter, Counters};

const SQL: &str = include_str!("observe.sql");

/// Looks at a server's counters on a connection of its own.
pub(super) struct Watch<'a> {
    virtuoso: &'a Virtuoso,
    connection: Option<Connection>,
    notes: Vec<String>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(virtuoso: &'a Virtuoso) -> Self {
        let notes = vec![
            "log, log flushes and commits: Virtuoso does not count them".to_owned(),
            "checkpoints of its own: Virtuoso counts none; those that Graymark asks for are in the record".to_owned(),
        ];
        Watch { virtuoso, connection: None, notes }
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn read(connection: &Connection, counters: &mut Counters) -> Result<(), Trouble> {
        for query in script::statements(SQL) {
            let reply = connection.query(query.sql)?;
            let Some(row) = reply.rows.first() else { continue };
            for (column, name) in reply.columns.iter().enumerate() {
                if let Some(counter) = Counter::named(&name.to_lowercase()) {
                    counters.set(counter, row.optional_long(column)?.map(|value| value as f64));
                }
            }
        }
        for (blocks, bytes) in [(Counter::BlockReads, Counter::BlockReadBytes), (Counter::BlockWrites, Counter::BlockWriteBytes)] {
            counters.set(bytes, counters.get(blocks).map(|blocks| blocks * PAGE as f64));
        }
        Ok(())
    }
}

impl Observer for Watch<'_> {
    async fn look(&mut self) -> Result<Counters, Error> {
        let mut counters = Counters::default();
        let target = self.virtuoso.target();
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => target.connect()?,
        };
        Watch::read(&connection, &mut counters).map_err(|trouble| explain(target, "cannot read the server's counters", trouble))?;
        self.connection = Some(connection);
        match self.virtuoso.server().map(|server| server.pid()) {
            Some(Some(pid)) => {
                if let Err(why) = io::counters(pid, &mut counters) {
                    self.note(why);
                }
            }
            Some(None) => {}
            None => self.note("CPU and I/O of the server's process: the server is not Graymark's".to_owned()),
        }
        Ok(counters)
    }

    fn left_out(&self) -> Vec<String> {
        self.notes.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_ask_for_counters_by_their_names() {
        let [query] = &script::statements(SQL)[..] else { panic!("not one query") };
        let names = query.sql.split(" AS ").skip(1).map(|rest| rest.split([',', ';', '\n']).next().unwrap());
        let named: Vec<Option<Counter>> = names.map(Counter::named).collect();
        assert_eq!(named, [Some(Counter::BlockReads), Some(Counter::BlockWrites)]);
    }
}
