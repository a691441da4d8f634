//! Transactions of SQL engines, written once over a small statement interface, with dialects as data.

mod any;
pub mod columns;
#[cfg(test)]
mod counter;
pub mod debitcredit;
mod former;
pub mod lines;
pub mod lookup;
pub mod restore;
pub mod script;
pub mod tpcc;
mod workload;

pub use any::AnyConnection;
pub use former::is_former;
pub use workload::{Command, Note, Removal, Reply, SqlWorkload, WorkloadSql};

use super::Failure;
use crate::workload::value::{Money, Rate, Timestamp, Value};

/// A parameter of a statement. All columns of a call have the same length, and the statement is executed for each of
/// their rows: an engine with arrays sends whole columns, others repeat the statement. With empty columns it is not
/// executed.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// The same value for all rows.
    One(Value<'a>),
    /// An integer for each row.
    Ints(&'a [i32]),
    /// An amount for each row.
    Moneys(&'a [Money]),
    /// A text for each row.
    Texts(&'a [&'a str]),
}

impl<'a> Arg<'a> {
    /// The length of a column; `None` for a single value.
    pub fn places(&self) -> Option<usize> {
        match self {
            Arg::One(_) => None,
            Arg::Ints(values) => Some(values.len()),
            Arg::Moneys(values) => Some(values.len()),
            Arg::Texts(values) => Some(values.len()),
        }
    }

    /// The value of a row; `None` beyond the end of a column.
    pub fn at(&self, place: usize) -> Option<Value<'a>> {
        match self {
            Arg::One(value) => Some(*value),
            Arg::Ints(values) => values.get(place).map(|value| Value::Int(*value)),
            Arg::Moneys(values) => values.get(place).map(|value| Value::Money(*value)),
            Arg::Texts(values) => values.get(place).map(|value| Value::Text(value)),
        }
    }
}

/// A step of a transaction.
#[derive(Clone, Copy, Debug)]
pub enum Call<'a> {
    /// Begin a transaction that will write.
    Begin,
    /// A statement of the dialect with its parameters in order.
    Statement(usize, &'a [Arg<'a>]),
    /// Commit.
    Commit,
    /// Roll back.
    Rollback,
}

/// A row of a reply. A wrong index or type is an error, never a panic.
pub trait Row {
    /// An integer.
    fn int(&self, column: usize) -> Result<i32, Failure>;
    /// An integer or null.
    fn optional_int(&self, column: usize) -> Result<Option<i32>, Failure>;
    /// Money.
    fn money(&self, column: usize) -> Result<Money, Failure>;
    /// A tax or discount.
    fn rate(&self, column: usize) -> Result<Rate, Failure>;
    /// Text, without the padding of a fixed-length column.
    fn text(&self, column: usize) -> Result<&str, Failure>;
    /// Date and time.
    fn time(&self, column: usize) -> Result<Timestamp, Failure>;
    /// Date and time or null.
    fn optional_time(&self, column: usize) -> Result<Option<Timestamp>, Failure>;
}

/// A connection that executes statements.
///
/// A statement outside `Begin` and `Commit` is a transaction of its own. When `exchange` fails, the implementation has
/// rolled back whatever was open, and the connection can be used again unless the failure is [`Failure::Disconnected`].
/// The failure is `ambiguous` exactly when the calls held a `Commit`, or a writing statement outside a transaction,
/// with an unknown outcome.
pub trait Connection: 'static {
    /// Executes the calls in order, in one round trip if the protocol allows it. `on_row` gets each row with the index
    /// of its call in `calls`. Returns for each call the number of rows it returned or, if it returns none, affected.
    fn exchange(
        &mut self,
        calls: &[Call<'_>],
        on_row: &mut dyn FnMut(usize, &dyn Row) -> Result<(), Failure>,
    ) -> impl Future<Output = Result<Counts, Failure>>;

    /// The server's id of its process or connection; `None` if unknown.
    fn id(&self) -> Option<u64> {
        None
    }

    /// The index of its host in the URL; `None` if there is only one.
    fn host(&self) -> Option<usize> {
        None
    }

    /// Number of round trips so far; `None` if there is no network or they are not counted.
    fn round_trips(&self) -> Option<u64> {
        None
    }

    /// Called for an unreadable reply after a commit: the session must not continue as if it were rolled back, and the
    /// outcome of its transaction is unknown.
    fn unreadable(&mut self, why: &Failure) -> Failure;
}

/// The maximum number of calls in one exchange: a New-Order whose fifteen lines all have the same stock needs a pass
/// for each.
pub const MAX_CALLS: usize = 20;

/// Rows returned or affected by each call of an exchange.
pub type Counts = arrayvec::ArrayVec<u64, MAX_CALLS>;
