//! Exact values of columns. No floating point.

use std::fmt;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// An amount of money in cents. Clause 1.3.1 requires an exact numeric type for every money column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Money(pub i64);

impl Money {
    /// From whole currency units and cents, both of the same sign.
    pub const fn new(units: i64, cents: i64) -> Self {
        Money(units * 100 + cents)
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cents = self.0.unsigned_abs();
        f.pad_integral(self.0 >= 0, "", &format!("{}.{:02}", cents / 100, cents % 100))
    }
}

impl Add for Money {
    type Output = Money;
    fn add(self, other: Money) -> Money {
        Money(self.0 + other.0)
    }
}

impl Sub for Money {
    type Output = Money;
    fn sub(self, other: Money) -> Money {
        Money(self.0 - other.0)
    }
}

impl Neg for Money {
    type Output = Money;
    fn neg(self) -> Money {
        Money(-self.0)
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Money) {
        self.0 += other.0;
    }
}

impl SubAssign for Money {
    fn sub_assign(&mut self, other: Money) {
        self.0 -= other.0;
    }
}

/// A tax or discount in units of 1/10,000: `signed numeric(4,4)` of clause 1.3.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rate(pub i32);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let value = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:04}", value / 10_000, value % 10_000)
    }
}

/// A point in time in microseconds since 1970-01-01 00:00:00 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(pub i64);

/// One column of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// The SQL null.
    Null,
    /// An identifier, a count or a quantity.
    Int(i32),
    /// Money, exact.
    Money(Money),
    /// A tax or a discount, exact.
    Rate(Rate),
    /// Text without its padding.
    Text(&'a str),
    /// Date and time.
    Time(Timestamp),
}

impl Value<'_> {
    /// Its size in the volume of a load, in bytes: four for a number, eight for money and dates, a text's length.
    pub fn bytes(&self) -> u64 {
        match self {
            Value::Null => 0,
            Value::Int(_) | Value::Rate(_) => 4,
            Value::Money(_) | Value::Time(_) => 8,
            Value::Text(text) => text.len() as u64,
        }
    }
}

/// Receives the columns of rows one by one, in the order of the table's columns.
pub trait RowSink {
    /// The next column of the current row.
    fn put(&mut self, value: Value<'_>);
    /// Ends the current row.
    fn end_row(&mut self);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_shows_its_cents_and_sign() {
        assert_eq!(Money::new(-10, 0).to_string(), "-10.00");
        assert_eq!(Money(-5).to_string(), "-0.05");
        assert_eq!(Money(123_456).to_string(), "1234.56");
        assert_eq!(format!("{:>9}", Money(5)), "     0.05");
    }

    #[test]
    fn a_rate_has_four_decimals() {
        assert_eq!(Rate(2_000).to_string(), "0.2000");
        assert_eq!(Rate(-1).to_string(), "-0.0001");
    }
}
