//! PostgreSQL's own counters during a run, and the I/O of its processes.

use std::collections::BTreeMap;

use async_trait::async_trait;
use tokio_postgres::{Client, SimpleQueryMessage, SimpleQueryRow, Statement};

use super::Postgres;
use super::cluster::{self, Cluster};
use super::failure::of_command;
use super::schema::Schema;
use crate::engine::server::io;
use crate::engine::sql::script;
use crate::engine::{Error, Observer};
use crate::measure::counters::{Counter, Counters};
use crate::measure::pages::{PageReads, Reads, TableReads};
use crate::measure::waits::{Blocker, ServerActivity, SessionSample, Wait};
use crate::result::nodes::StandbyLag;

/// The queries for counters, in the dialect's folder.
const COUNTERS: &str = "counters.sql";
/// The queries for page requests, likewise.
const PAGES: &str = "pages.sql";
/// The queries for session states, likewise.
const SESSIONS: &str = "sessions.sql";

/// Reads a server's counters on its own connection.
pub(super) struct Watch<'a> {
    postgres: &'a Postgres,
    /// The schema of the workload's tables.
    schema: Schema,
    session: Option<Session>,
    notes: Vec<String>,
}

struct Session {
    client: Client,
    /// The query for this server's version; `None` if it is too old.
    query: Option<&'static str>,
    /// Whether it counts log flushes.
    flushes: bool,
    /// The queries for session states, blockers and background work; `None` before the first use.
    sessions: Option<[Statement; 3]>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(postgres: &'a Postgres, schema: Schema) -> Self {
        Watch { postgres, schema, session: None, notes: Vec::new() }
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    async fn connect(&mut self) -> Result<(), Error> {
        if self.session.as_ref().is_none_or(|session| session.client.is_closed()) {
            self.session = None;
            self.session = Some(self.open().await?);
        }
        Ok(())
    }

    async fn open(&mut self) -> Result<Session, Error> {
        let client = self.postgres.client().await?;
        let dialect = self.postgres.dialect;
        let counters = dialect.own_text(COUNTERS).filter(|_| dialect.counters);
        let sql = script::statements(counters.unwrap_or_default());
        if sql.is_empty() {
            self.note(format!("the server's counters: the dialect {} has none", dialect.name));
            return Ok(Session { client, query: None, flushes: false, sessions: None });
        }
        let facts = sql.iter().find(|query| query.name == "facts").map_or("", |query| query.sql);
        let row = row(&client, facts).await?;
        let fact =
            |name: &str| row.as_ref().and_then(|row| row.try_get(name).ok().flatten()).unwrap_or_default().to_owned();
        let (version, fsync, method) = (fact("version"), fact("fsync"), fact("wal_sync_method"));
        let version = version.parse().unwrap_or(0_u32);
        let fits = sql.iter().filter_map(|query| Some((query.name.parse::<u32>().ok()?, query.sql)));
        let query = fits.filter(|(from, _)| *from <= version).max_by_key(|(from, _)| *from).map(|(_, sql)| sql);
        if query.is_none() {
            self.note(format!(
                "the server's counters: those of PostgreSQL {version} are not known to Graymark; it reads them from 14 \
                 on"
            ));
        }
        if fsync == "off" {
            self.note("log flushes: with fsync=off the server never waits for its log to be on disk".to_owned());
        } else if method.starts_with("open") {
            self.note(format!(
                "log flushes: with wal_sync_method={method} each write of the log is one, and the server counts none"
            ));
        }
        let flushes = fsync != "off" && !method.starts_with("open");
        Ok(Session { client, query, flushes, sessions: None })
    }
}

#[async_trait(?Send)]
impl Observer for Watch<'_> {
    async fn look(&mut self) -> Result<Counters, Error> {
        self.connect().await?;
        let mut counters = Counters::default();
        if let Some(Session { client, query: Some(query), flushes, .. }) = &self.session
            && let Some(row) = row(client, query).await?
        {
            for (at, column) in row.columns().iter().enumerate() {
                let value = row.try_get(at).ok().flatten().and_then(|value| value.parse::<f64>().ok());
                if let Some(counter) =
                    Counter::named(column.name()).filter(|counter| *counter != Counter::LogFlushes || *flushes)
                {
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
            None => self.note("CPU and I/O of the server's processes: they are not visible on this machine".to_owned()),
        }
        Ok(counters)
    }

    async fn pages(&mut self) -> Result<Option<PageReads>, Error> {
        self.connect().await?;
        let Some(Session { client, .. }) = &self.session else { return Ok(None) };
        let dialect = self.postgres.dialect;
        let Some(pages) = dialect.own_text(PAGES).filter(|_| dialect.counters) else { return Ok(None) };
        let sql = script::select(pages, &["sizes", "tables"]).map_err(Error::Database)?;
        let [sizes, tables] = &sql[..] else { return Ok(None) };
        let mut page_bytes = 0;
        let mut buffer_bytes = None;
        for row in rows(client, sizes).await? {
            (page_bytes, buffer_bytes) = (number(&row, "page_bytes"), Some(number(&row, "buffer_bytes")));
        }
        let mut database_bytes = 0;
        let mut by_table = BTreeMap::new();
        for row in rows(client, tables).await? {
            let text = |name: &str| row.try_get(name).ok().flatten().unwrap_or_default().to_owned();
            if text("schema") == self.schema.name() {
                let reads = |logical, physical| {
                    Some(Reads { logical: number(&row, logical), physical: number(&row, physical) })
                };
                let data = reads("data_logical", "data_physical");
                by_table.insert(text("table"), TableReads { data, index: reads("index_logical", "index_physical") });
                database_bytes += number(&row, "bytes");
            }
        }
        let reads = PageReads::of_tables(page_bytes, by_table);
        let memory = self.postgres.server().and_then(|server| server.memory());
        let cpu_quota = self.postgres.server().and_then(|server| server.cpu_quota());
        Ok(Some(PageReads { buffer_bytes, database_bytes: Some(database_bytes), memory, cpu_quota, ..reads }))
    }

    async fn standbys(&mut self) -> Result<Vec<StandbyLag>, Error> {
        if self.postgres.dialect.own_text(cluster::QUESTIONS).is_none() || !self.postgres.dialect.counters {
            return Ok(Vec::new());
        }
        self.connect().await?;
        // Only if the server's counters are known, which proves that it is PostgreSQL.
        let Some(Session { client, query: Some(_), .. }) = &self.session else { return Ok(Vec::new()) };
        let ours = self.postgres.nodes().is_some();
        let lag = |row: SimpleQueryRow| {
            let text = |name: &str| row.try_get(name).ok().flatten();
            let node = text("node").unwrap_or_default();
            let name = if ours { Cluster::shown_as(node) } else { node.to_owned() };
            let seconds = text("seconds").and_then(|seconds| seconds.parse::<f64>().ok());
            StandbyLag { node: name, bytes: number(&row, "bytes"), seconds: seconds.filter(|time| time.is_finite()) }
        };
        Ok(rows(client, cluster::question("standbys")?).await?.into_iter().map(lag).collect())
    }

    async fn sessions(&mut self) -> Result<Option<Vec<SessionSample>>, Error> {
        let dialect = self.postgres.dialect;
        let Some(waits) = dialect.own_text(SESSIONS).filter(|_| dialect.counters) else { return Ok(None) };
        if self.postgres.target.pooler {
            return Ok(None);
        }
        self.connect().await?;
        let here = self.postgres.main_process().is_some();
        let Some(session) = &mut self.session else { return Ok(None) };
        if session.sessions.is_none() {
            session.sessions = Some(prepare(&session.client, waits).await?);
        }
        let Some([sessions, ..]) = &session.sessions else { return Ok(None) };
        let rows = session.client.query(sessions, &[]).await.map_err(not_seen)?;
        let look = |row: &tokio_postgres::Row| {
            let pid: i32 = row.try_get(0).ok()?;
            let wait = Wait::named(row.try_get(1).ok()?)?;
            let pid = u32::try_from(pid).ok()?;
            Some(SessionSample { id: pid.into(), task: here.then_some(pid), wait })
        };
        Ok(Some(rows.iter().filter_map(look).collect()))
    }

    async fn server_activity(&mut self) -> Result<Option<ServerActivity>, Error> {
        let Some(Session { client, sessions: Some([_, blockers, background_work]), .. }) = &self.session else {
            return Ok(None);
        };
        let blocker = |row: &tokio_postgres::Row| {
            Some(Blocker {
                id: row.try_get::<_, i32>(0).ok()?.try_into().ok()?,
                ours: false,
                waiting: row.try_get::<_, i32>(1).ok()?.try_into().ok()?,
                open_s: row.try_get(2).ok()?,
                state: row.try_get(3).ok()?,
                statement: Blocker::statement(row.try_get(4).ok()?),
            })
        };
        let blockers = client.query(blockers, &[]).await.map_err(not_seen)?;
        let background_work = client.query(background_work, &[]).await.map_err(not_seen)?;
        Ok(Some(ServerActivity {
            blockers: blockers.iter().filter_map(blocker).collect(),
            work: background_work.iter().filter_map(|row| row.try_get(0).ok()).collect(),
        }))
    }

    fn sessions_source(&self) -> &'static str {
        "waits: wait events of the sessions' server processes (pg_stat_activity)"
    }

    fn no_sessions(&self) -> &'static str {
        if self.postgres.target.pooler {
            "behind a pooler it is unknown which server process serves a session"
        } else {
            "the dialect has no query for the waits of sessions"
        }
    }

    fn left_out(&self) -> Vec<String> {
        self.notes.clone()
    }
}

fn not_seen(error: tokio_postgres::Error) -> Error {
    of_command("cannot read the server's sessions", &error)
}

/// The queries for sessions, for blockers, and for background work.
async fn prepare(client: &Client, sql: &str) -> Result<[Statement; 3], Error> {
    let sql = script::select(sql, &["sessions", "blockers", "background_work"]).map_err(Error::Database)?;
    let [sessions, blockers, background_work] = sql[..] else {
        return Err(Error::Database("questions are missing".to_owned()));
    };
    Ok([
        client.prepare(sessions).await.map_err(not_seen)?,
        client.prepare(blockers).await.map_err(not_seen)?,
        client.prepare(background_work).await.map_err(not_seen)?,
    ])
}

/// An integer; 0 if the server sends none.
fn number(row: &SimpleQueryRow, name: &str) -> u64 {
    row.try_get(name).ok().flatten().and_then(|text| text.parse().ok()).unwrap_or_default()
}

async fn row(client: &Client, sql: &str) -> Result<Option<SimpleQueryRow>, Error> {
    Ok(rows(client, sql).await?.into_iter().next())
}

async fn rows(client: &Client, sql: &str) -> Result<Vec<SimpleQueryRow>, Error> {
    let messages =
        client.simple_query(sql).await.map_err(|error| of_command("cannot read the server's counters", &error))?;
    let row = |message| if let SimpleQueryMessage::Row(row) = message { Some(row) } else { None };
    Ok(messages.into_iter().filter_map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::dialect::{Dialect, Wire};

    #[test]
    fn queries_ask_for_counters_by_their_names() {
        let dialect = Dialect::choose(Wire::Postgres, None).unwrap();
        let queries = script::statements(dialect.own_text(COUNTERS).unwrap());
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
