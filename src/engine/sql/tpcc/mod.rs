//! The five transactions of TPC-C over the statement interface.
//!
//! Every transaction takes as few exchanges as its data flow allows: statements that need no answer are sent together.
//! Replies are checked while the transaction is still open, so that a missing row leaves nothing behind (clause 2.3.6).

mod delivery;
mod new_order;
mod payment;
mod procedures;
pub(crate) mod read_only;
pub mod reply;
mod statement;

use arrayvec::ArrayString;
pub use procedures::Procedures;
pub use statement::Statement;

use super::{Arg, Call, Connection, Row, SqlWorkload};
use crate::engine::{Failure, Session};
use crate::result::Via;
use crate::workload::tpcc::Tpcc;
use crate::workload::tpcc::input::{Customer, Input};
use crate::workload::tpcc::output::{Address, Output};
use crate::workload::value::{Money, Value};

/// A session that executes the statements of [`Statement`] over a connection.
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
    fn id(&self) -> Option<u64> {
        self.connection.id()
    }

    fn host(&self) -> Option<usize> {
        self.connection.host()
    }

    fn round_trips(&self) -> Option<u64> {
        self.connection.round_trips()
    }

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

/// A session with statements or procedures.
pub enum TpccSession<C> {
    /// Statements of the client.
    Statements(Statements<C>),
    /// Procedures of the server.
    Procedures(Procedures<C>),
}

impl<C: Connection> Session<Tpcc> for TpccSession<C> {
    fn id(&self) -> Option<u64> {
        match self {
            TpccSession::Statements(session) => session.id(),
            TpccSession::Procedures(session) => session.id(),
        }
    }

    fn host(&self) -> Option<usize> {
        match self {
            TpccSession::Statements(session) => session.host(),
            TpccSession::Procedures(session) => session.host(),
        }
    }

    fn round_trips(&self) -> Option<u64> {
        match self {
            TpccSession::Statements(session) => session.round_trips(),
            TpccSession::Procedures(session) => session.round_trips(),
        }
    }

    async fn execute(&mut self, input: &Input) -> Result<Output, Failure> {
        match self {
            TpccSession::Statements(session) => session.execute(input).await,
            TpccSession::Procedures(session) => session.execute(input).await,
        }
    }
}

impl SqlWorkload for Tpcc {
    type Session<C: Connection> = TpccSession<C>;

    const STATEMENTS: &'static [&'static str] = &statement::NAMES;
    const CALLS: &'static [&'static str] = &procedures::CALLS;

    fn session<C: Connection>(connection: C, via: Via) -> TpccSession<C> {
        match via {
            Via::Statements => TpccSession::Statements(Statements::new(connection)),
            Via::Procedures => TpccSession::Procedures(Procedures::new(connection)),
        }
    }

    /// The text that a payment prepends to C_DATA of a customer with bad credit: C_ID, C_D_ID, C_W_ID, D_ID, W_ID and
    /// H_AMOUNT as on the screen.
    fn note(number: usize, arguments: &[Arg<'_>], chosen: Option<i64>) -> Option<String> {
        let number_of = |at: usize| match arguments.get(at)? {
            Arg::One(Value::Int(value)) => Some(i64::from(*value)),
            _ => None,
        };
        let c_id = if number == Statement::PaymentCustomerByName as usize { chosen? } else { number_of(4)? };
        let (w_id, d_id, c_w_id, c_d_id) = (number_of(0)?, number_of(1)?, number_of(2)?, number_of(3)?);
        match arguments.get(5)? {
            Arg::One(Value::Money(amount)) => {
                Some(format!("{c_id:>4} {c_d_id:>2} {c_w_id:>4} {d_id:>2} {w_id:>4} ${amount:>7} "))
            }
            _ => None,
        }
    }
}

/// Rolls back the open transaction because of a wrong row in the database (clause 2.3.6).
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

/// The customer as an argument, and the statement that finds it.
fn customer(customer: &Customer, by_id: Statement, by_name: Statement) -> (Statement, Arg<'_>) {
    match customer {
        Customer::Id(c_id) => (by_id, int(*c_id)),
        Customer::LastName(name) => (by_name, Arg::One(Value::Text(name))),
    }
}

/// The customer in an error message.
fn describe(customer: &Customer) -> impl std::fmt::Display {
    match customer {
        Customer::Id(c_id) => format!("number {c_id}"),
        Customer::LastName(name) => format!("called {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_of_a_payment_is_as_on_the_screen() {
        let int = |value| Arg::One(Value::Int(value));
        let mut arguments = [int(1), int(10), int(22), int(3), int(4), Arg::One(Value::Money(Money(12_345)))];
        let by_id = Statement::PaymentCustomerById as usize;
        let by_name = Statement::PaymentCustomerByName as usize;
        assert_eq!(Tpcc::note(by_id, &arguments, None).unwrap(), "   4  3   22 10    1 $ 123.45 ");
        arguments[4] = Arg::One(Value::Text("BARBARBAR"));
        assert_eq!(Tpcc::note(by_name, &arguments, Some(2_999)).unwrap(), "2999  3   22 10    1 $ 123.45 ");
        assert_eq!(Tpcc::note(by_name, &arguments, None), None);
    }
}
