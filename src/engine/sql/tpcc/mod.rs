//! The five transactions of TPC-C over the statement interface.
//!
//! Every transaction takes as few exchanges as its data flow allows: what does not need an answer goes together. What
//! came back is checked while the transaction is still open, so that a row that is missing leaves nothing behind
//! (clause 2.3.6).

mod delivery;
mod new_order;
mod payment;
pub(crate) mod read_only;
mod statement;

use arrayvec::ArrayString;
pub use statement::Statement;

use super::{Arg, Call, Connection, Row};
use crate::engine::{Failure, Session};
use crate::workload::tpcc::Tpcc;
use crate::workload::tpcc::input::{Customer, Input};
use crate::workload::tpcc::output::{Address, Output};
use crate::workload::value::{Money, Value};

/// A session that speaks the statements of [`Statement`] over a connection.
pub struct Statements<C> {
    connection: C,
}

impl<C: Connection> Statements<C> {
    /// A session over a connection whose dialect has the statements in the order of [`Statement::ALL`].
    pub fn new(connection: C) -> Self {
        Statements { connection }
    }
}

impl<C: Connection> Session<Tpcc> for Statements<C> {
    async fn execute(&mut self, input: &Input) -> Result<Output, Failure> {
        let connection = &mut self.connection;
        Ok(match input {
            Input::NewOrder(input) => Output::NewOrder(new_order::execute(connection, input).await?),
            Input::Payment(input) => Output::Payment(payment::execute(connection, input).await?),
            Input::OrderStatus(input) => Output::OrderStatus(read_only::order_status(connection, input).await?),
            Input::Delivery(input) => Output::Delivery(delivery::execute(connection, input).await?),
            Input::StockLevel(input) => Output::StockLevel(read_only::stock_level(connection, input).await?),
        })
    }
}

/// Rolls back the open transaction because of something in the database that should not be (clause 2.3.6).
async fn abandon(connection: &mut impl Connection, why: String) -> Failure {
    match connection.exchange(&[Call::Rollback], &mut no_rows).await {
        Ok(_) => Failure::Invalid(why),
        Err(worse) => worse,
    }
}

fn no_rows(_: usize, _: &dyn Row) -> Result<(), Failure> {
    Ok(())
}

pub(crate) fn text<const N: usize>(row: &dyn Row, column: usize) -> Result<ArrayString<N>, Failure> {
    let text = row.text(column)?;
    ArrayString::from(text).map_err(|_| Failure::Invalid(format!("a text is longer than its {N} characters: {text}")))
}

/// The address in five columns from `first` on.
pub(crate) fn address(row: &dyn Row, first: usize) -> Result<Address, Failure> {
    Ok(Address {
        street_1: text(row, first)?,
        street_2: text(row, first + 1)?,
        city: text(row, first + 2)?,
        state: text(row, first + 3)?,
        zip: text(row, first + 4)?,
    })
}

fn call<'a>(statement: Statement, arguments: &'a [Arg<'a>]) -> Call<'a> {
    Call::Statement(statement as usize, arguments)
}

fn int<'a>(value: i32) -> Arg<'a> {
    Arg::One(Value::Int(value))
}

fn money<'a>(value: Money) -> Arg<'a> {
    Arg::One(Value::Money(value))
}

/// The customer as an argument, and which of two statements finds it.
fn customer(customer: &Customer, by_id: Statement, by_name: Statement) -> (Statement, Arg<'_>) {
    match customer {
        Customer::Id(c_id) => (by_id, int(*c_id)),
        Customer::LastName(name) => (by_name, Arg::One(Value::Text(name))),
    }
}

/// The customer in an error's words.
fn describe(customer: &Customer) -> impl std::fmt::Display {
    match customer {
        Customer::Id(c_id) => format!("number {c_id}"),
        Customer::LastName(name) => format!("called {name}"),
    }
}
