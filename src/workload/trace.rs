//! Permanent traces of committed transactions, by which they can be looked up afterwards.

use std::fmt;

use super::value::Money;

/// The maximum number of integer columns of a [`Mark`].
pub const MOST_COLUMNS: usize = 8;

/// The table where transactions of a type leave a row, and the columns that identify it. No transaction changes these
/// columns later.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Its table.
    pub table: &'static str,
    /// A second table with columns to look for, and the pairs of columns that join it to the first.
    pub joined: Option<(&'static str, &'static [(&'static str, &'static str)])>,
    /// Integer columns, at most [`MOST_COLUMNS`].
    pub columns: &'static [&'static str],
    /// A money column.
    pub amount: Option<&'static str>,
}

/// A row that a committed transaction has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trace {
    /// Where to look.
    pub mark: &'static Mark,
    /// The values of the mark's columns; the rest is 0.
    pub values: [i32; MOST_COLUMNS],
    /// The amount of money; 0 if the mark has none.
    pub amount: Money,
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (column, value)) in self.mark.columns.iter().zip(self.values).enumerate() {
            write!(f, "{}{column}={value}", if at > 0 { " " } else { "" })?;
        }
        self.mark.amount.map_or(Ok(()), |column| write!(f, " {column}={}", self.amount))
    }
}

/// What can be looked up of a transaction with an unknown outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Footprint {
    /// It changes nothing: its outcome does not matter.
    None,
    /// It leaves this row if it is committed.
    Row(Trace),
    /// Its effects cannot be told apart from those of others.
    NotKnown,
}
