use arrayvec::{ArrayString, ArrayVec};
use proptest::prelude::*;

use super::*;
use crate::workload::tpcc::input::{self, Customer};
use crate::workload::tpcc::{MAX_LINES, output};

/// The screen between rulers, so that coordinates can be read off.
fn framed(screen: &Screen) -> String {
    let tens = (1..=8).map(|ten| format!("{ten:>10}")).collect::<String>();
    let ruler = format!("    {tens}\n    {}\n", "1234567890".repeat(8));
    let rows = screen.to_string();
    let rows = rows.lines().enumerate().map(|(at, row)| format!("{:02} |{row}|\n", at + 1)).collect::<String>();
    format!("{ruler}{rows}")
}

fn answered(form: Form, change: impl FnOnce(&mut Input, &mut Output)) -> Screen {
    let (mut input, mut output) = sample::of(form);
    change(&mut input, &mut output);
    Screen::answered(&input, &output).unwrap()
}

fn new_order(change: impl FnOnce(&mut input::NewOrder, &mut output::NewOrder)) -> Screen {
    let (mut input, mut output) = sample::new_order();
    change(&mut input, &mut output);
    Screen::answered(&Input::NewOrder(input), &Output::NewOrder(output)).unwrap()
}

fn payment(change: impl FnOnce(&mut input::Payment, &mut output::Payment)) -> Screen {
    let (mut input, mut output) = sample::payment();
    change(&mut input, &mut output);
    Screen::answered(&Input::Payment(input), &Output::Payment(output)).unwrap()
}

fn order_status(change: impl FnOnce(&mut input::OrderStatus, &mut output::OrderStatus)) -> Screen {
    let (mut input, mut output) = sample::order_status();
    change(&mut input, &mut output);
    Screen::answered(&Input::OrderStatus(input), &Output::OrderStatus(output)).unwrap()
}

/// Asserts the text at a row and a column.
fn assert_shows(screen: &Screen, expected: &[(usize, usize, &str)]) {
    let text = screen.to_string();
    let rows = text.lines().collect::<Vec<_>>();
    for (row, column, value) in expected {
        let found = &rows[row - 1][column - 1..column - 1 + value.len()];
        assert_eq!(found, *value, "row {row}, column {column} of\n{}", framed(screen));
    }
}

/// Asserts that, besides its labels, a screen shows `expected` and nothing else.
fn assert_shows_only(form: Form, screen: &Screen, expected: &[(usize, usize, &str)]) {
    assert_shows(screen, expected);
    let mut rest = screen.clone();
    for (row, column, value) in expected {
        rest.fill(*row, *column, value.len(), b' ');
    }
    let labels = Screen::of(form);
    // The `$` of the amount is both a label and a part of the value.
    if form == Form::Payment {
        rest.put(15, 23, "$");
    }
    assert_eq!(rest, labels, "\n{}", framed(screen));
}

// Rows, columns, widths and formats as in clauses 2.4.3 to 2.8.3, written independently of the renderer.

#[test]
fn every_field_of_a_new_order_has_its_place() {
    let expected = [
        (2, 12, "  12"),
        (2, 29, " 7"),
        (2, 61, "14-03-2026 15:09:26"),
        (3, 12, "1234"),
        (3, 25, "PRICALLYOUGHT   "),
        (3, 52, "GC"),
        (3, 64, "12.34"),
        (4, 15, "    3042"),
        (4, 42, " 5"),
        (4, 59, " 7.50"),
        (4, 74, "19.05"),
        (7, 3, "  12"),
        (7, 10, "  4711"),
        (7, 19, "k3Zr8QhT0aWmXc          "),
        (7, 45, " 5"),
        (7, 51, " 87"),
        (7, 58, "G"),
        (7, 62, "$ 19.99"),
        (7, 71, "$  99.95"),
        (8, 3, "  12"),
        (8, 10, " 90210"),
        (8, 19, "Uq7bVn2LsYd5KfJw9HtR6eGx"),
        (8, 45, "10"),
        (8, 51, " 91"),
        (8, 58, "B"),
        (8, 62, "$100.00"),
        (8, 71, "$1000.00"),
        (9, 3, "   3"),
        (9, 10, "     8"),
        (9, 19, "oP4iC1zMvB6nDq          "),
        (9, 45, " 1"),
        (9, 51, "100"),
        (9, 58, "G"),
        (9, 62, "$  1.00"),
        (9, 71, "$   1.00"),
        (10, 3, "  12"),
        (10, 10, " 65535"),
        (10, 19, "Ta9eRs5wLk2uHy8Fj       "),
        (10, 45, " 3"),
        (10, 51, " 10"),
        (10, 58, "G"),
        (10, 62, "$ 53.50"),
        (10, 71, "$ 160.50"),
        (11, 3, "  12"),
        (11, 10, " 31415"),
        (11, 19, "Xg6dNc3bQm0vZp7KsWl     "),
        (11, 45, " 7"),
        (11, 51, " 54"),
        (11, 58, "G"),
        (11, 62, "$ 27.18"),
        (11, 71, "$ 190.26"),
        // 1451.71 × 0.8766 × 1.2655 = 1610.436…
        (22, 70, "$ 1610.44"),
    ];
    let screen = new_order(|input, output| {
        input.lines.truncate(5);
        let placed = output.placed.as_mut().unwrap();
        placed.lines.truncate(5);
        let sum = placed.lines.iter().fold(Money(0), |sum, line| sum + line.ol_amount);
        placed.total = output::total_amount(sum, placed.c_discount, placed.w_tax, placed.d_tax);
    });
    assert_shows_only(Form::NewOrder, &screen, &expected);
}

#[test]
fn a_full_new_order_ends_in_row_21() {
    let screen = fifteen_lines();
    assert_shows(
        &screen,
        &[(4, 42, "15"), (21, 3, "  12"), (21, 10, "     8"), (21, 71, "$   1.00"), (22, 1, "Execution Status: ")],
    );
}

#[test]
fn a_rolled_back_new_order_shows_the_fields_of_2_4_3_4_only() {
    let screen = new_order(|_, output| output.placed = None);
    let expected = [
        (2, 12, "  12"),
        (2, 29, " 7"),
        (3, 12, "1234"),
        (3, 25, "PRICALLYOUGHT   "),
        (3, 52, "GC"),
        (4, 15, "    3042"),
        (22, 19, "Item number is not valid"),
    ];
    assert_shows_only(Form::NewOrder, &screen, &expected);
}

#[test]
fn every_field_of_a_payment_has_its_place() {
    let expected = [
        (2, 7, "14-03-2026 15:09:26"),
        (4, 12, "  12"),
        (4, 52, " 7"),
        (5, 1, "Wq5TzHn8LmKc2x      "),
        (6, 1, "Rb7vYs4JdGp0eUaXf   "),
        (7, 1, "Mo3iNk9CwZq         "),
        (7, 22, "QR"),
        (7, 25, "48211-1111"),
        (5, 42, "Dy1hFt6SgBu8oPl     "),
        (6, 42, "Ex2jVr5WnAk         "),
        (7, 42, "Tc9mLz7YpHs4QdGe0Kbi"),
        (7, 63, "aX"),
        (7, 66, "90731-1111"),
        (9, 11, " 987"),
        (9, 33, "   3"),
        (9, 54, "10"),
        (10, 9, "h8KsPw3QzRt     "),
        (10, 26, "OE"),
        (10, 29, "PRICALLYOUGHT   "),
        (10, 58, "30-11-2025"),
        (11, 9, "Ni6uGx1JvDb9        "),
        (12, 9, "Oa4eCl7TfYm2sZw     "),
        (11, 58, "BC"),
        (12, 58, "40.96"),
        (13, 9, "Vp8rHk0BqSn5jX      "),
        (13, 30, "Lm"),
        (13, 33, "11551-1111"),
        (13, 58, "314159-265-358-9793"),
        (15, 23, "$1234.56"),
        (15, 55, "$      -2489.12"),
        (16, 17, "$     50000.00"),
        (18, 12, "987 10 3 7 12 1234.56 987 10 3 2 3 1244.56 Hn7sKz2"),
        (19, 12, "wQe9rTb4yUi6oPa1dFg8jLx3cVm5Nq0WtEzRySuXiDoCpFaVsG"),
        (20, 12, "dBfHgNhJjMkKl1Z2x3C4v5B6n7M8q9W0eRtYuIoPaSdFgHjKlZ"),
        (21, 12, "xCvBnMqWeRtYuIoPaSd1Fg2Hj3Kl4Zx5Cv6Bn7Mq8We9Rt0YuZ"),
    ];
    assert_shows_only(Form::Payment, &payment(|_, _| ()), &expected);
}

#[test]
fn customer_data_is_shown_for_bad_credit_only() {
    let screen = payment(|_, output| output.c_credit = ArrayString::from("GC").unwrap());
    assert_shows(&screen, &[(11, 58, "GC"), (18, 12, &" ".repeat(50)), (21, 12, &" ".repeat(50))]);
}

#[test]
fn every_field_of_an_order_status_has_its_place() {
    let screen = order_status(|_, output| {
        output.lines.truncate(2);
        output.lines[1].ol_delivery_d = None;
    });
    let expected = [
        (2, 12, "  12"),
        (2, 29, " 7"),
        (3, 11, "1234"),
        (3, 24, "Zm4tWx9KvQ      "),
        (3, 41, "OE"),
        (3, 44, "PRICALLYOUGHT   "),
        (4, 15, "$  1937.44"),
        (6, 15, "    2987"),
        (6, 38, "30-11-2025 08:05:00"),
        (6, 76, " 4"),
        (8, 3, "  12"),
        (8, 14, "   271"),
        (8, 25, " 5"),
        (8, 32, "$   42.00"),
        (8, 47, "14-03-2026"),
        (9, 3, "  12"),
        (9, 14, " 82818"),
        (9, 25, " 5"),
        (9, 32, "$  999.90"),
        (9, 47, "00-00-0000"),
    ];
    assert_shows_only(Form::OrderStatus, &screen, &expected);
}

#[test]
fn every_field_of_a_delivery_and_a_stock_level_has_its_place() {
    let screen = answered(Form::Delivery, |_, _| ());
    assert_shows_only(Form::Delivery, &screen, &[(2, 12, "  12"), (4, 17, " 4"), (6, 19, "Delivery has been queued")]);
    let screen = answered(Form::StockLevel, |_, _| ());
    assert_shows_only(Form::StockLevel, &screen, &[(2, 12, "  12"), (2, 29, " 7"), (4, 24, "15"), (6, 12, " 23")]);
}

#[test]
fn the_menu_is_one_line_and_names_every_transaction() {
    let text = Screen::menu(12, 7).to_string();
    let menu = text.lines().last().unwrap();
    assert!(menu.chars().filter(|character| *character != ' ').count() >= 60, "{menu}");
    for choice in ["N=New-Order", "P=Payment", "O=Order-Status", "D=Delivery", "S=Stock-Level"] {
        assert!(menu.contains(choice), "{menu}");
    }
    for form in Form::ALL {
        for screen in [Screen::empty(form, 12, 7), answered(form, |_, _| ())] {
            assert_eq!(screen.to_string().lines().last(), Some(menu));
        }
    }
}

#[test]
fn what_does_not_fit_becomes_stars_and_moves_nothing() {
    let usual = payment(|_, _| ()).to_string();
    let screen = payment(|_, output| {
        output.c_balance = Money::new(-10_000_000_000, 0);
        output.c_credit_lim = Money(i64::MAX);
        output.c_discount = Rate(10_000);
        output.c_id = 96_000;
        output.h_date = Timestamp(i64::MAX);
        output.c_since = Timestamp(i64::MIN);
    });
    let stars = [
        (2, 7, "********** ********"),
        (9, 11, "****"),
        (10, 58, "**********"),
        (12, 58, "*****"),
        (15, 56, "**************"),
        (16, 18, "*************"),
    ];
    assert_shows(&screen, &stars);
    let mut rest = screen.clone();
    for (row, column, value) in stars {
        let line = usual.lines().nth(row - 1).unwrap();
        rest.put(row, column, &line[column - 1..column - 1 + value.len()]);
    }
    assert_eq!(rest.to_string(), usual);
}

#[test]
fn a_balance_fits_up_to_its_digits_with_either_sign() {
    let balance = |cents| order_status(|_, output| output.c_balance = Money(cents));
    assert_shows(&balance(9_999_999), &[(4, 15, "$ 99999.99 ")]);
    assert_shows(&balance(-9_999_999), &[(4, 15, "$-99999.99 ")]);
    assert_shows(&balance(10_000_000), &[(4, 15, "$********* ")]);
    assert_shows(&balance(-10_000_000), &[(4, 15, "$********* ")]);
    assert_shows(&balance(-5), &[(4, 15, "$    -0.05 ")]);
    let balance = |cents| payment(|_, output| output.c_balance = Money(cents));
    assert_shows(&balance(999_999_999_999), &[(15, 55, "$ 9999999999.99 ")]);
    assert_shows(&balance(-999_999_999_999), &[(15, 55, "$-9999999999.99 ")]);
    assert_shows(&balance(1_000_000_000_000), &[(15, 55, "$************** ")]);
}

#[test]
fn a_long_warehouse_number_takes_the_room_there_is() {
    let home = |w_id| Screen::menu(w_id, 7);
    assert_shows(&home(9_999), &[(2, 12, "9999   District:  7")]);
    assert_shows(&home(10_000), &[(2, 12, "10000  District:  7")]);
    assert_shows(&home(999_999), &[(2, 12, "999999 District:  7")]);
    assert_shows(&home(1_000_000), &[(2, 12, "****   District:  7")]);
    let screen = payment(|input, _| (input.w_id, input.c_w_id) = (1_000_000, 99_999));
    assert_shows(&screen, &[(4, 12, "1000000 "), (9, 33, "99999 Cust-District: 10")]);
    let screen = payment(|input, _| input.c_w_id = 100_000);
    assert_shows(&screen, &[(9, 33, "****  Cust-District: 10")]);
    let screen = new_order(|input, _| (input.lines[0].supply_w_id, input.lines[1].supply_w_id) = (999_999, 1_000_000));
    assert_shows(&screen, &[(7, 3, "999999   4711"), (8, 3, "****    90210")]);
    let screen = order_status(|_, output| output.lines[0].ol_supply_w_id = 1_000_000);
    assert_shows(&screen, &[(8, 3, "1000000       271")]);
    let screen = Screen::keyed(&Input::Delivery(input::Delivery { w_id: 1_000_000, o_carrier_id: 10 }));
    assert_shows(&screen, &[(2, 12, "1000000 "), (4, 17, "10")]);
}

#[test]
fn an_output_of_another_transaction_is_no_answer() {
    let (input, _) = sample::of(Form::NewOrder);
    let (_, output) = sample::of(Form::Payment);
    assert_eq!(Screen::answered(&input, &output), None);
}

fn fifteen_lines() -> Screen {
    new_order(|input, output| {
        let placed = output.placed.as_mut().unwrap();
        for at in input.lines.len()..MAX_LINES {
            input.lines.push(input::Line { i_id: 22 - at as i32, supply_w_id: 12, quantity: 1 });
            let line = placed.lines[2].clone();
            placed.lines.push(line);
        }
        let sum = placed.lines.iter().fold(Money(0), |sum, line| sum + line.ol_amount);
        placed.total = output::total_amount(sum, placed.c_discount, placed.w_tax, placed.d_tax);
    })
}

#[test]
fn answered_screens_look_as_a_clerk_expects() {
    let c_last = ArrayString::from("BARBARBAR").unwrap();
    let good = ArrayString::from("GC").unwrap();
    insta::assert_snapshot!("new_order", framed(&new_order(|_, _| ())));
    insta::assert_snapshot!("new_order_of_15_lines", framed(&fifteen_lines()));
    insta::assert_snapshot!("new_order_rolled_back", framed(&new_order(|_, output| output.placed = None)));
    insta::assert_snapshot!("payment_bad_credit_by_name", framed(&payment(|_, _| ())));
    insta::assert_snapshot!(
        "payment_bad_credit_by_id",
        framed(&payment(|input, _| input.customer = Customer::Id(987)))
    );
    let screen = payment(|input, output| {
        (input.customer, input.c_w_id, input.c_d_id) = (Customer::LastName(c_last), input.w_id, input.d_id);
        (output.c_last, output.c_credit, output.c_balance) = (c_last, good, Money(50));
        output.c_data.clear();
    });
    insta::assert_snapshot!("payment_good_credit_by_name", framed(&screen));
    let screen = payment(|input, output| {
        (input.customer, output.c_credit) = (Customer::Id(987), good);
        output.c_data.clear();
    });
    insta::assert_snapshot!("payment_good_credit_by_id", framed(&screen));
    insta::assert_snapshot!("order_status_delivered", framed(&order_status(|_, _| ())));
    let screen = order_status(|input, output| {
        (input.customer, output.c_last) = (Customer::LastName(c_last), c_last);
        (output.o_carrier_id, output.c_balance) = (None, Money(-1_000));
        output.lines.iter_mut().for_each(|line| line.ol_delivery_d = None);
    });
    insta::assert_snapshot!("order_status_not_delivered", framed(&screen));
    insta::assert_snapshot!("delivery_queued", framed(&answered(Form::Delivery, |_, _| ())));
    insta::assert_snapshot!("stock_level", framed(&answered(Form::StockLevel, |_, _| ())));
}

#[test]
fn screens_to_be_keyed_look_as_a_clerk_expects() {
    insta::assert_snapshot!("menu", framed(&Screen::menu(12, 7)));
    for (form, name) in Form::ALL.into_iter().zip(["new_order", "payment", "order_status", "delivery", "stock_level"]) {
        insta::assert_snapshot!(format!("{name}_empty"), framed(&Screen::empty(form, 12, 7)));
        insta::assert_snapshot!(format!("{name}_keyed"), framed(&Screen::keyed(&sample::of(form).0)));
    }
}

fn any_text<const N: usize>() -> impl Strategy<Value = ArrayString<N>> {
    prop::collection::vec(any::<char>(), 0..=N).prop_map(|characters| {
        let mut text = ArrayString::new();
        characters.into_iter().take_while(|character| text.try_push(*character).is_ok()).for_each(drop);
        text
    })
}

fn any_lines<T: std::fmt::Debug>(line: impl Strategy<Value = T>) -> impl Strategy<Value = ArrayVec<T, MAX_LINES>> {
    prop::collection::vec(line, 0..=MAX_LINES).prop_map(|lines| lines.into_iter().collect())
}

fn any_customer() -> impl Strategy<Value = Customer> {
    prop_oneof![any::<i32>().prop_map(Customer::Id), any_text().prop_map(Customer::LastName)]
}

fn any_address() -> impl Strategy<Value = output::Address> {
    (any_text(), any_text(), any_text(), any_text(), any_text())
        .prop_map(|(street_1, street_2, city, state, zip)| output::Address { street_1, street_2, city, state, zip })
}

fn any_input() -> impl Strategy<Value = Input> {
    let line = any::<[i32; 3]>().prop_map(|[i_id, supply_w_id, quantity]| input::Line { i_id, supply_w_id, quantity });
    prop_oneof![
        (any::<[i32; 3]>(), any_lines(line)).prop_map(|([w_id, d_id, c_id], lines)| Input::NewOrder(input::NewOrder {
            w_id,
            d_id,
            c_id,
            lines
        })),
        (any::<[i32; 4]>(), any_customer(), any::<i64>()).prop_map(
            |([w_id, d_id, c_w_id, c_d_id], customer, cents)| {
                Input::Payment(input::Payment { w_id, d_id, c_w_id, c_d_id, customer, h_amount: Money(cents) })
            }
        ),
        (any::<[i32; 2]>(), any_customer())
            .prop_map(|([w_id, d_id], customer)| Input::OrderStatus(input::OrderStatus { w_id, d_id, customer })),
        any::<[i32; 2]>().prop_map(|[w_id, o_carrier_id]| Input::Delivery(input::Delivery { w_id, o_carrier_id })),
        any::<[i32; 3]>().prop_map(|[w_id, d_id, threshold]| Input::StockLevel(input::StockLevel {
            w_id,
            d_id,
            threshold
        })),
    ]
}

fn any_new_order() -> impl Strategy<Value = output::NewOrder> {
    let line = (any_text(), any::<i32>(), any::<char>(), any::<[i64; 2]>()).prop_map(
        |(i_name, s_quantity, brand_generic, [i_price, ol_amount])| output::OrderedLine {
            i_name,
            s_quantity,
            brand_generic,
            i_price: Money(i_price),
            ol_amount: Money(ol_amount),
        },
    );
    let placed = (any::<[i64; 2]>(), any::<[i32; 3]>(), any_lines(line)).prop_map(
        |([date, total], [discount, w_tax, d_tax], lines)| output::Placed {
            o_entry_d: Timestamp(date),
            c_discount: Rate(discount),
            w_tax: Rate(w_tax),
            d_tax: Rate(d_tax),
            lines,
            total: Money(total),
        },
    );
    (any::<i32>(), any_text(), any_text(), prop::option::of(placed))
        .prop_map(|(o_id, c_last, c_credit, placed)| output::NewOrder { o_id, c_last, c_credit, placed })
}

fn any_payment() -> impl Strategy<Value = output::Payment> {
    let credit = prop_oneof![Just(ArrayString::from("BC").unwrap()), any_text()];
    let numbers = (any::<[i64; 4]>(), any::<[i32; 2]>());
    let texts = (any_text(), any_text(), any_text(), any_text(), credit, any_text());
    (numbers, texts, any_address(), any_address(), any_address()).prop_map(
        |(([h_date, c_since, limit, balance], [c_id, discount]), texts, w_address, d_address, c_address)| {
            let (c_first, c_middle, c_last, c_phone, c_credit, c_data) = texts;
            output::Payment {
                h_date: Timestamp(h_date),
                w_address,
                d_address,
                c_id,
                c_first,
                c_middle,
                c_last,
                c_address,
                c_phone,
                c_since: Timestamp(c_since),
                c_credit,
                c_credit_lim: Money(limit),
                c_discount: Rate(discount),
                c_balance: Money(balance),
                c_data,
            }
        },
    )
}

fn any_order_status() -> impl Strategy<Value = output::OrderStatus> {
    let line = (any::<[i32; 3]>(), any::<i64>(), any::<Option<i64>>()).prop_map(
        |([ol_supply_w_id, ol_i_id, ol_quantity], amount, date)| output::StatusLine {
            ol_supply_w_id,
            ol_i_id,
            ol_quantity,
            ol_amount: Money(amount),
            ol_delivery_d: date.map(Timestamp),
        },
    );
    (any::<[i32; 2]>(), any::<[i64; 2]>(), any::<Option<i32>>(), any_text(), any_text(), any_text(), any_lines(line))
        .prop_map(|([c_id, o_id], [balance, date], o_carrier_id, c_first, c_middle, c_last, lines)| {
            output::OrderStatus {
                c_id,
                c_first,
                c_middle,
                c_last,
                c_balance: Money(balance),
                o_id,
                o_entry_d: Timestamp(date),
                o_carrier_id,
                lines,
            }
        })
}

fn any_output() -> impl Strategy<Value = Output> {
    prop_oneof![
        any_new_order().prop_map(Output::NewOrder),
        any_payment().prop_map(Output::Payment),
        any_order_status().prop_map(Output::OrderStatus),
        any::<[Option<i32>; 10]>().prop_map(|orders| Output::Delivery(output::Delivery { orders })),
        any::<i32>().prop_map(|low_stock| Output::StockLevel(output::StockLevel { low_stock })),
    ]
}

/// 24 lines of 80 printable characters, the labels and the menu among them where they belong.
fn assert_whole(form: Form, screen: &Screen) {
    let text = screen.to_string();
    assert_eq!(text.lines().count(), 24);
    assert!(
        text.lines().all(|line| line.len() == 80 && line.bytes().all(|byte| (b' '..=b'~').contains(&byte))),
        "{screen:?}"
    );
    for (shown, label) in screen.rows.iter().flatten().zip(Screen::of(form).rows.iter().flatten()) {
        assert!(*label == b' ' || shown == label, "{screen:?}");
    }
}

fn form_of(input: &Input) -> Form {
    match input {
        Input::NewOrder(_) => Form::NewOrder,
        Input::Payment(_) => Form::Payment,
        Input::OrderStatus(_) => Form::OrderStatus,
        Input::Delivery(_) => Form::Delivery,
        Input::StockLevel(_) => Form::StockLevel,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn any_values_make_a_whole_screen(input in any_input(), outputs in prop::collection::vec(any_output(), 8)) {
        let form = form_of(&input);
        assert_whole(form, &Screen::keyed(&input));
        for output in &outputs {
            if let Some(screen) = Screen::answered(&input, output) {
                assert_whole(form, &screen);
                let status = "Item number is not valid";
                let rolled_back = matches!(output, Output::NewOrder(order) if order.placed.is_none());
                prop_assert_eq!(screen.to_string().contains(status), rolled_back);
            }
        }
    }

    #[test]
    fn any_terminal_has_a_whole_menu_and_empty_forms(w_id: i32, d_id: i32) {
        for form in Form::ALL {
            assert_whole(form, &Screen::empty(form, w_id, d_id));
        }
        prop_assert_eq!(Screen::menu(w_id, d_id).to_string().lines().filter(|line| line.len() == 80).count(), 24);
    }
}
