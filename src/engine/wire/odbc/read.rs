//! Rows of a table in the order of a key.

use super::catalog::failed;
use super::driver::Connection;
use super::reply::OdbcRow;
use crate::engine::seed::{Reading, of_number};
use crate::engine::{Error, Failure};
use crate::workload::value::{RowSink, Value};
use crate::workload::{Column, ColumnKind};

/// Rows read before others on this thread, such as an interrupt, get their turn.
const ROWS_PER_TURN: u32 = 5_000;

/// How a database gives its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// As SQL writes them.
    Plain,
    /// Money, rates and dates are whole numbers of their smallest units.
    Integers,
    /// As SQL writes them, but for dates, which have all their digits only as texts.
    DatesAsTexts,
}

/// Hands the rows to `sink`.
pub async fn read(
    connection: &Connection,
    reading: &Reading<'_>,
    values: Values,
    sink: &mut dyn RowSink,
) -> Result<(), Error> {
    let what = format!("cannot read {}", reading.table);
    let expression = |column: &Column| match (column.kind, values) {
        (ColumnKind::Time, Values::DatesAsTexts) => format!("CAST ({} AS VARCHAR)", column.name),
        _ => column.name.to_owned(),
    };
    let sql = reading.sql(expression);
    let mut select = connection.direct(&sql).map_err(|error| failed(&what, &error))?;
    let mut turn = 0_u32;
    while let Some(row) = select.fetch().map_err(|error| failed(&what, &error))? {
        for (at, column) in reading.columns.iter().enumerate() {
            let value = value(row, at, column.kind, values);
            sink.put(value.map_err(|failure| Error::Database(format!("{what}: {}: {failure}", column.name)))?);
        }
        sink.end_row();
        turn = turn.wrapping_add(1);
        if turn.is_multiple_of(ROWS_PER_TURN) {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}

fn value(row: &OdbcRow, at: usize, kind: ColumnKind, values: Values) -> Result<Value<'_>, Failure> {
    let Some(text) = row.optional_text(at)? else { return Ok(Value::Null) };
    Ok(match kind {
        ColumnKind::Text => Value::Text(text),
        kind if values == Values::Integers => of_number(kind, row.long(at)?),
        ColumnKind::Int => of_number(kind, row.long(at)?),
        ColumnKind::Money => Value::Money(row.money(at)?),
        ColumnKind::Rate => Value::Rate(row.rate(at)?),
        ColumnKind::Time => Value::Time(row.time(at)?),
    })
}
