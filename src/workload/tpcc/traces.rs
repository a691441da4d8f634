//! Permanent traces of transactions: orders with their lines, and rows of HISTORY.

use super::input::{Customer, Input, Payment};
use super::output::Output;
use crate::workload::trace::{Footprint, MOST_COLUMNS, Mark, Trace};
use crate::workload::value::Money;

/// An order by its number, its customer and its lines. If it were lost together with its number, another customer's
/// order would get the number.
static ORDER: Mark =
    Mark { table: "orders", joined: None, columns: &["o_w_id", "o_d_id", "o_id", "o_c_id", "o_ol_cnt"], amount: None };

/// An order by the user's input, because its number comes with the answer.
static ORDER_AS_KEYED: Mark = Mark {
    table: "orders",
    joined: Some(("order_line", &[("ol_w_id", "o_w_id"), ("ol_d_id", "o_d_id"), ("ol_o_id", "o_id")])),
    columns: &["o_w_id", "o_d_id", "o_c_id", "o_ol_cnt", "ol_number", "ol_i_id", "ol_supply_w_id", "ol_quantity"],
    amount: None,
};

/// How to look for an order: committed, and by its input.
pub(crate) static ORDER_MARKS: [&Mark; 2] = [&ORDER, &ORDER_AS_KEYED];

/// A payment.
static PAYMENT: Mark = Mark {
    table: "history",
    joined: None,
    columns: &["h_w_id", "h_d_id", "h_c_w_id", "h_c_d_id", "h_c_id"],
    amount: Some("h_amount"),
};

/// A payment whose customer was given by last name, which is not in HISTORY.
static PAYMENT_BY_NAME: Mark = Mark {
    table: "history",
    joined: None,
    columns: &["h_w_id", "h_d_id", "h_c_w_id", "h_c_d_id"],
    amount: Some("h_amount"),
};

/// The row of a completed transaction.
pub(super) fn of(input: &Input, output: &Output) -> Option<Trace> {
    match (input, output) {
        (Input::NewOrder(keyed), Output::NewOrder(order)) => {
            order.placed.as_ref()?;
            let values = [keyed.w_id, keyed.d_id, order.o_id, keyed.c_id, keyed.lines.len() as i32, 0, 0, 0];
            Some(Trace { mark: &ORDER, values, amount: Money(0) })
        }
        (Input::Payment(keyed), Output::Payment(paid)) => Some(payment(keyed, Some(paid.c_id))),
        _ => None,
    }
}

/// What can be looked up of a transaction by its input alone. A Delivery changes rows that others change, too.
pub(super) fn footprint(input: &Input) -> Footprint {
    match input {
        Input::NewOrder(keyed) => {
            let Some(line) = keyed.lines.first() else { return Footprint::NotKnown };
            let lines = keyed.lines.len() as i32;
            let values = [keyed.w_id, keyed.d_id, keyed.c_id, lines, 1, line.i_id, line.supply_w_id, line.quantity];
            Footprint::Row(Trace { mark: &ORDER_AS_KEYED, values, amount: Money(0) })
        }
        Input::Payment(keyed) => Footprint::Row(match keyed.customer {
            Customer::Id(id) => payment(keyed, Some(id)),
            Customer::LastName(_) => payment(keyed, None),
        }),
        Input::OrderStatus(_) | Input::StockLevel(_) => Footprint::None,
        Input::Delivery(_) => Footprint::NotKnown,
    }
}

fn payment(keyed: &Payment, customer: Option<i32>) -> Trace {
    let mut values = [0; MOST_COLUMNS];
    values[..4].copy_from_slice(&[keyed.w_id, keyed.d_id, keyed.c_w_id, keyed.c_d_id]);
    values[4] = customer.unwrap_or_default();
    Trace { mark: if customer.is_some() { &PAYMENT } else { &PAYMENT_BY_NAME }, values, amount: keyed.h_amount }
}
