//! The outputs of the five transactions: all fields on the screens of clauses 2.4.3 to 2.8.3.

use arrayvec::{ArrayString, ArrayVec};

use super::{DISTRICTS, MAX_LINES};
use crate::workload::value::{Money, Rate, Timestamp};

/// The output of any transaction.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "moved once a transaction; a box would cost an allocation each time")]
pub enum Output {
    /// Clause 2.4.3
    NewOrder(NewOrder),
    /// Clause 2.5.3
    Payment(Payment),
    /// Clause 2.6.3
    OrderStatus(OrderStatus),
    /// Clause 2.7.3 and the result file of 2.7.2.2
    Delivery(Delivery),
    /// Clause 2.8.3
    StockLevel(StockLevel),
}

/// The output of New-Order (clause 2.4.3.3). After the rollback for an unused item only the fields outside `placed` are
/// shown (2.4.3.4).
#[derive(Clone, Debug, PartialEq)]
pub struct NewOrder {
    /// The order's number, shown even after a rollback to prove that the work was done.
    pub o_id: i32,
    /// C_LAST
    pub c_last: ArrayString<16>,
    /// C_CREDIT
    pub c_credit: ArrayString<2>,
    /// The rest of a committed order; `None` after "Item number is not valid".
    pub placed: Option<Placed>,
}

/// Fields of a committed New-Order only.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// O_ENTRY_D, by the database's clock.
    pub o_entry_d: Timestamp,
    /// C_DISCOUNT
    pub c_discount: Rate,
    /// W_TAX
    pub w_tax: Rate,
    /// D_TAX
    pub d_tax: Rate,
    /// One for each line of the input, in its order.
    pub lines: ArrayVec<OrderedLine, MAX_LINES>,
    /// The total amount, see [`total_amount`].
    pub total: Money,
}

/// A line of a New-Order's output.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderedLine {
    /// I_NAME
    pub i_name: ArrayString<24>,
    /// S_QUANTITY after the update.
    pub s_quantity: i32,
    /// `B` if both I_DATA and S_DATA contain ORIGINAL, else `G`.
    pub brand_generic: char,
    /// I_PRICE
    pub i_price: Money,
    /// OL_AMOUNT = OL_QUANTITY × I_PRICE
    pub ol_amount: Money,
}

/// sum × (1 − C_DISCOUNT) × (1 + W_TAX + D_TAX), rounded to the nearest cent, halves away from zero (clause 2.4.2.2).
pub fn total_amount(sum: Money, c_discount: Rate, w_tax: Rate, d_tax: Rate) -> Money {
    const ONE: i128 = 10_000;
    let exact =
        i128::from(sum.0) * (ONE - i128::from(c_discount.0)) * (ONE + i128::from(w_tax.0) + i128::from(d_tax.0));
    let half = if exact < 0 { -ONE * ONE / 2 } else { ONE * ONE / 2 };
    Money(((exact + half) / (ONE * ONE)) as i64)
}

/// A street address, as in four tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// x_STREET_1
    pub street_1: ArrayString<20>,
    /// x_STREET_2
    pub street_2: ArrayString<20>,
    /// x_CITY
    pub city: ArrayString<20>,
    /// x_STATE
    pub state: ArrayString<2>,
    /// x_ZIP, 9 digits
    pub zip: ArrayString<9>,
}

/// The output of Payment (clause 2.5.3.3).
#[derive(Clone, Debug, PartialEq)]
pub struct Payment {
    /// H_DATE, by the database's clock.
    pub h_date: Timestamp,
    /// Of the warehouse that receives the payment.
    pub w_address: Address,
    /// Of the district that receives the payment.
    pub d_address: Address,
    /// C_ID, found by name or as entered.
    pub c_id: i32,
    /// C_FIRST
    pub c_first: ArrayString<16>,
    /// C_MIDDLE
    pub c_middle: ArrayString<2>,
    /// C_LAST
    pub c_last: ArrayString<16>,
    /// Of the customer.
    pub c_address: Address,
    /// C_PHONE
    pub c_phone: ArrayString<16>,
    /// C_SINCE
    pub c_since: Timestamp,
    /// C_CREDIT
    pub c_credit: ArrayString<2>,
    /// C_CREDIT_LIM
    pub c_credit_lim: Money,
    /// C_DISCOUNT
    pub c_discount: Rate,
    /// C_BALANCE after the payment.
    pub c_balance: Money,
    /// The first 200 characters of C_DATA after the payment, for bad credit only; otherwise empty.
    pub c_data: ArrayString<200>,
}

/// The output of Order-Status (clause 2.6.3.3).
#[derive(Clone, Debug, PartialEq)]
pub struct OrderStatus {
    /// C_ID, found by name or as entered.
    pub c_id: i32,
    /// C_FIRST
    pub c_first: ArrayString<16>,
    /// C_MIDDLE
    pub c_middle: ArrayString<2>,
    /// C_LAST
    pub c_last: ArrayString<16>,
    /// C_BALANCE
    pub c_balance: Money,
    /// O_ID of the customer's newest order.
    pub o_id: i32,
    /// O_ENTRY_D
    pub o_entry_d: Timestamp,
    /// O_CARRIER_ID, `None` before delivery.
    pub o_carrier_id: Option<i32>,
    /// Its lines by OL_NUMBER.
    pub lines: ArrayVec<StatusLine, MAX_LINES>,
}

/// A line of an Order-Status' output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusLine {
    /// OL_SUPPLY_W_ID
    pub ol_supply_w_id: i32,
    /// OL_I_ID
    pub ol_i_id: i32,
    /// OL_QUANTITY
    pub ol_quantity: i32,
    /// OL_AMOUNT
    pub ol_amount: Money,
    /// OL_DELIVERY_D, `None` before delivery.
    pub ol_delivery_d: Option<Timestamp>,
}

/// The result of Delivery: its line in the result file (clause 2.7.2.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// O_ID delivered in each district, `None` if it was skipped because it had no open order.
    pub orders: [Option<i32>; DISTRICTS as usize],
}

impl Delivery {
    /// Orders delivered.
    pub fn delivered(&self) -> usize {
        self.orders.iter().flatten().count()
    }
}

/// The output of Stock-Level (clause 2.8.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockLevel {
    /// Distinct items of the last 20 orders whose stock is below the threshold.
    pub low_stock: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_exact_and_rounds_halves_up() {
        let none = Rate(0);
        assert_eq!(total_amount(Money(10_000), Rate(5_000), Rate(1_000), Rate(1_000)), Money(6_000));
        assert_eq!(total_amount(Money(1), Rate(5_000), none, none), Money(1));
        assert_eq!(total_amount(Money(1), Rate(5_001), none, none), Money(0));
        // The largest possible order does not overflow: 15 lines of 10 items at 100.00, highest taxes.
        assert_eq!(total_amount(Money::new(15_000, 0), none, Rate(2_000), Rate(2_000)), Money::new(21_000, 0));
    }
}
