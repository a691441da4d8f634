//! The inputs of the five transactions: what a user keys in (clauses 2.4.1 to 2.8.1).

use arrayvec::{ArrayString, ArrayVec};

use super::MAX_LINES;
use crate::workload::value::Money;
use crate::workload::{MOST_PLACES, Places};

/// A customer's last name: at most three syllables, 15 characters (clause 4.3.2.3).
pub type LastName = ArrayString<16>;

/// The input of any transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Clause 2.4
    NewOrder(NewOrder),
    /// Clause 2.5
    Payment(Payment),
    /// Clause 2.6
    OrderStatus(OrderStatus),
    /// Clause 2.7
    Delivery(Delivery),
    /// Clause 2.8
    StockLevel(StockLevel),
}

impl Input {
    /// The warehouses whose rows the transaction uses, the home warehouse first.
    pub fn warehouses(&self) -> Places {
        match self {
            Input::NewOrder(order) => {
                let lines = order.lines.iter().take(MOST_PLACES - 1).map(|line| line.supply_w_id);
                std::iter::once(order.w_id).chain(lines).collect()
            }
            Input::Payment(payment) => [payment.w_id, payment.c_w_id].into_iter().collect(),
            Input::OrderStatus(OrderStatus { w_id, .. })
            | Input::Delivery(Delivery { w_id, .. })
            | Input::StockLevel(StockLevel { w_id, .. }) => std::iter::once(*w_id).collect(),
        }
    }
}

/// The input of New-Order (clause 2.4.1).
#[derive(Clone, Debug, PartialEq)]
pub struct NewOrder {
    /// The terminal's home warehouse.
    pub w_id: i32,
    /// District of the home warehouse.
    pub d_id: i32,
    /// Customer of that district.
    pub c_id: i32,
    /// 5 to 15 lines; the same item may appear in several.
    pub lines: ArrayVec<Line, MAX_LINES>,
}

impl NewOrder {
    /// Whether its transaction has to roll back (clause 2.4.1.4).
    pub fn names_unused_item(&self) -> bool {
        self.lines.iter().any(|line| line.i_id == super::UNUSED_ITEM)
    }

    /// O_ALL_LOCAL: whether the home warehouse supplies every line.
    pub fn all_local(&self) -> bool {
        self.lines.iter().all(|line| line.supply_w_id == self.w_id)
    }
}

/// A line of a New-Order's input (clause 2.4.1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// OL_I_ID, possibly [`super::UNUSED_ITEM`].
    pub i_id: i32,
    /// OL_SUPPLY_W_ID.
    pub supply_w_id: i32,
    /// OL_QUANTITY, 1 to 10.
    pub quantity: i32,
}

/// How a customer is named (clauses 2.5.1.2, 2.6.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Customer {
    /// By C_ID.
    Id(i32),
    /// By C_LAST: of the n customers with this name, ordered by C_FIRST, the one at position ⌈n/2⌉.
    LastName(LastName),
}

/// The input of Payment (clause 2.5.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Payment {
    /// The terminal's home warehouse, which receives the payment.
    pub w_id: i32,
    /// The district that receives the payment.
    pub d_id: i32,
    /// The customer's warehouse.
    pub c_w_id: i32,
    /// The customer's district.
    pub c_d_id: i32,
    /// The paying customer.
    pub customer: Customer,
    /// H_AMOUNT, 1.00 to 5,000.00.
    pub h_amount: Money,
}

/// The input of Order-Status (clause 2.6.1).
#[derive(Clone, Debug, PartialEq)]
pub struct OrderStatus {
    /// The terminal's home warehouse.
    pub w_id: i32,
    /// District of the home warehouse.
    pub d_id: i32,
    /// The customer.
    pub customer: Customer,
}

/// The input of Delivery (clause 2.7.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// The terminal's home warehouse.
    pub w_id: i32,
    /// O_CARRIER_ID, 1 to 10.
    pub o_carrier_id: i32,
}

/// The input of Stock-Level (clause 2.8.1).
#[derive(Clone, Debug, PartialEq)]
pub struct StockLevel {
    /// The terminal's home warehouse.
    pub w_id: i32,
    /// The terminal's own district.
    pub d_id: i32,
    /// 10 to 20.
    pub threshold: i32,
}
