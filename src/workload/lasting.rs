//! Invariants between the initial population and the rows of a used database, as data of a workload, so that any row of
//! any database can be compared with the seed.

use super::value::{Money, Rate, Timestamp, Value};

/// Some columns of a row, of the initial population or of a database.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    cells: Vec<Cell>,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    Null,
    Int(i32),
    Money(Money),
    Rate(Rate),
    Time(Timestamp),
    /// Its range in the row's text.
    Text(usize, usize),
}

impl Row {
    /// Removes all columns.
    pub fn clear(&mut self) {
        self.cells.clear();
        self.text.clear();
    }

    /// Appends a column. Trailing blanks of a text are padding.
    pub fn push(&mut self, value: Value<'_>) {
        self.cells.push(match value {
            Value::Null => Cell::Null,
            Value::Int(number) => Cell::Int(number),
            Value::Money(amount) => Cell::Money(amount),
            Value::Rate(rate) => Cell::Rate(rate),
            Value::Time(time) => Cell::Time(time),
            Value::Text(text) => {
                let start = self.text.len();
                self.text.push_str(text.trim_end_matches(' '));
                Cell::Text(start, self.text.len())
            }
        });
    }

    /// The column at an index; null beyond the last.
    pub fn value(&self, at: usize) -> Value<'_> {
        match self.cells.get(at).copied().unwrap_or(Cell::Null) {
            Cell::Null => Value::Null,
            Cell::Int(number) => Value::Int(number),
            Cell::Money(amount) => Value::Money(amount),
            Cell::Rate(rate) => Value::Rate(rate),
            Cell::Time(time) => Value::Time(time),
            Cell::Text(start, end) => Value::Text(self.text.get(start..end).unwrap_or_default()),
        }
    }

    /// The number at an index, money in cents; `None` if it is no number.
    pub fn number(&self, at: usize) -> Option<i64> {
        match self.cells.get(at)? {
            Cell::Int(number) => Some((*number).into()),
            Cell::Money(amount) => Some(amount.0),
            Cell::Rate(rate) => Some(rate.0.into()),
            Cell::Time(time) => Some(time.0),
            Cell::Null | Cell::Text(..) => None,
        }
    }

    /// The text at an index; empty if it is no text.
    pub fn text(&self, at: usize) -> &str {
        if let Value::Text(text) = self.value(at) { text } else { "" }
    }
}

/// An invariant between the rows of a table and the initial population that no transaction breaks.
#[derive(Clone, Copy, Debug)]
pub struct SeedInvariant {
    /// The id of the finding.
    pub id: &'static str,
    /// The invariant in words.
    pub title: &'static str,
    /// Index into the workload's tables.
    pub table: usize,
    /// The columns that identify the row of the population, all of them integers; the population writes its rows in
    /// their order.
    pub key: &'static [&'static str],
    /// The columns that are compared, besides the key.
    pub columns: Columns,
    /// The relation between the row of the population and that of the database.
    pub rule: Rule,
    /// Whether transactions add rows to the table. If not, a row that is not in the population is a fault.
    pub grows: bool,
    /// Whether every check evaluates it, not only a deep one.
    pub always: bool,
}

/// Columns of a table.
#[derive(Clone, Copy, Debug)]
pub enum Columns {
    /// All but these.
    AllBut(&'static [&'static str]),
    /// These only.
    Only(&'static [&'static str]),
}

/// The relation between a row of the population and the same row in a database. Rows have the key and the columns of
/// the invariant, in the table's order.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// Each column is as it was loaded; a null may have become a value.
    AsLoaded,
    /// A condition on the loaded and the found row.
    Follows(fn(&Row, &Row) -> bool),
    /// A condition on these and on rows of another table.
    Related {
        /// The other rows.
        by: RelatedRows,
        /// The condition; it gets the numbers in their columns.
        holds: fn(&Row, &Row, &[Numbers]) -> bool,
    },
}

/// The numbers in the columns of a related row; money in cents.
pub type Numbers = Box<[i64]>;

/// Rows of another table that determine what a row must contain.
#[derive(Clone, Copy, Debug)]
pub struct RelatedRows {
    /// Index into the workload's tables.
    pub table: usize,
    /// Their columns with the key of the row, in the order of the invariant's key.
    pub key: &'static [&'static str],
    /// Their columns that the condition needs: integers and money.
    pub columns: &'static [&'static str],
    /// Whether the condition needs them for a row of the population.
    pub concern: fn(&Row) -> bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_gives_back_what_was_put_into_it() {
        let values = [
            Value::Int(-5),
            Value::Null,
            Value::Text("ab"),
            Value::Money(Money(7)),
            Value::Text(""),
            Value::Rate(Rate(9)),
            Value::Time(Timestamp(11)),
        ];
        let mut row = Row::default();
        for _ in 0..2 {
            row.clear();
            values.iter().for_each(|value| row.push(*value));
        }
        row.push(Value::Text("c  "));
        for (at, value) in values.iter().enumerate() {
            assert_eq!(row.value(at), *value);
        }
        assert_eq!((row.text(7), row.text(0), row.value(8)), ("c", "", Value::Null));
        assert_eq!([0, 1, 2, 3, 5, 6].map(|at| row.number(at)), [Some(-5), None, None, Some(7), Some(9), Some(11)]);
    }
}
