//! A session's connection: calls of the server's procedures, and statements, prepared once. Each is a transaction of
//! its own unless one was begun.

use super::connect::Target;
use crate::engine::sql::{self, Arg, Command, Counts, MAX_CALLS, Note, WorkloadSql, columns};
use crate::engine::wire::odbc::dialect::Dialect;
use crate::engine::wire::odbc::driver::Connection;
use crate::engine::wire::odbc::failure::Diagnostic;
use crate::engine::wire::odbc::parameter::Param;
use crate::engine::wire::odbc::prepared;
use crate::engine::wire::odbc::statement::Statement;
use crate::engine::{Error, Failure};
use crate::result::Isolation;
use crate::workload::value::Value;

/// The value of a parameter of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parameter {
    /// An argument by its index, from 0: `?1` is the first.
    Argument(usize),
    /// The first columns of all column arguments, as a text: row by row, separated by commas: `?*4`.
    Columns(usize),
}

/// A call of a procedure.
struct Call {
    statement: Statement,
    parameters: Vec<Parameter>,
    writes: bool,
}

/// What a session sends.
enum Prepared {
    /// A call of a procedure.
    Call(Call),
    /// A statement, which may be several SQL statements.
    Statement(prepared::Prepared),
}

/// A connection that calls the procedures of a workload, and executes its statements, by their numbers.
pub struct Session {
    commands: Vec<Option<Prepared>>,
    dialect: Dialect,
    note: Note,
    /// Whether a transaction was begun.
    open: bool,
    lost: bool,
    // Dropped after the statements.
    connection: Connection,
}

/// What a call of a procedure begins with in ODBC.
const CALL: &str = "{call";

/// Why a call failed.
enum CallError {
    /// The server refused the call; whether it writes.
    Refused(Diagnostic, bool),
    /// The server's answer cannot be used; whether the call writes.
    Unreadable(Failure, bool),
    /// There is no such call, or a statement failed whose transaction is not committed.
    Failed(Failure),
}

impl Session {
    /// Opens a session with an isolation level.
    pub(super) fn open(
        target: &Target,
        sql: &WorkloadSql,
        commands: &[Option<Command>],
        isolation: Isolation,
    ) -> Result<Session, Error> {
        let connection = target.connect_at(sql.name, isolation)?;
        let words = Dialect::over(sql.dialect);
        let dialect = words.ok_or_else(|| Error::Database("the dialect has no words for its driver".to_owned()))?;
        let call = |command: &Command| {
            let refused = |diagnostic| target.explain("cannot prepare a call or statement", &diagnostic);
            if !command.sql.starts_with(CALL) {
                let statement = prepared::Prepared::new(&connection, dialect, command.into());
                return statement.map(Prepared::Statement).map_err(refused);
            }
            let (sql, parameters) =
                parse(command.sql).map_err(|why| Error::Database(format!("a call of the dialect is wrong: {why}")))?;
            let statement = connection.prepare(&sql).map_err(refused)?;
            Ok(Prepared::Call(Call { statement, parameters, writes: command.writes }))
        };
        let commands = commands.iter().map(|command| command.as_ref().map(call).transpose());
        let commands = commands.collect::<Result<_, Error>>()?;
        Ok(Session { commands, dialect, note: sql.note(), open: false, lost: false, connection })
    }

    /// Begins a transaction.
    fn begin(&mut self) -> Result<(), Diagnostic> {
        self.connection.set_autocommit(false)?;
        self.open = true;
        Ok(())
    }

    /// Ends the transaction. If it cannot be ended, it is still open.
    fn end(&mut self, end: fn(&Connection) -> Result<(), Diagnostic>) -> Result<(), Diagnostic> {
        end(&self.connection)?;
        self.connection.set_autocommit(true)?;
        self.open = false;
        Ok(())
    }

    /// Executes a call or a statement. How many rows it returned or, where it returns none, affected.
    fn execute(
        &mut self,
        at: usize,
        number: usize,
        arguments: &[Arg<'_>],
        on_row: &mut dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure>,
    ) -> Result<u64, CallError> {
        let Some(Some(Prepared::Statement(statement))) = self.commands.get_mut(number) else {
            return self.call(number, arguments, &mut |row| on_row(at, row));
        };
        let (writes, alone) = (statement.writes(), !self.open);
        let refused = |writes| move |diagnostic| CallError::Refused(diagnostic, writes);
        if alone {
            self.connection.set_autocommit(false).map_err(refused(false))?;
            self.open = true;
        }
        let done = statement.execute(self.dialect, at, number, arguments, self.note, on_row);
        let count = done.map_err(CallError::Failed)?;
        if alone {
            self.end(Connection::commit).map_err(refused(writes))?;
        }
        Ok(count)
    }

    /// Calls a procedure, and passes each row to `on_row`. Returns the number of rows.
    fn call(
        &mut self,
        number: usize,
        arguments: &[Arg<'_>],
        on_row: &mut dyn FnMut(&dyn sql::Row) -> Result<(), Failure>,
    ) -> Result<u64, CallError> {
        let unknown = |what: &str| CallError::Failed(Failure::Invalid(format!("call {number} {what}")));
        let Some(Some(Prepared::Call(call))) = self.commands.get_mut(number) else {
            return Err(unknown("does not exist"));
        };
        let writes = call.writes;
        let refused = |diagnostic| CallError::Refused(diagnostic, writes);
        for (place, parameter) in call.parameters.iter().enumerate() {
            let text;
            let value = match parameter {
                Parameter::Columns(first) => {
                    text = columns::list(arguments, *first);
                    Param::Text(&text)
                }
                Parameter::Argument(argument) => {
                    match arguments.get(*argument).and_then(|argument| argument.at(0)) {
                        None => return Err(unknown("has other arguments")),
                        // The procedures take amounts as decimal text.
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
        // All rows are read even after an unreadable one: only then the transaction's outcome is known.
        let (mut rows, mut unreadable) = (0, None);
        while let Some(row) = call.statement.fetch().map_err(refused)? {
            rows += 1;
            if unreadable.is_none() {
                unreadable = on_row(row).err();
            }
        }
        unreadable.map_or(Ok(rows), |failure| Err(CallError::Unreadable(failure, writes)))
    }

    /// After a failure the transaction is still open, and has to be rolled back.
    fn roll_back(&mut self, error: CallError) -> Failure {
        let failure = match error {
            // The call succeeded, and its effects are committed: it must not count as rolled back.
            CallError::Unreadable(why, true) => return sql::Connection::unreadable(self, &why),
            CallError::Refused(diagnostic, writes) => diagnostic.failure(writes),
            CallError::Unreadable(failure, false) | CallError::Failed(failure) => failure,
        };
        if matches!(failure, Failure::Disconnected { .. }) {
            self.lost = true;
            return failure;
        }
        let rolled_back = if self.open { self.end(Connection::rollback) } else { self.connection.rollback() };
        match rolled_back {
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
            let refused = |writes| move |diagnostic| CallError::Refused(diagnostic, writes);
            let done = match call {
                sql::Call::Begin => self.begin().map(|()| 0).map_err(refused(false)),
                sql::Call::Commit => self.end(Connection::commit).map(|()| 0).map_err(refused(true)),
                sql::Call::Rollback => self.end(Connection::rollback).map(|()| 0).map_err(refused(false)),
                sql::Call::Statement(number, arguments) => self.execute(at, *number, arguments, on_row),
            };
            counts.push(done.map_err(|error| self.roll_back(error))?);
        }
        Ok(counts)
    }

    fn unreadable(&mut self, why: &Failure) -> Failure {
        self.lost = true;
        Failure::unreadable(why)
    }
}

/// A call with the driver's unnumbered `?`, and the value of each.
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
    }
}
