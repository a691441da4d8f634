//! A statement of a dialect, prepared: one or several SQL statements, which are executed one after the other.

use super::dialect::Dialect;
use super::driver::Connection;
use super::failure::Diagnostic;
use super::parameter::Param;
use super::program::{self, Place, Role};
use super::reply::OdbcRow;
use super::statement::Statement;
use crate::engine::Failure;
use crate::engine::sql::{self, Arg, Command, Note, Reply, columns, lines};
use crate::workload::value::{Money, Rate, Timestamp, Value};

/// A text that a session executes repeatedly.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine::wire) struct Spoken<'a> {
    pub sql: &'a str,
    pub writes: bool,
    pub reply: Reply,
}

impl From<&Command> for Spoken<'static> {
    fn from(command: &Command) -> Self {
        Spoken { sql: command.sql, writes: command.writes, reply: command.reply }
    }
}

/// One of the SQL statements.
struct Step {
    statement: Statement,
    places: Vec<Place>,
    role: Role,
    writes: bool,
}

impl Step {
    /// The position of the text that a procedure returns.
    fn output(&self) -> Option<usize> {
        self.places.iter().position(|place| *place == Place::Output)
    }
}

/// What was chosen by a step.
#[derive(Clone, Copy)]
struct Chosen {
    parameter: usize,
    value: Param<'static>,
}

pub(super) type OnRow<'a> = dyn FnMut(usize, &dyn sql::Row) -> Result<(), Failure> + 'a;

/// Bytes of the text that a procedure returns; a Payment's is the longest.
const OUTPUT: usize = 2_000;

/// A prepared statement of a dialect, or a call of a procedure.
pub(in crate::engine::wire) struct Prepared {
    steps: Vec<Step>,
    reply: Reply,
    writes: bool,
    /// Whether it calls a procedure.
    call: bool,
}

impl Prepared {
    /// Prepares a statement's text on a connection.
    ///
    /// # Errors
    /// If the database refuses it.
    pub(in crate::engine::wire) fn new(
        connection: &Connection,
        dialect: Dialect,
        spoken: Spoken<'_>,
    ) -> Result<Prepared, Diagnostic> {
        let prepare = |step: program::Step| {
            let writes = step.writes();
            let statement = connection.prepare(&step.sql)?;
            let mut step = Step { statement, places: step.places, role: step.role, writes };
            if let Some(position) = step.output() {
                step.statement.expect_output(position, OUTPUT);
            }
            Ok(step)
        };
        let steps = program::steps(&dialect.words(spoken.sql)).into_iter().map(prepare);
        let steps = steps.collect::<Result<Vec<Step>, Diagnostic>>()?;
        let writes = spoken.writes && steps.iter().any(|step| step.writes);
        Ok(Prepared { steps, reply: spoken.reply, writes, call: is_call(spoken.sql) })
    }

    /// Whether it may change something.
    pub(in crate::engine::wire) fn writes(&self) -> bool {
        self.writes
    }

    /// Whether it calls a procedure. One that writes commits itself.
    pub(super) fn is_call(&self) -> bool {
        self.call
    }

    /// Executes it. `at` is its place in the exchange, `number` its number in the dialect. Returns the rows returned
    /// or, where there are none, affected.
    ///
    /// # Errors
    /// If the database refuses it, or an argument is missing.
    pub(in crate::engine::wire) fn execute(
        &mut self,
        dialect: Dialect,
        at: usize,
        number: usize,
        arguments: &[Arg<'_>],
        note: Note,
        on_row: &mut OnRow<'_>,
    ) -> Result<u64, Failure> {
        // Without array parameters there is one place; of columns without any length there is none.
        let places = arguments.iter().find_map(Arg::places).unwrap_or(1);
        let rounds = if dialect.arrays || self.call { places.min(1) } else { places };
        let (reply, commits) = (self.reply, self.call && self.writes);
        let mut count = 0;
        for place in 0..rounds {
            let round = Round { dialect, at, number, arguments, place, note, reply, commits };
            count += round.work(&mut self.steps, on_row)?;
        }
        Ok(count)
    }
}

/// What a call of a procedure begins with.
const CALLS: [&str; 2] = ["{call ", "CALL "];

/// Whether a text calls a procedure, after its comments.
pub(super) fn is_call(sql: &str) -> bool {
    let text = sql.lines().find(|line| !line.trim_start().starts_with("--")).unwrap_or_default();
    CALLS.iter().any(|begin| text.starts_with(begin))
}

/// All steps of a statement for one place of its arguments.
struct Round<'a> {
    dialect: Dialect,
    at: usize,
    number: usize,
    arguments: &'a [Arg<'a>],
    place: usize,
    note: Note,
    reply: Reply,
    /// Whether it commits itself: a lost connection then leaves its outcome unknown.
    commits: bool,
}

impl Round<'_> {
    fn refused(&self, error: &Diagnostic) -> Failure {
        error.failure_in(self.dialect, self.commits)
    }

    /// Works the steps. The rows returned or, where there are none, affected.
    fn work(&self, steps: &mut [Step], on_row: &mut OnRow<'_>) -> Result<u64, Failure> {
        let mut chosen: Option<Chosen> = None;
        let mut kept: Option<OdbcRow> = None;
        let mut count = 0;
        let last = steps.len().saturating_sub(1);
        for (position, step) in steps.iter_mut().enumerate() {
            self.bind(step, chosen)?;
            step.statement.execute(1).map_err(|error| self.refused(&error))?;
            match step.role {
                Role::Chosen { parameter, time } => {
                    let Some((row, value)) = self.choose(step, time)? else { return Ok(0) };
                    chosen = Some(Chosen { parameter, value });
                    kept = Some(row);
                }
                Role::Answer => {
                    let rows = self.rows(step, position == last, on_row)?;
                    count = match rows {
                        Some(rows) => rows,
                        None => step.statement.affected().map_err(|error| self.refused(&error))?,
                    };
                    step.statement.close().map_err(|error| self.refused(&error))?;
                    if rows.is_some() {
                        continue;
                    }
                    if count == 0 {
                        return Ok(0);
                    }
                    if position == last
                        && let Some(row) = &kept
                    {
                        on_row(self.at, &Reading { dialect: self.dialect, row })?;
                    }
                }
            }
        }
        Ok(count)
    }

    /// The middle row of a query, and the value of its last column; none if there is none.
    fn choose(&self, step: &mut Step, time: bool) -> Result<Option<(OdbcRow, Param<'static>)>, Failure> {
        let mut rows = Vec::new();
        while let Some(row) = step.statement.fetch().map_err(|error| self.refused(&error))? {
            rows.push(row.clone());
        }
        step.statement.close().map_err(|error| self.refused(&error))?;
        if rows.is_empty() {
            return Ok(None);
        }
        let row = rows.swap_remove((rows.len() - 1) / 2);
        let column = row.width().saturating_sub(1);
        if row.optional_text(column)?.is_none() {
            return Ok(None);
        }
        let value = match time {
            true => param(self.dialect, Value::Time(moment(self.dialect, &row, column)?)),
            false => Param::Int(row.int(column)?),
        };
        Ok(Some((row, value)))
    }

    /// Fetches the rows of a step, and passes them on if they are the answer. How many there were; none if it returns
    /// no rows.
    fn rows(&self, step: &mut Step, answers: bool, on_row: &mut OnRow<'_>) -> Result<Option<u64>, Failure> {
        // Some drivers also show what a procedure returns as a row.
        if let Some(position) = step.output() {
            return self.lines(self.reply, step.statement.output(position), on_row).map(|()| Some(1));
        }
        let mut count = 0;
        while let Some(row) = step.statement.fetch().map_err(|error| self.refused(&error))? {
            if answers {
                match self.reply {
                    Reply::Rows => on_row(self.at, &Reading { dialect: self.dialect, row })?,
                    reply => self.lines(reply, row.optional_text(0)?, on_row)?,
                }
            }
            count += 1;
        }
        Ok(step.statement.has_rows().then_some(count))
    }

    /// Passes on the rows of a text. Where an empty text is the null, it has none.
    fn lines(&self, reply: Reply, text: Option<&str>, on_row: &mut OnRow<'_>) -> Result<(), Failure> {
        lines::read(reply, text.unwrap_or_default(), &mut |row| on_row(self.at, row))
    }

    fn bind(&self, step: &mut Step, chosen: Option<Chosen>) -> Result<(), Failure> {
        let missing = || missing(self.number);
        for (position, wanted) in step.places.iter().enumerate() {
            let text;
            let value = match *wanted {
                Place::Output => continue,
                Place::Json => {
                    text = columns::json(self.arguments);
                    Param::Text(&text)
                }
                Place::List(first) => {
                    text = columns::list(self.arguments, first);
                    Param::Text(&text)
                }
                Place::Note => {
                    let of = chosen.and_then(|chosen| match chosen.value {
                        Param::Int(value) => Some(i64::from(value)),
                        _ => None,
                    });
                    text = (self.note)(self.number, self.arguments, of).ok_or_else(missing)?;
                    Param::Text(&text)
                }
                Place::Argument(wanted) => match self.arguments.get(wanted) {
                    Some(argument) if self.dialect.arrays && argument.places().is_some() => {
                        text = array_of(argument);
                        Param::Text(&text)
                    }
                    Some(argument) => {
                        let value = argument.at(self.place).ok_or_else(missing)?;
                        param(self.dialect, value)
                    }
                    None => chosen.filter(|chosen| chosen.parameter == wanted).ok_or_else(missing)?.value,
                },
            };
            step.statement.set(0, position, value).map_err(|error| error.failure(false))?;
        }
        Ok(())
    }
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
