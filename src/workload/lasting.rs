//! What stays of the initial population while transactions work on it: as data of a workload, so that any row of any
//! database can be held against the seed.

use super::value::{Money, Rate, Timestamp, Value};

/// Some columns of a row: of the initial population, or of a database.
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
    /// Where it lies in the row's text.
    Text(usize, usize),
}

impl Row {
    /// Leaves no columns in it.
    pub fn clear(&mut self) {
        self.cells.clear();
        self.text.clear();
    }

    /// Adds a column. Blanks at the end of a text are its padding.
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

    /// The column at a place; null beyond the last.
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

    /// The number at a place, money in cents; none if none is there.
    pub fn number(&self, at: usize) -> Option<i64> {
        match self.cells.get(at)? {
            Cell::Int(number) => Some((*number).into()),
            Cell::Money(amount) => Some(amount.0),
            Cell::Rate(rate) => Some(rate.0.into()),
            Cell::Time(time) => Some(time.0),
            Cell::Null | Cell::Text(..) => None,
        }
    }

    /// The text at a place; empty if none is there.
    pub fn text(&self, at: usize) -> &str {
        if let Value::Text(text) = self.value(at) { text } else { "" }
    }
}

/// Something that the rows of a table keep showing of the initial population, whatever transactions do.
#[derive(Clone, Copy, Debug)]
pub struct Lasting {
    /// The name of the finding.
    pub id: &'static str,
    /// What must hold.
    pub title: &'static str,
    /// Index into the workload's tables.
    pub table: usize,
    /// The columns that tell which row of the population it is, all of them integers; the population writes its rows in
    /// their order.
    pub key: &'static [&'static str],
    /// The columns that are looked at, besides the key.
    pub columns: Columns,
    /// What must hold between the row of the population and that of the database.
    pub rule: Rule,
    /// Whether transactions add rows to the table. If not, a row that the population does not have is a fault.
    pub grows: bool,
    /// Whether every check looks at it, not only a deep one.
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

/// What must hold between a row of the population and the same row in a database. Rows have the key and the columns of
/// [`Lasting`], in the table's order.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// Each column is as it was loaded; one that was null may have got a value.
    AsLoaded,
    /// What follows from the row loaded and the row found.
    Follows(fn(&Row, &Row) -> bool),
    /// What follows from these and rows of another table.
    Told {
        /// These rows.
        by: Companions,
        /// The rule, given the numbers of their columns.
        holds: fn(&Row, &Row, &[Numbers]) -> bool,
    },
}

/// The numbers of a companion's columns; money in cents.
pub type Numbers = Box<[i64]>;

/// Rows of another table that tell what a row must show.
#[derive(Clone, Copy, Debug)]
pub struct Companions {
    /// Index into the workload's tables.
    pub table: usize,
    /// Their columns that hold the key of the row, in the order of [`Lasting::key`].
    pub key: &'static [&'static str],
    /// Their columns that the rule needs, integers and money.
    pub columns: &'static [&'static str],
    /// Whether the rule needs them for a row of the population.
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
