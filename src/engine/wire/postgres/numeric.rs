//! PostgreSQL's binary formats of exact numbers and dates.
//!
//! A `numeric` is a sequence of digits of base 10,000 with a weight (the first digit counts 10,000^weight), a sign and
//! a display scale. Money (two decimals) and rates (four) are both integer multiples of 1/10,000, so that one digit
//! after the point suffices for both.

use std::error::Error;

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

use crate::workload::value::{Money, Rate, Timestamp};

type Problem = Box<dyn Error + Sync + Send>;

/// Microseconds from 1970-01-01 to PostgreSQL's epoch, 2000-01-01.
const EPOCH: i64 = 946_684_800_000_000;
const BASE: i128 = 10_000;
const NEGATIVE: u16 = 0x4000;
const POSITIVE: u16 = 0;

/// Bytes before the digits.
const HEAD: usize = 8;
/// 1/10,000 of an i64 number of cents has at most six digits.
const MOST_DIGITS: usize = 6;

/// An encoded numeric, without its length.
#[derive(Clone, Copy, Debug)]
pub struct Numeric {
    bytes: [u8; HEAD + 2 * MOST_DIGITS],
    length: usize,
}

impl Numeric {
    /// An amount with two decimals.
    pub fn money(amount: Money) -> Numeric {
        Numeric::new(i128::from(amount.0) * 100, 2)
    }

    /// A rate with four decimals.
    pub fn rate(rate: Rate) -> Numeric {
        Numeric::new(i128::from(rate.0), 4)
    }

    /// `value` is in units of 1/10,000.
    fn new(value: i128, scale: u16) -> Numeric {
        // From the least significant digit on; trailing zero digits are dropped.
        let mut digits = [0_u16; MOST_DIGITS];
        let mut count = 0;
        let mut weight: i16 = -1;
        let mut rest = value.unsigned_abs();
        while rest != 0 && rest.is_multiple_of(BASE.unsigned_abs()) {
            rest /= BASE.unsigned_abs();
            weight += 1;
        }
        while rest != 0 && count < MOST_DIGITS {
            digits[count] = (rest % BASE.unsigned_abs()) as u16;
            rest /= BASE.unsigned_abs();
            count += 1;
        }
        let weight = if count == 0 { 0 } else { weight + count as i16 - 1 };
        let sign = if value < 0 { NEGATIVE } else { POSITIVE };
        let mut bytes = [0; HEAD + 2 * MOST_DIGITS];
        let mut out = &mut bytes[..];
        out.put_u16(count as u16);
        out.put_i16(weight);
        out.put_u16(sign);
        out.put_u16(scale);
        for digit in digits[..count].iter().rev() {
            out.put_u16(*digit);
        }
        Numeric { bytes, length: HEAD + 2 * count }
    }

    /// Its binary format.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// A numeric in 1/10,000; an error if it has more decimals, is no number, or is beyond 64 bits of cents.
fn decode(raw: &[u8]) -> Result<i128, Problem> {
    let (words, rest) = raw.as_chunks::<2>();
    let mut words = words.iter().map(|word| u16::from_be_bytes(*word));
    let (Some(count), Some(weight), Some(sign), Some(_scale), []) =
        (words.next(), words.next(), words.next(), words.next(), rest)
    else {
        return Err("a numeric of wrong length".into());
    };
    if sign != POSITIVE && sign != NEGATIVE {
        return Err("not a number".into());
    }
    if words.len() != usize::from(count) {
        return Err("a numeric of wrong length".into());
    }
    let mut value = 0_i128;
    let mut weight = weight.cast_signed();
    for digit in words {
        // Digits of zero do not matter, wherever they are.
        if digit != 0 {
            let power = u32::try_from(i32::from(weight) + 1).map_err(|_| "a numeric with more than four decimals")?;
            let place = BASE.checked_pow(power).filter(|_| power < 8).ok_or("a numeric beyond any amount")?;
            value += i128::from(digit) * place;
        }
        weight = weight.checked_sub(1).ok_or("a numeric with more than four decimals")?;
    }
    Ok(if sign == NEGATIVE { -value } else { value })
}

impl ToSql for Money {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Problem> {
        out.put_slice(Numeric::money(*self).as_bytes());
        Ok(IsNull::No)
    }

    accepts!(NUMERIC);
    to_sql_checked!();
}

impl ToSql for Rate {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Problem> {
        out.put_slice(Numeric::rate(*self).as_bytes());
        Ok(IsNull::No)
    }

    accepts!(NUMERIC);
    to_sql_checked!();
}

impl FromSql<'_> for Money {
    fn from_sql(_: &Type, raw: &[u8]) -> Result<Money, Problem> {
        let value = decode(raw)?;
        if value % 100 != 0 {
            return Err("an amount with more than two decimals".into());
        }
        Ok(Money(i64::try_from(value / 100).map_err(|_| "a numeric beyond any amount")?))
    }

    accepts!(NUMERIC);
}

impl FromSql<'_> for Rate {
    fn from_sql(_: &Type, raw: &[u8]) -> Result<Rate, Problem> {
        Ok(Rate(i32::try_from(decode(raw)?).map_err(|_| "a numeric beyond any rate")?))
    }

    accepts!(NUMERIC);
}

/// A date in PostgreSQL's microseconds; dates outside its range become its limits.
pub fn since_2000(time: Timestamp) -> i64 {
    time.0.saturating_sub(EPOCH)
}

impl ToSql for Timestamp {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Problem> {
        out.put_i64(since_2000(*self));
        Ok(IsNull::No)
    }

    accepts!(TIMESTAMPTZ);
    to_sql_checked!();
}

impl FromSql<'_> for Timestamp {
    fn from_sql(_: &Type, raw: &[u8]) -> Result<Timestamp, Problem> {
        let bytes = raw.try_into().map_err(|_| "a date of wrong length")?;
        let micros = i64::from_be_bytes(bytes).checked_add(EPOCH).ok_or("a date beyond the calendar")?;
        Ok(Timestamp(micros))
    }

    accepts!(TIMESTAMPTZ);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn money(raw: &[u8]) -> Result<Money, Problem> {
        Money::from_sql(&Type::NUMERIC, raw)
    }

    #[test]
    fn the_forms_are_those_of_the_server() {
        // As shown by `SELECT numeric_send(…)` of PostgreSQL.
        let forms: [(Money, &[u16]); 6] = [
            (Money::new(0, 0), &[0, 0, 0, 2]),
            (Money::new(1, 0), &[1, 0, 0, 2, 1]),
            (Money::new(-10, 0), &[1, 0, 0x4000, 2, 10]),
            (Money::new(0, 5), &[1, 0xFFFF, 0, 2, 500]),
            (Money::new(30_000, 0), &[1, 1, 0, 2, 3]),
            (Money::new(12_345, 67), &[3, 1, 0, 2, 1, 2345, 6700]),
        ];
        for (amount, words) in forms {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            assert_eq!(Numeric::money(amount).as_bytes(), bytes);
            assert_eq!(money(&bytes).unwrap(), amount);
        }
        assert_eq!(Numeric::rate(Rate(5_000)).as_bytes(), [0, 1, 0xFF, 0xFF, 0, 0, 0, 4, 0x13, 0x88]);
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        assert!(money(&[]).is_err());
        assert!(money(&[0, 1, 0, 0, 0xC0, 0, 0, 0]).is_err());
        assert!(money(&[0, 0, 0, 0, 0xC0, 0, 0, 0]).is_err());
        assert!(money(&[0, 1, 0xFF, 0xFF, 0, 0, 0, 3, 0, 1]).is_err());
        assert!(money(&[0, 1, 0x7F, 0xFF, 0, 0, 0, 2, 0, 1]).is_err());
        assert!(money(&[0, 1, 0x80, 0, 0, 0, 0, 2, 0, 1]).is_err());
        assert!(money(&[0, 1, 0, 6, 0, 0, 0, 2, 0, 1]).is_err());
    }

    proptest! {
        #[test]
        fn every_amount_comes_back(cents in any::<i64>()) {
            prop_assert_eq!(money(Numeric::money(Money(cents)).as_bytes()).unwrap(), Money(cents));
        }

        #[test]
        fn every_rate_comes_back(rate in any::<i32>()) {
            let raw = Numeric::rate(Rate(rate));
            prop_assert_eq!(Rate::from_sql(&Type::NUMERIC, raw.as_bytes()).unwrap(), Rate(rate));
        }

        #[test]
        fn nothing_panics(raw in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = money(&raw);
            let _ = Timestamp::from_sql(&Type::TIMESTAMPTZ, &raw);
        }
    }
}
