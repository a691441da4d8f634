//! A session's connection: prepared statements, executed one after the other.
//!
//! The protocol answers one prepared statement before it accepts the next, so that an exchange takes a round trip per
//! statement. To compensate, columns of arguments are sent as one JSON document, and a statement processes all of their
//! rows
//! at once. If a dialect does not support that, an exchange is sent as one text of several statements, in one round
//! trip:
//! see [`super::together`].

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Params, Statement, Value as Wire};

use super::connect::Target;
use super::failure;
use super::query::Read;
use super::reply::read;
use super::together;
use super::value::{to_wire, values};
use crate::engine::dialect::Dialect;
use crate::engine::sql::columns::json;
use crate::engine::sql::{self, Arg, Call, Command, Counts, Reply};
use crate::engine::{Error, Failure};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parameter {
    /// An argument by its index.
    Argument(usize),
    /// All columns as a document.
    Columns,
}

/// A command of one or several SQL statements; those that return rows give the answer.
///
/// `?1` stands for the first argument, and so on. `?*` stands for all arguments that are columns, as a JSON array with
/// an array for each of their rows, for `JSON_TABLE`. Without it, a command with columns is executed once for each row.
struct Prepared {
    statements: Vec<(Statement, Vec<Parameter>)>,
    /// The statements between their parameters, if they are sent as text.
    texts: Vec<(Vec<String>, Vec<Parameter>)>,
    writes: bool,
    reply: Reply,
}

impl Prepared {
    fn takes_columns_whole(&self) -> bool {
        let prepared = self.statements.iter().map(|(_, parameters)| parameters);
        prepared.chain(self.texts.iter().map(|(_, parameters)| parameters)).any(|all| all.contains(&Parameter::Columns))
    }

    /// How often it is executed for these arguments.
    fn turns(&self, arguments: &[Arg<'_>]) -> usize {
        match arguments.iter().filter_map(Arg::places).max() {
            None => 1,
            Some(0) => 0,
            Some(_) if self.takes_columns_whole() => 1,
            Some(places) => places,
        }
    }
}

/// A statement of a text, and the call to which its answer belongs.
struct Sent {
    /// The index of its call.
    place: usize,
    reply: Reply,
    /// Whether its rows are the answer.
    last: bool,
}

/// The SQL text that begins or ends a transaction.
fn control_text(call: &Call<'_>) -> &'static str {
    match call {
        Call::Begin => "START TRANSACTION",
        Call::Commit => "COMMIT",
        Call::Rollback | Call::Statement(..) => "ROLLBACK",
    }
}

/// A connection that executes the commands of a workload by their numbers.
pub struct Connection {
    conn: Conn,
    /// The index of its host in the URL.
    host: usize,
    commands: Vec<Option<Prepared>>,
    /// Whether a transaction is open.
    open: bool,
    lost: bool,
    round_trips: u64,
    /// The buffer for the text of an exchange.
    text: String,
    dialect: &'static Dialect,
}

impl Connection {
    /// Connects to a database and prepares statements. `isolation` as in SQL, such as `read committed`.
    pub async fn open(
        target: &Target,
        database: &str,
        dialect: &'static Dialect,
        commands: &[Option<Command>],
        isolation: &str,
    ) -> Result<Connection, Error> {
        let level = format!("TRANSACTION ISOLATION LEVEL {isolation}");
        let (mut conn, host) = target.connect_session(Some(database), &[&level]).await?;
        let mut prepared = Vec::with_capacity(commands.len());
        for command in commands {
            let Some(Command { sql, writes, reply }) = command else {
                prepared.push(None);
                continue;
            };
            let (mut statements, mut texts) = (Vec::new(), Vec::new());
            for (sql, parameters) in
                parse(sql).map_err(|why| Error::Database(format!("a statement of the dialect is wrong: {why}")))?
            {
                has_procedure(&mut conn, &sql).await?;
                let statement = conn.prep(&*sql).await.map_err(|error| {
                    let what = match failure::code(&error) {
                        Some(1064) if sql.contains("RETURNING") => {
                            "cannot prepare the workload's statements, which use what only MariaDB has (RETURNING): \
                             give dialect=mysql-plain in the URL, or run with --via procedures (acid needs statements, \
                             for it holds transactions open)"
                        }
                        _ => "cannot prepare the workload's statements",
                    };
                    failure::of_command(what, &error)
                })?;
                if dialect.together {
                    // It was prepared to check that the server accepts it.
                    let closed = conn.close(statement).await;
                    closed.map_err(|error| failure::of_command("cannot prepare the workload's statements", &error))?;
                    texts.push((together::pieces(&sql), parameters));
                } else {
                    statements.push((statement, parameters));
                }
            }
            prepared.push(Some(Prepared { statements, texts, writes: *writes, reply: *reply }));
        }
        let (open, lost, round_trips, text) = (false, false, 0, String::new());
        Ok(Connection { conn, host, commands: prepared, open, lost, round_trips, text, dialect })
    }

    fn failed(&mut self, error: &mysql_async::Error, ambiguous: bool) -> Failure {
        let failure = failure::of_transaction(error, ambiguous, self.dialect);
        self.lost |= matches!(failure, Failure::Disconnected { .. });
        failure
    }

    async fn work(&mut self, at: usize, call: &Call<'_>, on_row: &mut OnRow<'_>) -> Result<u64, Problem> {
        if let Call::Statement(number, arguments) = call {
            return self.statement(at, *number, arguments, on_row).await;
        }
        self.round_trips += 1;
        self.conn.query_drop(control_text(call)).await.map_err(Problem::Database)?;
        Ok(0)
    }

    async fn statement(
        &mut self,
        at: usize,
        number: usize,
        arguments: &[Arg<'_>],
        on_row: &mut OnRow<'_>,
    ) -> Result<u64, Problem> {
        let Some(command) = self.commands.get(number).and_then(Option::as_ref) else {
            return Err(Problem::Row(Failure::Invalid(format!("there is no statement {number}"))));
        };
        let mut count = 0;
        for turn in 0..command.turns(arguments) {
            let mut last = 0;
            for (statement, parameters) in &command.statements {
                let bound = parameters.iter().map(|parameter| match parameter {
                    Parameter::Argument(place) => arguments.get(*place)?.at(turn).map(to_wire),
                    Parameter::Columns => Some(document(arguments)),
                });
                let Some(bound) = bound.collect::<Option<Vec<Wire>>>() else {
                    return Err(Problem::Row(Failure::Invalid(format!("statement {number} has other arguments"))));
                };
                self.round_trips += 1;
                let mut result = self.conn.exec_iter(statement, positional(bound)).await.map_err(Problem::Database)?;
                last = result.affected_rows();
                let mut rows = 0;
                while !result.is_empty() {
                    let Some(row) = result.next().await.map_err(Problem::Database)? else { continue };
                    rows += 1;
                    read(command.reply, &values(row), &mut |row| on_row(at, row)).map_err(Problem::Row)?;
                }
                // The result columns of a CALL are not known in advance.
                if rows > 0 || statement.num_columns() > 0 {
                    last = rows;
                }
            }
            count += last;
        }
        Ok(count)
    }

    /// Writes all calls as one text; returns the expected answers.
    fn write(&self, calls: &[Call<'_>], text: &mut String) -> Result<Vec<Sent>, Failure> {
        let mut all = Vec::new();
        for (place, call) in calls.iter().enumerate() {
            let (number, arguments) = match call {
                Call::Statement(number, arguments) => (*number, *arguments),
                control => {
                    text.push_str(control_text(control));
                    text.push(';');
                    all.push(Sent { place, reply: Reply::Rows, last: true });
                    continue;
                }
            };
            let Some(command) = self.commands.get(number).and_then(Option::as_ref) else {
                return Err(Failure::Invalid(format!("there is no statement {number}")));
            };
            for turn in 0..command.turns(arguments) {
                for (number_here, (pieces, parameters)) in (1..).zip(&command.texts) {
                    let mut pieces = pieces.iter();
                    text.push_str(pieces.next().map_or("", String::as_str));
                    for (parameter, piece) in parameters.iter().zip(pieces) {
                        match parameter {
                            Parameter::Argument(at) => match arguments.get(*at).and_then(|given| given.at(turn)) {
                                Some(value) => together::literal(value, text),
                                None => {
                                    return Err(Failure::Invalid(format!("statement {number} has other arguments")));
                                }
                            },
                            Parameter::Columns => together::quoted(&json(arguments), text),
                        }
                        text.push_str(piece);
                    }
                    text.push(';');
                    all.push(Sent { place, reply: command.reply, last: number_here == command.texts.len() });
                }
            }
        }
        Ok(all)
    }

    /// Sends all calls as one text, and reads the answers. An error contains the index of the first call whose answer
    /// is missing or unreadable.
    async fn work_together(
        &mut self,
        calls: &[Call<'_>],
        (sent, text): (&[Sent], &str),
        on_row: &mut OnRow<'_>,
    ) -> Result<Counts, (usize, Problem)> {
        let mut counts: Counts = calls.iter().map(|_| 0).collect();
        let Some(first) = sent.first() else { return Ok(counts) };
        self.round_trips += 1;
        let result = self.conn.query_iter(text).await;
        let mut result = result.map_err(|error| (first.place, Problem::Database(error)))?;
        for Sent { place, reply, last } in sent {
            let affected = result.affected_rows();
            let columns = result.columns();
            let mut rows = 0;
            loop {
                match result.next().await {
                    Ok(Some(row)) => {
                        rows += 1;
                        let read = read(*reply, &values(row), &mut |row| on_row(*place, row));
                        read.map_err(|failure| (*place, Problem::Row(failure)))?;
                    }
                    Ok(None) => break,
                    Err(error) => return Err((*place, Problem::Database(error))),
                }
            }
            // Without columns there is no answer; an error in its place has just been read.
            let Some(columns) = columns else {
                let why = "the server has answered fewer statements than it was sent".to_owned();
                return Err((*place, Problem::Row(Failure::Invalid(why))));
            };
            if let Some(count) = counts.get_mut(*place).filter(|_| *last) {
                *count += if columns.is_empty() { affected } else { rows };
            }
        }
        // Which answer belongs to which statement is then unknown.
        if let (Some(_), Some(last)) = (result.columns(), sent.last()) {
            let why = "the server has answered more statements than it was sent".to_owned();
            return Err((last.place, Problem::Row(Failure::Invalid(why))));
        }
        Ok(counts)
    }

    async fn exchange_together(&mut self, calls: &[Call<'_>], on_row: &mut OnRow<'_>) -> Result<Counts, Failure> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let worked = match self.write(calls, &mut text) {
            Ok(sent) => self.work_together(calls, (&sent, &text), on_row).await,
            Err(failure) => return Err(self.clean_up(failure).await),
        };
        self.text = text;
        let failure = match worked {
            Ok(counts) => {
                for call in calls {
                    self.worked(call);
                }
                return Ok(counts);
            }
            Err((place, Problem::Database(error))) => {
                // The server executes nothing after a refused statement; for unanswered statements that is unknown.
                let further = !matches!(error, mysql_async::Error::Server(_));
                let ambiguous = self.can_commit(calls, place, further);
                self.failed(&error, ambiguous)
            }
            Err((place, Problem::Row(failure))) if self.can_commit(calls, place, true) => {
                sql::Connection::unreadable(self, &failure)
            }
            Err((_, Problem::Row(failure))) => failure,
        };
        Err(if self.lost { failure } else { self.clean_up(failure).await })
    }

    /// Notes that a call was executed.
    fn worked(&mut self, call: &Call<'_>) {
        match call {
            Call::Begin => self.open = true,
            Call::Commit | Call::Rollback => self.open = false,
            Call::Statement(..) => {}
        }
    }

    /// Whether the calls from `place` on can have committed something if their answers are missing; only that one if no
    /// further one can have been executed.
    fn can_commit(&self, calls: &[Call<'_>], place: usize, further: bool) -> bool {
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
                    let command = self.commands.get(*number).and_then(Option::as_ref);
                    possible |= asked && !open && command.is_some_and(|command| command.writes);
                }
            }
        }
        possible
    }

    /// Rolls back after a failed call.
    async fn clean_up(&mut self, failure: Failure) -> Failure {
        self.open = false;
        self.round_trips += 1;
        match self.conn.query_drop("ROLLBACK").await {
            Ok(()) => failure,
            Err(error) => {
                self.lost = true;
                Failure::Disconnected { ambiguous: false, detail: format!("{failure}; {}", failure::message(&error)) }
            }
        }
    }
}

type OnRow<'a> = dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure> + 'a;

enum Problem {
    /// An error of the server or the connection.
    Database(mysql_async::Error),
    /// An error of the caller, of a row or a call.
    Row(Failure),
}

impl sql::Connection for Connection {
    fn host(&self) -> Option<usize> {
        Some(self.host)
    }

    fn id(&self) -> Option<u64> {
        Some(self.conn.id().into())
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
        if self.dialect.together {
            return self.exchange_together(calls, on_row).await;
        }
        let mut counts = Counts::new();
        for (place, call) in calls.iter().enumerate() {
            let failure = match self.work(place, call, on_row).await {
                Ok(count) => {
                    self.worked(call);
                    counts.push(count);
                    continue;
                }
                Err(Problem::Database(error)) => {
                    let ambiguous = self.can_commit(calls, place, false);
                    self.failed(&error, ambiguous)
                }
                Err(Problem::Row(failure)) if self.can_commit(calls, place, false) => self.unreadable(&failure),
                Err(Problem::Row(failure)) => failure,
            };
            return Err(if self.lost { failure } else { self.clean_up(failure).await });
        }
        Ok(counts)
    }

    fn unreadable(&mut self, why: &Failure) -> Failure {
        self.lost = true;
        Failure::unreadable(why)
    }
}

/// Checks that the procedure called by a statement, if any, exists with the right number of parameters. The server
/// would only check that at the call.
async fn has_procedure(conn: &mut Conn, sql: &str) -> Result<(), Error> {
    let Some((name, arguments)) = sql.strip_prefix("CALL ").and_then(|call| call.split_once('(')) else {
        return Ok(());
    };
    let count =
        "SELECT count(*) FROM information_schema.parameters WHERE specific_schema = DATABASE() AND specific_name = ?";
    let found: Option<usize> = conn
        .first_of(count, (name,))
        .await
        .map_err(|error| failure::of_command("cannot look for the workload's procedures", &error))?;
    if found == Some(arguments.split(',').count()) {
        return Ok(());
    }
    Err(Error::Database(format!(
        "there is no procedure {name} as it is called, for another version of Graymark loaded the database: make it \
         anew with \
         graymark load --procedures-only, or run with --via statements"
    )))
}

fn positional(parameters: Vec<Wire>) -> Params {
    if parameters.is_empty() { Params::Empty } else { Params::Positional(parameters) }
}

/// The columns among the arguments as a JSON array of rows. Money is text, so that it stays exact.
fn document(arguments: &[Arg<'_>]) -> Wire {
    Wire::Bytes(json(arguments).into_bytes())
}

/// The statements of a command, each with its parameters in the order of the protocol's unnumbered `?`.
fn parse(command: &str) -> Result<Vec<(String, Vec<Parameter>)>, String> {
    let mut statements = Vec::new();
    let (mut sql, mut parameters) = (String::new(), Vec::new());
    let mut letters = command.char_indices();
    let mut quoted = false;
    while let Some((at, letter)) = letters.next() {
        let rest = &command[at..];
        match letter {
            '\'' => {
                quoted = !quoted;
                sql.push(letter);
            }
            '-' if !quoted && rest.starts_with("-- ") => {
                // Skip to the end of the line.
                letters.by_ref().find(|(_, letter)| *letter == '\n');
                sql.push('\n');
            }
            '?' if !quoted => {
                let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
                if rest[1..].starts_with('*') {
                    letters.next();
                    parameters.push(Parameter::Columns);
                } else {
                    let number = rest[1..=digits].parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                    parameters.push(Parameter::Argument(
                        number.ok_or_else(|| format!("a `?` without its number: {command}"))?,
                    ));
                    letters.by_ref().take(digits).for_each(drop);
                }
                sql.push('?');
            }
            ';' if !quoted => {
                statements.push((std::mem::take(&mut sql).trim().to_owned(), std::mem::take(&mut parameters)));
            }
            letter => sql.push(letter),
        }
    }
    statements.push((sql.trim().to_owned(), parameters));
    statements.retain(|(sql, _)| !sql.is_empty());
    Ok(statements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::value::{Money, Value};

    #[test]
    fn numbered_arguments_become_the_protocols() {
        let parsed = parse(
            "-- why? so\nUPDATE t SET a = ?2 WHERE b = ?1 AND c = '?3;';\nSELECT a FROM JSON_TABLE(?*, '$[*]') WHERE b \
             = ?11\n",
        );
        let expected = [
            (
                "UPDATE t SET a = ? WHERE b = ? AND c = '?3;'".to_owned(),
                vec![Parameter::Argument(1), Parameter::Argument(0)],
            ),
            (
                "SELECT a FROM JSON_TABLE(?, '$[*]') WHERE b = ?".to_owned(),
                vec![Parameter::Columns, Parameter::Argument(10)],
            ),
        ];
        assert_eq!(parsed, Ok(expected.into()));
        assert!(parse("SELECT ?").is_err() && parse("SELECT ?0").is_err());
    }

    #[test]
    fn columns_become_rows_of_a_document() {
        let arguments = [
            Arg::One(Value::Int(7)),
            Arg::Ints(&[1, -2]),
            Arg::Moneys(&[Money(5), Money(-1_000)]),
            Arg::Texts(&["a\"b", "\\"]),
        ];
        assert_eq!(document(&arguments), Wire::Bytes(br#"[[1,"0.05","a\"b"],[-2,"-10.00","\\"]]"#.to_vec()));
        assert_eq!(arguments[2].at(1).map(to_wire), Some(Wire::Bytes(b"-10.00".to_vec())));
        assert_eq!(arguments[1].at(2), None);
    }
}
