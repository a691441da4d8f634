//! The positions of all fields on the screens.

use super::{Form, Screen};
use crate::workload::tpcc::MAX_LINES;
use crate::workload::tpcc::input::{self, Customer};
use crate::workload::tpcc::output;

/// Row, column and text.
type Label = (usize, usize, &'static str);
/// Row, column and width of an input field.
type Entry = (usize, usize, usize);

/// Shown only after the rollback of clause 2.4.2.3.
const NOT_VALID: &str = "Item number is not valid";
const QUEUED: &str = "Delivery has been queued";
/// The delivery date of an undelivered line.
const NULL_DATE: &str = "00-00-0000";
/// The row of the first line of a New-Order.
const NEW_ORDER_LINES: usize = 7;
/// The row of the first line of an Order-Status.
const STATUS_LINES: usize = 8;

const NEW_ORDER: &[Label] = &[
    (1, 36, "New Order"),
    (2, 1, "Warehouse:"),
    (2, 19, "District:"),
    (2, 55, "Date:"),
    (3, 1, "Customer:"),
    (3, 19, "Name:"),
    (3, 44, "Credit:"),
    (3, 57, "%Disc:"),
    (4, 1, "Order Number:"),
    (4, 25, "Number of Lines:"),
    (4, 52, "W_tax:"),
    (4, 67, "D_tax:"),
    (6, 2, "Supp_W"),
    (6, 10, "Item_Id"),
    (6, 19, "Item Name"),
    (6, 45, "Qty"),
    (6, 50, "Stock"),
    (6, 57, "B/G"),
    (6, 62, "Price"),
    (6, 71, "Amount"),
    (22, 1, "Execution Status:"),
    (22, 62, "Total:"),
];

const PAYMENT: &[Label] = &[
    (1, 37, "Payment"),
    (2, 1, "Date:"),
    (4, 1, "Warehouse:"),
    (4, 42, "District:"),
    (9, 1, "Customer:"),
    (9, 17, "Cust-Warehouse:"),
    (9, 39, "Cust-District:"),
    (10, 1, "Name:"),
    (10, 50, "Since:"),
    (11, 50, "Credit:"),
    (12, 50, "%Disc:"),
    (13, 50, "Phone:"),
    (15, 1, "Amount Paid:"),
    (15, 23, "$"),
    (15, 37, "New Cust-Balance:"),
    (16, 1, "Credit Limit:"),
    (18, 1, "Cust-Data:"),
];

const ORDER_STATUS: &[Label] = &[
    (1, 35, "Order-Status"),
    (2, 1, "Warehouse:"),
    (2, 19, "District:"),
    (3, 1, "Customer:"),
    (3, 18, "Name:"),
    (4, 1, "Cust-Balance:"),
    (6, 1, "Order-Number:"),
    (6, 26, "Entry-Date:"),
    (6, 60, "Carrier-Number:"),
    (7, 1, "Supply-W"),
    (7, 14, "Item-Id"),
    (7, 25, "Qty"),
    (7, 33, "Amount"),
    (7, 47, "Delivery-Date"),
];

const DELIVERY: &[Label] =
    &[(1, 37, "Delivery"), (2, 1, "Warehouse:"), (4, 1, "Carrier Number:"), (6, 1, "Execution Status:")];

const STOCK_LEVEL: &[Label] = &[
    (1, 35, "Stock-Level"),
    (2, 1, "Warehouse:"),
    (2, 19, "District:"),
    (4, 1, "Stock Level Threshold:"),
    (6, 1, "low stock:"),
];

pub(super) fn labels(form: Form) -> &'static [Label] {
    match form {
        Form::NewOrder => NEW_ORDER,
        Form::Payment => PAYMENT,
        Form::OrderStatus => ORDER_STATUS,
        Form::Delivery => DELIVERY,
        Form::StockLevel => STOCK_LEVEL,
    }
}

fn entries(form: Form) -> Vec<Entry> {
    match form {
        Form::NewOrder => {
            let rows = NEW_ORDER_LINES..NEW_ORDER_LINES + MAX_LINES;
            let lines = rows.flat_map(|row| [(row, 3, 4), (row, 10, 6), (row, 45, 2)]);
            [(2, 29, 2), (3, 12, 4)].into_iter().chain(lines).collect()
        }
        Form::Payment => vec![(4, 52, 2), (9, 11, 4), (9, 33, 4), (9, 54, 2), (10, 29, 16), (15, 24, 7)],
        Form::OrderStatus => vec![(2, 29, 2), (3, 11, 4), (3, 44, 16)],
        Form::Delivery => vec![(4, 17, 2)],
        Form::StockLevel => vec![(4, 24, 2)],
    }
}

pub(super) fn menu(screen: &mut Screen, w_id: i32, d_id: i32) {
    screen.put(1, 39, "Menu");
    screen.put(2, 1, "Warehouse:");
    screen.put(2, 19, "District:");
    home(screen, w_id);
    screen.number(2, 29, 2, d_id);
}

pub(super) fn empty(screen: &mut Screen, form: Form, w_id: i32, d_id: i32) {
    for (row, column, width) in entries(form) {
        screen.fill(row, column, width, b'_');
    }
    match form {
        Form::NewOrder | Form::OrderStatus => home(screen, w_id),
        Form::Payment => screen.warehouse(4, 12, 18, w_id),
        Form::Delivery => screen.warehouse(2, 12, 18, w_id),
        Form::StockLevel => {
            home(screen, w_id);
            screen.number(2, 29, 2, d_id);
        }
    }
}

/// The home warehouse, on screens with the district next to it.
fn home(screen: &mut Screen, w_id: i32) {
    screen.warehouse(2, 12, 17, w_id);
}

/// The input fields of a New-Order that are always shown.
fn new_order_header(input: &input::NewOrder) -> Screen {
    let mut screen = Screen::of(Form::NewOrder);
    home(&mut screen, input.w_id);
    screen.number(2, 29, 2, input.d_id);
    screen.number(3, 12, 4, input.c_id);
    screen
}

pub(super) fn new_order_keyed(input: &input::NewOrder) -> Screen {
    let mut screen = new_order_header(input);
    for (row, line) in (NEW_ORDER_LINES..).zip(&input.lines) {
        screen.warehouse(row, 3, 8, line.supply_w_id);
        screen.number(row, 10, 6, line.i_id);
        screen.number(row, 45, 2, line.quantity);
    }
    screen
}

pub(super) fn new_order_answered(input: &input::NewOrder, output: &output::NewOrder) -> Screen {
    let mut screen = if output.placed.is_some() { new_order_keyed(input) } else { new_order_header(input) };
    screen.text(3, 25, 16, &output.c_last);
    screen.text(3, 52, 2, &output.c_credit);
    screen.number(4, 15, 8, output.o_id);
    let Some(placed) = &output.placed else {
        screen.text(22, 19, 24, NOT_VALID);
        return screen;
    };
    screen.date_and_time(2, 61, placed.o_entry_d);
    screen.percent(3, 64, placed.c_discount);
    screen.number(4, 42, 2, input.lines.len());
    screen.percent(4, 59, placed.w_tax);
    screen.percent(4, 74, placed.d_tax);
    for (row, line) in (NEW_ORDER_LINES..).zip(&placed.lines) {
        screen.text(row, 19, 24, &line.i_name);
        screen.number(row, 51, 3, line.s_quantity);
        screen.text(row, 58, 1, line.brand_generic.encode_utf8(&mut [0; 4]));
        screen.money(row, 63, 6, line.i_price);
        screen.money(row, 72, 7, line.ol_amount);
    }
    screen.money(22, 71, 8, placed.total);
    screen
}

pub(super) fn payment_keyed(input: &input::Payment) -> Screen {
    let mut screen = Screen::of(Form::Payment);
    screen.warehouse(4, 12, 18, input.w_id);
    screen.number(4, 52, 2, input.d_id);
    match &input.customer {
        Customer::Id(c_id) => screen.number(9, 11, 4, c_id),
        Customer::LastName(c_last) => screen.text(10, 29, 16, c_last),
    }
    screen.warehouse(9, 33, 37, input.c_w_id);
    screen.number(9, 54, 2, input.c_d_id);
    screen.money(15, 24, 7, input.h_amount);
    screen
}

pub(super) fn payment_answered(input: &input::Payment, output: &output::Payment) -> Screen {
    let mut screen = payment_keyed(input);
    screen.date_and_time(2, 7, output.h_date);
    address(&mut screen, 5, 1, &output.w_address);
    address(&mut screen, 5, 42, &output.d_address);
    screen.number(9, 11, 4, output.c_id);
    screen.text(10, 9, 16, &output.c_first);
    screen.text(10, 26, 2, &output.c_middle);
    screen.text(10, 29, 16, &output.c_last);
    screen.date(10, 58, output.c_since);
    address(&mut screen, 11, 9, &output.c_address);
    screen.text(11, 58, 2, &output.c_credit);
    screen.percent(12, 58, output.c_discount);
    screen.phone(13, 58, &output.c_phone);
    screen.signed_money(15, 56, 14, output.c_balance);
    screen.money(16, 18, 13, output.c_credit_lim);
    if output.c_credit.as_str() == "BC" {
        let data = output.c_data.chars().collect::<Vec<_>>();
        for (row, part) in (18..).zip(data.chunks(50)) {
            screen.text(row, 12, 50, &part.iter().collect::<String>());
        }
    }
    screen
}

/// Three rows: two streets; city, state and zip code.
fn address(screen: &mut Screen, row: usize, column: usize, address: &output::Address) {
    screen.text(row, column, 20, &address.street_1);
    screen.text(row + 1, column, 20, &address.street_2);
    screen.text(row + 2, column, 20, &address.city);
    screen.text(row + 2, column + 21, 2, &address.state);
    screen.zip(row + 2, column + 24, &address.zip);
}

pub(super) fn order_status_keyed(input: &input::OrderStatus) -> Screen {
    let mut screen = Screen::of(Form::OrderStatus);
    home(&mut screen, input.w_id);
    screen.number(2, 29, 2, input.d_id);
    match &input.customer {
        Customer::Id(c_id) => screen.number(3, 11, 4, c_id),
        Customer::LastName(c_last) => screen.text(3, 44, 16, c_last),
    }
    screen
}

pub(super) fn order_status_answered(input: &input::OrderStatus, output: &output::OrderStatus) -> Screen {
    let mut screen = order_status_keyed(input);
    screen.number(3, 11, 4, output.c_id);
    screen.text(3, 24, 16, &output.c_first);
    screen.text(3, 41, 2, &output.c_middle);
    screen.text(3, 44, 16, &output.c_last);
    screen.signed_money(4, 16, 9, output.c_balance);
    screen.number(6, 15, 8, output.o_id);
    screen.date_and_time(6, 38, output.o_entry_d);
    if let Some(o_carrier_id) = output.o_carrier_id {
        screen.number(6, 76, 2, o_carrier_id);
    }
    for (row, line) in (STATUS_LINES..).zip(&output.lines) {
        screen.warehouse(row, 3, 9, line.ol_supply_w_id);
        screen.number(row, 14, 6, line.ol_i_id);
        screen.number(row, 25, 2, line.ol_quantity);
        screen.money(row, 33, 8, line.ol_amount);
        match line.ol_delivery_d {
            Some(ol_delivery_d) => screen.date(row, 47, ol_delivery_d),
            None => screen.text(row, 47, 10, NULL_DATE),
        }
    }
    screen
}

pub(super) fn delivery_keyed(input: &input::Delivery) -> Screen {
    let mut screen = Screen::of(Form::Delivery);
    screen.warehouse(2, 12, 18, input.w_id);
    screen.number(4, 17, 2, input.o_carrier_id);
    screen
}

pub(super) fn delivery_answered(input: &input::Delivery) -> Screen {
    let mut screen = delivery_keyed(input);
    screen.text(6, 19, 25, QUEUED);
    screen
}

pub(super) fn stock_level_keyed(input: &input::StockLevel) -> Screen {
    let mut screen = Screen::of(Form::StockLevel);
    home(&mut screen, input.w_id);
    screen.number(2, 29, 2, input.d_id);
    screen.number(4, 24, 2, input.threshold);
    screen
}

pub(super) fn stock_level_answered(input: &input::StockLevel, output: output::StockLevel) -> Screen {
    let mut screen = stock_level_keyed(input);
    screen.number(6, 12, 3, output.low_stock);
    screen
}
