//! A server of an unknown make, to which any text can be said: see `graymark doctor`. Each wire has one, in `probe.rs`.

use async_trait::async_trait;

use super::dialect::Dialect;
use super::sql::WorkloadSql;
use super::{Error, RetryReason};
use crate::result::{Isolation, Via};
use crate::url::DatabaseUrl;

/// A row, as text.
pub type TextRow = Vec<Option<String>>;

/// What stood against a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// In the server's words, with its code, in one line.
    pub text: String,
    /// The server's code: an SQLSTATE or a number; empty if it was not the server.
    pub code: String,
    /// Whether the dialect takes it for a wish to have the transaction again.
    pub retry: Option<RetryReason>,
}

/// A session that takes any statement.
#[async_trait(?Send)]
pub trait ProbeSession {
    /// Sends one statement. Its rows.
    async fn ask(&mut self, sql: &str) -> Result<Vec<TextRow>, Refusal>;
    /// Sends so many rows of an integer and a text to a table by the wire's fastest way. How many the server took.
    async fn send_rows(&mut self, table: &str, rows: u32) -> Result<u64, Refusal>;
}

/// A server that is examined.
#[async_trait(?Send)]
pub trait ProbedServer {
    /// Its URL with all that is needed to connect.
    fn url(&self) -> &DatabaseUrl;
    /// The same as it may be shown.
    fn shown(&self) -> &str;
    /// The dialect that the URL asks for.
    fn dialect(&self) -> &'static Dialect;
    /// What the user should know of how it was reached, a line each.
    fn warnings(&self) -> &[String];
    /// Opens a session, in a place if one is given.
    async fn session(&self, place: Option<&str>) -> Result<Box<dyn ProbeSession>, Error>;
    /// What makes a place of one's own for tables: a schema or a database. It fails if there is one of that name.
    fn make_place(&self, place: &str) -> String;
    /// What removes it with all that is in it.
    fn remove_place(&self, place: &str) -> String;
    /// The statements that begin a transaction at an isolation level.
    fn begin(&self, level: Isolation) -> Vec<String>;
    /// The question for the level of the transaction in progress: the last column of its first row.
    fn level(&self) -> &'static str;
    /// Makes a workload's tables, keys and procedures in an empty place, prepares its transactions, and asks its
    /// conditions and its effects.
    async fn rehearse(&self, place: &str, sql: &WorkloadSql, via: Via, level: Isolation) -> Result<(), Error>;

    /// The same server with a place for the tables, and a dialect.
    fn url_within(&self, place: &str, dialect: &Dialect) -> DatabaseUrl {
        let (url, parameter) = (self.url().reveal(), self.place_parameter());
        let sign = if url.contains('?') { '&' } else { '?' };
        format!("{url}{sign}{parameter}={place}&dialect={}", dialect.name).into()
    }
    /// The parameter of the URL by which a place is named.
    fn place_parameter(&self) -> &'static str;
}
