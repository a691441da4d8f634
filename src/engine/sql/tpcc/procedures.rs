//! The five transactions by the server's procedures: one round trip each, in which the procedure is the whole
//! transaction.
//!
//! Replies of procedures are decoded, for all dialects, by [`reply`](super::reply).

use arrayvec::ArrayVec;

use super::reply::{DeliveryReply, NewOrderReply, payment};
use super::{Statement, int, money, read_only};
use crate::engine::sql::{Arg, Call, Connection, Row};
use crate::engine::{Failure, Session};
use crate::workload::tpcc::input::{Customer, Delivery, Input, Line, NewOrder, Payment};
use crate::workload::tpcc::output::{self, Output};
use crate::workload::tpcc::{MAX_LINES, Tpcc};
use crate::workload::value::Value;

/// The names of the calls that write, in the order of their numbers, which follow those of the statements. The
/// read-only calls have the numbers of the statements that they replace, because they return the same rows.
pub const CALLS: [&str; 3] = ["new_order", "payment", "delivery"];

const NEW_ORDER: usize = Statement::ALL.len();
const PAYMENT: usize = NEW_ORDER + 1;
const DELIVERY: usize = PAYMENT + 1;

/// A session that calls procedures over a connection.
pub struct Procedures<C> {
    connection: C,
}

impl<C: Connection> Procedures<C> {
    /// A session over a connection whose dialect has the calls.
    pub fn new(connection: C) -> Self {
        Procedures { connection }
    }

    /// Calls a procedure that writes and passes its rows to `on_row`. If the reply cannot be read, the transaction has
    /// committed.
    async fn call(
        &mut self,
        number: usize,
        arguments: &[Arg<'_>],
        on_row: &mut dyn FnMut(&dyn Row) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.connection.exchange(&[Call::Statement(number, arguments)], &mut |_, row| on_row(row)).await.map(|_| ())
    }

    async fn new_order(&mut self, input: &NewOrder) -> Result<output::NewOrder, Failure> {
        let lines = Lines::new(input);
        let arguments = [
            int(input.w_id),
            int(input.d_id),
            int(input.c_id),
            int(input.lines.len() as i32),
            int(input.all_local().into()),
            int(lines.pass.last().map_or(0, |pass| pass + 1)),
            Arg::Ints(&lines.number),
            Arg::Ints(&lines.supply_w_id),
            Arg::Ints(&lines.i_id),
            Arg::Ints(&lines.quantity),
            Arg::Ints(&lines.pass),
        ];
        let mut reply = NewOrderReply::of(input);
        self.call(NEW_ORDER, &arguments, &mut |row| reply.take(row)).await?;
        reply.end().map_err(|why| self.connection.unreadable(&why))
    }

    async fn payment(&mut self, input: &Payment) -> Result<output::Payment, Failure> {
        let null = Arg::One(Value::Null);
        let (c_id, c_last) = match &input.customer {
            Customer::Id(c_id) => (int(*c_id), null),
            Customer::LastName(name) => (null, Arg::One(Value::Text(name))),
        };
        let amount = money(input.h_amount);
        let arguments = [int(input.w_id), int(input.d_id), int(input.c_w_id), int(input.c_d_id), c_id, c_last, amount];
        let mut paid = None;
        let mut on_row = |row: &dyn Row| {
            paid = Some(payment(row)?);
            Ok(())
        };
        self.call(PAYMENT, &arguments, &mut on_row).await?;
        let nothing = || Failure::Invalid("Payment: the database returned no row".to_owned());
        paid.ok_or_else(nothing).map_err(|why| self.connection.unreadable(&why))
    }

    async fn delivery(&mut self, input: &Delivery) -> Result<output::Delivery, Failure> {
        let mut reply = DeliveryReply::default();
        self.call(DELIVERY, &[int(input.w_id), int(input.o_carrier_id)], &mut |row| reply.take(row)).await?;
        Ok(reply.end())
    }
}

impl<C: Connection> Session<Tpcc> for Procedures<C> {
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
        Ok(match input {
            Input::NewOrder(input) => Output::NewOrder(self.new_order(input).await?),
            Input::Payment(input) => Output::Payment(self.payment(input).await?),
            Input::OrderStatus(input) => {
                Output::OrderStatus(read_only::order_status(&mut self.connection, input).await?)
            }
            Input::Delivery(input) => Output::Delivery(self.delivery(input).await?),
            Input::StockLevel(input) => Output::StockLevel(read_only::stock_level(&mut self.connection, input).await?),
        })
    }
}

/// The lines in the order in which their stock is locked; lines of a repeated stock row are in separate passes.
#[derive(Default)]
struct Lines {
    number: ArrayVec<i32, MAX_LINES>,
    supply_w_id: ArrayVec<i32, MAX_LINES>,
    i_id: ArrayVec<i32, MAX_LINES>,
    quantity: ArrayVec<i32, MAX_LINES>,
    pass: ArrayVec<i32, MAX_LINES>,
}

impl Lines {
    fn new(input: &NewOrder) -> Lines {
        let stock = |line: &Line| (line.supply_w_id, line.i_id);
        let earlier =
            |place: usize, line: &Line| input.lines.iter().take(place).filter(|one| stock(one) == stock(line)).count();
        let keys = input.lines.iter().enumerate();
        let keys = keys.map(|(place, line)| (earlier(place, line), stock(line), place, line.quantity));
        let mut order: ArrayVec<_, MAX_LINES> = keys.collect();
        order.sort_unstable();
        let mut lines = Lines::default();
        for (pass, (supply_w_id, i_id), place, quantity) in order {
            lines.number.push(place as i32 + 1);
            lines.supply_w_id.push(supply_w_id);
            lines.i_id.push(i_id);
            lines.quantity.push(quantity);
            lines.pass.push(pass as i32);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_repeated_stock_row_have_passes_of_their_own() {
        let line = |supply_w_id, i_id, quantity| Line { i_id, supply_w_id, quantity };
        let lines_of = [line(1, 9, 1), line(2, 3, 2), line(1, 9, 3), line(1, 4, 4)];
        let lines = Lines::new(&NewOrder { w_id: 1, d_id: 1, c_id: 1, lines: lines_of.into_iter().collect() });
        assert_eq!((&lines.number[..], &lines.pass[..]), (&[4, 1, 2, 3][..], &[0, 0, 0, 1][..]));
        assert_eq!((&lines.supply_w_id[..], &lines.i_id[..]), (&[1, 1, 2, 1][..], &[4, 9, 3, 9][..]));
        assert_eq!(lines.quantity[..], [4, 1, 2, 3]);
    }
}
