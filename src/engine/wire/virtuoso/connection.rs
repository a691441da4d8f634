//! A session's connection: calls of the server's procedures, prepared once. Each is a transaction of its own.

use std::fmt::Write as _;

use super::connect::Target;
use crate::engine::sql::{self, Arg, Command, Counts, MAX_CALLS};
use crate::engine::wire::odbc::driver::Connection;
use crate::engine::wire::odbc::failure::Diagnostic;
use crate::engine::wire::odbc::parameter::Param;
use crate::engine::wire::odbc::statement::Statement;
use crate::engine::{Error, Failure};
use crate::result::Isolation;
use crate::workload::value::Value;

/// What a parameter of a call stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parameter {
    /// An argument by its place, from 0: `?1` is the first.
    Argument(usize),
    /// The first columns of all arguments that are columns, as a text: place by place, with commas between: `?*4`.
    Columns(usize),
}

/// A call of a procedure.
struct Call {
    statement: Statement,
    parameters: Vec<Parameter>,
    writes: bool,
}

/// A connection that calls the procedures of a workload by their numbers.
pub struct Session {
    calls: Vec<Option<Call>>,
    lost: bool,
    // Closed after the statements.
    connection: Connection,
}

/// Why there is no output.
enum CallError {
    /// The server refused the call; whether it writes.
    Refused(Diagnostic, bool),
    /// The server's answer cannot be used; whether the call writes.
    Unreadable(Failure, bool),
    /// There is no such call.
    Unknown(Failure),
}

impl Session {
    /// Opens a session whose transactions have an isolation level.
    pub(super) fn open(
        target: &Target,
        workload: &str,
        commands: &[Option<Command>],
        isolation: Isolation,
    ) -> Result<Session, Error> {
        let connection = target.connect_at(workload, isolation)?;
        let call = |command: &Command| {
            let (sql, parameters) =
                parse(command.sql).map_err(|why| Error::Database(format!("a call of the dialect is wrong: {why}")))?;
            let statement = connection.prepare(&sql);
            let statement = statement.map_err(|diagnostic| target.explain("cannot prepare a call", &diagnostic))?;
            Ok(Call { statement, parameters, writes: command.writes })
        };
        let calls = commands.iter().map(|command| command.as_ref().map(call).transpose());
        Ok(Session { calls: calls.collect::<Result<_, Error>>()?, lost: false, connection })
    }

    /// Calls, and hands each row to `on_row`. How many rows there were.
    fn call(
        &mut self,
        number: usize,
        arguments: &[Arg<'_>],
        on_row: &mut dyn FnMut(&dyn sql::Row) -> Result<(), Failure>,
    ) -> Result<u64, CallError> {
        let unknown = |what: &str| CallError::Unknown(Failure::Invalid(format!("call {number} {what}")));
        let call = self.calls.get_mut(number).and_then(Option::as_mut).ok_or_else(|| unknown("does not exist"))?;
        let writes = call.writes;
        let refused = |diagnostic| CallError::Refused(diagnostic, writes);
        for (place, parameter) in call.parameters.iter().enumerate() {
            let text;
            let value = match parameter {
                Parameter::Columns(first) => {
                    text = list(arguments, *first);
                    Param::Text(&text)
                }
                Parameter::Argument(argument) => {
                    match arguments.get(*argument).and_then(|argument| argument.at(0)) {
                        None => return Err(unknown("has other arguments")),
                        // The procedures take amounts as they stand on the screen.
                        Some(Value::Money(amount)) => {
                            text = amount.to_string();
                            Param::Text(&text)
                        }
                        Some(value) => value.into(),
                    }
                }
            };
            call.statement.set(0, place, value).map_err(refused)?;
        }
        call.statement.execute(1).map_err(refused)?;
        // The rows are read to their end whatever they say: only then is the transaction's fate told.
        let (mut rows, mut unreadable) = (0, None);
        while let Some(row) = call.statement.fetch().map_err(refused)? {
            rows += 1;
            if unreadable.is_none() {
                unreadable = on_row(row).err();
            }
        }
        unreadable.map_or(Ok(rows), |failure| Err(CallError::Unreadable(failure, writes)))
    }

    /// After a failure the transaction is still there, and has to be taken back before another one.
    fn roll_back(&mut self, error: CallError) -> Failure {
        let failure = match error {
            // The call was whole, and what it did is committed: it must not count as rolled back.
            CallError::Unreadable(why, true) => return sql::Connection::unreadable(self, &why),
            CallError::Unreadable(failure, false) | CallError::Unknown(failure) => return failure,
            CallError::Refused(diagnostic, writes) => diagnostic.failure(writes),
        };
        if matches!(failure, Failure::Disconnected { .. }) {
            self.lost = true;
            return failure;
        }
        match self.connection.rollback() {
            Ok(()) => failure,
            Err(worse) => {
                self.lost = true;
                // What was rolled back cannot have been committed.
                Failure::Disconnected { ambiguous: false, detail: format!("{failure}; then no rollback: {worse}") }
            }
        }
    }
}

impl sql::Connection for Session {
    async fn exchange(
        &mut self,
        calls: &[sql::Call<'_>],
        on_row: &mut dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure>,
    ) -> Result<Counts, Failure> {
        if self.lost {
            return Err(Failure::Disconnected { ambiguous: false, detail: "the session was lost before".to_owned() });
        }
        let mut counts = Counts::new();
        for (at, call) in calls.iter().take(MAX_CALLS).enumerate() {
            let sql::Call::Statement(number, arguments) = call else {
                return Err(Failure::Invalid("a session on Virtuoso calls procedures only".to_owned()));
            };
            let done = self.call(*number, arguments, &mut |row| on_row(at, row));
            counts.push(done.map_err(|error| self.roll_back(error))?);
        }
        Ok(counts)
    }

    fn unreadable(&mut self, why: &Failure) -> Failure {
        self.lost = true;
        Failure::unreadable(why)
    }
}

/// The text of the first columns among the arguments.
fn list(arguments: &[Arg<'_>], first: usize) -> String {
    let columns = || arguments.iter().filter(|argument| argument.places().is_some()).take(first);
    let places = columns().filter_map(Arg::places).max().unwrap_or(0);
    let mut text = String::with_capacity(24 * places);
    for value in (0..places).flat_map(|place| columns().map(move |column| column.at(place))) {
        if !text.is_empty() {
            text.push(',');
        }
        // Writing into a string cannot fail.
        let _ = match value {
            Some(Value::Int(value)) => write!(text, "{value}"),
            Some(Value::Money(amount)) => write!(text, "{amount}"),
            Some(Value::Text(value)) => write!(text, "{value}"),
            _ => Ok(()),
        };
    }
    text
}

/// A call with the driver's nameless `?`, and what each stands for.
fn parse(call: &str) -> Result<(String, Vec<Parameter>), String> {
    let (mut sql, mut parameters) = (String::new(), Vec::new());
    let mut rest = call;
    while let Some((before, after)) = rest.split_once('?') {
        sql.push_str(before);
        sql.push('?');
        let (columns, after) = after.strip_prefix('*').map_or((false, after), |after| (true, after));
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = after.split_at(digits);
        let number: usize = number.parse().map_err(|_| format!("a `?` without its number: {call}"))?;
        parameters.push(match (columns, number.checked_sub(1)) {
            (true, _) => Parameter::Columns(number),
            (false, Some(place)) => Parameter::Argument(place),
            (false, None) => return Err(format!("there is no argument 0: {call}")),
        });
        rest = after;
    }
    sql.push_str(rest);
    Ok((sql, parameters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_says_what_its_parameters_are() {
        let parameters = vec![Parameter::Argument(4), Parameter::Columns(2), Parameter::Argument(0)];
        assert_eq!(parse("{call a.f (?5, ?*2, NULL, ?1)}"), Ok(("{call a.f (?, ?, NULL, ?)}".to_owned(), parameters)));
        assert!(parse("{call f (?)}").is_err() && parse("{call f (?0)}").is_err());
        let arguments = [Arg::One(Value::Int(7)), Arg::Ints(&[1, -2]), Arg::Ints(&[3, 4]), Arg::Ints(&[5, 6])];
        assert_eq!((list(&arguments, 2).as_str(), list(&arguments, 3).as_str()), ("1,3,-2,4", "1,3,5,-2,4,6"));
        assert_eq!(list(&arguments[..1], 2), "");
    }
}
