//! A session's connection: prepared statements, pipelined.

use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use arrayvec::ArrayVec;
use bytes::BytesMut;
use futures_util::TryStreamExt;
use futures_util::future::{maybe_done, try_join_all};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, RowStream, SimpleQueryMessage};

use super::connect::Target;
use super::failure;
use super::reply::{PostgresRow, unfold};
use super::schema::Schema;
use crate::engine::dialect::Dialect;
use crate::engine::sql::{self, Arg, Call, Command, Counts, MAX_CALLS, Reply};
use crate::engine::{Error, Failure};
use crate::workload::value::Value;

/// The maximum number of arguments of a statement.
const MAX_ARGUMENTS: usize = 16;

struct Prepared {
    /// `None` behind a pooler, where a prepared statement may be on another server session.
    statement: Option<tokio_postgres::Statement>,
    sql: String,
    /// The argument, counted from 0, of each parameter.
    places: ArrayVec<usize, MAX_ARGUMENTS>,
    writes: bool,
    reply: Reply,
}

/// A connection that executes the commands of a workload by their numbers.
pub struct Connection {
    client: Client,
    /// The server's process for it; `None` behind a pooler, where it changes.
    process: Option<u64>,
    /// The index of its host in the URL.
    host: usize,
    commands: Vec<Option<Prepared>>,
    /// The number of the command `BEGIN`; `COMMIT` and `ROLLBACK` follow.
    begin: usize,
    /// Whether a transaction is open.
    open: bool,
    lost: bool,
    round_trips: u64,
    dialect: &'static Dialect,
}

impl Connection {
    /// Connects and prepares statements. `isolation` as in SQL, such as `read committed`.
    pub async fn open(
        target: &Target,
        schema: &Schema,
        dialect: &'static Dialect,
        commands: &[Option<Command>],
        isolation: &str,
    ) -> Result<Connection, Error> {
        let (client, host) = target.connect_session(&[("default_transaction_isolation", isolation)]).await?;
        let begin = format!("BEGIN ISOLATION LEVEL {isolation}");
        let ends = [begin.into(), Cow::Borrowed("COMMIT"), "ROLLBACK".into()];
        let ends = ends.map(|sql| Some((sql, false, Reply::Rows)));
        let texts = commands
            .iter()
            .map(|command| command.map(|Command { sql, writes, reply }| (schema.sql(sql), writes, reply)));
        let mut whole = Vec::new();
        for text in texts.chain(ends) {
            whole.push(match text {
                None => None,
                Some((sql, writes, reply)) => {
                    let wrong = |why| Error::Database(format!("a statement of the dialect is wrong: {why}"));
                    let (sql, places) = numbered(&sql).map_err(wrong)?;
                    Some(Prepared { statement: None, sql, places, writes, reply })
                }
            });
        }
        let prepare = async |command: Option<Prepared>| {
            let Some(mut command) = command else { return Ok(None) };
            if !target.pooler {
                command.statement = Some(client.prepare(&command.sql).await?);
            }
            Ok(Some(command))
        };
        let prepared = try_join_all(whole.into_iter().map(prepare)).await;
        let prepared = prepared.map_err(|error: tokio_postgres::Error| {
            let what = match error.code() {
                Some(&SqlState::UNDEFINED_FUNCTION) => {
                    "cannot prepare the workload's calls, for another version of Graymark loaded the database: make \
                     its procedures anew \
                     with graymark load --procedures-only, or run with --via statements"
                }
                _ => "cannot prepare the workload's statements",
            };
            failure::of_command(what, &error)
        })?;
        let process = if target.pooler { None } else { process(&client).await };
        let begin = commands.len();
        let (open, lost, round_trips) = (false, false, 0);
        Ok(Connection { begin, commands: prepared, client, process, host, open, lost, round_trips, dialect })
    }

    fn command(&self, number: usize) -> Result<&Prepared, Failure> {
        let command = self.commands.get(number).and_then(Option::as_ref);
        command.ok_or_else(|| Failure::Invalid(format!("there is no statement {number}")))
    }

    fn failed(&mut self, error: &tokio_postgres::Error, ambiguous: bool) -> Failure {
        let failure = failure::of_transaction(error, ambiguous, self.dialect);
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
        if let [call] = calls {
            let rows = self.send(*call).await.map_err(|problem| (0, problem))?;
            counts.push(self.receive(0, call, rows, on_row).await.map_err(|problem| (0, problem))?);
            return Ok(counts);
        }
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
            let rows = reply.map_err(|problem| (place, problem))?;
            let Some(call) = calls.get(place) else { continue };
            counts.push(self.receive(place, call, rows, on_row).await.map_err(|problem| (place, problem))?);
        }
        Ok(counts)
    }

    /// Passes the rows of a reply to `on_row`. Returns the number of rows or, if there are none, of affected rows.
    async fn receive(
        &self,
        place: usize,
        call: &Call<'_>,
        rows: RowStream,
        on_row: &mut dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure>,
    ) -> Result<u64, Problem> {
        let reply = match call {
            Call::Statement(number, _) => self.command(*number).map_err(Problem::Row)?.reply,
            Call::Begin | Call::Commit | Call::Rollback => Reply::Rows,
        };
        let mut rows = pin!(rows);
        while let Some(row) = rows.try_next().await.map_err(Problem::Database)? {
            let read = match reply {
                Reply::Arrays => unfold(&row, &mut |row| on_row(place, row)),
                _ => on_row(place, &PostgresRow(&row)),
            };
            read.map_err(Problem::Row)?;
        }
        Ok(rows.rows_affected().unwrap_or(0))
    }

    async fn send(&self, call: Call<'_>) -> Result<RowStream, Problem> {
        let (number, arguments) = match call {
            Call::Begin => (self.begin, &[][..]),
            Call::Commit => (self.begin + 1, &[][..]),
            Call::Rollback => (self.begin + 2, &[][..]),
            Call::Statement(number, arguments) => (number, arguments),
        };
        let command = self.command(number).map_err(Problem::Row)?;
        if command.places.iter().any(|place| *place >= arguments.len()) {
            return Err(Problem::Row(Failure::Invalid(format!("statement {number} has other arguments"))));
        }
        let given = command.places.iter().map(|place| &arguments[*place]);
        let rows = match &command.statement {
            Some(statement) => self.client.query_raw(statement, given.map(Argument)).await,
            // Boxed, so that the futures of other calls stay small: each is moved when it is sent.
            None => {
                let given = given.map(|arg| (Argument(arg), type_of(arg)));
                Box::pin(self.client.query_typed_raw(&command.sql, given)).await
            }
        };
        rows.map_err(Problem::Database)
    }

    /// Whether the calls from `place` on can have committed something if their answers are missing.
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

    /// Rolls back after failed calls. The rollback is queued after everything that was sent.
    async fn clean_up(&mut self, failure: Failure) -> Failure {
        self.open = false;
        self.round_trips += 1;
        match self.client.batch_execute("ROLLBACK").await {
            Ok(()) => failure,
            Err(error) => {
                self.lost = true;
                // A commit after a failed statement is a rollback, so nothing of it can remain.
                Failure::Disconnected {
                    ambiguous: false,
                    detail: format!("{failure}; {}", super::failure::chain(&error)),
                }
            }
        }
    }
}

enum Problem {
    /// An error of the server or the connection.
    Database(tokio_postgres::Error),
    /// An error of the caller, of a row or a call.
    Row(Failure),
}

/// The server's process for a client; `None` if unknown, for example on compatible servers.
async fn process(client: &Client) -> Option<u64> {
    let messages = client.simple_query("SELECT pg_backend_pid()").await.ok()?;
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.try_get(0).ok()??.parse().ok(),
        _ => None,
    })
}

impl sql::Connection for Connection {
    fn id(&self) -> Option<u64> {
        self.process
    }

    fn host(&self) -> Option<usize> {
        Some(self.host)
    }

    fn round_trips(&self) -> Option<u64> {
        Some(self.round_trips)
    }

    async fn exchange(
        &mut self,
        calls: &[Call<'_>],
        on_row: &mut dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure>,
    ) -> Result<Counts, Failure> {
        if self.lost {
            return Err(Failure::Disconnected { ambiguous: false, detail: "the session was lost before".to_owned() });
        }
        let ends_open = calls.iter().fold(self.open, |open, call| match call {
            Call::Begin => true,
            Call::Commit | Call::Rollback => false,
            Call::Statement(..) => open,
        });
        // All calls are sent before waiting for the first answer.
        self.round_trips += u64::from(!calls.is_empty());
        let begun = self.open || calls.iter().any(|call| matches!(call, Call::Begin));
        // An error before a commit is received before the commit's own answer, which then only says that there was no
        // transaction.
        let failure = match self.work(calls, on_row).await {
            Ok(counts) => {
                self.open = ends_open;
                return Ok(counts);
            }
            Err((place, Problem::Database(error))) => {
                // A refused commit is not executed; for an unanswered one that is unknown.
                let further = error.as_db_error().is_none();
                let ambiguous = self.can_have_committed(calls, place, further);
                match self.failed(&error, ambiguous) {
                    // An answer that is none of the protocol's.
                    why @ Failure::Invalid(_) if ambiguous && further => self.unreadable(&why),
                    failure => failure,
                }
            }
            Err((place, Problem::Row(failure))) if self.can_have_committed(calls, place, true) => {
                self.unreadable(&failure)
            }
            Err((_, Problem::Row(failure))) => failure,
        };
        if begun && !self.lost { Err(self.clean_up(failure).await) } else { Err(failure) }
    }

    fn unreadable(&mut self, why: &Failure) -> Failure {
        self.lost = true;
        Failure::unreadable(why)
    }
}

/// A text with its parameters numbered without gaps, and the argument, counted from 0, of each. The server accepts no
/// unused parameters.
fn numbered(text: &str) -> Result<(String, ArrayVec<usize, MAX_ARGUMENTS>), String> {
    let mut places: ArrayVec<usize, MAX_ARGUMENTS> = ArrayVec::new();
    let mut sql = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at + 1);
        sql.push_str(before);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = after.split_at(digits);
        rest = after;
        if number.is_empty() {
            continue;
        }
        let place = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let place = place.ok_or_else(|| format!("there is no parameter ${number}: {text}"))?;
        let known = places.iter().position(|known| *known == place);
        let number = match known {
            Some(known) => known,
            None => {
                places.try_push(place).map_err(|_| format!("more than {MAX_ARGUMENTS} parameters: {text}"))?;
                places.len() - 1
            }
        };
        sql.push_str(&(number + 1).to_string());
    }
    sql.push_str(rest);
    Ok((sql, places))
}

/// An argument in PostgreSQL's form: columns are arrays.
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
        // Each value checks its own type.
        true
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_a_text_leaves_out_are_not_sent() {
        let of = |text: &str| numbered(text).map(|(sql, places)| (sql, places.to_vec()));
        assert_eq!(
            of("CALL f($3::integer, $1, $12, $3)"),
            Ok(("CALL f($1::integer, $2, $3, $1)".into(), vec![2, 0, 11]))
        );
        assert_eq!(of("COMMIT"), Ok(("COMMIT".to_owned(), vec![])));
        assert_eq!(of("SELECT ' $' || $2"), Ok(("SELECT ' $' || $1".to_owned(), vec![1])));
        assert!(of("SELECT $0").is_err());
    }
}
