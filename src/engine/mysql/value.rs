//! Values as MySQL's protocol carries them, and rows of replies.

use arrayvec::ArrayVec;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use mysql_async::Value as Wire;

use crate::engine::Failure;
use crate::engine::sql;
use crate::workload::value::{Money, Rate, Timestamp, Value};

/// A value as a parameter. Money and rates are texts, which the statements cast to exact decimals.
pub fn to_wire(value: Value<'_>) -> Wire {
    match value {
        Value::Null => Wire::NULL,
        Value::Int(number) => Wire::Int(number.into()),
        Value::Money(amount) => Wire::Bytes(amount.to_string().into_bytes()),
        Value::Rate(rate) => Wire::Bytes(rate.to_string().into_bytes()),
        Value::Text(text) => Wire::Bytes(text.as_bytes().to_vec()),
        Value::Time(time) => Wire::Bytes(date_text(time).into_bytes()),
    }
}

/// A date as SQL writes it, `2026-11-21 12:44:32.000000` in UTC; what is beyond the years that SQL knows is the first
/// of them.
pub fn date_text(time: Timestamp) -> String {
    let date = jiff::Timestamp::from_microsecond(time.0)
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
        .to_zoned(TimeZone::UTC)
        .datetime();
    date.strftime("%Y-%m-%d %H:%M:%S%.6f").to_string()
}

/// A row as the shared transactions read it.
pub struct Row<'a>(pub &'a [Wire]);

impl Row<'_> {
    fn column(&self, at: usize) -> Result<&Wire, Failure> {
        self.0
            .get(at)
            .ok_or_else(|| Failure::Invalid(format!("a reply has {} columns, and none of number {at}", self.0.len())))
    }
}

/// The values of a row that the driver has read.
pub fn values(row: mysql_async::Row) -> Vec<Wire> {
    row.unwrap_raw().into_iter().map(|value| value.unwrap_or(Wire::NULL)).collect()
}

fn unfit(at: usize, value: &Wire, wanted: &str) -> Failure {
    Failure::Invalid(format!("column {at} of a reply is no {wanted}: {}", value.as_sql(false)))
}

/// A whole number.
pub fn whole(value: &Wire) -> Option<i64> {
    match value {
        Wire::Int(number) => Some(*number),
        Wire::UInt(number) => i64::try_from(*number).ok(),
        Wire::Bytes(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

/// An exact decimal in units of its last place: `-1.5` with two places is -150.
fn decimal(value: &Wire, places: usize) -> Option<i64> {
    match value {
        Wire::Bytes(text) => digits(text, places),
        value => whole(value)?.checked_mul(10_i64.checked_pow(places.try_into().ok()?)?),
    }
}

/// As [`decimal`], of its text.
fn digits(text: &[u8], places: usize) -> Option<i64> {
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

fn date(value: &Wire) -> Option<Timestamp> {
    let date = match value {
        Wire::Date(year, month, day, hour, minute, second, micros) => DateTime::new(
            i16::try_from(*year).ok()?,
            i8::try_from(*month).ok()?,
            i8::try_from(*day).ok()?,
            i8::try_from(*hour).ok()?,
            i8::try_from(*minute).ok()?,
            i8::try_from(*second).ok()?,
            i32::try_from(*micros).ok()?.checked_mul(1_000)?,
        )
        .ok()?,
        Wire::Bytes(text) => return date_of_text(std::str::from_utf8(text).ok()?),
        _ => return None,
    };
    of_utc(date)
}

fn date_of_text(text: &str) -> Option<Timestamp> {
    of_utc(text.parse().ok()?)
}

fn of_utc(date: DateTime) -> Option<Timestamp> {
    Some(Timestamp(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond()))
}

impl sql::Row for Row<'_> {
    fn int(&self, at: usize) -> Result<i32, Failure> {
        let value = self.column(at)?;
        whole(value).and_then(|number| i32::try_from(number).ok()).ok_or_else(|| unfit(at, value, "number"))
    }

    fn optional_int(&self, at: usize) -> Result<Option<i32>, Failure> {
        if *self.column(at)? == Wire::NULL { Ok(None) } else { self.int(at).map(Some) }
    }

    fn money(&self, at: usize) -> Result<Money, Failure> {
        let value = self.column(at)?;
        decimal(value, 2).map(Money).ok_or_else(|| unfit(at, value, "amount"))
    }

    fn rate(&self, at: usize) -> Result<Rate, Failure> {
        let value = self.column(at)?;
        let rate = decimal(value, 4).and_then(|parts| i32::try_from(parts).ok());
        rate.map(Rate).ok_or_else(|| unfit(at, value, "rate"))
    }

    fn text(&self, at: usize) -> Result<&str, Failure> {
        let value = self.column(at)?;
        let Wire::Bytes(bytes) = value else { return Err(unfit(at, value, "text")) };
        std::str::from_utf8(bytes).map(|text| text.trim_end_matches(' ')).map_err(|_| unfit(at, value, "text in UTF-8"))
    }

    fn time(&self, at: usize) -> Result<Timestamp, Failure> {
        let value = self.column(at)?;
        date(value).ok_or_else(|| unfit(at, value, "date"))
    }

    fn optional_time(&self, at: usize) -> Result<Option<Timestamp>, Failure> {
        if *self.column(at)? == Wire::NULL { Ok(None) } else { self.time(at).map(Some) }
    }
}

/// The most columns of a [`Line`].
const MAX_COLUMNS: usize = 32;

/// A row that came as one text, its columns with tabs between them; an empty one is null where it may be. The protocol
/// describes each column of each reply anew, and a procedure that answers with a text of its own has only one.
pub struct Line<'a>(ArrayVec<&'a str, MAX_COLUMNS>);

impl<'a> Line<'a> {
    /// Takes a text apart.
    pub fn new(text: &'a str) -> Self {
        Line(text.split('\t').take(MAX_COLUMNS).collect())
    }

    fn column<T>(&self, at: usize, wanted: &str, read: impl FnOnce(&'a str) -> Option<T>) -> Result<T, Failure> {
        let column = self.0.get(at).copied();
        column.and_then(read).ok_or_else(|| {
            Failure::Invalid(format!("column {at} of a reply is no {wanted}: {}", column.unwrap_or("it is missing")))
        })
    }

    fn optional<T>(&self, at: usize, read: impl FnOnce() -> Result<T, Failure>) -> Result<Option<T>, Failure> {
        if self.0.get(at).is_some_and(|column| column.is_empty()) { Ok(None) } else { read().map(Some) }
    }
}

impl sql::Row for Line<'_> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::sql::Row as _;

    #[test]
    fn decimals_are_exact_or_refused() {
        let cents = |text: &str| decimal(&Wire::Bytes(text.into()), 2);
        for (text, expected) in [("0.00", 0), ("-10.00", -1_000), ("1.5", 150), ("7", 700), (".25", 25), ("1.500", 150)]
        {
            assert_eq!(cents(text), Some(expected), "{text}");
        }
        for wrong in ["", "-", ".", "1.234", "1,5", "x", "99999999999999999999", "1e2"] {
            assert_eq!(cents(wrong), None, "{wrong}");
        }
        assert_eq!(decimal(&Wire::Int(3), 2), Some(300));
        assert_eq!(decimal(&Wire::Int(i64::MAX), 2), None);
    }

    #[test]
    fn dates_come_in_both_protocols() {
        let text = date_text(Timestamp(1_000_000_000_123_456));
        assert_eq!(text, "2001-09-09 01:46:40.123456");
        let row = [
            Wire::Bytes(text.into_bytes()),
            Wire::Date(2001, 9, 9, 1, 46, 40, 123_456),
            Wire::NULL,
            Wire::Date(0, 0, 0, 0, 0, 0, 0),
        ];
        let row = Row(&row);
        let moment = Timestamp(1_000_000_000_123_456);
        assert_eq!((row.time(0).unwrap(), row.time(1).unwrap()), (moment, moment));
        assert_eq!(row.optional_time(2).unwrap(), None);
        assert!(row.time(3).is_err() && row.time(4).is_err());
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let row = [Wire::Bytes(b"abc  ".to_vec()), Wire::UInt(u64::MAX), Wire::Bytes(vec![0xff])];
        let row = Row(&row);
        assert_eq!(row.text(0).unwrap(), "abc");
        assert!(row.int(0).is_err() && row.int(1).is_err() && row.text(2).is_err() && row.rate(1).is_err());
    }

    #[test]
    fn a_row_may_come_as_a_text() {
        let line = Line::new("7\t\t-0.05\t0.1234\ta b  \t2001-09-09 01:46:40.123456\t");
        assert_eq!((line.int(0).unwrap(), line.optional_int(1).unwrap()), (7, None));
        assert_eq!((line.money(2).unwrap(), line.rate(3).unwrap()), (Money(-5), Rate(1_234)));
        assert_eq!((line.text(4).unwrap(), line.time(5).unwrap()), ("a b", Timestamp(1_000_000_000_123_456)));
        assert_eq!(line.optional_time(6).unwrap(), None);
        assert!(
            line.int(1).is_err() && line.money(4).is_err() && line.text(7).is_err() && line.optional_time(7).is_err()
        );
    }
}
