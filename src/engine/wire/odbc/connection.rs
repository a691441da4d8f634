//! A session's connection: it speaks the statements of a dialect, one after the other.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::dialect::Dialect;
use super::driver::Connection;
use super::failure::Diagnostic;
use super::parameter::Param;
use super::program::{self, NOTE, Role};
use super::reply::OdbcRow;
use super::statement::Statement;
use crate::engine::Failure;
use crate::engine::sql::{self, Arg, Call, Counts, MAX_CALLS, Note};
use crate::workload::value::{Money, Rate, Timestamp, Value};

/// One SQL statement of a dialect's statement, prepared.
struct Step {
    statement: Statement,
    places: Vec<usize>,
    role: Role,
    writes: bool,
}

/// A connection that executes the statements of a dialect by their numbers.
pub struct Session {
    // Statements are gone before their connection, and that before the right to write is given back.
    statements: Vec<Vec<Step>>,
    connection: Connection,
    guard: Option<OwnedMutexGuard<()>>,
    dialect: Dialect,
    writer: Arc<Mutex<()>>,
    note: Note,
    open: bool,
    lost: bool,
}

/// What was chosen by a step.
#[derive(Clone, Copy)]
struct Chosen {
    parameter: usize,
    value: Param<'static>,
}

type OnRow<'a> = dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure> + 'a;

impl Session {
    /// Prepares the statements on a connection. Where the database has one writer, `writer` is handed on in the order
    /// of asking.
    pub(super) fn new(
        connection: Connection,
        dialect: Dialect,
        statements: &[&str],
        note: Note,
        writer: Arc<Mutex<()>>,
    ) -> Result<Session, Diagnostic> {
        connection.set_autocommit(dialect.begin.is_some())?;
        let prepare = |text: &&str| {
            let steps = program::steps(&dialect.words(text)).into_iter();
            let steps = steps.map(|step| {
                let writes = step.writes();
                Ok(Step { statement: connection.prepare(&step.sql)?, places: step.places, role: step.role, writes })
            });
            steps.collect::<Result<Vec<Step>, Diagnostic>>()
        };
        let statements = statements.iter().map(prepare).collect::<Result<_, _>>()?;
        // Some drivers prepare at the server, which begins a transaction.
        if dialect.begin.is_none() {
            connection.rollback()?;
        }
        Ok(Session { statements, connection, guard: None, dialect, writer, note, open: false, lost: false })
    }

    async fn work(&mut self, at: usize, call: &Call<'_>, on_row: &mut OnRow<'_>) -> Result<u64, Failure> {
        match call {
            Call::Begin => {
                if let Some(begin) = self.dialect.begin {
                    if self.guard.is_none() {
                        self.guard = Some(Arc::clone(&self.writer).lock_owned().await);
                    }
                    self.connection.execute(begin).map_err(|error| error.failure(false))?;
                }
                self.open = true;
                Ok(0)
            }
            Call::Commit => {
                self.end("COMMIT", Connection::commit).map_err(|error| error.failure(true))?;
                Ok(0)
            }
            Call::Rollback => {
                self.end("ROLLBACK", Connection::rollback).map_err(|error| error.failure(false))?;
                Ok(0)
            }
            Call::Statement(number, arguments) => {
                let count = self.statement(at, *number, arguments, on_row)?;
                if !self.open && self.dialect.begin.is_none() {
                    // It was a transaction of its own.
                    let writes = self.writes(*number);
                    self.connection.commit().map_err(|error| error.failure(writes))?;
                }
                Ok(count)
            }
        }
    }

    fn writes(&self, number: usize) -> bool {
        self.statements.get(number).is_some_and(|steps| steps.iter().any(|step| step.writes))
    }

    fn end(&mut self, word: &str, call: fn(&Connection) -> Result<(), Diagnostic>) -> Result<(), Diagnostic> {
        match self.dialect.begin {
            Some(_) => self.connection.execute(word).map(|_| ())?,
            None => call(&self.connection)?,
        }
        self.open = false;
        self.guard = None;
        Ok(())
    }

    fn statement(
        &mut self,
        at: usize,
        number: usize,
        arguments: &[Arg<'_>],
        on_row: &mut OnRow<'_>,
    ) -> Result<u64, Failure> {
        let (dialect, note) = (self.dialect, self.note);
        let Some(steps) = self.statements.get_mut(number) else {
            return Err(Failure::Invalid(format!("the dialect has no statement {number}")));
        };
        // Without array parameters there is one place; of columns without any length there is none.
        let places = arguments.iter().find_map(Arg::places).unwrap_or(1);
        let rounds = if dialect.arrays { places.min(1) } else { places };
        let mut count = 0;
        for place in 0..rounds {
            count += round(dialect, steps, at, number, arguments, place, note, on_row)?;
        }
        Ok(count)
    }

    /// Leaves nothing open behind a failure.
    fn give_up(&mut self, why: Failure) -> Failure {
        if let Failure::Disconnected { .. } = why {
            self.lost = true;
            return why;
        }
        let was_open = self.open;
        match self.end("ROLLBACK", Connection::rollback) {
            Ok(()) => why,
            // SQLite has rolled back by itself, or nothing was begun.
            Err(error) if self.dialect.begin.is_some() && (!was_open || error.message().contains("no transaction")) => {
                self.open = false;
                self.guard = None;
                why
            }
            Err(error) => {
                self.lost = true;
                Failure::Disconnected { ambiguous: false, detail: format!("{why}; and no rollback: {error}") }
            }
        }
    }
}

impl sql::Connection for Session {
    async fn exchange(&mut self, calls: &[Call<'_>], on_row: &mut OnRow<'_>) -> Result<Counts, Failure> {
        if self.lost {
            return Err(Failure::Disconnected { ambiguous: false, detail: "the session was lost before".to_owned() });
        }
        let mut counts = Counts::new();
        for (at, call) in calls.iter().enumerate() {
            let done = self.work(at, call, on_row).await;
            let pushed = done.and_then(|count| {
                let full = |_| Failure::Invalid(format!("an exchange has more than {MAX_CALLS} calls"));
                counts.try_push(count).map_err(full)
            });
            if let Err(why) = pushed {
                return Err(self.give_up(why));
            }
        }
        Ok(counts)
    }

    fn unreadable(&mut self, why: &Failure) -> Failure {
        self.lost = true;
        Failure::unreadable(why)
    }
}

/// Works all steps for one place of the arguments. The rows returned or, where there are none, affected.
#[expect(clippy::too_many_arguments, reason = "all that a statement is worked with; it has one caller")]
fn round(
    dialect: Dialect,
    steps: &mut [Step],
    at: usize,
    number: usize,
    arguments: &[Arg<'_>],
    place: usize,
    note: Note,
    on_row: &mut OnRow<'_>,
) -> Result<u64, Failure> {
    let mut chosen: Option<Chosen> = None;
    let mut kept: Option<OdbcRow> = None;
    let mut count = 0;
    let last = steps.len().saturating_sub(1);
    for (position, step) in steps.iter_mut().enumerate() {
        // Nothing of it is committed yet.
        let refused = |error: Diagnostic| error.failure(false);
        bind(dialect, step, number, arguments, place, chosen, note)?;
        step.statement.execute(1).map_err(refused)?;
        let has_rows = step.statement.has_rows();
        match step.role {
            Role::Chosen { parameter, time } => {
                let mut rows = Vec::new();
                while let Some(row) = step.statement.fetch().map_err(refused)? {
                    rows.push(row.clone());
                }
                step.statement.close().map_err(refused)?;
                if rows.is_empty() {
                    return Ok(0);
                }
                let row = rows.swap_remove((rows.len() - 1) / 2);
                let column = row.width().saturating_sub(1);
                if row.optional_text(column)?.is_none() {
                    return Ok(0);
                }
                let value = match time {
                    true => param(dialect, Value::Time(moment(dialect, &row, column)?)),
                    false => Param::Int(row.int(column)?),
                };
                chosen = Some(Chosen { parameter, value });
                kept = Some(row);
            }
            Role::Answer => {
                count = 0;
                while let Some(row) = step.statement.fetch().map_err(refused)? {
                    if position == last {
                        on_row(at, &Reading { dialect, row })?;
                    }
                    count += 1;
                }
                if !has_rows {
                    count = step.statement.affected().map_err(refused)?;
                    if count == 0 {
                        return Ok(0);
                    }
                }
                step.statement.close().map_err(refused)?;
                if position == last
                    && !has_rows
                    && let Some(row) = &kept
                {
                    on_row(at, &Reading { dialect, row })?;
                }
            }
        }
    }
    Ok(count)
}

fn bind(
    dialect: Dialect,
    step: &mut Step,
    number: usize,
    arguments: &[Arg<'_>],
    place: usize,
    chosen: Option<Chosen>,
    note: Note,
) -> Result<(), Failure> {
    for (position, wanted) in step.places.iter().enumerate() {
        let array;
        let value = match arguments.get(*wanted) {
            Some(argument) if dialect.arrays && argument.places().is_some() => {
                array = array_of(argument);
                Param::Text(&array)
            }
            Some(argument) => argument.at(place).map(|value| param(dialect, value)).ok_or_else(|| missing(number))?,
            None if *wanted == NOTE => {
                let of = chosen.and_then(|chosen| match chosen.value {
                    Param::Int(value) => Some(i64::from(value)),
                    _ => None,
                });
                array = note(number, arguments, of).ok_or_else(|| missing(number))?;
                Param::Text(&array)
            }
            None => chosen
                .filter(|chosen| chosen.parameter == *wanted)
                .map(|chosen| chosen.value)
                .ok_or_else(|| missing(number))?,
        };
        step.statement.set(0, position, value).map_err(|error| error.failure(false))?;
    }
    Ok(())
}

fn missing(number: usize) -> Failure {
    Failure::Invalid(format!("statement {number} of the dialect has a parameter that nobody gives"))
}

/// A value as the dialect stores it.
pub(super) fn param<'a>(dialect: Dialect, value: Value<'a>) -> Param<'a> {
    match value {
        Value::Money(value) if dialect.integers => Param::Long(value.0),
        Value::Rate(value) if dialect.integers => Param::Long(value.0.into()),
        Value::Time(value) if dialect.integers => Param::Long(value.0),
        value => value.into(),
    }
}

/// A column of values in PostgreSQL's notation of arrays.
fn array_of(argument: &Arg<'_>) -> String {
    let values: Vec<String> = match argument {
        Arg::One(_) => Vec::new(),
        Arg::Ints(values) => values.iter().map(i32::to_string).collect(),
        Arg::Moneys(values) => values.iter().map(Money::to_string).collect(),
        Arg::Texts(values) => values.iter().map(|text| quoted(text)).collect(),
    };
    format!("{{{}}}", values.join(","))
}

/// A text within an array of PostgreSQL.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn moment(dialect: Dialect, row: &OdbcRow, column: usize) -> Result<Timestamp, Failure> {
    if dialect.integers { row.long(column).map(Timestamp) } else { row.time(column) }
}

/// A row in the dialect's types.
struct Reading<'a> {
    dialect: Dialect,
    row: &'a OdbcRow,
}

impl sql::Row for Reading<'_> {
    fn int(&self, column: usize) -> Result<i32, Failure> {
        self.row.int(column)
    }

    fn optional_int(&self, column: usize) -> Result<Option<i32>, Failure> {
        self.row.optional_int(column)
    }

    fn money(&self, column: usize) -> Result<Money, Failure> {
        if self.dialect.integers { self.row.long(column).map(Money) } else { self.row.money(column) }
    }

    fn rate(&self, column: usize) -> Result<Rate, Failure> {
        if self.dialect.integers { self.row.int(column).map(Rate) } else { self.row.rate(column) }
    }

    fn text(&self, column: usize) -> Result<&str, Failure> {
        self.row.text(column)
    }

    fn time(&self, column: usize) -> Result<Timestamp, Failure> {
        moment(self.dialect, self.row, column)
    }

    fn optional_time(&self, column: usize) -> Result<Option<Timestamp>, Failure> {
        match self.row.optional_text(column)? {
            None => Ok(None),
            Some(_) => self.time(column).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_written_as_arrays() {
        assert_eq!(array_of(&Arg::Ints(&[1, -2])), "{1,-2}");
        assert_eq!(array_of(&Arg::Moneys(&[Money(-5), Money(1_234)])), "{-0.05,12.34}");
        assert_eq!(array_of(&Arg::Texts(&["a,b", "c\"\\"])), r#"{"a,b","c\"\\"}"#);
        assert_eq!(array_of(&Arg::Ints(&[])), "{}");
    }
}
