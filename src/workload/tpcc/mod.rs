//! TPC-C, revision 5.11, as pure functions of a seed.

mod deck;
pub mod input;
pub mod output;
pub mod population;
pub mod random;
pub mod schema;
pub mod terminal;
mod text;

use super::{Outcome, Table, Workload};

/// Districts in a warehouse (clause 4.2.2).
pub const DISTRICTS: i32 = 10;
/// Customers in a district (clause 4.3.3.1).
pub const CUSTOMERS: i32 = 3_000;
/// Items in the database, at any scale (clause 4.2.2).
pub const ITEMS: i32 = 100_000;
/// Orders in a district at the start (clause 4.3.3.1).
pub const ORDERS: i32 = 3_000;
/// The first order of a district that is not yet delivered at the start (clause 4.3.3.1).
pub const FIRST_OPEN_ORDER: i32 = 2_101;
/// The most lines of an order (clause 2.4.1.3).
pub const MAX_LINES: usize = 15;
/// An item that no ITEM row has: the last line of one New-Order in a hundred names it (clause 2.4.1.5).
pub const UNUSED_ITEM: i32 = 2 * ITEMS;

/// The workload of the TPC-C standard.
#[derive(Clone, Copy, Debug)]
pub struct Tpcc;

impl Workload for Tpcc {
    const NAME: &'static str = "tpcc";
    const TRANSACTIONS: &'static [&'static str] = &["new_order", "payment", "order_status", "delivery", "stock_level"];
    const TABLES: &'static [Table] = &schema::TABLES;
    /// New-Orders committed, Payments committed, orders delivered.
    const EFFECTS: &'static [&'static str] = &["new_orders", "payments", "deliveries"];

    type Population = population::Population;
    type Input = input::Input;
    type Output = output::Output;
    type Terminal = terminal::Terminal;

    fn transaction(input: &Self::Input) -> usize {
        match input {
            input::Input::NewOrder(_) => 0,
            input::Input::Payment(_) => 1,
            input::Input::OrderStatus(_) => 2,
            input::Input::Delivery(_) => 3,
            input::Input::StockLevel(_) => 4,
        }
    }

    fn outcome(output: &Self::Output) -> Outcome {
        match output {
            output::Output::NewOrder(order) if order.placed.is_none() => Outcome::RolledBack,
            _ => Outcome::Committed,
        }
    }

    fn count(output: &Self::Output, effects: &mut [u64]) {
        match output {
            output::Output::NewOrder(order) => effects[0] += u64::from(order.placed.is_some()),
            output::Output::Payment(_) => effects[1] += 1,
            output::Output::Delivery(delivery) => effects[2] += delivery.delivered() as u64,
            output::Output::OrderStatus(_) | output::Output::StockLevel(_) => {}
        }
    }

    fn count_at_most(input: &Self::Input, effects: &mut [u64]) {
        match input {
            input::Input::NewOrder(_) => effects[0] += 1,
            input::Input::Payment(_) => effects[1] += 1,
            input::Input::Delivery(_) => effects[2] += DISTRICTS as u64,
            input::Input::OrderStatus(_) | input::Input::StockLevel(_) => {}
        }
    }
}
