//! Rows of a table in key order.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Value as Wire};

use super::failure::of_command;
use super::value::whole;
use crate::engine::Error;
use crate::engine::seed::{Reading, of_number};
use crate::workload::value::{RowSink, Value};
use crate::workload::{Column, ColumnKind};

/// A column as an integer in its smallest unit, or as its text.
fn expression(column: &Column) -> String {
    let name = column.name;
    match column.kind {
        ColumnKind::Int | ColumnKind::Text => name.to_owned(),
        ColumnKind::Money => format!("CAST({name} * 100 AS SIGNED)"),
        ColumnKind::Rate => format!("CAST({name} * 10000 AS SIGNED)"),
        ColumnKind::Time => format!("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {name})"),
    }
}

/// Passes the rows to `sink`. A statement is one snapshot.
pub(super) async fn read(conn: &mut Conn, reading: &Reading<'_>, sink: &mut dyn RowSink) -> Result<(), Error> {
    let failed = |error| of_command(&format!("cannot read {}", reading.table), &error);
    let mut rows = conn.query_iter(reading.sql(expression)).await.map_err(failed)?;
    while !rows.is_empty() {
        let Some(row) = rows.next().await.map_err(failed)? else { continue };
        for (at, column) in reading.columns.iter().enumerate() {
            let value = row.as_ref(at).unwrap_or(&Wire::NULL);
            match (value, column.kind) {
                (Wire::Bytes(text), ColumnKind::Text) => sink.put(Value::Text(&String::from_utf8_lossy(text))),
                (value, kind) => sink.put(whole(value).map_or(Value::Null, |number| of_number(kind, number))),
            }
        }
        sink.end_row();
    }
    Ok(())
}
