//! The statements of the five transactions, with parameters and result columns.

use crate::engine::sql::script;

/// The statements in a dialect's `statements.sql`, each under its [`Statement::name`].
///
/// Parameters are on the left, those in brackets are columns with a value for each row; result columns are on the
/// right. Money, rates and dates have the dialect's own types on both sides. A place is the number of a line, from 0:
/// it is passed as a parameter and returned as a column, because rows may come in any order. Dates are set by the
/// database's clock (2.4.1.6, 2.5.1.4, 2.7.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// w, d, c → w_tax, c_discount, c_last, c_credit
    NewOrderCustomer,
    /// w, d → o_id (d_next_o_id before), d_tax; d_next_o_id grows by one
    NewOrderDistrict,
    /// \[place, i_id\] → place, i_price, i_name, i_data of existing items. An item may have several places.
    NewOrderItem,
    /// d, \[place, supply_w, i_id, quantity, remote (0 or 1)\] → place, s_quantity (new), s_dist_xx, s_data of existing
    /// rows. No (supply_w, i_id) occurs twice in one call; they come in ascending order, in which rows should be
    /// locked.
    NewOrderStock,
    /// w, d, o_id, c, ol_cnt, all_local (0 or 1) → o_entry_d
    NewOrderOrder,
    /// w, d, o_id
    NewOrderOpen,
    /// w, d, o_id, \[number, i_id, supply_w, quantity, amount, dist_info\]
    NewOrderLine,
    /// w, amount → w_name, street_1, street_2, city, state, zip
    PaymentWarehouse,
    /// w, d, amount → d_name, street_1, street_2, city, state, zip
    PaymentDistrict,
    /// w, d, c_w, c_d, c_id, amount → c_id, first, middle, last, street_1, street_2, city, state, zip, phone, since,
    /// credit, credit_lim, discount, balance (new), first 200 characters of data (new) or an empty text for good
    /// credit.
    ///
    /// With bad credit C_DATA becomes C_ID, C_D_ID, C_W_ID, D_ID, W_ID and H_AMOUNT, each as on the screen, before the
    /// old text, truncated at 500 characters: as C format `%4d %2d %4d %2d %4d $%7.2f ` with its trailing blank. w and
    /// d are the paying warehouse and district.
    PaymentCustomerById,
    /// w, d, c_w, c_d, c_last, amount → as above. Of the n customers with that name, ordered by c_first (then c_id),
    /// the one at ⌈n/2⌉.
    PaymentCustomerByName,
    /// c_id, c_d, c_w, d, w, amount, data → h_date
    PaymentHistory,
    /// w, d, c_id → c_id, balance, first, middle, last, o_id, entry_d, carrier_id, ol_supply_w_id, ol_i_id,
    /// ol_quantity, ol_amount, ol_delivery_d; one row for each line of the customer's newest order, by ol_number
    OrderStatusById,
    /// w, d, c_last → as above, the customer chosen as in Payment
    OrderStatusByName,
    /// w, \[d\] → d, o_id of the oldest open order, removed from new_order, for districts that have one. If another
    /// session removes the same order at the same time, the district must not appear empty, at the latest when it is
    /// tried again.
    DeliveryTake,
    /// w, carrier, \[d, o_id\] → d, o_c_id; sets the carrier
    DeliveryOrder,
    /// w, \[d, o_id\] → d, amount; one or several rows per district, to be added up; sets ol_delivery_d
    DeliveryLines,
    /// w, \[d, c_id, amount\]; c_balance grows by the amount, c_delivery_cnt by one
    DeliveryCustomer,
    /// w, d, threshold → low_stock
    StockLevel,
}

impl Statement {
    /// All, in the order of their numbers.
    pub const ALL: [Statement; 19] = [
        Statement::NewOrderCustomer,
        Statement::NewOrderDistrict,
        Statement::NewOrderItem,
        Statement::NewOrderStock,
        Statement::NewOrderOrder,
        Statement::NewOrderOpen,
        Statement::NewOrderLine,
        Statement::PaymentWarehouse,
        Statement::PaymentDistrict,
        Statement::PaymentCustomerById,
        Statement::PaymentCustomerByName,
        Statement::PaymentHistory,
        Statement::OrderStatusById,
        Statement::OrderStatusByName,
        Statement::DeliveryTake,
        Statement::DeliveryOrder,
        Statement::DeliveryLines,
        Statement::DeliveryCustomer,
        Statement::StockLevel,
    ];

    /// The name after `-- name:` in a dialect's file.
    pub const fn name(self) -> &'static str {
        match self {
            Statement::NewOrderCustomer => "new_order_customer",
            Statement::NewOrderDistrict => "new_order_district",
            Statement::NewOrderItem => "new_order_item",
            Statement::NewOrderStock => "new_order_stock",
            Statement::NewOrderOrder => "new_order_order",
            Statement::NewOrderOpen => "new_order_open",
            Statement::NewOrderLine => "new_order_line",
            Statement::PaymentWarehouse => "payment_warehouse",
            Statement::PaymentDistrict => "payment_district",
            Statement::PaymentCustomerById => "payment_customer_by_id",
            Statement::PaymentCustomerByName => "payment_customer_by_name",
            Statement::PaymentHistory => "payment_history",
            Statement::OrderStatusById => "order_status_by_id",
            Statement::OrderStatusByName => "order_status_by_name",
            Statement::DeliveryTake => "delivery_take",
            Statement::DeliveryOrder => "delivery_order",
            Statement::DeliveryLines => "delivery_lines",
            Statement::DeliveryCustomer => "delivery_customer",
            Statement::StockLevel => "stock_level",
        }
    }
}

/// The names of the statements, in the order of their numbers.
pub const NAMES: [&str; Statement::ALL.len()] = {
    let mut names = [""; Statement::ALL.len()];
    let mut number = 0;
    while number < names.len() {
        names[number] = Statement::ALL[number].name();
        number += 1;
    }
    names
};

impl Statement {
    /// Selects the statements from a dialect's file, in the order of their numbers.
    ///
    /// # Errors
    /// The missing or unknown statement.
    pub fn load(file: &str) -> Result<Vec<&str>, String> {
        script::select(file, &NAMES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_stands_at_its_own_number() {
        for (number, statement) in Statement::ALL.into_iter().enumerate() {
            assert_eq!(statement as usize, number, "{}", statement.name());
        }
    }
}
