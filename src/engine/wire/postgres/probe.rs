//! A server with PostgreSQL's protocol for `graymark doctor`.

use std::pin::pin;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::SinkExt;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::alone;
use super::bulk::CopyRows;
use super::connect::Target;
use super::connection::Connection;
use super::failure::chain;
use super::failure::{message, of_command, of_transaction};
use super::schema::Schema;
use super::{check, local};
use crate::engine::dialect::Dialect;
use crate::engine::probe::{ProbeSession, ProbedServer, Refusal, TextRow};
use crate::engine::sql::{WorkloadSql, script};
use crate::engine::{Error, Failure, address, server};
use crate::result::{Isolation, Via};
use crate::url::DatabaseUrl;
use crate::workload::value::{RowSink, Value};

/// The server.
pub struct Server {
    target: Target,
    url: DatabaseUrl,
    shown: String,
    dialect: &'static Dialect,
    /// The private server, stopped when this is dropped.
    private: Option<server::postgres::Server>,
}

impl Server {
    /// Connects to it, or starts a private one.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub async fn open(url: &DatabaseUrl) -> Result<Server, Error> {
        let (private, url, shown, asked) = match local::parse(url.reveal())? {
            Some(wanted) => {
                let private = server::postgres::Server::start(&wanted.options)?;
                let url = DatabaseUrl::from(private.url());
                (Some(private), url, Some(local::url(&wanted)), Some(wanted.dialect))
            }
            None => (None, url.clone(), None, None),
        };
        let target = match &private {
            Some(_) => Target::parse(url.reveal(), &|_| None)?,
            None => Target::parse(url.reveal(), &address::environment)?,
        };
        target.connect(&[]).await?;
        let shown = shown.unwrap_or_else(|| target.url());
        let dialect = asked.unwrap_or(target.dialect);
        Ok(Server { target, url, shown, dialect, private })
    }
}

struct Session {
    client: Client,
    place: String,
    dialect: &'static Dialect,
}

impl Session {
    fn refused(&self, error: &tokio_postgres::Error) -> Refusal {
        let retry = match of_transaction(error, false, self.dialect) {
            Failure::Retry { reason, .. } => Some(reason),
            Failure::Disconnected { .. } | Failure::Unreadable(_) | Failure::Invalid(_) => None,
        };
        let code = error.code().map(|code| code.code().to_owned()).unwrap_or_default();
        let text = error.as_db_error().map_or_else(|| chain(error), message);
        Refusal { text, code, retry }
    }
}

#[async_trait(?Send)]
impl ProbeSession for Session {
    async fn ask(&mut self, sql: &str) -> Result<Vec<TextRow>, Refusal> {
        let messages = self.client.simple_query(sql).await.map_err(|error| self.refused(&error))?;
        let row = |message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.try_get(at).ok().flatten().map(str::to_owned)).collect())
            }
            _ => None,
        };
        Ok(messages.into_iter().filter_map(row).collect())
    }

    async fn send_rows(&mut self, table: &str, rows: u32) -> Result<u64, Refusal> {
        let mut encoder = CopyRows::new(2);
        for number in 1..=rows {
            encoder.put(Value::Int(number.cast_signed()));
            encoder.put(Value::Text("row"));
            encoder.end_row();
        }
        let copy = format!("COPY \"{}\".{table} FROM STDIN (FORMAT binary)", self.place);
        let sent = async {
            let mut sink = pin!(self.client.copy_in::<_, Bytes>(&copy).await?);
            sink.feed(encoder.finish()).await?;
            sink.finish().await
        };
        sent.await.map_err(|error| self.refused(&error))
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
        self.private.as_ref().and_then(server::postgres::Server::ended)
    }

    async fn session(&self, place: Option<&str>) -> Result<Box<dyn ProbeSession>, Error> {
        let settings = place.map(|place| ("search_path", place));
        let client = self.target.connect(settings.as_slice()).await?;
        Ok(Box::new(Session { client, place: place.unwrap_or_default().to_owned(), dialect: self.dialect }))
    }

    fn make_place(&self, place: &str) -> String {
        format!("CREATE SCHEMA {place}")
    }

    fn remove_place(&self, place: &str) -> String {
        format!("DROP SCHEMA {place} CASCADE")
    }

    fn begin(&self, level: Isolation) -> Vec<String> {
        vec![format!("BEGIN ISOLATION LEVEL {}", level.words())]
    }

    fn level(&self) -> &'static str {
        "SHOW transaction_isolation"
    }

    fn place_parameter(&self) -> &'static str {
        "schema"
    }

    async fn rehearse(&self, place: &str, sql: &WorkloadSql, via: Via, level: Isolation) -> Result<(), Error> {
        let client = self.target.connect(&[]).await?;
        let schema = Schema::of(Some(place), sql.name);
        let say = async |what: &str, text: &str| {
            let text = schema.sql(text);
            let done = match sql.dialect.schema_alone {
                true => alone::changes(&client, &text).await,
                false => client.batch_execute(&text).await,
            };
            done.map_err(|error| of_command(&format!("cannot make {what} of {}", sql.name), &error))
        };
        say("the tables", sql.schema_of(0)).await?;
        say("the distribution", sql.distribution()).await?;
        for key in sql.keys().iter().chain(&sql.foreign_keys()) {
            say(&format!("the key {}", key.name), key.sql).await?;
        }
        say("the procedures", sql.procedures()).await?;
        Connection::open(&self.target, &schema, sql.dialect, &sql.commands(via)?, level.words()).await?;
        for condition in script::statements(sql.consistency()) {
            check::condition_holds(&client, &schema, &condition).await?;
        }
        let effects = client.simple_query(&check::reading(&schema, sql.effects_query()?)).await;
        effects.map(|_| ()).map_err(|error| of_command(&format!("cannot count the effects of {}", sql.name), &error))
    }
}
