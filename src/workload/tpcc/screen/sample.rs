//! A made-up example of each transaction, to show its screen.

use arrayvec::{ArrayString, ArrayVec};

use super::Form;
use crate::workload::tpcc::DISTRICTS;
use crate::workload::tpcc::input::{self, Customer, Input};
use crate::workload::tpcc::output::{self, Address, Output};
use crate::workload::value::{Money, Rate, Timestamp};

/// 2026-03-14 15:09:26 UTC, the time of the examples.
const NOW: Timestamp = Timestamp(1_773_500_966_000_000);
/// 2025-11-30 08:05:00 UTC, the time of their load.
const THEN: Timestamp = Timestamp(1_764_489_900_000_000);
const LAST_NAME: &str = "PRICALLYOUGHT";

/// A New-Order that is committed.
pub fn new_order() -> (input::NewOrder, output::NewOrder) {
    // Supplier, item, quantity; name, stock, brand or generic, price in cents.
    const LINES: [(i32, i32, i32, &str, i32, char, i64); 7] = [
        (12, 4_711, 5, "k3Zr8QhT0aWmXc", 87, 'G', 1_999),
        (12, 90_210, 10, "Uq7bVn2LsYd5KfJw9HtR6eGx", 91, 'B', 10_000),
        (3, 8, 1, "oP4iC1zMvB6nDq", 100, 'G', 100),
        (12, 65_535, 3, "Ta9eRs5wLk2uHy8Fj", 10, 'G', 5_350),
        (12, 31_415, 7, "Xg6dNc3bQm0vZp7KsWl", 54, 'G', 2_718),
        (12, 100_000, 2, "Jh1tYr8uEo4iPa5s", 33, 'G', 7_777),
        (12, 4_711, 4, "k3Zr8QhT0aWmXc", 83, 'G', 1_999),
    ];
    let (c_discount, w_tax, d_tax) = (Rate(1_234), Rate(750), Rate(1_905));
    let mut lines = ArrayVec::new();
    let mut ordered = ArrayVec::new();
    let mut sum = Money::default();
    for (supply_w_id, i_id, quantity, i_name, s_quantity, brand_generic, price) in LINES {
        let ol_amount = Money(price * i64::from(quantity));
        sum += ol_amount;
        lines.push(input::Line { i_id, supply_w_id, quantity });
        ordered.push(output::OrderedLine {
            i_name: text(i_name),
            s_quantity,
            brand_generic,
            i_price: Money(price),
            ol_amount,
        });
    }
    let total = output::total_amount(sum, c_discount, w_tax, d_tax);
    let placed = output::Placed { o_entry_d: NOW, c_discount, w_tax, d_tax, lines: ordered, total };
    let output = output::NewOrder { o_id: 3_042, c_last: text(LAST_NAME), c_credit: text("GC"), placed: Some(placed) };
    (input::NewOrder { w_id: 12, d_id: 7, c_id: 1_234, lines }, output)
}

/// The payment of a remote customer with bad credit, named by last name.
pub fn payment() -> (input::Payment, output::Payment) {
    let h_amount = Money(123_456);
    let input = input::Payment {
        w_id: 12,
        d_id: 7,
        c_w_id: 3,
        c_d_id: 10,
        customer: Customer::LastName(text(LAST_NAME)),
        h_amount,
    };
    let output = output::Payment {
        h_date: NOW,
        w_address: address("Wq5TzHn8LmKc2x", "Rb7vYs4JdGp0eUaXf", "Mo3iNk9CwZq", "QR", "482111111"),
        d_address: address("Dy1hFt6SgBu8oPl", "Ex2jVr5WnAk", "Tc9mLz7YpHs4QdGe0Kbi", "aX", "907311111"),
        c_id: 987,
        c_first: text("h8KsPw3QzRt"),
        c_middle: text("OE"),
        c_last: text(LAST_NAME),
        c_address: address("Ni6uGx1JvDb9", "Oa4eCl7TfYm2sZw", "Vp8rHk0BqSn5jX", "Lm", "115511111"),
        c_phone: text("3141592653589793"),
        c_since: THEN,
        c_credit: text("BC"),
        c_credit_lim: Money::new(50_000, 0),
        c_discount: Rate(4_096),
        c_balance: Money(-248_912),
        c_data: text(concat!(
            "987 10 3 7 12 1234.56 987 10 3 2 3 1244.56 Hn7sKz2wQe9rTb4yUi6oPa1dFg8jLx3cVm5N",
            "q0WtEzRySuXiDoCpFaVsGdBfHgNhJjMkKl1Z2x3C4v5B6n7M8q9W0eRtYuIoPaSdFgHjKlZxCvBnMqWe",
            "RtYuIoPaSd1Fg2Hj3Kl4Zx5Cv6Bn7Mq8We9Rt0YuZ"
        )),
    };
    (input, output)
}

/// The state of an order that is delivered.
pub fn order_status() -> (input::OrderStatus, output::OrderStatus) {
    const LINES: [(i32, i32, i64); 6] = [
        (12, 271, 4_200),
        (12, 82_818, 99_990),
        (12, 45_904, 1_250),
        (44, 5_235, 31_415),
        (12, 36_028, 100),
        (12, 74_713, 56_789),
    ];
    let line = |(ol_supply_w_id, ol_i_id, cents)| output::StatusLine {
        ol_supply_w_id,
        ol_i_id,
        ol_quantity: 5,
        ol_amount: Money(cents),
        ol_delivery_d: Some(NOW),
    };
    let output = output::OrderStatus {
        c_id: 1_234,
        c_first: text("Zm4tWx9KvQ"),
        c_middle: text("OE"),
        c_last: text(LAST_NAME),
        c_balance: Money(193_744),
        o_id: 2_987,
        o_entry_d: THEN,
        o_carrier_id: Some(4),
        lines: LINES.into_iter().map(line).collect(),
    };
    (input::OrderStatus { w_id: 12, d_id: 7, customer: Customer::Id(1_234) }, output)
}

/// A Delivery in which every district had an open order.
pub fn delivery() -> (input::Delivery, output::Delivery) {
    (input::Delivery { w_id: 12, o_carrier_id: 4 }, output::Delivery { orders: [Some(2_101); DISTRICTS as usize] })
}

/// A Stock-Level.
pub fn stock_level() -> (input::StockLevel, output::StockLevel) {
    (input::StockLevel { w_id: 12, d_id: 7, threshold: 15 }, output::StockLevel { low_stock: 23 })
}

/// The example of a form.
pub fn of(form: Form) -> (Input, Output) {
    match form {
        Form::NewOrder => {
            let (input, output) = new_order();
            (Input::NewOrder(input), Output::NewOrder(output))
        }
        Form::Payment => {
            let (input, output) = payment();
            (Input::Payment(input), Output::Payment(output))
        }
        Form::OrderStatus => {
            let (input, output) = order_status();
            (Input::OrderStatus(input), Output::OrderStatus(output))
        }
        Form::Delivery => {
            let (input, output) = delivery();
            (Input::Delivery(input), Output::Delivery(output))
        }
        Form::StockLevel => {
            let (input, output) = stock_level();
            (Input::StockLevel(input), Output::StockLevel(output))
        }
    }
}

fn address(street_1: &str, street_2: &str, city: &str, state: &str, zip: &str) -> Address {
    Address { street_1: text(street_1), street_2: text(street_2), city: text(city), state: text(state), zip: text(zip) }
}

/// Truncated to the width of its column.
fn text<const N: usize>(from: &str) -> ArrayString<N> {
    let mut text = ArrayString::new();
    for character in from.chars() {
        if text.try_push(character).is_err() {
            break;
        }
    }
    text
}
