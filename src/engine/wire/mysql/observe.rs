//! InnoDB's own counters while a run goes on, and what the server's process reads and writes.

use std::collections::HashMap;
use std::ops::Range;

use async_trait::async_trait;
use mysql_async::Conn;

use super::Mysql;
use super::failure::of_command;
use super::query::Read;
use super::sessions::{Questions, file_of};
use crate::engine::server::io;
use crate::engine::{Error, Observer};
use crate::measure::counters::{Counter, Counters};
use crate::measure::pages::{PageReads, Reads};
use crate::measure::waits::{ServerActivity, SessionSample};

/// Status variables of the server under Graymark's names.
///
/// Commits are COMMIT statements, those within procedures included: `Handler_commit` counts every statement. Statements
/// that are a transaction of their own are not among them. The place in the log is exact at any moment; what it grows
/// by is bytes of log.
const NAMED: [(Counter, &str); 6] = [
    (Counter::Commits, "Com_commit"),
    (Counter::BlockReads, "Innodb_pages_read"),
    (Counter::BlockWrites, "Innodb_pages_written"),
    (Counter::LogWrites, "Innodb_log_writes"),
    (Counter::LogFlushes, "Innodb_os_log_fsyncs"),
    (Counter::LogBytes, "Innodb_lsn_current"),
];
const PAGE_SIZE: &str = "Innodb_page_size";
/// MySQL has no place in the log among its variables; these bytes are rounded up to the log's blocks.
const LOG_WRITTEN: &str = "Innodb_os_log_written";

/// Looks at a server's counters on a connection of its own.
pub(super) struct Watch<'a> {
    mysql: &'a Mysql,
    /// The database of the workload's tables.
    database: &'a str,
    conn: Option<Conn>,
    /// How its sessions are asked for; none before the first time.
    questions: Option<Questions>,
    notes: Vec<String>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(mysql: &'a Mysql, database: &'a str) -> Self {
        Watch { mysql, database, conn: None, questions: None, notes: Vec::new() }
    }

    fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_owned());
        }
    }

    /// Takes the connection: one whose question was given up half-way, or came to an error, is of no more use.
    async fn connect(&mut self) -> Result<Conn, Error> {
        match self.conn.take() {
            Some(conn) => Ok(conn),
            None => self.mysql.target().connect(None, &[]).await,
        }
    }

    async fn status(&mut self) -> Result<HashMap<String, f64>, Error> {
        let mut conn = self.connect().await?;
        let names = NAMED.iter().map(|(_, name)| *name).chain([PAGE_SIZE, LOG_WRITTEN]);
        let names = names.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        let rows: Vec<(String, String)> = conn
            .rows(format!("SHOW GLOBAL STATUS WHERE variable_name IN ({names})"))
            .await
            .map_err(|error| of_command("cannot read the server's counters", &error))?;
        self.conn = Some(conn);
        Ok(rows.into_iter().filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect())
    }
}

/// What status variables say under Graymark's names.
fn counters(status: &HashMap<String, f64>) -> Counters {
    let mut counters = Counters::default();
    for (counter, name) in NAMED {
        counters.set(counter, status.get(name).copied());
    }
    if status.get("Innodb_lsn_current").is_none() {
        counters.set(Counter::LogBytes, status.get(LOG_WRITTEN).copied());
    }
    for (pages, bytes) in
        [(Counter::BlockReads, Counter::BlockReadBytes), (Counter::BlockWrites, Counter::BlockWriteBytes)]
    {
        counters.set(bytes, counters.get(pages).zip(status.get(PAGE_SIZE)).map(|(pages, size)| pages * size));
    }
    counters
}

#[async_trait(?Send)]
impl Observer for Watch<'_> {
    async fn look(&mut self) -> Result<Counters, Error> {
        let status = self.status().await?;
        let mut counters = counters(&status);
        self.note("checkpoints: InnoDB writes changed pages all the time and does not count checkpoints");
        if counters.get(Counter::LogFlushes).is_none() {
            self.note("log flushes: this server does not count them (MariaDB does up to 10.7)");
        }
        match self.mysql.main_process() {
            Some(pid) => {
                if let Err(why) = io::counters(pid, &mut counters) {
                    self.note(&why);
                }
            }
            None => self.note("CPU and I/O of the server's process: it is not to be seen on this machine"),
        }
        Ok(counters)
    }

    /// InnoDB counts page reads of the whole server only, undo and all other databases included, and does not tell rows
    /// from indexes: a table is an index there. To look at each page in the buffers
    /// (information_schema.innodb_buffer_page) would stop the server for a moment.
    async fn pages(&mut self) -> Result<Option<PageReads>, Error> {
        let mut conn = self.connect().await?;
        let failed = |error| of_command("cannot read the server's counters", &error);
        let sql = "SHOW GLOBAL STATUS WHERE variable_name IN ('Innodb_buffer_pool_read_requests', \
            'Innodb_buffer_pool_reads')";
        let reads: HashMap<String, u64> = conn.rows(sql).await.map_err(failed)?.into_iter().collect();
        let sql = "SELECT @@innodb_page_size, @@innodb_buffer_pool_size, (SELECT CAST(sum(data_length + index_length) \
            AS UNSIGNED) \
                   FROM information_schema.tables WHERE table_schema = ? AND table_name NOT LIKE 'graymark%')";
        let sizes: Option<(u64, u64, Option<u64>)> = conn.first_of(sql, (self.database,)).await.map_err(failed)?;
        self.conn = Some(conn);
        let memory = self.mysql.server().and_then(|server| server.memory());
        let cpu_quota = self.mysql.server().and_then(|server| server.cpu_quota());
        let of = |name: &str| reads.get(name).copied();
        let overall = of("Innodb_buffer_pool_read_requests").zip(of("Innodb_buffer_pool_reads"));
        Ok(sizes.zip(overall).map(|((page_bytes, buffer_bytes, database_bytes), (logical, physical))| PageReads {
            page_bytes,
            buffer_bytes: Some(buffer_bytes),
            database_bytes,
            overall: Some(Reads { logical, physical }),
            memory,
            cpu_quota,
            ..PageReads::default()
        }))
    }

    async fn sessions(&mut self) -> Result<Option<Vec<SessionSample>>, Error> {
        let file = file_of(&self.mysql.identity);
        let Some(sql) = file.and_then(|file| self.mysql.dialect.own_text(file)) else { return Ok(None) };
        let mut conn = self.connect().await?;
        if self.questions.is_none() {
            self.questions = Questions::of(&mut conn, sql, self.mysql.main_process().is_some()).await?;
        }
        let Some(questions) = &self.questions else { return Ok(None) };
        let sessions = questions.sessions(&mut conn).await?;
        self.conn = Some(conn);
        Ok(sessions)
    }

    /// InnoDB's list of transactions stays as it was until nobody has read it for a tenth of a second.
    fn pause_us(&self) -> Range<u64> {
        105_000..145_000
    }

    async fn server_activity(&mut self) -> Result<Option<ServerActivity>, Error> {
        if self.questions.is_none() {
            return Ok(None);
        }
        let mut conn = self.connect().await?;
        let Some(questions) = &self.questions else { return Ok(None) };
        let look = questions.blockers(&mut conn).await?;
        self.conn = Some(conn);
        Ok(Some(look))
    }

    fn sessions_source(&self) -> &'static str {
        self.questions.as_ref().map_or("", Questions::source)
    }

    fn no_sessions(&self) -> &'static str {
        match file_of(&self.mysql.identity) {
            Some(_) if self.mysql.identity.name == "MySQL" => {
                "the user may not see InnoDB's transactions and the server's threads: grant it PROCESS, and SELECT on \
                 performance_schema.*"
            }
            Some(_) => "the user may not see InnoDB's transactions: grant it PROCESS",
            None => "Graymark knows what sessions wait for of MariaDB and MySQL 8 only",
        }
    }

    fn left_out(&self) -> Vec<String> {
        self.notes.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_variables_become_counters() {
        let status = [("Com_commit", 5.0), ("Innodb_pages_read", 2.0), (PAGE_SIZE, 16384.0), (LOG_WRITTEN, 1024.0)];
        let status: HashMap<String, f64> = status.map(|(name, value)| (name.to_owned(), value)).into();
        let counters = counters(&status);
        assert_eq!(counters.get(Counter::Commits), Some(5.0));
        assert_eq!(counters.get(Counter::BlockReadBytes), Some(32768.0));
        assert_eq!(counters.get(Counter::LogBytes), Some(1024.0));
        assert_eq!((counters.get(Counter::BlockWriteBytes), counters.get(Counter::LogFlushes)), (None, None));
    }
}
