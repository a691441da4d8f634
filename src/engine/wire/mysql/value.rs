//! Values in MySQL's protocol.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use mysql_async::Value as Wire;

use crate::engine::sql::lines::{date_of_text, digits, of_utc};
use crate::workload::value::{Timestamp, Value};

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

/// A date in SQL, `2026-11-21 12:44:32.000000` in UTC; a date outside SQL's years becomes the first of them.
pub fn date_text(time: Timestamp) -> String {
    let date = jiff::Timestamp::from_microsecond(time.0)
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
        .to_zoned(TimeZone::UTC)
        .datetime();
    date.strftime("%Y-%m-%d %H:%M:%S%.6f").to_string()
}

/// The values of a row that the driver has read.
pub fn values(row: mysql_async::Row) -> Vec<Wire> {
    row.unwrap_raw().into_iter().map(|value| value.unwrap_or(Wire::NULL)).collect()
}

/// An integer.
pub fn whole(value: &Wire) -> Option<i64> {
    match value {
        Wire::Int(number) => Some(*number),
        Wire::UInt(number) => i64::try_from(*number).ok(),
        Wire::Bytes(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

/// An exact decimal in units of its last digit: `-1.5` with two decimals is -150.
pub fn decimal(value: &Wire, places: usize) -> Option<i64> {
    match value {
        Wire::Bytes(text) => digits(text, places),
        value => whole(value)?.checked_mul(10_i64.checked_pow(places.try_into().ok()?)?),
    }
}

pub fn date(value: &Wire) -> Option<Timestamp> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
