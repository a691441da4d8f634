//! Rows of a table in the order of a key.

use super::catalog::Link;
use super::failure::YdbError;
use super::reply::{number, text};
use crate::engine::seed::{Reading, of_number};
use crate::workload::value::{RowSink, Value};

/// Hands the rows to `sink` as they come.
pub async fn read(link: &mut Link, reading: &Reading<'_>, sink: &mut dyn RowSink) -> Result<(), YdbError> {
    let query = reading.sql(|column| column.name.to_owned());
    link.stream(&query, |rows| {
        for row in &rows.rows {
            for (column, value) in reading.columns.iter().zip(&row.items) {
                match (number(value), text(value)) {
                    (Some(number), _) => sink.put(of_number(column.kind, number)),
                    (_, Some(text)) => sink.put(Value::Text(text)),
                    _ => sink.put(Value::Null),
                }
            }
            sink.end_row();
        }
    })
    .await
}
