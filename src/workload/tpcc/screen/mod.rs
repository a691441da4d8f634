//! The terminal screens of clauses 2.4.3 to 2.8.3, 24 lines of 80 characters, with the menu of clause 2.2.1.6 on their
//! last line.
//!
//! Rows and columns count from 1, as in the standard. Where the standard's field tables and its layouts differ in the
//! position of a label, this follows the layouts. A money field's coordinates are those of its number; the `$` is in
//! the column before.
//!
//! A value that does not fit its field fills it with `*` and moves nothing else. W_ID has four characters in the
//! standard, too few for a large database, so a longer one also takes blank columns to the right of its field, but
//! always leaves one before what follows. It then has up to 6 digits as the home warehouse and as the supplier of a
//! New-Order's line, up to 7 as the home warehouse of Payment and Delivery and as the supplier in Order-Status, and up
//! to 5 as the customer's warehouse in Payment.

mod forms;
pub(crate) mod sample;
#[cfg(test)]
mod tests;

use std::fmt;

use jiff::civil::DateTime;
use jiff::tz::Offset;

use super::input::Input;
use super::output::Output;
use crate::workload::value::{Money, Rate, Timestamp};

/// Lines of a screen.
pub const ROWS: usize = 24;
/// Characters of a line.
pub const COLUMNS: usize = 80;

const MENU: &str = "Select: N=New-Order  P=Payment  O=Order-Status  D=Delivery  S=Stock-Level";

/// The five transactions' screens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Clause 2.4.3
    NewOrder,
    /// Clause 2.5.3
    Payment,
    /// Clause 2.6.3
    OrderStatus,
    /// Clause 2.7.3
    Delivery,
    /// Clause 2.8.3
    StockLevel,
}

impl Form {
    /// All of them, in the order of [`Workload::TRANSACTIONS`](crate::workload::Workload::TRANSACTIONS).
    pub const ALL: [Form; 5] = [Form::NewOrder, Form::Payment, Form::OrderStatus, Form::Delivery, Form::StockLevel];
}

/// What a terminal shows: printable ASCII only.
#[derive(Clone, PartialEq, Eq)]
pub struct Screen {
    rows: [[u8; COLUMNS]; ROWS],
}

impl Screen {
    /// The screen from which a user of the terminal chooses a transaction.
    pub fn menu(w_id: i32, d_id: i32) -> Screen {
        let mut screen = Screen::blank();
        forms::menu(&mut screen, w_id, d_id);
        screen
    }

    /// A transaction's screen before input: the input fields are underlined, and the terminal's constant fields are
    /// shown.
    pub fn empty(form: Form, w_id: i32, d_id: i32) -> Screen {
        let mut screen = Screen::of(form);
        forms::empty(&mut screen, form, w_id, d_id);
        screen
    }

    /// A transaction's screen after input, before the answer.
    pub fn keyed(input: &Input) -> Screen {
        match input {
            Input::NewOrder(input) => forms::new_order_keyed(input),
            Input::Payment(input) => forms::payment_keyed(input),
            Input::OrderStatus(input) => forms::order_status_keyed(input),
            Input::Delivery(input) => forms::delivery_keyed(input),
            Input::StockLevel(input) => forms::stock_level_keyed(input),
        }
    }

    /// A transaction's screen with its answer; `None` if `output` belongs to another transaction than `input`.
    ///
    /// Delivery shows that it is queued, whatever its later outcome (clause 2.7.3).
    pub fn answered(input: &Input, output: &Output) -> Option<Screen> {
        match (input, output) {
            (Input::NewOrder(input), Output::NewOrder(output)) => Some(forms::new_order_answered(input, output)),
            (Input::Payment(input), Output::Payment(output)) => Some(forms::payment_answered(input, output)),
            (Input::OrderStatus(input), Output::OrderStatus(output)) => {
                Some(forms::order_status_answered(input, output))
            }
            (Input::Delivery(input), Output::Delivery(_)) => Some(forms::delivery_answered(input)),
            (Input::StockLevel(input), Output::StockLevel(output)) => Some(forms::stock_level_answered(input, *output)),
            _ => None,
        }
    }

    fn blank() -> Screen {
        let mut screen = Screen { rows: [[b' '; COLUMNS]; ROWS] };
        screen.put(ROWS, 1, MENU);
        screen
    }

    /// The labels of a form.
    fn of(form: Form) -> Screen {
        let mut screen = Screen::blank();
        for &(row, column, label) in forms::labels(form) {
            screen.put(row, column, label);
        }
        screen
    }

    /// Writes text at a position. Characters that a terminal could interpret as a command or show with another width
    /// than one column become `?`.
    fn put(&mut self, row: usize, column: usize, text: &str) {
        for (cell, character) in self.rows[row - 1][column - 1..].iter_mut().zip(text.chars()) {
            *cell = if matches!(character, ' '..='~') { character as u8 } else { b'?' };
        }
    }

    fn fill(&mut self, row: usize, column: usize, width: usize, with: u8) {
        self.rows[row - 1][column - 1..][..width].fill(with);
    }

    /// Left-justified text in its own field, which replaces the input.
    fn text(&mut self, row: usize, column: usize, width: usize, text: &str) {
        let fits = text.chars().count() <= width;
        self.fill(row, column, width, if fits { b' ' } else { b'*' });
        if fits {
            self.put(row, column, text);
        }
    }

    /// The same, right-justified.
    fn number(&mut self, row: usize, column: usize, width: usize, number: impl fmt::Display) {
        self.text(row, column, width, &format!("{:>width$}", number.to_string()));
    }

    /// A W_ID: four columns, or as many as it needs up to `last`.
    fn warehouse(&mut self, row: usize, column: usize, last: usize, w_id: i32) {
        let digits = w_id.to_string().len();
        let width = if digits <= last + 1 - column { digits.max(4) } else { 4 };
        self.number(row, column, width, w_id);
    }

    fn money(&mut self, row: usize, column: usize, width: usize, money: Money) {
        self.put(row, column - 1, "$");
        self.number(row, column, width, money);
    }

    /// Money whose field begins with the column of a minus sign.
    fn signed_money(&mut self, row: usize, column: usize, width: usize, money: Money) {
        self.put(row, column - 1, "$");
        if money.0 < 0 {
            self.number(row, column, width, money);
        } else if money.to_string().len() < width {
            self.number(row, column + 1, width - 1, money);
        } else {
            self.fill(row, column, width, b'*');
        }
    }

    /// A tax or a discount as `99.99`, in percent.
    fn percent(&mut self, row: usize, column: usize, rate: Rate) {
        // Ten-thousandths are hundredths of a percent, as cents are hundredths.
        self.number(row, column, 5, Money(rate.0.into()));
    }

    /// DD-MM-YYYY
    fn date(&mut self, row: usize, column: usize, time: Timestamp) {
        let date = utc(time).map(|time| format!("{:02}-{:02}-{:04}", time.day(), time.month(), time.year()));
        self.text(row, column, 10, &date.unwrap_or_else(|| "*".repeat(10)));
    }

    /// DD-MM-YYYY hh:mm:ss
    fn date_and_time(&mut self, row: usize, column: usize, time: Timestamp) {
        self.date(row, column, time);
        let clock = utc(time).map(|time| format!("{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second()));
        self.text(row, column + 11, 8, &clock.unwrap_or_else(|| "*".repeat(8)));
    }

    /// The characters of `text` in place of each `X` of `mask`, as many as there are.
    fn masked(&mut self, row: usize, column: usize, mask: &str, text: &str) {
        let mut characters = text.chars().peekable();
        let mut shown = String::with_capacity(mask.len());
        for place in mask.chars() {
            if characters.peek().is_none() {
                break;
            }
            shown.extend(if place == 'X' { characters.next() } else { Some(place) });
        }
        self.put(row, column, &shown);
    }

    fn zip(&mut self, row: usize, column: usize, zip: &str) {
        self.masked(row, column, "XXXXX-XXXX", zip);
    }

    fn phone(&mut self, row: usize, column: usize, phone: &str) {
        self.masked(row, column, "XXXXXX-XXX-XXX-XXXX", phone);
    }
}

/// Calendar date and time, or none outside the calendar.
fn utc(time: Timestamp) -> Option<DateTime> {
    jiff::Timestamp::from_microsecond(time.0).ok().map(|time| Offset::UTC.to_datetime(time))
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// 24 lines, each of 80 characters and a line end.
impl fmt::Display for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            // A row is ASCII, so nothing is ever replaced.
            writeln!(f, "{}", String::from_utf8_lossy(row))?;
        }
        Ok(())
    }
}
