//! A session's connection: statements prepared once, sent in one go, answered in order.

use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use arrayvec::ArrayVec;
use bytes::BytesMut;
use futures_util::TryStreamExt;
use futures_util::future::{maybe_done, try_join_all};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, RowStream};

use super::connect::Target;
use super::failure;
use super::schema::Schema;
use crate::engine::sql::{self, Arg, Call, Counts, MAX_CALLS};
use crate::engine::{Error, Failure};
use crate::workload::value::{Money, Rate, Timestamp, Value};

/// A statement that a session sends again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its text.
    pub sql: &'static str,
    /// Whether it writes: then a connection lost while it ran on its own leaves its fate open.
    pub writes: bool,
}

/// A parameter of a [`Command`] with its type.
pub type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

struct Prepared {
    /// None behind a pooler, where a prepared statement may be on another server session.
    statement: Option<tokio_postgres::Statement>,
    sql: Cow<'static, str>,
    writes: bool,
}

/// A connection that executes the commands of a workload by their numbers.
pub struct Connection {
    client: Client,
    commands: Vec<Option<Prepared>>,
    /// The number of the command `BEGIN`; `COMMIT` and `ROLLBACK` follow.
    begin: usize,
    /// Whether a transaction is open.
    open: bool,
    lost: bool,
}

impl Connection {
    /// Connects and prepares. `isolation` in SQL's words, such as `read committed`.
    pub async fn open(
        target: &Target,
        schema: &Schema,
        commands: &[Option<Command>],
        isolation: &str,
    ) -> Result<Connection, Error> {
        let client = target.connect(&[("default_transaction_isolation", isolation)]).await?;
        let begin = format!("BEGIN ISOLATION LEVEL {isolation}");
        let ends = [begin.into(), "COMMIT".into(), "ROLLBACK".into()].map(|sql: Cow<'static, str>| Some((sql, false)));
        let texts = commands.iter().map(|command| command.map(|Command { sql, writes }| (schema.sql(sql), writes)));
        let prepare = async |text: Option<(Cow<'static, str>, bool)>| {
            let Some((sql, writes)) = text else { return Ok(None) };
            let statement = if target.pooler { None } else { Some(client.prepare(&sql).await?) };
            Ok(Some(Prepared { statement, sql, writes }))
        };
        let prepared = try_join_all(texts.chain(ends).map(prepare)).await;
        let prepared = prepared.map_err(|error: tokio_postgres::Error| {
            let what = match error.code() {
                Some(&SqlState::UNDEFINED_FUNCTION) => {
                    "cannot prepare the workload's calls, for another version of Graymark loaded the database: make its procedures anew \
                     with graymark load --procedures-only, or run with --via statements"
                }
                _ => "cannot prepare the workload's statements",
            };
            failure::of_command(what, &error)
        })?;
        Ok(Connection { begin: commands.len(), commands: prepared, client, open: false, lost: false })
    }

    fn command(&self, number: usize) -> Result<&Prepared, Failure> {
        let command = self.commands.get(number).and_then(Option::as_ref);
        command.ok_or_else(|| Failure::Invalid(format!("there is no statement {number}")))
    }

    /// Executes one command as a transaction of its own and returns its row.
    pub async fn call(&mut self, number: usize, parameters: &[Parameter<'_>]) -> Result<tokio_postgres::Row, Failure> {
        self.check_usable()?;
        let command = self.command(number)?;
        let writes = command.writes;
        let work = async || {
            let rows = match &command.statement {
                Some(statement) => self.client.query_raw(statement, parameters.iter().map(|(value, _)| *value)).await?,
                None => self.client.query_typed_raw(&command.sql, parameters.iter().cloned()).await?,
            };
            let mut rows = pin!(rows);
            let mut answer = None;
            while let Some(row) = rows.try_next().await? {
                answer = Some(row);
            }
            Ok(answer)
        };
        match work().await {
            Ok(Some(row)) => Ok(row),
            Ok(None) => Err(self.unreadable(&Failure::Invalid("it has no row".to_owned()))),
            Err(error) => Err(self.failed(&error, writes)),
        }
    }

    /// The reply to a writing command, or to calls with a commit, cannot be made sense of: what it did is done, so that
    /// the session must not go on as if it were not.
    pub fn unreadable(&mut self, why: &Failure) -> Failure {
        self.lost = true;
        Failure::unreadable(why)
    }

    fn check_usable(&self) -> Result<(), Failure> {
        match self.lost {
            true => Err(Failure::Disconnected { ambiguous: false, detail: "the session was lost before".to_owned() }),
            false => Ok(()),
        }
    }

    fn failed(&mut self, error: &tokio_postgres::Error, ambiguous: bool) -> Failure {
        let failure = failure::of_transaction(error, ambiguous);
        self.lost |= matches!(failure, Failure::Disconnected { .. });
        failure
    }

    /// Sends all calls before it waits for the first answer: they share a round trip. The answers come in the calls'
    /// order.
    async fn work(
        &self,
        calls: &[Call<'_>],
        on_row: &mut dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure>,
    ) -> Result<Counts, (usize, Problem)> {
        let mut counts = Counts::new();
        let sent = calls.iter().map(|call| Box::pin(maybe_done(self.send(*call))));
        let mut sent: ArrayVec<_, MAX_CALLS> = sent.take(MAX_CALLS).collect();
        poll_fn(|context| {
            for reply in &mut sent {
                let _ = reply.as_mut().poll(context);
            }
            Poll::Ready(())
        })
        .await;
        for (place, reply) in sent.iter_mut().enumerate() {
            reply.as_mut().await;
            let Some(reply) = reply.as_mut().take_output() else { continue };
            let mut rows = pin!(reply.map_err(|problem| (place, problem))?);
            while let Some(row) = rows.try_next().await.map_err(|error| (place, Problem::Database(error)))? {
                on_row(place, &Row(&row)).map_err(|failure| (place, Problem::Row(failure)))?;
            }
            counts.push(rows.rows_affected().unwrap_or(0));
        }
        Ok(counts)
    }

    async fn send(&self, call: Call<'_>) -> Result<RowStream, Problem> {
        let (number, arguments) = match call {
            Call::Begin => (self.begin, &[][..]),
            Call::Commit => (self.begin + 1, &[][..]),
            Call::Rollback => (self.begin + 2, &[][..]),
            Call::Statement(number, arguments) => (number, arguments),
        };
        let command = self.command(number).map_err(Problem::Row)?;
        let rows = match &command.statement {
            Some(statement) => self.client.query_raw(statement, arguments.iter().map(Argument)).await,
            None => {
                self.client
                    .query_typed_raw(&command.sql, arguments.iter().map(|arg| (Argument(arg), type_of(arg))))
                    .await
            }
        };
        rows.map_err(Problem::Database)
    }

    /// Whether the calls from `place` on can have committed something when their answers are missing.
    fn can_have_committed(&self, calls: &[Call<'_>], place: usize, further: bool) -> bool {
        let mut open = self.open;
        let mut possible = false;
        for (at, call) in calls.iter().enumerate() {
            let asked = at == place || (further && at > place);
            match call {
                Call::Begin => open = true,
                Call::Commit => {
                    possible |= asked;
                    open = false;
                }
                Call::Rollback => open = false,
                Call::Statement(number, _) => {
                    possible |= asked && !open && self.command(*number).is_ok_and(|command| command.writes)
                }
            }
        }
        possible
    }

    /// Rolls back what failed calls have left open. It waits behind all that was sent.
    async fn clean_up(&mut self, failure: Failure) -> Failure {
        self.open = false;
        match self.client.batch_execute("ROLLBACK").await {
            Ok(()) => failure,
            Err(error) => {
                self.lost = true;
                // A commit behind a failed statement is a rollback, so nothing of it can remain.
                Failure::Disconnected {
                    ambiguous: false,
                    detail: format!("{failure}; {}", super::connect::chain(&error)),
                }
            }
        }
    }
}

enum Problem {
    /// Of the server or the connection.
    Database(tokio_postgres::Error),
    /// Of the caller, with a row or a call.
    Row(Failure),
}

impl sql::Connection for Connection {
    async fn exchange(
        &mut self,
        calls: &[Call<'_>],
        on_row: &mut dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure>,
    ) -> Result<Counts, Failure> {
        self.check_usable()?;
        let ends_open = calls.iter().fold(self.open, |open, call| match call {
            Call::Begin => true,
            Call::Commit | Call::Rollback => false,
            Call::Statement(..) => open,
        });
        let begun = self.open || calls.iter().any(|call| matches!(call, Call::Begin));
        // An error in front of a commit is met before the commit's own answer, which then only says that there was
        // nothing to commit.
        let failure = match self.work(calls, on_row).await {
            Ok(counts) => {
                self.open = ends_open;
                return Ok(counts);
            }
            Err((place, Problem::Database(error))) => {
                // What the server refuses it does not commit; of what it left unanswered nobody knows.
                let further = error.as_db_error().is_none();
                let ambiguous = self.can_have_committed(calls, place, further);
                self.failed(&error, ambiguous)
            }
            Err((place, Problem::Row(failure))) if self.can_have_committed(calls, place, true) => {
                self.unreadable(&failure)
            }
            Err((_, Problem::Row(failure))) => failure,
        };
        if begun && !self.lost { Err(self.clean_up(failure).await) } else { Err(failure) }
    }
}

/// An argument as PostgreSQL takes it: columns are arrays.
#[derive(Debug)]
struct Argument<'a>(&'a Arg<'a>);

fn type_of(argument: &Arg<'_>) -> Type {
    match argument {
        Arg::One(Value::Null) => Type::UNKNOWN,
        Arg::One(Value::Int(_)) => Type::INT4,
        Arg::One(Value::Money(_) | Value::Rate(_)) => Type::NUMERIC,
        Arg::One(Value::Text(_)) => Type::TEXT,
        Arg::One(Value::Time(_)) => Type::TIMESTAMPTZ,
        Arg::Ints(_) => Type::INT4_ARRAY,
        Arg::Moneys(_) => Type::NUMERIC_ARRAY,
        Arg::Texts(_) => Type::TEXT_ARRAY,
    }
}

impl ToSql for Argument<'_> {
    fn to_sql(&self, asked: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self.0 {
            Arg::One(Value::Null) => Ok(IsNull::Yes),
            Arg::One(Value::Int(value)) => value.to_sql_checked(asked, out),
            Arg::One(Value::Money(value)) => value.to_sql_checked(asked, out),
            Arg::One(Value::Rate(value)) => value.to_sql_checked(asked, out),
            Arg::One(Value::Text(value)) => value.to_sql_checked(asked, out),
            Arg::One(Value::Time(value)) => value.to_sql_checked(asked, out),
            Arg::Ints(values) => values.to_sql_checked(asked, out),
            Arg::Moneys(values) => values.to_sql_checked(asked, out),
            Arg::Texts(values) => values.to_sql_checked(asked, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // Each value checks for itself.
        true
    }

    to_sql_checked!();
}

/// A row as the shared transactions read it.
pub struct Row<'a>(pub &'a tokio_postgres::Row);

/// A column of a row; a wrong type or number is a failure.
pub fn column<'a, T: FromSql<'a>>(row: &'a tokio_postgres::Row, column: usize) -> Result<T, Failure> {
    row.try_get(column)
        .map_err(|error| Failure::Invalid(format!("column {column} of a reply: {}", super::connect::chain(&error))))
}

impl sql::Row for Row<'_> {
    fn int(&self, at: usize) -> Result<i32, Failure> {
        column(self.0, at)
    }

    fn optional_int(&self, at: usize) -> Result<Option<i32>, Failure> {
        column(self.0, at)
    }

    fn money(&self, at: usize) -> Result<Money, Failure> {
        column(self.0, at)
    }

    fn rate(&self, at: usize) -> Result<Rate, Failure> {
        column(self.0, at)
    }

    fn text(&self, at: usize) -> Result<&str, Failure> {
        column::<&str>(self.0, at).map(|text| text.trim_end_matches(' '))
    }

    fn time(&self, at: usize) -> Result<Timestamp, Failure> {
        column(self.0, at)
    }

    fn optional_time(&self, at: usize) -> Result<Option<Timestamp>, Failure> {
        column(self.0, at)
    }
}
