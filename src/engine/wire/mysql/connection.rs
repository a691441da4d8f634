//! A session's connection: statements prepared once, worked one after the other.
//!
//! The protocol answers one statement before it takes the next, so that an exchange takes a round trip a statement.
//! What makes up for that: columns of arguments go as one document, and a statement takes all of their places at once.

use std::fmt::Write as _;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Params, Statement, Value as Wire};

use super::connect::Target;
use super::failure;
use super::query::Read;
use super::reply::read;
use super::value::{to_wire, values};
use crate::engine::dialect::Dialect;
use crate::engine::sql::{self, Arg, Call, Command, Counts, Reply};
use crate::engine::{Error, Failure};
use crate::workload::value::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parameter {
    /// An argument by its place.
    Argument(usize),
    /// All columns as a document.
    Columns,
}

/// A command, of one or several of SQL's statements; those that return rows give the answer.
///
/// `?1` stands for the first argument, and so on. `?*` stands for all arguments that are columns, as a JSON array with
/// an array for each of their places, for `JSON_TABLE`. Without it, a command with columns is worked once for each
/// place.
struct Prepared {
    statements: Vec<(Statement, Vec<Parameter>)>,
    writes: bool,
    reply: Reply,
}

impl Prepared {
    fn takes_columns_whole(&self) -> bool {
        self.statements.iter().any(|(_, parameters)| parameters.contains(&Parameter::Columns))
    }
}

/// A connection that executes the commands of a workload by their numbers.
pub struct Connection {
    conn: Conn,
    /// The number of its host in the URL.
    host: usize,
    commands: Vec<Option<Prepared>>,
    /// Whether a transaction is open.
    open: bool,
    lost: bool,
    dialect: &'static Dialect,
}

impl Connection {
    /// Connects to a database and prepares. `isolation` in SQL's words, such as `read committed`.
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
            let mut statements = Vec::new();
            for (sql, parameters) in
                parse(sql).map_err(|why| Error::Database(format!("a statement of the dialect is wrong: {why}")))?
            {
                has_procedure(&mut conn, &sql).await?;
                let statement = conn.prep(&*sql).await.map_err(|error| {
                    let what = match failure::code(&error) {
                        Some(1064) => {
                            "cannot prepare the workload's statements, which use what only MariaDB has (RETURNING): \
                             run with --via \
                             procedures, or with dialect=mysql-plain in the URL"
                        }
                        _ => "cannot prepare the workload's statements",
                    };
                    failure::of_command(what, &error)
                })?;
                statements.push((statement, parameters));
            }
            prepared.push(Some(Prepared { statements, writes: *writes, reply: *reply }));
        }
        Ok(Connection { conn, host, commands: prepared, open: false, lost: false, dialect })
    }

    fn failed(&mut self, error: &mysql_async::Error, ambiguous: bool) -> Failure {
        let failure = failure::of_transaction(error, ambiguous, self.dialect);
        self.lost |= matches!(failure, Failure::Disconnected { .. });
        failure
    }

    async fn work(&mut self, at: usize, call: &Call<'_>, on_row: &mut OnRow<'_>) -> Result<u64, Problem> {
        let control = match call {
            Call::Begin => "START TRANSACTION",
            Call::Commit => "COMMIT",
            Call::Rollback => "ROLLBACK",
            Call::Statement(number, arguments) => return self.statement(at, *number, arguments, on_row).await,
        };
        self.conn.query_drop(control).await.map_err(Problem::Database)?;
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
        let places = arguments.iter().filter_map(Arg::places).max();
        let turns = match places {
            None => 1,
            Some(0) => 0,
            Some(_) if command.takes_columns_whole() => 1,
            Some(places) => places,
        };
        let mut count = 0;
        for turn in 0..turns {
            let mut last = 0;
            for (statement, parameters) in &command.statements {
                let bound = parameters.iter().map(|parameter| match parameter {
                    Parameter::Argument(place) => arguments.get(*place)?.at(turn).map(to_wire),
                    Parameter::Columns => Some(document(arguments, places.unwrap_or(0))),
                });
                let Some(bound) = bound.collect::<Option<Vec<Wire>>>() else {
                    return Err(Problem::Row(Failure::Invalid(format!("statement {number} has other arguments"))));
                };
                let mut result = self.conn.exec_iter(statement, positional(bound)).await.map_err(Problem::Database)?;
                last = result.affected_rows();
                let mut rows = 0;
                while !result.is_empty() {
                    let Some(row) = result.next().await.map_err(Problem::Database)? else { continue };
                    rows += 1;
                    read(command.reply, &values(row), &mut |row| on_row(at, row)).map_err(Problem::Row)?;
                }
                // The columns of a call are not known beforehand.
                if rows > 0 || statement.num_columns() > 0 {
                    last = rows;
                }
            }
            count += last;
        }
        Ok(count)
    }

    /// Whether a call can have committed something when its answer is missing.
    fn can_commit(&self, call: &Call<'_>) -> bool {
        match call {
            Call::Commit => true,
            Call::Statement(number, _) => {
                let command = self.commands.get(*number).and_then(Option::as_ref);
                !self.open && command.is_some_and(|command| command.writes)
            }
            Call::Begin | Call::Rollback => false,
        }
    }

    /// Rolls back what a failed call has left open.
    async fn clean_up(&mut self, failure: Failure) -> Failure {
        self.open = false;
        match self.conn.query_drop("ROLLBACK").await {
            Ok(()) => failure,
            Err(error) => {
                self.lost = true;
                Failure::Disconnected { ambiguous: false, detail: format!("{failure}; {}", failure::told(&error)) }
            }
        }
    }
}

type OnRow<'a> = dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure> + 'a;

enum Problem {
    /// Of the server or the connection.
    Database(mysql_async::Error),
    /// Of the caller, with a row or a call.
    Row(Failure),
}

impl sql::Connection for Connection {
    fn host(&self) -> Option<usize> {
        Some(self.host)
    }

    fn id(&self) -> Option<u64> {
        Some(self.conn.id().into())
    }

    async fn exchange(
        &mut self,
        calls: &[Call<'_>],
        on_row: &mut dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure>,
    ) -> Result<Counts, Failure> {
        if self.lost {
            return Err(Failure::Disconnected { ambiguous: false, detail: "the session was lost before".to_owned() });
        }
        let mut counts = Counts::new();
        for (place, call) in calls.iter().enumerate() {
            let failure = match self.work(place, call, on_row).await {
                Ok(count) => {
                    match call {
                        Call::Begin => self.open = true,
                        Call::Commit | Call::Rollback => self.open = false,
                        Call::Statement(..) => {}
                    }
                    counts.push(count);
                    continue;
                }
                Err(Problem::Database(error)) => {
                    let ambiguous = self.can_commit(call);
                    self.failed(&error, ambiguous)
                }
                Err(Problem::Row(failure)) if self.can_commit(call) => self.unreadable(&failure),
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

/// Sees that the procedure that a statement calls, if it does, is there with as many parameters. The server would only
/// find out when it is called.
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

/// The columns among the arguments as a JSON array of rows. Money is a text there, so that it stays exact.
fn document(arguments: &[Arg<'_>], places: usize) -> Wire {
    let mut json = String::with_capacity(2 + places * 24);
    for place in 0..places {
        json.push_str(if place == 0 { "[[" } else { ",[" });
        let columns = arguments.iter().filter(|argument| argument.places().is_some());
        for (number, argument) in columns.enumerate() {
            if number > 0 {
                json.push(',');
            }
            // A String takes whatever is written to it.
            let _ = match argument.at(place) {
                Some(Value::Int(value)) => write!(json, "{value}"),
                Some(Value::Money(amount)) => write!(json, "\"{amount}\""),
                Some(Value::Text(text)) => write!(json, "{}", serde_json::Value::from(text)),
                _ => write!(json, "null"),
            };
        }
        json.push(']');
    }
    json.push(']');
    Wire::Bytes(json.into_bytes())
}

/// The statements of a command, each with its parameters in the order of the protocol's nameless `?`.
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
                // To the end of the line.
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
    use crate::workload::value::Money;

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
        assert_eq!(document(&arguments, 2), Wire::Bytes(br#"[[1,"0.05","a\"b"],[-2,"-10.00","\\"]]"#.to_vec()));
        assert_eq!(arguments[2].at(1).map(to_wire), Some(Wire::Bytes(b"-10.00".to_vec())));
        assert_eq!(arguments[1].at(2), None);
    }
}
