//! Parameters: values on their way to the database, and the places from which a driver reads them.

use std::io::Write;
use std::mem::size_of;

use odbc_sys::{CDataType, Len, NULL_DATA, Pointer, SqlDataType};

use super::quirks::Quirks;
use crate::workload::value::{Timestamp, Value};

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Param<'a> {
    /// The SQL null.
    Null,
    /// An integer of 32 bits.
    Int(i32),
    /// An integer of 64 bits.
    Long(i64),
    /// A floating number.
    Double(f64),
    /// An exact decimal: `units` of ten to the power of minus `scale`.
    Decimal {
        /// How many.
        units: i64,
        /// Decimal places.
        scale: u8,
    },
    /// A text.
    Text(&'a str),
    /// Date and time, in UTC.
    Time(Timestamp),
}

impl<'a> From<Value<'a>> for Param<'a> {
    fn from(value: Value<'a>) -> Self {
        match value {
            Value::Null => Param::Null,
            Value::Int(value) => Param::Int(value),
            Value::Money(value) => Param::Decimal { units: value.0, scale: 2 },
            Value::Rate(value) => Param::Decimal { units: value.0.into(), scale: 4 },
            Value::Text(text) => Param::Text(text),
            Value::Time(time) => Param::Time(time),
        }
    }
}

/// What all values of a parameter are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Not known yet: only nulls came.
    Unknown,
    Int,
    Long,
    Double,
    Decimal(u8),
    Text,
    Time,
}

/// Room for an exact decimal or a long integer as text, with its closing zero.
const DECIMAL: usize = 24;
/// Room for a text at first.
const TEXT: usize = 32;
/// The bytes of a C structure of date and time.
const TIME: usize = size_of::<odbc_sys::Timestamp>();

/// The description of a parameter for a driver.
pub(super) struct Binding {
    pub c_type: CDataType,
    pub sql_type: SqlDataType,
    pub column_size: usize,
    pub digits: i16,
    pub values: Pointer,
    pub width: Len,
    pub lengths: *mut Len,
    pub output: bool,
}

/// The values of one parameter, one after the other, as a driver reads them.
#[derive(Debug)]
pub(super) struct Buffer {
    quirks: Quirks,
    kind: Kind,
    output: bool,
    /// Bytes from a value to the next.
    width: usize,
    /// In whole words, so that numbers stand where a processor wants them.
    words: Vec<u64>,
    lengths: Vec<Len>,
    /// Whether the driver knows these places.
    pub(super) bound: bool,
}

impl Buffer {
    pub(super) fn new(quirks: Quirks) -> Buffer {
        Buffer {
            quirks,
            kind: Kind::Unknown,
            output: false,
            width: TEXT,
            words: vec![0; TEXT / 8],
            lengths: vec![NULL_DATA],
            bound: false,
        }
    }

    /// A place for a text that the database writes.
    pub(super) fn output(room: usize) -> Buffer {
        let mut buffer = Buffer { kind: Kind::Text, output: true, ..Buffer::new(Quirks::default()) };
        buffer.reserve(1, room + 1);
        buffer
    }

    /// Sets a value. The error says why it cannot be of this parameter.
    pub(super) fn put(&mut self, set: usize, value: Param<'_>) -> Result<(), String> {
        let kind = match value {
            Param::Null => self.kind,
            Param::Int(_) => Kind::Int,
            Param::Long(_) => Kind::Long,
            Param::Double(_) => Kind::Double,
            Param::Decimal { scale, .. } => Kind::Decimal(scale),
            Param::Text(_) => Kind::Text,
            Param::Time(_) => Kind::Time,
        };
        if kind != self.kind {
            if self.kind != Kind::Unknown {
                return Err(format!("a parameter was {:?} before and is {kind:?} now", self.kind));
            }
            self.kind = kind;
            self.bound = false;
            self.width = self.width_of(kind);
        }
        if set >= self.lengths.len() {
            self.reserve((set + 1).next_power_of_two(), self.width);
        }
        let mut text = [0; DECIMAL];
        match value {
            Param::Null => self.lengths[set] = NULL_DATA,
            Param::Int(value) if self.quirks.wide_integers => self.write(set, &i64::from(value).to_ne_bytes()),
            Param::Int(value) => self.write(set, &value.to_ne_bytes()),
            Param::Long(value) if self.quirks.no_big_integers => {
                let length = decimal(value, 0, &mut text);
                self.write(set, text.get(..length).unwrap_or_default());
            }
            Param::Long(value) => self.write(set, &value.to_ne_bytes()),
            Param::Double(value) => self.write(set, &value.to_ne_bytes()),
            Param::Decimal { units, scale } => {
                let length = decimal(units, scale, &mut text);
                self.write(set, text.get(..length).unwrap_or_default());
            }
            Param::Text(value) => {
                if value.len() >= self.width {
                    self.reserve(self.lengths.len(), (value.len() + 1).next_multiple_of(TEXT));
                }
                self.write(set, value.as_bytes());
            }
            Param::Time(value) => {
                let bytes = time(civil(value)?).ok_or_else(|| format!("{} microseconds are no date", value.0))?;
                self.write(set, &bytes);
            }
        }
        Ok(())
    }

    fn width_of(&self, kind: Kind) -> usize {
        match kind {
            Kind::Int if self.quirks.wide_integers => 8,
            Kind::Int => 4,
            Kind::Long if self.quirks.no_big_integers => DECIMAL,
            Kind::Long | Kind::Double => 8,
            Kind::Decimal(_) => DECIMAL,
            Kind::Text | Kind::Unknown => TEXT,
            Kind::Time => TIME,
        }
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: these are the same bytes, of which any value is a byte.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.words.len() * 8) }
    }

    /// Makes room for `sets` values of `width` bytes and keeps what is there.
    fn reserve(&mut self, sets: usize, width: usize) {
        let old = self.bytes().to_vec();
        let old_width = self.width;
        self.words = vec![0; (sets * width).div_ceil(8)];
        let new = self.bytes();
        for (to, from) in new.chunks_exact_mut(width).zip(old.chunks_exact(old_width)) {
            let common = width.min(old_width);
            to[..common].copy_from_slice(&from[..common]);
        }
        self.lengths.resize(sets, NULL_DATA);
        self.width = width;
        self.bound = false;
    }

    fn write(&mut self, set: usize, value: &[u8]) {
        let at = set * self.width;
        if let Some(place) = self.bytes().get_mut(at..at + value.len()) {
            place.copy_from_slice(value);
            self.lengths[set] = value.len() as Len;
        }
    }

    /// What was written into an output; none is the null.
    pub(super) fn text(&self) -> Option<&str> {
        let length = usize::try_from(*self.lengths.first()?).ok()?;
        let bytes: &[u8] = {
            // SAFETY: these are the same bytes, of which any value is a byte.
            unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.words.len() * 8) }
        };
        std::str::from_utf8(bytes.get(..length.min(self.width - 1))?).ok()
    }

    pub(super) fn binding(&mut self) -> Binding {
        let (c_type, sql_type, column_size, digits) = match self.kind {
            Kind::Int => (CDataType::SLong, SqlDataType::INTEGER, 10, 0),
            Kind::Long if self.quirks.no_big_integers => (CDataType::Char, SqlDataType::DECIMAL, self.width, 0),
            Kind::Long => (CDataType::SBigInt, SqlDataType::EXT_BIG_INT, 19, 0),
            Kind::Double => (CDataType::Double, SqlDataType::DOUBLE, 15, 0),
            Kind::Decimal(scale) => (CDataType::Char, SqlDataType::DECIMAL, self.width, scale.into()),
            Kind::Text | Kind::Unknown => (CDataType::Char, SqlDataType::VARCHAR, self.width, 0),
            Kind::Time => (CDataType::TypeTimestamp, SqlDataType::TIMESTAMP, 26, 6),
        };
        Binding {
            c_type,
            sql_type,
            column_size,
            digits,
            values: self.words.as_mut_ptr().cast(),
            width: self.width as Len,
            lengths: self.lengths.as_mut_ptr(),
            output: self.output,
        }
    }
}

/// Writes a decimal and returns how long it is.
fn decimal(units: i64, scale: u8, into: &mut [u8; DECIMAL]) -> usize {
    let (sign, digits) = (if units < 0 { "-" } else { "" }, units.unsigned_abs());
    let one = 10_u64.pow(u32::from(scale.min(18)));
    let mut rest = &mut into[..];
    let written = match scale {
        0 => write!(rest, "{sign}{digits}"),
        _ => write!(rest, "{sign}{}.{:0width$}", digits / one, digits % one, width = usize::from(scale)),
    };
    let left = rest.len();
    if written.is_ok() { DECIMAL - left } else { 0 }
}

/// Date and time in UTC. The error says that there is none.
pub(super) fn civil(time: Timestamp) -> Result<jiff::civil::DateTime, String> {
    let found =
        jiff::Timestamp::from_microsecond(time.0).map_err(|_| format!("{} microseconds are no date", time.0))?;
    Ok(found.to_zoned(jiff::tz::TimeZone::UTC).datetime())
}

/// Date and time as C has it.
fn time(time: jiff::civil::DateTime) -> Option<[u8; TIME]> {
    let fraction = u32::try_from(time.subsec_nanosecond()).ok()?;
    let mut bytes = [0; TIME];
    bytes[..2].copy_from_slice(&time.year().to_ne_bytes());
    let parts = [time.month(), time.day(), time.hour(), time.minute(), time.second()];
    for (at, part) in parts.into_iter().enumerate() {
        bytes[2 * at + 2..2 * at + 4].copy_from_slice(&u16::try_from(part).ok()?.to_ne_bytes());
    }
    bytes[12..].copy_from_slice(&fraction.to_ne_bytes());
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(units: i64, scale: u8) -> String {
        let mut bytes = [0; DECIMAL];
        let length = decimal(units, scale, &mut bytes);
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    #[test]
    fn decimals_are_exact() {
        for (units, scale, text) in [
            (0, 2, "0.00"),
            (-5, 2, "-0.05"),
            (123_456, 2, "1234.56"),
            (-1, 4, "-0.0001"),
            (7, 0, "7"),
            (i64::MIN, 2, "-92233720368547758.08"),
        ] {
            assert_eq!(text_of(units, scale), text);
        }
    }

    #[test]
    fn growing_keeps_what_is_there() {
        let mut buffer = Buffer::new(Quirks::default());
        buffer.put(0, Param::Text("one")).unwrap();
        buffer.put(2, Param::Text(&"x".repeat(100))).unwrap();
        buffer.put(1, Param::Null).unwrap();
        let width = buffer.width;
        assert!(width > 100);
        assert_eq!(&buffer.bytes()[..3], b"one");
        assert_eq!(&buffer.bytes()[2 * width..2 * width + 100], "x".repeat(100).as_bytes());
        assert_eq!(buffer.lengths[..3], [3, NULL_DATA, 100]);
        assert!(buffer.put(0, Param::Int(1)).unwrap_err().contains("Text before"));
    }

    #[test]
    fn integers_have_the_width_that_the_driver_reads() {
        for (quirks, width) in [(Quirks::default(), 4), (Quirks { wide_integers: true, ..Quirks::default() }, 8)] {
            let mut buffer = Buffer::new(quirks);
            buffer.put(0, Param::Int(-2)).unwrap();
            buffer.put(1, Param::Int(3)).unwrap();
            assert_eq!(buffer.width, width);
            let expected = if width == 4 {
                [-2_i32, 3].map(i32::to_ne_bytes).concat()
            } else {
                [-2_i64, 3].map(i64::to_ne_bytes).concat()
            };
            assert_eq!(buffer.bytes()[..2 * width], expected);
        }
    }

    #[test]
    fn a_date_is_taken_apart() {
        let bytes = time(civil(Timestamp(1_000_000_000_123_456)).unwrap()).unwrap();
        let number = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        assert_eq!([0, 2, 4, 6, 8, 10].map(number), [2001, 9, 9, 1, 46, 40]);
        assert_eq!(bytes[12..], 123_456_000_u32.to_ne_bytes());
    }
}
