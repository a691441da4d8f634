//! A server with MySQL's protocol for `graymark doctor`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use async_trait::async_trait;
use bytes::Bytes;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row, Value};

use super::connect::Target;
use super::connection::Connection;
use super::failure::{message, of_command, of_transaction, refusal};
use super::{bulk, check, load, local, procedures};
use crate::engine::dialect::Dialect;
use crate::engine::probe::{ProbeSession, ProbedServer, Refusal, TextRow};
use crate::engine::server::galera::Servers;
use crate::engine::sql::{WorkloadSql, script};
use crate::engine::{Error, Failure, address};
use crate::result::{Isolation, Via};
use crate::url::DatabaseUrl;

/// The server.
pub struct Server {
    target: Target,
    url: DatabaseUrl,
    shown: String,
    dialect: &'static Dialect,
    /// Private servers, stopped when this is dropped.
    private: Option<Servers>,
}

impl Server {
    /// Connects to it, or starts a private one.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub async fn open(url: &DatabaseUrl) -> Result<Server, Error> {
        let (private, url, shown, asked) = match local::parse(url.reveal())? {
            Some(wanted) => {
                let private = Servers::start(&wanted.options)?;
                let url = DatabaseUrl::from(private.url());
                (Some(private), url, Some(local::url(&wanted)), Some(wanted.dialect))
            }
            None => (None, url.clone(), None, None),
        };
        let target = match &private {
            Some(_) => Target::parse(url.reveal(), &|_| None)?,
            None => Target::parse(url.reveal(), &address::environment)?,
        };
        target.connect(None, &[]).await?;
        let shown = shown.unwrap_or_else(|| target.url());
        let dialect = asked.unwrap_or(target.dialect);
        Ok(Server { target, url, shown, dialect, private })
    }
}

struct Session {
    conn: Conn,
    dialect: &'static Dialect,
}

impl Session {
    fn refused(&self, error: &mysql_async::Error) -> Refusal {
        let retry = match of_transaction(error, false, self.dialect) {
            Failure::Retry { reason, .. } => Some(reason),
            Failure::Disconnected { .. } | Failure::Unreadable(_) | Failure::Invalid(_) => None,
        };
        let code = refusal(error).map(|refusal| refusal.code.to_string()).unwrap_or_default();
        Refusal { text: message(error), code, retry }
    }
}

/// A value of a reply as text.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        other => Some(other.as_sql(true)),
    }
}

#[async_trait(?Send)]
impl ProbeSession for Session {
    async fn ask(&mut self, sql: &str) -> Result<Vec<TextRow>, Refusal> {
        let rows: Vec<Row> = self.conn.query(sql).await.map_err(|error| self.refused(&error))?;
        Ok(rows.iter().map(|row| (0..row.len()).map(|at| row.as_ref(at).and_then(text)).collect()).collect())
    }

    async fn send_rows(&mut self, table: &str, rows: u32) -> Result<u64, Refusal> {
        let lines: String = (1..=rows).map(|number| format!("{number}\trow\n")).collect();
        let statement = bulk::statement(table, &["number", "word"]);
        let stop = Arc::new(AtomicBool::new(false));
        let sent = load::send(&mut self.conn, &statement, std::iter::once(Bytes::from(lines)), &stop).await;
        sent.map(|loaded| loaded.rows).map_err(|error| self.refused(&error))
    }
}

#[async_trait(?Send)]
impl ProbedServer for Server {
    fn url(&self) -> &DatabaseUrl {
        &self.url
    }

    fn shown(&self) -> &str {
        &self.shown
    }

    fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    fn warnings(&self) -> &[String] {
        &self.target.warnings
    }

    fn ended(&self) -> Option<String> {
        self.private.as_ref().and_then(Servers::ended)
    }

    async fn session(&self, place: Option<&str>) -> Result<Box<dyn ProbeSession>, Error> {
        Ok(Box::new(Session { conn: self.target.connect(place, &[]).await?, dialect: self.dialect }))
    }

    fn make_place(&self, place: &str) -> String {
        format!("CREATE DATABASE {place}")
    }

    fn remove_place(&self, place: &str) -> String {
        format!("DROP DATABASE {place}")
    }

    fn begin(&self, level: Isolation) -> Vec<String> {
        let level = format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", level.words());
        vec![level, "START TRANSACTION".to_owned()]
    }

    fn level(&self) -> &'static str {
        "SHOW SESSION VARIABLES WHERE variable_name IN ('transaction_isolation', 'tx_isolation')"
    }

    fn place_parameter(&self) -> &'static str {
        "database"
    }

    async fn rehearse(&self, place: &str, sql: &WorkloadSql, via: Via, level: Isolation) -> Result<(), Error> {
        let mut conn = self.target.connect(Some(place), &[]).await?;
        let tables = script::statements(sql.schema_of(0));
        for made in tables.iter().chain(&sql.keys()).chain(&sql.foreign_keys()) {
            let done = conn.query_drop(made.sql).await;
            done.map_err(|error| of_command(&format!("cannot make {} of {}", made.name, sql.name), &error))?;
        }
        procedures::make(&mut conn, sql).await?;
        Connection::open(&self.target, place, sql.dialect, &sql.commands(via)?, level.words()).await?;
        let mut only = [check::Replica { node: String::new(), conn }];
        check::check(&mut only, sql, &mut |_| {}).await?;
        let [check::Replica { conn, .. }] = &mut only;
        let effects = conn.query_drop(sql.effects_query()?).await;
        effects.map_err(|error| of_command(&format!("cannot count the effects of {}", sql.name), &error))
    }
}
