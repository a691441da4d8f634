//! Made-up answers to the five transactions.

use arrayvec::{ArrayString, ArrayVec};

use super::DISTRICTS;
use super::input::{Customer, Input};
use super::output::{self, Address, Output, Placed};
use crate::workload::value::{Money, Rate, Timestamp};

fn address() -> Address {
    Address {
        street_1: ArrayString::new(),
        street_2: ArrayString::new(),
        city: ArrayString::new(),
        state: ArrayString::new(),
        zip: ArrayString::new(),
    }
}

fn number(customer: &Customer) -> i32 {
    match customer {
        Customer::Id(id) => *id,
        Customer::LastName(_) => 1,
    }
}

/// An output that is consistent with the input.
pub(super) fn answer(input: &Input) -> Output {
    match input {
        Input::NewOrder(order) => {
            let placed = (!order.names_unused_item()).then(|| Placed {
                o_entry_d: Timestamp(0),
                c_discount: Rate(0),
                w_tax: Rate(0),
                d_tax: Rate(0),
                lines: ArrayVec::new(),
                total: Money(0),
            });
            Output::NewOrder(output::NewOrder {
                o_id: 0,
                c_last: ArrayString::new(),
                c_credit: ArrayString::new(),
                placed,
            })
        }
        Input::Payment(payment) => Output::Payment(output::Payment {
            h_date: Timestamp(0),
            w_address: address(),
            d_address: address(),
            c_id: number(&payment.customer),
            c_first: ArrayString::new(),
            c_middle: ArrayString::new(),
            c_last: ArrayString::new(),
            c_address: address(),
            c_phone: ArrayString::new(),
            c_since: Timestamp(0),
            c_credit: ArrayString::new(),
            c_credit_lim: Money(0),
            c_discount: Rate(0),
            c_balance: Money(0),
            c_data: ArrayString::new(),
        }),
        Input::OrderStatus(status) => Output::OrderStatus(output::OrderStatus {
            c_id: number(&status.customer),
            c_first: ArrayString::new(),
            c_middle: ArrayString::new(),
            c_last: ArrayString::new(),
            c_balance: Money(0),
            o_id: 0,
            o_entry_d: Timestamp(0),
            o_carrier_id: None,
            lines: ArrayVec::new(),
        }),
        Input::Delivery(_) => Output::Delivery(output::Delivery { orders: [Some(0); DISTRICTS as usize] }),
        Input::StockLevel(_) => Output::StockLevel(output::StockLevel { low_stock: 0 }),
    }
}
