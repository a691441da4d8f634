//! What SQL engines share: transactions written once over a small statement interface, with dialects as data.

mod any;
#[cfg(test)]
mod counter;
pub mod debitcredit;
pub mod lookup;
pub mod restore;
pub mod script;
pub mod tpcc;
mod workload;

pub use any::AnyConnection;
pub use workload::{Command, Note, Reply, SqlWorkload, WorkloadSql};

use super::Failure;
use crate::workload::value::{Money, Rate, Timestamp, Value};

/// A parameter of a statement. Columns of one call all have the same length, and the statement is worked for each of
/// their places: an engine with arrays sends them whole, any other repeats the statement. With columns of no length it
/// is not worked at all.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// The same for all places.
    One(Value<'a>),
    /// An integer for each place.
    Ints(&'a [i32]),
    /// An amount for each place.
    Moneys(&'a [Money]),
    /// A text for each place.
    Texts(&'a [&'a str]),
}

impl<'a> Arg<'a> {
    /// The places of a column; none for what all places share.
    pub fn places(&self) -> Option<usize> {
        match self {
            Arg::One(_) => None,
            Arg::Ints(values) => Some(values.len()),
            Arg::Moneys(values) => Some(values.len()),
            Arg::Texts(values) => Some(values.len()),
        }
    }

    /// What there is at a place; none beyond the end of a column.
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
    /// Text, without the blanks of a padded column.
    fn text(&self, column: usize) -> Result<&str, Failure>;
    /// Date and time.
    fn time(&self, column: usize) -> Result<Timestamp, Failure>;
    /// Date and time or null.
    fn optional_time(&self, column: usize) -> Result<Option<Timestamp>, Failure>;
}

/// A connection that speaks statements.
///
/// A statement outside `Begin` and `Commit` is a transaction of its own. When `exchange` fails, the implementation has
/// rolled back whatever was open, and the connection can be used again unless the failure is [`Failure::Disconnected`].
/// The failure is `ambiguous` exactly when the calls held a `Commit`, or a writing statement outside a transaction,
/// whose fate is unknown.
pub trait Connection: 'static {
    /// Works the calls in order, in one round trip where the wire allows it. `on_row` gets each row with the place of
    /// its call in `calls`. Returns for each call the number of rows it returned or, where it returns none, affected.
    fn exchange(
        &mut self,
        calls: &[Call<'_>],
        on_row: &mut dyn FnMut(usize, &dyn Row) -> Result<(), Failure>,
    ) -> impl Future<Output = Result<Counts, Failure>>;

    /// What the server calls it: the number of its process or connection; none if that is not known.
    fn id(&self) -> Option<u64> {
        None
    }

    /// The number of its host in the URL; none where there are not several.
    fn host(&self) -> Option<usize> {
        None
    }

    /// What has committed cannot be made sense of: the session must not go on as if it were rolled back, and its
    /// transaction's fate is unknown.
    fn unreadable(&mut self, why: &Failure) -> Failure;
}

/// The most calls of one exchange: a New-Order whose fifteen lines all name the same stock needs a pass for each.
pub const MAX_CALLS: usize = 20;

/// Rows returned or affected by each call of an exchange.
pub type Counts = arrayvec::ArrayVec<u64, MAX_CALLS>;
