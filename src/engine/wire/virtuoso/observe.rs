//! Virtuoso's own counters during a run, and the I/O of a private server's process.

use std::collections::BTreeMap;

use async_trait::async_trait;
use tokio::sync::Mutex;

use super::catalog::database_bytes;
use super::connect::{QueryError, Target};
use crate::engine::dialect::Dialect;
use crate::engine::server::io;
use crate::engine::server::virtuoso::{PAGE, Server};
use crate::engine::sql::WorkloadSql;
use crate::engine::sql::script::{self, Named};
use crate::engine::wire::odbc::driver::Connection;
use crate::engine::{Error, Observer};
use crate::measure::counters::{Counter, Counters};
use crate::measure::pages::{PageReads, Reads, TableReads};

/// The query with a name.
fn query(dialect: &Dialect, name: &str) -> &'static str {
    let counters = dialect.own_text("counters.sql").unwrap_or_default();
    script::statements(counters).into_iter().find(|query: &Named<'_>| query.name == name).map_or("", |query| query.sql)
}

/// Reads a server's counters on its own connection.
pub(super) struct Watch<'a> {
    sql: WorkloadSql,
    target: &'a Target,
    server: Option<&'a Server>,
    connection: Option<Connection>,
    notes: Vec<String>,
    /// See [`super::Virtuoso`].
    one_of_both: &'a Mutex<()>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        sql: WorkloadSql,
        target: &'a Target,
        server: Option<&'a Server>,
        one_of_both: &'a Mutex<()>,
    ) -> Self {
        let notes = vec![
            "log, log flushes and commits: Virtuoso does not count them".to_owned(),
            "checkpoints of its own: Virtuoso counts none; those that Graymark asks for are in the record".to_owned(),
        ];
        Watch { sql, target, server, connection: None, notes, one_of_both }
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn read(&self, connection: &Connection, counters: &mut Counters) -> Result<(), QueryError> {
        let reply = connection.query(query(self.sql.dialect, "counters"))?;
        if let Some(row) = reply.rows.first() {
            for (column, name) in reply.columns.iter().enumerate() {
                if let Some(counter) = Counter::named(&name.to_lowercase()) {
                    counters.set(counter, row.optional_long(column)?.map(|value| value as f64));
                }
            }
        }
        for (blocks, bytes) in
            [(Counter::BlockReads, Counter::BlockReadBytes), (Counter::BlockWrites, Counter::BlockWriteBytes)]
        {
            counters.set(bytes, counters.get(blocks).map(|blocks| blocks * PAGE as f64));
        }
        Ok(())
    }

    /// Virtuoso counts a logical read for each row, and a physical one for each page, including read-ahead.
    fn read_pages(&self, connection: &Connection) -> Result<PageReads, QueryError> {
        let mut tables: BTreeMap<String, TableReads> = BTreeMap::new();
        for row in connection.query(query(self.sql.dialect, "pages"))?.rows {
            let counted = |column| Ok::<_, QueryError>(u64::try_from(row.long(column)?).unwrap_or_default());
            let reads = Reads { logical: counted(1)?, physical: counted(2)? };
            let table = tables.entry(row.text(0)?.to_owned()).or_default();
            let part = if row.int(3)? == 1 { &mut table.data } else { &mut table.index };
            *part = Some(part.unwrap_or_default().plus(reads));
        }
        // This query can hang a server that makes a checkpoint of its own.
        let database_bytes = self.server.map(|_| database_bytes(connection)).transpose()?;
        let buffers =
            connection.query(query(self.sql.dialect, "buffers"))?.rows.first().map(|row| row.long(0)).transpose()?;
        let buffers = buffers.and_then(|buffers| u64::try_from(buffers).ok()).filter(|buffers| *buffers > 0);
        Ok(PageReads {
            buffer_bytes: buffers.map(|buffers| buffers * PAGE),
            database_bytes,
            ..PageReads::of_tables(PAGE, tables)
        })
    }

    fn connection(&mut self) -> Result<Connection, Error> {
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => self.target.connect(self.sql.name),
        }
    }
}

#[async_trait(?Send)]
impl Observer for Watch<'_> {
    async fn look(&mut self) -> Result<Counters, Error> {
        let mut counters = Counters::default();
        let connection = self.connection()?;
        let failed = |error| self.target.explain_query("cannot read the server's counters", error);
        self.read(&connection, &mut counters).map_err(failed)?;
        self.connection = Some(connection);
        match self.server.map(|server| server.pid()) {
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

    async fn pages(&mut self) -> Result<Option<PageReads>, Error> {
        let _alone = self.one_of_both.lock().await;
        let connection = self.connection()?;
        let failed = |error| self.target.explain_query("cannot read the server's page reads", error);
        let pages = self.read_pages(&connection).map_err(failed)?;
        self.connection = Some(connection);
        let memory = self.server.and_then(|server| server.memory());
        let cpu_quota = self.server.and_then(|server| server.cpu_quota());
        Ok(Some(PageReads { memory, cpu_quota, ..pages }))
    }

    fn left_out(&self) -> Vec<String> {
        self.notes.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dialect::Wire;

    #[test]
    fn queries_ask_for_counters_by_their_names() {
        let dialect = Dialect::choose(Wire::Virtuoso, None).unwrap();
        let names =
            query(dialect, "counters").split(" AS ").skip(1).map(|rest| rest.split([',', ';', '\n']).next().unwrap());
        let named: Vec<Option<Counter>> = names.map(Counter::named).collect();
        assert_eq!(named, [Some(Counter::BlockReads), Some(Counter::BlockWrites)]);
        assert!(query(dialect, "pages").contains("touches") && query(dialect, "buffers").contains("st_db_buffers"));
    }
}
