//! SQLite's counters during a run. It has none that others can read: the sessions of this process add up what their own
//! connections count. The file itself must not be opened separately, because closing it would release SQLite's locks.

use std::sync::atomic::Ordering;

use async_trait::async_trait;

use super::Sqlite;
use super::connect::{Journal, Synchronous};
use crate::engine::server::io;
use crate::engine::{Error, Observer};
use crate::measure::counters::{Counter, Counters};

/// Bytes of the write-ahead log for each page, besides the page itself.
const FRAME_HEADER: f64 = 24.0;

/// Reads the counters of the sessions of a file.
pub(super) struct Watch<'a> {
    sqlite: &'a Sqlite,
    page_bytes: Option<f64>,
    io_unknown: Option<String>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(sqlite: &'a Sqlite) -> Self {
        Watch { sqlite, page_bytes: None, io_unknown: None }
    }

    fn page_bytes(&mut self) -> Result<f64, Error> {
        let known = match self.page_bytes {
            Some(bytes) => bytes,
            None => {
                let bytes = self.sqlite.connect()?.pragma_query_value(None, "page_size", |row| row.get::<_, u32>(0));
                f64::from(bytes.map_err(|error| self.sqlite.explain(error))?)
            }
        };
        self.page_bytes = Some(known);
        Ok(known)
    }
}

#[async_trait(?Send)]
impl Observer for Watch<'_> {
    async fn look(&mut self) -> Result<Counters, Error> {
        let page = self.page_bytes()?;
        let mut counters = Counters::default();
        self.io_unknown = io::counters(std::process::id(), &mut counters).err();
        let counts = &self.sqlite.writer.counts;
        let [commits, written, pages_read, pages_written] =
            [&counts.commits, &counts.written, &counts.pages_read, &counts.pages_written]
                .map(|count| count.load(Ordering::Relaxed) as f64);
        counters.set(Counter::Commits, commits);
        counters.set(Counter::BlockReads, pages_read);
        counters.set(Counter::BlockReadBytes, pages_read * page);
        match self.sqlite.options.journal {
            Journal::Wal => {
                counters.set(Counter::LogBytes, pages_written * (page + FRAME_HEADER));
                // Only then each commit waits for the log; flushes of checkpoints are not included.
                if matches!(self.sqlite.options.synchronous, Synchronous::Full | Synchronous::Extra) {
                    counters.set(Counter::LogFlushes, written);
                }
            }
            Journal::Delete => {
                counters.set(Counter::BlockWrites, pages_written);
                counters.set(Counter::BlockWriteBytes, pages_written * page);
            }
        }
        Ok(counters)
    }

    fn left_out(&self) -> Vec<String> {
        let mut notes = vec![
            "CPU of the database apart: SQLite works in this process, whose CPU time is the client's".to_owned(),
            "I/O of the database apart: it is that of this process, which also writes the record".to_owned(),
        ];
        notes.extend(self.io_unknown.clone());
        let synchronous = self.sqlite.options.synchronous;
        match self.sqlite.options.journal {
            Journal::Wal => {
                notes.push(
                    "checkpoints and what they write: SQLite makes them within commits and counts neither".to_owned(),
                );
                if matches!(synchronous, Synchronous::Off | Synchronous::Normal) {
                    notes.push(format!(
                        "log flushes: with synchronous={} commits do not wait for the log",
                        synchronous.name()
                    ));
                }
            }
            Journal::Delete => notes
                .push("log: a rollback journal is no log, and SQLite does not count what it writes to it".to_owned()),
        }
        notes
    }
}
