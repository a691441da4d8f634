//! Replies of procedures that are one text: many protocols and drivers describe or fetch each column on its own, and a
//! single text has only one.

use arrayvec::ArrayVec;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::{Reply, Row};
use crate::engine::Failure;
use crate::workload::value::{Money, Rate, Timestamp};

/// Passes the rows encoded in a text to `on_row`.
///
/// # Errors
/// If the text is invalid or not of this format, or `on_row` fails.
pub fn read(reply: Reply, text: &str, on_row: &mut dyn FnMut(&dyn Row) -> Result<(), Failure>) -> Result<(), Failure> {
    match reply {
        Reply::Lines => {
            let mut first = 0;
            text.split('\n').try_for_each(|text| {
                let line = Line::new(text, first);
                if first == 0 {
                    first = line.columns.len();
                }
                on_row(&line)
            })
        }
        Reply::Pairs => {
            let mut numbers = text.split_whitespace();
            while let Some(one) = numbers.next() {
                let missing = || Failure::Invalid(format!("a reply holds no pairs of numbers: {text}"));
                let columns = ArrayVec::from_iter([one, numbers.next().ok_or_else(missing)?]);
                on_row(&Line { columns, first: 0 })?;
            }
            Ok(())
        }
        Reply::Rows | Reply::Arrays => Err(Failure::Invalid("a reply is one text, but has another format".to_owned())),
    }
}

/// The maximum number of columns of a [`Line`].
const MAX_COLUMNS: usize = 32;

/// A row encoded as one text, with tabs between its columns; an empty column can be null. Its first column has the
/// number `first`.
struct Line<'a> {
    columns: ArrayVec<&'a str, MAX_COLUMNS>,
    first: usize,
}

impl<'a> Line<'a> {
    /// Splits a text.
    fn new(text: &'a str, first: usize) -> Self {
        Line { columns: text.split('\t').take(MAX_COLUMNS).collect(), first }
    }

    fn get(&self, at: usize) -> Option<&'a str> {
        self.columns.get(at.checked_sub(self.first)?).copied()
    }

    fn column<T>(&self, at: usize, wanted: &str, read: impl FnOnce(&'a str) -> Option<T>) -> Result<T, Failure> {
        let column = self.get(at);
        column.and_then(read).ok_or_else(|| {
            Failure::Invalid(format!("column {at} of a reply is no {wanted}: {}", column.unwrap_or("it is missing")))
        })
    }

    fn optional<T>(&self, at: usize, read: impl FnOnce() -> Result<T, Failure>) -> Result<Option<T>, Failure> {
        if self.get(at).is_some_and(str::is_empty) { Ok(None) } else { read().map(Some) }
    }
}

impl Row for Line<'_> {
    fn int(&self, at: usize) -> Result<i32, Failure> {
        self.column(at, "number", |text| text.parse().ok())
    }

    fn optional_int(&self, at: usize) -> Result<Option<i32>, Failure> {
        self.optional(at, || self.int(at))
    }

    fn money(&self, at: usize) -> Result<Money, Failure> {
        self.column(at, "amount", |text| digits(text.as_bytes(), 2).map(Money))
    }

    fn rate(&self, at: usize) -> Result<Rate, Failure> {
        self.column(at, "rate", |text| i32::try_from(digits(text.as_bytes(), 4)?).ok().map(Rate))
    }

    fn text(&self, at: usize) -> Result<&str, Failure> {
        self.column(at, "text", |text| Some(text.trim_end_matches(' ')))
    }

    fn time(&self, at: usize) -> Result<Timestamp, Failure> {
        self.column(at, "date", date_of_text)
    }

    fn optional_time(&self, at: usize) -> Result<Option<Timestamp>, Failure> {
        self.optional(at, || self.time(at))
    }
}

/// An exact decimal in units of its last digit: `-1.5` with two decimals is -150.
pub fn digits(text: &[u8], places: usize) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', digits) => (true, digits),
        _ => (false, text),
    };
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let (whole, fraction) = (digits.get(..point)?, digits.get(point + 1..).unwrap_or_default());
    let (kept, rest) = fraction.split_at(fraction.len().min(places));
    if (whole.is_empty() && fraction.is_empty()) || rest.iter().any(|byte| *byte != b'0') {
        return None;
    }
    let missing = std::iter::repeat_n(&b'0', places - kept.len());
    let magnitude = whole.iter().chain(kept).chain(missing).try_fold(0_i64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| i64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })?;
    Some(if negative { -magnitude } else { magnitude })
}

/// A date and time in UTC, as SQL writes it.
pub fn date_of_text(text: &str) -> Option<Timestamp> {
    of_utc(text.parse().ok()?)
}

/// A date and time of the calendar, in UTC.
pub fn of_utc(date: DateTime) -> Option<Timestamp> {
    Some(Timestamp(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first two columns of each row encoded in a text.
    fn pairs(reply: Reply, text: &str) -> Result<Vec<(i32, i32)>, Failure> {
        let mut pairs = Vec::new();
        let mut on_row = |row: &dyn Row| {
            pairs.push((row.int(0)?, row.int(1)?));
            Ok(())
        };
        read(reply, text, &mut on_row)?;
        Ok(pairs)
    }

    #[test]
    fn a_text_may_hold_pairs_of_numbers() {
        assert_eq!(pairs(Reply::Pairs, "2 3001 10 2999 ").unwrap(), [(2, 3001), (10, 2999)]);
        assert_eq!(pairs(Reply::Pairs, "").unwrap(), []);
        for wrong in ["1", "a 5", "1 b", "-2147483649 1"] {
            assert!(pairs(Reply::Pairs, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn columns_of_further_lines_are_counted_on() {
        let mut found = Vec::new();
        let mut on_row = |row: &dyn Row| {
            found.push((row.int(0).ok(), row.int(2).ok(), row.int(3).ok()));
            Ok(())
        };
        read(Reply::Lines, "7\tx\n8\t9\n10\t11", &mut on_row).unwrap();
        assert_eq!(found, [(Some(7), None, None), (None, Some(8), Some(9)), (None, Some(10), Some(11))]);
        assert!(read(Reply::Arrays, "7", &mut |_| Ok(())).is_err());
    }

    #[test]
    fn a_row_may_come_as_a_text() {
        let line = Line::new("7\t\t-0.05\t0.1234\ta b  \t2001-09-09 01:46:40.123456\t", 0);
        assert_eq!((line.int(0).unwrap(), line.optional_int(1).unwrap()), (7, None));
        assert_eq!((line.money(2).unwrap(), line.rate(3).unwrap()), (Money(-5), Rate(1_234)));
        assert_eq!((line.text(4).unwrap(), line.time(5).unwrap()), ("a b", Timestamp(1_000_000_000_123_456)));
        assert_eq!(line.optional_time(6).unwrap(), None);
        assert!(
            line.int(1).is_err() && line.money(4).is_err() && line.text(7).is_err() && line.optional_time(7).is_err()
        );
    }
}
