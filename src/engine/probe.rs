//! The interface of `graymark doctor` to an unknown server: it accepts any SQL text. Each wire implements it in
//! `probe.rs`.

use async_trait::async_trait;

use super::dialect::Dialect;
use super::sql::WorkloadSql;
use super::{Error, RetryReason};
use crate::result::{Isolation, Via};
use crate::url::DatabaseUrl;

/// A row with all columns as text.
pub type TextRow = Vec<Option<String>>;

/// Why a statement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The server's message with its code, in one line.
    pub text: String,
    /// The server's code: an SQLSTATE or a number; empty if the error is not from the server.
    pub code: String,
    /// Whether the dialect retries a transaction after this error.
    pub retry: Option<RetryReason>,
}

/// A session that executes any statement.
#[async_trait(?Send)]
pub trait ProbeSession {
    /// Executes a statement; returns its rows.
    async fn ask(&mut self, sql: &str) -> Result<Vec<TextRow>, Refusal>;
    /// Loads rows of an integer and a text into a table by the wire's fastest method; returns how many the server
    /// accepted.
    async fn send_rows(&mut self, table: &str, rows: u32) -> Result<u64, Refusal>;
}

/// A server under examination.
#[async_trait(?Send)]
pub trait ProbedServer {
    /// Its URL with everything needed to connect.
    fn url(&self) -> &DatabaseUrl;
    /// The URL without secrets.
    fn shown(&self) -> &str;
    /// The dialect that the URL asks for.
    fn dialect(&self) -> &'static Dialect;
    /// Warnings about the connection, one line each.
    fn warnings(&self) -> &[String];
    /// Why a private server has ended unexpectedly; `None` while it runs, and for other servers.
    fn ended(&self) -> Option<String>;
    /// Opens a session, in a schema or database if one is given.
    async fn session(&self, place: Option<&str>) -> Result<Box<dyn ProbeSession>, Error>;
    /// The statement that creates a schema or database. It fails if the name exists.
    fn make_place(&self, place: &str) -> String;
    /// The statement that drops it with its contents.
    fn remove_place(&self, place: &str) -> String;
    /// The statements that begin a transaction at an isolation level.
    fn begin(&self, level: Isolation) -> Vec<String>;
    /// The query for the isolation level of the current transaction: in the last column of its first row.
    fn level(&self) -> &'static str;
    /// Creates a workload's tables, keys and procedures in an empty schema or database, prepares its transactions, and
    /// runs its conditions and its effects query.
    async fn rehearse(&self, place: &str, sql: &WorkloadSql, via: Via, level: Isolation) -> Result<(), Error>;

    /// The same server with a schema or database for the tables, and a dialect.
    fn url_within(&self, place: &str, dialect: &Dialect) -> DatabaseUrl {
        let (url, parameter) = (self.url().reveal(), self.place_parameter());
        let sign = if url.contains('?') { '&' } else { '?' };
        format!("{url}{sign}{parameter}={place}&dialect={}", dialect.name).into()
    }
    /// The URL parameter that names a schema or database.
    fn place_parameter(&self) -> &'static str;
}
