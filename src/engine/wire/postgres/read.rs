//! Rows of a table in key order.

use std::pin::pin;

use futures_util::TryStreamExt;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::check::reading as snapshot;
use super::failure::of_command;
use super::schema::Schema;
use crate::engine::Error;
use crate::engine::seed::{Reading, of_number};
use crate::workload::value::{RowSink, Value};
use crate::workload::{Column, ColumnKind};

/// A column as an integer in its smallest unit, or as its text.
fn expression(column: &Column) -> String {
    let name = column.name;
    match column.kind {
        ColumnKind::Int | ColumnKind::Text => name.to_owned(),
        ColumnKind::Money => format!("({name} * 100)::bigint"),
        ColumnKind::Rate => format!("({name} * 10000)::bigint"),
        ColumnKind::Time => format!("(extract(epoch FROM {name}) * 1000000)::bigint"),
    }
}

/// Passes the rows of one snapshot to `sink`.
pub(super) async fn read(
    client: &Client,
    schema: &Schema,
    reading: &Reading<'_>,
    sink: &mut dyn RowSink,
) -> Result<(), Error> {
    let failed = |error| of_command(&format!("cannot read {}", reading.table), &error);
    let sql = snapshot(schema, &reading.sql(expression));
    let mut rows = pin!(client.simple_query_raw(&sql).await.map_err(failed)?);
    while let Some(message) = rows.try_next().await.map_err(failed)? {
        let SimpleQueryMessage::Row(row) = message else { continue };
        for (at, column) in reading.columns.iter().enumerate() {
            let text = row.try_get(at).map_err(failed)?;
            sink.put(match (text, column.kind) {
                (None, _) => Value::Null,
                (Some(text), ColumnKind::Text) => Value::Text(text),
                (Some(text), kind) => text.parse().map_or(Value::Text(text), |number| of_number(kind, number)),
            });
        }
        sink.end_row();
    }
    Ok(())
}
