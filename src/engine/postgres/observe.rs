//! PostgreSQL's own counters while a run goes on, and what its processes read and write.

use tokio_postgres::{Client, SimpleQueryMessage, SimpleQueryRow};

use super::Postgres;
use super::failure::of_command;
use crate::engine::server::io;
use crate::engine::sql::script;
use crate::engine::{Error, Observer};
use crate::measure::counters::{Counter, Counters};

const SQL: &str = include_str!("observe.sql");

/// Looks at a server's counters on a connection of its own.
pub(super) struct Watch<'a> {
    postgres: &'a Postgres,
    session: Option<Session>,
    notes: Vec<String>,
}

struct Session {
    client: Client,
    /// The query of this server's version; none if it is too old.
    query: Option<&'static str>,
    /// Whether it counts flushes of its log.
    flushes: bool,
}

impl<'a> Watch<'a> {
    pub(super) fn new(postgres: &'a Postgres) -> Self {
        Watch { postgres, session: None, notes: Vec::new() }
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    async fn open(&mut self) -> Result<Session, Error> {
        let client = self.postgres.client().await?;
        let sql = script::statements(SQL);
        let facts = sql.iter().find(|query| query.name == "facts").map_or("", |query| query.sql);
        let row = row(&client, facts).await?;
        let fact = |name: &str| row.as_ref().and_then(|row| row.try_get(name).ok().flatten()).unwrap_or_default().to_owned();
        let (version, fsync, method) = (fact("version"), fact("fsync"), fact("wal_sync_method"));
        let version = version.parse().unwrap_or(0_u32);
        let fits = sql.iter().filter_map(|query| Some((query.name.parse::<u32>().ok()?, query.sql)));
        let query = fits.filter(|(from, _)| *from <= version).max_by_key(|(from, _)| *from).map(|(_, sql)| sql);
        if query.is_none() {
            self.note(format!(
                "the server's counters: those of PostgreSQL {version} are not known to Graymark; it reads them from 14 on"
            ));
        }
        if fsync == "off" {
            self.note("log flushes: with fsync=off the server never waits for its log to be on disk".to_owned());
        } else if method.starts_with("open") {
            self.note(format!(
                "log flushes: with wal_sync_method={method} each write of the log is one, and the server counts none"
            ));
        }
        Ok(Session { client, query, flushes: fsync != "off" && !method.starts_with("open") })
    }
}

impl Observer for Watch<'_> {
    async fn look(&mut self) -> Result<Counters, Error> {
        if self.session.as_ref().is_none_or(|session| session.client.is_closed()) {
            self.session = None;
            self.session = Some(self.open().await?);
        }
        let mut counters = Counters::default();
        if let Some(Session { client, query: Some(query), flushes }) = &self.session
            && let Some(row) = row(client, query).await?
        {
            for (at, column) in row.columns().iter().enumerate() {
                let value = row.try_get(at).ok().flatten().and_then(|value| value.parse::<f64>().ok());
                if let Some(counter) = Counter::named(column.name()).filter(|counter| *counter != Counter::LogFlushes || *flushes) {
                    counters.set(counter, value);
                }
            }
        }
        match self.postgres.main_process() {
            Some(pid) => {
                if let Err(why) = io::counters(pid, &mut counters) {
                    self.note(why);
                }
            }
            None => self.note("CPU and I/O of the server's processes: they are not to be seen on this machine".to_owned()),
        }
        Ok(counters)
    }

    fn left_out(&self) -> Vec<String> {
        self.notes.clone()
    }
}

async fn row(client: &Client, sql: &str) -> Result<Option<SimpleQueryRow>, Error> {
    let messages = client.simple_query(sql).await.map_err(|error| of_command("cannot read the server's counters", &error))?;
    Ok(messages.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_ask_for_counters_by_their_names() {
        let queries = script::statements(SQL);
        let versions: Vec<&str> = queries.iter().map(|query| query.name).collect();
        assert_eq!(versions, ["facts", "14", "17", "18"]);
        for query in &queries[1..] {
            let names = query.sql.split_once("FROM pg_stat_database").unwrap().0.split(" AS ").skip(1);
            let named: Vec<Option<Counter>> = names
                .map(|rest| Counter::named(rest.split(|c: char| c != '_' && !c.is_ascii_lowercase()).next().unwrap()))
                .collect();
            assert_eq!(named.len(), 10, "{}", query.name);
            assert!(named.iter().all(Option::is_some), "{}: {named:?}", query.name);
        }
    }
}
