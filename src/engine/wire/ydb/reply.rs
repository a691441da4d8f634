//! Rows of replies.

use std::collections::BTreeMap;

use ydb_grpc::ydb_proto::Value as Wire;
use ydb_grpc::ydb_proto::query::ExecuteQueryResponsePart;
use ydb_grpc::ydb_proto::value::Value as Datum;

use super::failure::YdbError;
use crate::engine::Failure;
use crate::engine::sql;
use crate::workload::value::{Money, Rate, Timestamp};

/// The column of a set of rows that says how many rows a statement has changed.
const AFFECTED: &str = "affected";

/// A set of rows.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Wire>,
}

impl Rows {
    /// The column of a name in a row.
    pub fn get<'a>(&self, row: &'a Wire, name: &str) -> Option<&'a Wire> {
        row.items.get(self.columns.iter().position(|column| column == name)?)
    }

    /// The only row's number of rows that were changed, if that is what the set says.
    pub fn affected(&self) -> Option<u64> {
        let row = self.rows.first().filter(|_| self.columns == [AFFECTED])?;
        number(row.items.first()?).and_then(|number| u64::try_from(number).ok())
    }
}

/// Gathers the sets of rows of a query, which come in parts.
#[derive(Debug, Default)]
pub struct Gathered(BTreeMap<i64, Rows>);

impl Gathered {
    /// Takes a part.
    ///
    /// # Errors
    /// If the server has left out rows.
    pub fn take(&mut self, part: ExecuteQueryResponsePart) -> Result<(), YdbError> {
        let Some(set) = part.result_set else { return Ok(()) };
        if set.truncated {
            return Err(YdbError::Unreadable("YDB has left out rows of its answer".to_owned()));
        }
        let rows = self.0.entry(part.result_set_index).or_default();
        if rows.columns.is_empty() {
            rows.columns = set.columns.into_iter().map(|column| column.name).collect();
        }
        rows.rows.extend(set.rows);
        Ok(())
    }

    /// The set of a query that has only one.
    ///
    /// # Errors
    /// If the answer has none: nothing is known then, not even that there are no rows.
    pub fn only(mut self) -> Result<Rows, YdbError> {
        self.set(0).ok_or_else(|| YdbError::Unreadable("YDB has answered a query without a set of rows".to_owned()))
    }

    /// The set of a number, once; none if the answer has none.
    pub fn set(&mut self, number: usize) -> Option<Rows> {
        i64::try_from(number).ok().and_then(|number| self.0.remove(&number))
    }
}

/// A whole number of any type; none if it is null or something else.
pub fn number(value: &Wire) -> Option<i64> {
    match value.value.as_ref()? {
        Datum::BoolValue(value) => Some(i64::from(*value)),
        Datum::Int32Value(value) => Some((*value).into()),
        Datum::Uint32Value(value) => Some((*value).into()),
        Datum::Int64Value(value) => Some(*value),
        Datum::Uint64Value(value) => i64::try_from(*value).ok(),
        _ => None,
    }
}

/// A text; none if it is null or something else.
pub fn text(value: &Wire) -> Option<&str> {
    match value.value.as_ref()? {
        Datum::TextValue(text) => Some(text),
        Datum::BytesValue(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

/// A value as an example of a finding shows it.
pub fn shown(value: &Wire) -> String {
    match (number(value), text(value)) {
        (Some(number), _) => number.to_string(),
        (_, Some(text)) => text.to_owned(),
        _ => "null".to_owned(),
    }
}

/// A row of a reply.
pub struct YdbRow<'a>(pub &'a Wire);

impl YdbRow<'_> {
    fn at(&self, column: usize) -> Result<&Wire, Failure> {
        self.0.items.get(column).ok_or_else(|| Failure::Invalid(format!("a reply has no column {column}")))
    }

    fn number(&self, column: usize) -> Result<i64, Failure> {
        number(self.at(column)?).ok_or_else(|| wrong(column, "no whole number"))
    }

    fn optional(&self, column: usize) -> Result<Option<i64>, Failure> {
        match self.at(column)?.value {
            None | Some(Datum::NullFlagValue(_)) => Ok(None),
            Some(_) => self.number(column).map(Some),
        }
    }

    fn small(column: usize, number: i64) -> Result<i32, Failure> {
        i32::try_from(number).map_err(|_| wrong(column, "too large"))
    }
}

fn wrong(column: usize, what: &str) -> Failure {
    Failure::Invalid(format!("column {column} of a reply is {what}"))
}

impl sql::Row for YdbRow<'_> {
    fn int(&self, column: usize) -> Result<i32, Failure> {
        YdbRow::small(column, self.number(column)?)
    }

    fn optional_int(&self, column: usize) -> Result<Option<i32>, Failure> {
        self.optional(column)?.map(|number| YdbRow::small(column, number)).transpose()
    }

    fn money(&self, column: usize) -> Result<Money, Failure> {
        self.number(column).map(Money)
    }

    fn rate(&self, column: usize) -> Result<Rate, Failure> {
        self.int(column).map(Rate)
    }

    fn text(&self, column: usize) -> Result<&str, Failure> {
        text(self.at(column)?).ok_or_else(|| wrong(column, "no text"))
    }

    fn time(&self, column: usize) -> Result<Timestamp, Failure> {
        self.number(column).map(Timestamp)
    }

    fn optional_time(&self, column: usize) -> Result<Option<Timestamp>, Failure> {
        Ok(self.optional(column)?.map(Timestamp))
    }
}

#[cfg(test)]
mod tests {
    use ydb_grpc::ydb_proto::ResultSet;

    use super::*;

    #[test]
    fn a_set_comes_in_parts_and_none_of_its_rows_is_left_out() {
        let part = |rows, truncated| {
            let result_set = Some(ResultSet { rows: vec![Wire::default(); rows], truncated, ..Default::default() });
            ExecuteQueryResponsePart { result_set, ..Default::default() }
        };
        let mut gathered = Gathered::default();
        gathered.take(part(5, false)).unwrap();
        gathered.take(part(2, false)).unwrap();
        assert_eq!(gathered.set(0).map(|rows| rows.rows.len()), Some(7));
        assert!(
            matches!(gathered.take(part(1, true)), Err(YdbError::Unreadable(why)) if why.contains("left out rows"))
        );
        // No rows, and no set.
        let mut empty = Gathered::default();
        empty.take(part(0, false)).unwrap();
        assert_eq!(empty.only().map(|rows| rows.rows.len()), Ok(0));
        let mut bare = Gathered::default();
        bare.take(ExecuteQueryResponsePart::default()).unwrap();
        assert!(matches!(bare.only(), Err(YdbError::Unreadable(why)) if why.contains("without a set of rows")));
    }
}
