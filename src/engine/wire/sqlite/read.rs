//! Rows of a table in key order.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::engine::seed::{Reading, of_number};
use crate::workload::value::{RowSink, Value};

/// Rows to read before other tasks on this thread run, such as an interrupt.
const ROWS_PER_TURN: u32 = 5_000;

/// Passes the rows to `sink`. A value of another type than its column counts as null or as text, which no population
/// contains there.
pub(super) async fn read(
    connection: &Connection,
    reading: &Reading<'_>,
    sink: &mut dyn RowSink,
) -> rusqlite::Result<()> {
    let mut select = connection.prepare(&reading.sql(|column| column.name.to_owned()))?;
    let mut rows = select.query([])?;
    let mut turn = 0_u32;
    while let Some(row) = rows.next()? {
        for (at, column) in reading.columns.iter().enumerate() {
            match row.get_ref(at)? {
                ValueRef::Integer(number) => sink.put(of_number(column.kind, number)),
                ValueRef::Text(text) => sink.put(Value::Text(&String::from_utf8_lossy(text))),
                ValueRef::Real(number) => sink.put(Value::Text(&number.to_string())),
                ValueRef::Null | ValueRef::Blob(_) => sink.put(Value::Null),
            }
        }
        sink.end_row();
        turn = turn.wrapping_add(1);
        if turn.is_multiple_of(ROWS_PER_TURN) {
            tokio::task::yield_now().await;
        }
    }
    Ok(())
}
