//! Writes rows into a table, many at once.

use std::fmt::Write as _;

use super::catalog::Loaded;
use super::dialect::Dialect;
use super::driver::Connection;
use super::failure::Diagnostic;
use super::parameter::{Param, civil};
use super::prepared::{param, quoted};
use super::statement::Statement;
use crate::workload::value::{Money, Rate, RowSink, Timestamp, Value};
use crate::workload::{Column, ColumnKind};

/// Rows that go to the database at once.
const ARRAY: usize = 500;

/// Writes rows by arrays. After a failure it takes nothing more.
pub(super) struct Insert {
    dialect: Dialect,
    statement: Statement,
    /// The values of each column in PostgreSQL's notation, if the driver would send an array of rows one by one; else
    /// empty.
    arrays: Vec<String>,
    /// Arrays that have been sent so far.
    arrays_sent: u64,
    row: usize,
    column: usize,
    loaded: Loaded,
    failed: Option<Diagnostic>,
}

impl Insert {
    /// Into these columns of a table.
    pub(super) fn new(
        connection: &Connection,
        dialect: Dialect,
        table: &str,
        columns: &[Column],
    ) -> Result<Insert, Diagnostic> {
        let by_columns = connection.quirks().row_by_row;
        let mut statement = connection.prepare(&text(table, columns, by_columns))?;
        if !by_columns {
            for (number, column) in columns.iter().enumerate() {
                // A column that begins with nulls has its type all the same.
                statement.set(0, number, sample(dialect, column.kind))?;
            }
        }
        let arrays = if by_columns { vec![String::new(); columns.len()] } else { Vec::new() };
        Ok(Insert {
            dialect,
            statement,
            arrays,
            arrays_sent: 0,
            row: 0,
            column: 0,
            loaded: Loaded::default(),
            failed: None,
        })
    }

    /// Whether the database has refused rows.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Arrays that have been sent so far.
    pub(super) fn arrays_sent(&self) -> u64 {
        self.arrays_sent
    }

    /// Writes the last rows. What all of them were.
    pub(super) fn end(mut self) -> Result<Loaded, Diagnostic> {
        self.flush();
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self.loaded),
        }
    }

    fn flush(&mut self) {
        if self.row > 0 && self.failed.is_none() {
            self.failed = self.write().err();
            self.arrays_sent += 1;
        }
        self.row = 0;
    }

    fn write(&mut self) -> Result<(), Diagnostic> {
        if self.arrays.is_empty() {
            return self.statement.execute(self.row);
        }
        for (number, array) in self.arrays.iter_mut().enumerate() {
            array.push('}');
            self.statement.set(0, number, Param::Text(array))?;
            array.clear();
        }
        self.statement.execute(1)
    }
}

impl RowSink for Insert {
    fn put(&mut self, value: Value<'_>) {
        self.loaded.bytes += value.bytes();
        if self.failed.is_none() {
            self.failed = match self.arrays.get_mut(self.column) {
                Some(array) => append(array, value).err().map(Diagnostic::of_driver_manager),
                None => self.statement.set(self.row, self.column, param(self.dialect, value)).err(),
            };
        }
        self.column += 1;
    }

    fn end_row(&mut self) {
        self.column = 0;
        self.loaded.rows += 1;
        self.row += 1;
        if self.row == ARRAY {
            self.flush();
        }
    }
}

fn text(table: &str, columns: &[Column], by_columns: bool) -> String {
    let names = columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ");
    if !by_columns {
        return format!("INSERT INTO {table} ({names}) VALUES ({})", vec!["?"; columns.len()].join(", "));
    }
    let of = |column: &Column| match column.kind {
        ColumnKind::Int => "?::integer[]",
        ColumnKind::Money | ColumnKind::Rate => "?::numeric[]",
        ColumnKind::Text => "?::text[]",
        ColumnKind::Time => "?::timestamp[]",
    };
    let arrays = columns.iter().map(of).collect::<Vec<_>>().join(", ");
    format!("INSERT INTO {table} ({names}) SELECT * FROM unnest({arrays})")
}

fn sample(dialect: Dialect, kind: ColumnKind) -> Param<'static> {
    param(
        dialect,
        match kind {
            ColumnKind::Int => Value::Int(0),
            ColumnKind::Money => Value::Money(Money(0)),
            ColumnKind::Rate => Value::Rate(Rate(0)),
            ColumnKind::Text => Value::Text(""),
            ColumnKind::Time => Value::Time(Timestamp(0)),
        },
    )
}

/// Appends a value to an array in PostgreSQL's notation. The error says why it cannot.
fn append(array: &mut String, value: Value<'_>) -> Result<(), String> {
    array.push(if array.is_empty() { '{' } else { ',' });
    let written = match value {
        Value::Null => write!(array, "NULL"),
        Value::Int(value) => write!(array, "{value}"),
        Value::Money(value) => write!(array, "{value}"),
        Value::Rate(value) => write!(array, "{value}"),
        Value::Text(text) => write!(array, "{}", quoted(text)),
        Value::Time(time) => write!(array, "{}", civil(time)?),
    };
    written.map_err(|_| "a value cannot be written as text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_an_array() {
        let mut array = String::new();
        for value in [
            Value::Int(-1),
            Value::Null,
            Value::Money(Money(-5)),
            Value::Rate(Rate(123)),
            Value::Text("a,\"b\"\\"),
            Value::Text("NULL"),
            Value::Time(Timestamp(1_000_000_000_120_000)),
        ] {
            append(&mut array, value).unwrap();
        }
        assert_eq!(array, r#"{-1,NULL,-0.05,0.0123,"a,\"b\"\\","NULL",2001-09-09T01:46:40.12"#);
        assert!(append(&mut array, Value::Time(Timestamp(i64::MAX))).is_err());
    }
}
