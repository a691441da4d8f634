//! What a committed transaction leaves behind for good, so that it can be looked up afterwards.

use std::fmt;

use super::value::Money;

/// The most columns of whole numbers of a [`Mark`].
pub const MOST_COLUMNS: usize = 8;

/// Where transactions of a type leave a row, and which columns tell it from others. Nobody changes these columns any
/// more.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Its table.
    pub table: &'static str,
    /// A second table with columns to look for, and the pairs of columns by which its rows belong to those of the
    /// first.
    pub joined: Option<(&'static str, &'static [(&'static str, &'static str)])>,
    /// Columns of whole numbers, at most [`MOST_COLUMNS`].
    pub columns: &'static [&'static str],
    /// A column with an amount of money.
    pub amount: Option<&'static str>,
}

/// A row that a committed transaction has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trace {
    /// Where to look.
    pub mark: &'static Mark,
    /// The values of the mark's columns; those beyond are 0.
    pub values: [i32; MOST_COLUMNS],
    /// The amount of money; 0 where the mark has none.
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

/// What can be looked up of a transaction whose fate is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Footprint {
    /// It changes nothing: its fate does not matter.
    None,
    /// It leaves this row if it is committed.
    Row(Trace),
    /// What it leaves cannot be told from what others leave.
    NotKnown,
}
