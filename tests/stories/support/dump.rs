//! The rows of a table as a database holds them, in the schema's columns and in the order of the primary key.

use std::path::Path;

use futures_util::TryStreamExt;
use graymark::workload::value::{Money, Rate, RowSink, Timestamp, Value};
use graymark::workload::{ColumnKind, Table};

fn order(table: &Table) -> String {
    if table.primary_key.is_empty() { String::new() } else { format!("ORDER BY {}", table.primary_key.join(", ")) }
}

/// A number as SQLite stores a value of its kind: see the head of its `schema.sql`.
fn value<'a>(kind: ColumnKind, number: Option<i64>) -> Value<'a> {
    let Some(number) = number else { return Value::Null };
    match kind {
        ColumnKind::Int => Value::Int(number.try_into().unwrap()),
        ColumnKind::Money => Value::Money(Money(number)),
        ColumnKind::Rate => Value::Rate(Rate(number.try_into().unwrap())),
        ColumnKind::Time => Value::Time(Timestamp(number)),
        ColumnKind::Text => panic!("a text is no number"),
    }
}

/// Of a SQLite file.
pub fn sqlite(file: &Path, table: &Table, sink: &mut dyn RowSink) {
    let connection = rusqlite::Connection::open(file).unwrap();
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    let mut select =
        connection.prepare(&format!("SELECT {} FROM {} {}", columns.join(", "), table.name, order(table))).unwrap();
    let mut rows = select.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        for (at, column) in table.columns.iter().enumerate() {
            match column.kind {
                ColumnKind::Text => sink.put(Value::Text(row.get_ref(at).unwrap().as_str().unwrap())),
                kind => sink.put(value(kind, row.get(at).unwrap())),
            }
        }
        sink.end_row();
    }
}

/// A number as a server writes it: an amount and a rate with all digits of their scale.
fn written<'a>(kind: ColumnKind, text: &'a str) -> Value<'a> {
    match kind {
        ColumnKind::Text => Value::Text(text),
        ColumnKind::Money | ColumnKind::Rate => {
            let places = if kind == ColumnKind::Money { 2 } else { 4 };
            assert_eq!(text.split_once('.').map(|(_, after)| after.len()), Some(places), "{text}");
            value(kind, Some(text.replace('.', "").parse().unwrap()))
        }
        ColumnKind::Int | ColumnKind::Time => value(kind, Some(text.parse().unwrap())),
    }
}

/// Of a schema in PostgreSQL.
pub async fn postgres(client: &tokio_postgres::Client, schema: &str, table: &Table, sink: &mut dyn RowSink) {
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| match column.kind {
            // As a floating-point number, which holds each microsecond of our days.
            ColumnKind::Time => format!("round(date_part('epoch', {}) * 1000000)::bigint", column.name),
            _ => column.name.to_owned(),
        })
        .collect();
    let sql = format!("COPY (SELECT {} FROM {schema}.{} {}) TO STDOUT", columns.join(", "), table.name, order(table));
    let mut rest = Vec::new();
    let mut parts = std::pin::pin!(client.copy_out(&sql).await.unwrap());
    while let Some(part) = parts.try_next().await.unwrap() {
        rest.extend_from_slice(&part);
        let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else { continue };
        for row in std::str::from_utf8(&rest[..end]).unwrap().split('\n') {
            let fields = row.split('\t');
            for (column, field) in table.columns.iter().zip(fields) {
                assert!(!field.contains('\\') || field == "\\N", "a text that COPY escapes: {field}");
                sink.put(if field == "\\N" { Value::Null } else { written(column.kind, field) });
            }
            sink.end_row();
        }
        rest.drain(..=end);
    }
    assert!(rest.is_empty(), "the last row does not end");
}

/// Of a database in MySQL.
pub async fn mysql(client: &mut mysql_async::Conn, database: &str, table: &Table, sink: &mut dyn RowSink) {
    use mysql_async::prelude::Queryable;
    use mysql_async::{Row, Value as Field};
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| match column.kind {
            ColumnKind::Time => format!("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {})", column.name),
            _ => column.name.to_owned(),
        })
        .collect();
    let sql = format!("SELECT {} FROM {database}.{} {}", columns.join(", "), table.name, order(table));
    let mut rows = client.query_iter(sql).await.unwrap();
    while let Some(row) = rows.next().await.unwrap() {
        let row: Row = row;
        for (at, column) in table.columns.iter().enumerate() {
            sink.put(match row.as_ref(at).unwrap() {
                Field::NULL => Value::Null,
                Field::Bytes(text) => written(column.kind, std::str::from_utf8(text).unwrap()),
                other => panic!("{}: {other:?}", column.name),
            });
        }
        sink.end_row();
    }
}
