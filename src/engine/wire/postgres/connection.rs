//! A session's connection: prepared statements, pipelined.

use std::borrow::Cow;

use arrayvec::ArrayVec;
use bytes::BytesMut;
use postgres_protocol::message::backend::{CommandCompleteBody, DataRowBody, Message};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::connect::{Started, Target};
use super::failure;
use super::reply::{PostgresRow, unfold};
use super::schema::Schema;
use super::session::{Problem, Session, Statement, columns_of, unexpected};
use crate::engine::dialect::Dialect;
use crate::engine::sql::{self, Arg, Call, Command, Counts, MAX_CALLS, Reply};
use crate::engine::{Error, Failure};
use crate::workload::value::Value;

/// The maximum number of arguments of a statement.
const MAX_ARGUMENTS: usize = 16;

struct Prepared {
    /// `None` behind a pooler, where a prepared statement may be on another server session.
    statement: Option<Statement>,
    sql: String,
    /// The argument, counted from 0, of each parameter.
    places: ArrayVec<usize, MAX_ARGUMENTS>,
    writes: bool,
    reply: Reply,
}

/// A connection that executes the commands of a workload by their numbers.
pub struct Connection {
    session: Session,
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
        let started = target.connect_session(&[("default_transaction_isolation", isolation)]).await?;
        let Started { mut session, process, host } = started;
        let begin = format!("BEGIN ISOLATION LEVEL {isolation}");
        let ends = [begin.into(), Cow::Borrowed("COMMIT"), "ROLLBACK".into()];
        let ends = ends.map(|sql| Some((sql, false, Reply::Rows)));
        let texts = commands
            .iter()
            .map(|command| command.map(|Command { sql, writes, reply }| (schema.sql(sql), writes, reply)));
        let mut prepared = Vec::new();
        for text in texts.chain(ends) {
            prepared.push(match text {
                None => None,
                Some((sql, writes, reply)) => {
                    let wrong = |why| Error::Database(format!("a statement of the dialect is wrong: {why}"));
                    let (sql, places) = numbered(&sql).map_err(wrong)?;
                    Some(Prepared { statement: None, sql, places, writes, reply })
                }
            });
        }
        if !target.pooler {
            let texts: Vec<&str> = prepared.iter().flatten().map(|command| command.sql.as_str()).collect();
            let statements = session.prepare(&texts).await.map_err(unprepared)?;
            for (command, statement) in prepared.iter_mut().flatten().zip(statements) {
                command.statement = Some(statement);
            }
        }
        let (open, lost, round_trips) = (false, false, 0);
        Ok(Connection {
            begin: commands.len(),
            commands: prepared,
            session,
            process,
            host,
            open,
            lost,
            round_trips,
            dialect,
        })
    }

    /// Sends all calls before it waits for the first answer: they share a round trip. The answers come in the calls'
    /// order. A Sync follows where a transaction has ended, and at the end.
    async fn work(
        &mut self,
        calls: &[Call<'_>],
        on_row: &mut dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure>,
    ) -> Result<Counts, (usize, WorkError)> {
        let mut synced: ArrayVec<bool, MAX_CALLS> = ArrayVec::new();
        let mut open = self.open;
        for (place, call) in calls.iter().enumerate() {
            open = opens(*call, open);
            let sync = !open || place + 1 == calls.len();
            let added = self.add(*call).and_then(|()| synced.try_push(sync).map_err(|_| too_many()));
            if let Err(failure) = added {
                self.session.forget();
                return Err((place, WorkError::Unsent(failure)));
            }
            if sync {
                self.session.sync();
            }
        }
        self.session.send().await.map_err(|problem| (0, problem.into()))?;
        let mut counts = Counts::new();
        for (place, (call, sync)) in calls.iter().zip(synced).enumerate() {
            counts.push(self.receive(place, call, sync, on_row).await.map_err(|error| (place, error))?);
        }
        Ok(counts)
    }

    /// Adds a call to the next message.
    fn add(&mut self, call: Call<'_>) -> Result<(), Failure> {
        let (number, arguments) = self.numbered(call);
        let command = command(&self.commands, number)?;
        let invalid = |why: String| Failure::Invalid(format!("statement {number}: {why}"));
        if command.places.iter().any(|place| *place >= arguments.len()) {
            return Err(invalid("it has other arguments".to_owned()));
        }
        let given = command.places.iter().map(|place| &arguments[*place]);
        let serialize = |argument, of: &Type, out: &mut BytesMut| Argument(argument).to_sql_checked(of, out);
        let added = match &command.statement {
            Some(statement) => self.session.execute(statement, given, serialize),
            None => {
                let given = given.map(|argument| (argument, type_of(argument)));
                self.session.execute_text(&command.sql, given, serialize)
            }
        };
        added.map_err(invalid)
    }

    /// The number of a call's command, and its arguments.
    fn numbered<'a>(&self, call: Call<'a>) -> (usize, &'a [Arg<'a>]) {
        match call {
            Call::Begin => (self.begin, &[]),
            Call::Commit => (self.begin + 1, &[]),
            Call::Rollback => (self.begin + 2, &[]),
            Call::Statement(number, arguments) => (number, arguments),
        }
    }

    /// Passes the rows of a reply to `on_row`. Returns the number of rows or, if there are none, of affected rows.
    async fn receive(
        &mut self,
        place: usize,
        call: &Call<'_>,
        sync: bool,
        on_row: &mut dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure>,
    ) -> Result<u64, WorkError> {
        let (number, _) = self.numbered(*call);
        let command = command(&self.commands, number).map_err(WorkError::Row)?;
        let mut described = Vec::new();
        let mut count = None;
        loop {
            match (self.session.next().await?, count) {
                (Message::ParseComplete | Message::BindComplete | Message::NoData, None) => {}
                (Message::RowDescription(body), None) => described = columns_of(&body)?,
                (Message::DataRow(body), None) => {
                    let types = command.statement.as_ref().map_or(&described, |statement| &statement.columns);
                    pass(types, &body, command.reply, &mut |row| on_row(place, row)).map_err(WorkError::Row)?;
                }
                (Message::CommandComplete(body), None) if sync => count = Some(affected(&body)?),
                (Message::CommandComplete(body), None) => return affected(&body),
                (Message::ReadyForQuery(_), Some(count)) => return Ok(count),
                (other, _) => return Err(unexpected(&other).into()),
            }
        }
    }

    /// Whether the calls from `place` on can have committed something if their answers are missing.
    fn can_have_committed(&self, calls: &[Call<'_>], place: usize, further: bool) -> bool {
        let mut open = self.open;
        let mut possible = false;
        for (at, call) in calls.iter().enumerate() {
            let asked = at == place || (further && at > place);
            possible |= asked
                && match call {
                    Call::Commit => true,
                    Call::Statement(number, _) => {
                        !open && command(&self.commands, *number).is_ok_and(|command| command.writes)
                    }
                    Call::Begin | Call::Rollback => false,
                };
            open = opens(*call, open);
        }
        possible
    }

    /// The failure of calls whose answer from `place` on is not as expected.
    fn unread(&mut self, calls: &[Call<'_>], place: usize, why: Failure) -> Failure {
        if self.can_have_committed(calls, place, true) { sql::Connection::unreadable(self, &why) } else { why }
    }

    /// Reads what is left of the answers to failed calls, and rolls back if a transaction is open.
    async fn clean_up(&mut self, failure: Failure) -> Failure {
        self.open = false;
        let mut done = match self.session.drain().await {
            Ok(()) | Err(Problem::Refused(_)) => Ok(()),
            Err(problem) => Err(problem),
        };
        if done.is_ok() && self.session.in_transaction() {
            self.round_trips += 1;
            done = self.session.say("ROLLBACK").await;
        }
        match done {
            Ok(()) => failure,
            Err(problem) => {
                self.lost = true;
                // A commit after a failed statement is a rollback, so nothing of it can remain.
                Failure::Disconnected { ambiguous: false, detail: format!("{failure}; {problem}") }
            }
        }
    }
}

/// Why calls failed.
enum WorkError {
    /// Nothing was sent: a call is wrong.
    Unsent(Failure),
    /// An error of the server or the connection.
    Session(Problem),
    /// A row is not as expected.
    Row(Failure),
}

impl From<Problem> for WorkError {
    fn from(problem: Problem) -> WorkError {
        WorkError::Session(problem)
    }
}

/// Whether a transaction is open after a call.
fn opens(call: Call<'_>, open: bool) -> bool {
    match call {
        Call::Begin => true,
        Call::Commit | Call::Rollback => false,
        Call::Statement(..) => open,
    }
}

/// Passes a row, or the rows that it stands for.
fn pass(
    types: &[Type],
    body: &DataRowBody,
    reply: Reply,
    on_row: &mut dyn FnMut(&dyn sql::Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let row = PostgresRow::of(types, body)?;
    match reply {
        Reply::Arrays => unfold(&row, on_row),
        _ => on_row(&row),
    }
}

/// The number of rows that a statement returned or changed; 0 for others, such as BEGIN.
fn affected(body: &CommandCompleteBody) -> Result<u64, WorkError> {
    let words = body.tag().map_err(Problem::from)?;
    Ok(words.rsplit(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0))
}

fn too_many() -> Failure {
    Failure::Invalid(format!("more than {MAX_CALLS} calls"))
}

fn command(commands: &[Option<Prepared>], number: usize) -> Result<&Prepared, Failure> {
    let command = commands.get(number).and_then(Option::as_ref);
    command.ok_or_else(|| Failure::Invalid(format!("there is no statement {number}")))
}

fn unprepared(problem: Problem) -> Error {
    let what = match &problem {
        // Undefined function.
        Problem::Refused(refusal) if refusal.code == "42883" => {
            "cannot prepare the workload's calls, for another version of Graymark loaded the database: make its \
             procedures anew with graymark load --procedures-only, or run with --via statements"
        }
        _ => "cannot prepare the workload's statements",
    };
    Error::Database(format!("{what}: {problem}"))
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
        // A session whose last exchange was given up still waits for its answers.
        if self.lost || self.session.waits() {
            return Err(Failure::Disconnected { ambiguous: false, detail: "the session was lost before".to_owned() });
        }
        self.round_trips += u64::from(!calls.is_empty());
        let failure = match self.work(calls, on_row).await {
            Ok(counts) => {
                self.open = calls.iter().fold(self.open, |open, call| opens(*call, open));
                return Ok(counts);
            }
            Err((_, WorkError::Unsent(failure))) => failure,
            Err((place, WorkError::Session(Problem::Refused(refusal)))) => {
                // A refused commit is not executed, and nothing after an error.
                let ambiguous = self.can_have_committed(calls, place, false);
                failure::of_refusal(&refusal.code, refusal.full_message(), ambiguous, self.dialect)
            }
            Err((place, WorkError::Session(Problem::Lost(detail)))) => {
                Failure::Disconnected { ambiguous: self.can_have_committed(calls, place, true), detail }
            }
            Err((place, WorkError::Session(Problem::Unreadable(why)))) => {
                self.lost = true;
                self.unread(calls, place, Failure::Invalid(why))
            }
            Err((place, WorkError::Row(failure))) => self.unread(calls, place, failure),
        };
        self.lost |= matches!(failure, Failure::Disconnected { .. });
        if self.lost { Err(failure) } else { Err(self.clean_up(failure).await) }
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
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;
    use crate::engine::dialect::Wire;
    use crate::engine::sql::Connection as _;

    /// A connection with a statement that writes and one that reads, and what the server sees of it.
    fn connection() -> (Connection, DuplexStream) {
        let (near, far) = duplex(1 << 16);
        let command = |sql: &str, writes| {
            let statement = Statement { name: sql.to_owned(), parameters: vec![], columns: vec![Type::INT4] };
            let (sql, places) = (sql.to_owned(), ArrayVec::new());
            Some(Prepared { statement: Some(statement), sql, places, writes, reply: Reply::Rows })
        };
        let commands = ["write", "read", "BEGIN", "COMMIT", "ROLLBACK"];
        let connection = Connection {
            session: Session::new(Box::new(near)),
            process: None,
            host: 0,
            commands: commands.map(|sql| command(sql, sql == "write")).into(),
            begin: 2,
            open: false,
            lost: false,
            round_trips: 0,
            dialect: Dialect::choose(Wire::Postgres, None).unwrap(),
        };
        (connection, far)
    }

    /// The kinds of the messages that the server got.
    async fn heard(server: &mut DuplexStream) -> String {
        let mut bytes = [0; 4096];
        let length = server.read(&mut bytes).await.unwrap();
        let (mut rest, mut kinds) = (&bytes[..length], String::new());
        while let Some((head, after)) = rest.split_first_chunk::<5>() {
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            kinds.push(head[0].into());
            rest = &after[length - 4..];
        }
        kinds
    }

    const WRITE: Call<'static> = Call::Statement(0, &[]);
    const READ: Call<'static> = Call::Statement(1, &[]);

    #[tokio::test]
    async fn a_transaction_is_sent_with_one_sync() {
        let (mut connection, mut server) = connection();
        let done = b"2\0\0\0\x04D\0\0\0\x0e\0\x01\0\0\0\x04\0\0\0\x07C\0\0\0\x0dSELECT 1\0";
        let ready = b"Z\0\0\0\x05I";
        let transaction = [Call::Begin, READ, WRITE, Call::Commit];
        server.write_all(&[&done.repeat(4)[..], ready].concat()).await.unwrap();
        let mut rows = Vec::new();
        let mut on_row = |place, row: &dyn sql::Row| {
            rows.push((place, row.int(0)?));
            Ok(())
        };
        let counts = connection.exchange(&transaction, &mut on_row).await.unwrap();
        assert_eq!(counts[..], [1; 4]);
        assert_eq!(rows, [(0, 7), (1, 7), (2, 7), (3, 7)]);
        assert_eq!(heard(&mut server).await, "BEBEBEBES");
        // Each of several statements outside a transaction is a transaction of its own.
        server.write_all(&[&done[..], ready, done, ready].concat()).await.unwrap();
        connection.exchange(&[WRITE, READ], &mut |_, _| Ok(())).await.unwrap();
        assert_eq!(heard(&mut server).await, "BESBES");
    }

    #[tokio::test]
    async fn an_answer_that_is_missing_leaves_open_what_can_have_committed() {
        for (calls, ambiguous) in [
            (&[Call::Begin, WRITE][..], false),
            (&[Call::Begin, WRITE, Call::Commit], true),
            (&[READ], false),
            (&[WRITE], true),
            (&[Call::Begin, WRITE, Call::Rollback], false),
        ] {
            let (mut connection, server) = connection();
            drop(server);
            let failure = connection.exchange(calls, &mut |_, _| Ok(())).await.unwrap_err();
            let Failure::Disconnected { ambiguous: said, .. } = failure else { panic!("{failure}") };
            assert_eq!(said, ambiguous, "{calls:?}");
        }
    }

    #[tokio::test]
    async fn a_session_whose_exchange_was_given_up_is_not_used_again() {
        let (mut connection, _server) = connection();
        let at_once = std::time::Duration::ZERO;
        let given_up = async { tokio::time::timeout(at_once, connection.exchange(&[READ], &mut |_, _| Ok(()))).await };
        assert!(given_up.await.is_err());
        let failure = connection.exchange(&[READ], &mut |_, _| Ok(())).await.unwrap_err();
        assert!(matches!(failure, Failure::Disconnected { ambiguous: false, .. }), "{failure}");
    }

    #[tokio::test]
    async fn a_refused_transaction_is_rolled_back_and_the_session_goes_on() {
        let (mut connection, mut server) = connection();
        let refused = b"E\0\0\0\x10C40001\0Mno\0\0Z\0\0\0\x05E";
        let rolled_back = b"C\0\0\0\x0dROLLBACK\0Z\0\0\0\x05I";
        server.write_all(&[&refused[..], rolled_back].concat()).await.unwrap();
        let calls = [Call::Begin, WRITE, Call::Commit];
        let failure = connection.exchange(&calls, &mut |_, _| Ok(())).await.unwrap_err();
        assert!(matches!(failure, Failure::Retry { .. }), "{failure}");
        assert_eq!(heard(&mut server).await, "BEBEBESQ");
        assert!(!connection.lost && !connection.open);
    }

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
