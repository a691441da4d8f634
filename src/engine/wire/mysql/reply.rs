//! Rows of replies, as the shared transactions read them.

use arrayvec::ArrayVec;
use mysql_async::Value as Wire;

use super::value::{date, date_of_text, decimal, digits, whole};
use crate::engine::Failure;
use crate::engine::sql::{self, Reply};
use crate::workload::value::{Money, Rate, Timestamp};

/// Hands the rows that a row of the server stands for to `on_row`.
pub fn read(
    reply: Reply,
    row: &[Wire],
    on_row: &mut dyn FnMut(&dyn sql::Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let row = MysqlRow(row);
    let text = || sql::Row::text(&row, 0);
    match reply {
        Reply::Rows => on_row(&row),
        Reply::Lines => {
            let mut first = 0;
            text()?.split('\n').try_for_each(|text| {
                let line = Line::new(text, first);
                if first == 0 {
                    first = line.columns.len();
                }
                on_row(&line)
            })
        }
        Reply::Pairs => {
            let text = text()?;
            let mut numbers = text.split_whitespace();
            while let Some(one) = numbers.next() {
                let missing = || Failure::Invalid(format!("a reply holds no pairs of numbers: {text}"));
                let columns = ArrayVec::from_iter([one, numbers.next().ok_or_else(missing)?]);
                on_row(&Line { columns, first: 0 })?;
            }
            Ok(())
        }
        Reply::Arrays => Err(Failure::Invalid("this protocol has no arrays".to_owned())),
    }
}

/// A row as the shared transactions read it.
struct MysqlRow<'a>(&'a [Wire]);

impl MysqlRow<'_> {
    fn column(&self, at: usize) -> Result<&Wire, Failure> {
        self.0
            .get(at)
            .ok_or_else(|| Failure::Invalid(format!("a reply has {} columns, and none of number {at}", self.0.len())))
    }
}

fn unfit(at: usize, value: &Wire, wanted: &str) -> Failure {
    Failure::Invalid(format!("column {at} of a reply is no {wanted}: {}", value.as_sql(false)))
}

impl sql::Row for MysqlRow<'_> {
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
///
/// Its first column has the number `first`.
struct Line<'a> {
    columns: ArrayVec<&'a str, MAX_COLUMNS>,
    first: usize,
}

impl<'a> Line<'a> {
    /// Takes a text apart.
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
    use crate::engine::wire::mysql::value::date_text;

    /// The first two columns of each row that a text stands for.
    fn pairs(reply: Reply, text: &str) -> Result<Vec<(i32, i32)>, Failure> {
        let mut pairs = Vec::new();
        let row = [Wire::Bytes(text.into())];
        let mut on_row = |row: &dyn sql::Row| {
            pairs.push((row.int(0)?, row.int(1)?));
            Ok(())
        };
        read(reply, &row, &mut on_row)?;
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
        let row = [Wire::Bytes("7\tx\n8\t9\n10\t11".into())];
        let mut on_row = |row: &dyn sql::Row| {
            found.push((row.int(0).ok(), row.int(2).ok(), row.int(3).ok()));
            Ok(())
        };
        read(Reply::Lines, &row, &mut on_row).unwrap();
        assert_eq!(found, [(Some(7), None, None), (None, Some(8), Some(9)), (None, Some(10), Some(11))]);
        assert!(read(Reply::Lines, &[Wire::NULL], &mut |_| Ok(())).is_err());
        assert!(read(Reply::Arrays, &row, &mut |_| Ok(())).is_err());
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
        let row = MysqlRow(&row);
        let moment = Timestamp(1_000_000_000_123_456);
        assert_eq!((row.time(0).unwrap(), row.time(1).unwrap()), (moment, moment));
        assert_eq!(row.optional_time(2).unwrap(), None);
        assert!(row.time(3).is_err() && row.time(4).is_err());
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let row = [Wire::Bytes(b"abc  ".to_vec()), Wire::UInt(u64::MAX), Wire::Bytes(vec![0xff])];
        let row = MysqlRow(&row);
        assert_eq!(row.text(0).unwrap(), "abc");
        assert!(row.int(0).is_err() && row.int(1).is_err() && row.text(2).is_err() && row.rate(1).is_err());
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
