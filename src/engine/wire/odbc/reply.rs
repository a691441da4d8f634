//! A row: columns as text, and the values that the text stands for.

use crate::engine::Failure;
use crate::engine::sql;
use crate::workload::value::{Money, Rate, Timestamp};

/// Decimal places of money, and of taxes and discounts.
const MONEY: u32 = 2;
const RATE: u32 = 4;

/// A row of a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OdbcRow {
    pub(super) bytes: Vec<u8>,
    /// Where each column ends, and whether it is null.
    ends: Vec<(usize, bool)>,
}

impl OdbcRow {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub(super) fn end_column(&mut self) {
        self.ends.push((self.bytes.len(), false));
    }

    pub(super) fn end_null(&mut self) {
        self.ends.push((self.bytes.len(), true));
    }

    /// Columns in it.
    pub fn width(&self) -> usize {
        self.ends.len()
    }

    /// A column's text, without the blanks of a padded column; none is the null.
    pub fn optional_text(&self, column: usize) -> Result<Option<&str>, Failure> {
        let Some((end, null)) = self.ends.get(column).copied() else {
            return Err(Failure::Invalid(format!(
                "a reply has {} columns, and column {column} is not among them",
                self.width()
            )));
        };
        let start = column.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |(end, _)| *end);
        let text = self.bytes.get(start..end).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let text = text.ok_or_else(|| Failure::Invalid(format!("column {column} of a reply is no text in UTF-8")))?;
        Ok((!null).then(|| text.trim_end_matches(' ')))
    }

    /// A column's text, which must not be null.
    pub fn text(&self, column: usize) -> Result<&str, Failure> {
        self.optional_text(column)?.ok_or_else(|| Failure::Invalid(format!("column {column} of a reply is null")))
    }

    fn make<T>(&self, column: usize, what: &str, of: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Failure> {
        let Some(text) = self.optional_text(column)? else { return Ok(None) };
        of(text).map(Some).ok_or_else(|| Failure::Invalid(format!("column {column} of a reply is no {what}: {text}")))
    }

    fn must<T>(&self, column: usize, made: Option<T>) -> Result<T, Failure> {
        made.ok_or_else(|| Failure::Invalid(format!("column {column} of a reply is null")))
    }

    /// An integer of 64 bits, or null.
    pub fn optional_long(&self, column: usize) -> Result<Option<i64>, Failure> {
        self.make(column, "integer", |text| decimal(text, 0))
    }

    /// An integer of 64 bits.
    pub fn long(&self, column: usize) -> Result<i64, Failure> {
        self.must(column, self.optional_long(column)?)
    }

    /// An integer of 32 bits, or null.
    pub fn optional_int(&self, column: usize) -> Result<Option<i32>, Failure> {
        self.make(column, "integer of 32 bits", |text| decimal(text, 0)?.try_into().ok())
    }

    /// An integer of 32 bits.
    pub fn int(&self, column: usize) -> Result<i32, Failure> {
        self.must(column, self.optional_int(column)?)
    }

    /// A floating number.
    pub fn double(&self, column: usize) -> Result<f64, Failure> {
        self.must(column, self.make(column, "number", |text| text.trim().parse().ok())?)
    }

    /// A decimal of the database as money.
    pub fn money(&self, column: usize) -> Result<Money, Failure> {
        self.must(column, self.make(column, "amount of cents", |text| decimal(text, MONEY).map(Money))?)
    }

    /// A decimal of the database as a tax or discount.
    pub fn rate(&self, column: usize) -> Result<Rate, Failure> {
        self.must(
            column,
            self.make(column, "rate of four decimals", |text| decimal(text, RATE)?.try_into().ok().map(Rate))?,
        )
    }

    /// Date and time, or null.
    pub fn optional_time(&self, column: usize) -> Result<Option<Timestamp>, Failure> {
        self.make(column, "date and time", time)
    }

    /// Date and time.
    pub fn time(&self, column: usize) -> Result<Timestamp, Failure> {
        self.must(column, self.optional_time(column)?)
    }
}

impl sql::Row for OdbcRow {
    fn int(&self, column: usize) -> Result<i32, Failure> {
        OdbcRow::int(self, column)
    }

    fn optional_int(&self, column: usize) -> Result<Option<i32>, Failure> {
        OdbcRow::optional_int(self, column)
    }

    fn money(&self, column: usize) -> Result<Money, Failure> {
        OdbcRow::money(self, column)
    }

    fn rate(&self, column: usize) -> Result<Rate, Failure> {
        OdbcRow::rate(self, column)
    }

    fn text(&self, column: usize) -> Result<&str, Failure> {
        OdbcRow::text(self, column)
    }

    fn time(&self, column: usize) -> Result<Timestamp, Failure> {
        OdbcRow::time(self, column)
    }

    fn optional_time(&self, column: usize) -> Result<Option<Timestamp>, Failure> {
        OdbcRow::optional_time(self, column)
    }
}

/// A decimal number in units of ten to the power of minus `scale`; none if it is no such number. Exact: further
/// decimals must be zeros.
pub(super) fn decimal(text: &str, scale: u32) -> Option<i64> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut places = fraction.bytes();
    let mut value = 0_i64;
    let kept = whole.bytes().chain((0..scale).map(|_| places.next().unwrap_or(b'0')));
    for digit in kept {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        // Counted downwards, for the least number has no positive one of its size.
        value = value.checked_mul(10)?.checked_sub(digit.into())?;
    }
    if places.any(|digit| digit != b'0') {
        return None;
    }
    if negative { Some(value) } else { value.checked_neg() }
}

/// Date and time in UTC: `2001-09-09 01:46:40.123456`, perhaps with `+00`.
fn time(text: &str) -> Option<Timestamp> {
    let text = text.trim().trim_end_matches('Z');
    let text = text.strip_suffix(":00").filter(|text| text.ends_with("+00")).unwrap_or(text);
    let text = text.strip_suffix("+00").unwrap_or(text);
    let time: jiff::civil::DateTime = text.parse().ok()?;
    let time = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(Timestamp(time.timestamp().as_microsecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(columns: &[Option<&str>]) -> OdbcRow {
        let mut row = OdbcRow::default();
        for column in columns {
            match column {
                Some(text) => {
                    row.bytes.extend_from_slice(text.as_bytes());
                    row.end_column();
                }
                None => row.end_null(),
            }
        }
        row
    }

    #[test]
    fn decimals_are_read_exactly_or_not_at_all() {
        for (text, scale, units) in [
            ("12", 0, Some(12)),
            ("12.00", 0, Some(12)),
            ("12.5", 0, None),
            ("-0.05", 2, Some(-5)),
            (".1234", 4, Some(1_234)),
            ("300000", 2, Some(30_000_000)),
            ("1.234", 2, None),
            ("1.230", 2, Some(123)),
            ("-9223372036854775808", 0, Some(i64::MIN)),
            ("9223372036854775808", 0, None),
            ("", 2, None),
            (".", 2, None),
            ("1e3", 2, None),
            ("x", 0, None),
        ] {
            assert_eq!(decimal(text, scale), units, "{text}");
        }
    }

    #[test]
    fn dates_are_read_with_and_without_a_zone() {
        for text in ["2001-09-09 01:46:40.123456", "2001-09-09 01:46:40.123456+00", "2001-09-09T01:46:40.123456Z"] {
            assert_eq!(time(text), Some(Timestamp(1_000_000_000_123_456)), "{text}");
        }
        assert_eq!(time("2001-09-09 01:46:40+00:00"), Some(Timestamp(1_000_000_000_000_000)));
        assert_eq!(time("yesterday"), None);
    }

    #[test]
    fn columns_are_distinguished() {
        let row = row(&[Some("ab  "), None, Some("7")]);
        assert_eq!((row.text(0).unwrap(), row.int(2).unwrap(), row.optional_int(1).unwrap()), ("ab", 7, None));
        for wrong in [row.int(0).err(), row.int(1).err(), row.int(3).err()] {
            assert!(matches!(wrong, Some(Failure::Invalid(_))));
        }
    }
}
