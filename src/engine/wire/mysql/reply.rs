//! Rows of replies for the shared transactions.

use mysql_async::Value as Wire;

use super::value::{date, decimal, whole};
use crate::engine::Failure;
use crate::engine::sql::{self, Reply, lines};
use crate::workload::value::{Money, Rate, Timestamp};

/// Passes the rows encoded in a row of the server to `on_row`.
pub fn read(
    reply: Reply,
    row: &[Wire],
    on_row: &mut dyn FnMut(&dyn sql::Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let row = MysqlRow(row);
    match reply {
        Reply::Rows => on_row(&row),
        Reply::Lines | Reply::Pairs => lines::read(reply, sql::Row::text(&row, 0)?, on_row),
        Reply::Arrays => Err(Failure::Invalid("this protocol has no arrays".to_owned())),
    }
}

/// A row for the shared transactions.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::sql::Row as _;
    use crate::engine::wire::mysql::value::date_text;

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
    fn what_does_not_fit_is_reported() {
        let row = [Wire::Bytes(b"abc  ".to_vec()), Wire::UInt(u64::MAX), Wire::Bytes(vec![0xff])];
        let row = MysqlRow(&row);
        assert_eq!(row.text(0).unwrap(), "abc");
        assert!(row.int(0).is_err() && row.int(1).is_err() && row.text(2).is_err() && row.rate(1).is_err());
    }
}
