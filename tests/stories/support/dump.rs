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

/// Of a schema in PostgreSQL, all numbers in the units that SQLite stores.
pub async fn postgres(client: &tokio_postgres::Client, schema: &str, table: &Table, sink: &mut dyn RowSink) {
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| match column.kind {
            ColumnKind::Int => format!("{}::bigint", column.name),
            ColumnKind::Money => format!("({} * 100)::bigint", column.name),
            ColumnKind::Rate => format!("({} * 10000)::bigint", column.name),
            ColumnKind::Time => format!("(extract(epoch FROM {}) * 1000000)::bigint", column.name),
            // Not by a cast, which Citus takes for none and then misses.
            ColumnKind::Text => format!("({} || '')", column.name),
        })
        .collect();
    let sql = format!("SELECT {} FROM {schema}.{} {}", columns.join(", "), table.name, order(table));
    let mut rows = std::pin::pin!(client.query_raw(&sql, std::iter::empty::<i32>()).await.unwrap());
    while let Some(row) = rows.try_next().await.unwrap() {
        for (at, column) in table.columns.iter().enumerate() {
            match column.kind {
                ColumnKind::Text => sink.put(Value::Text(row.get(at))),
                kind => sink.put(value(kind, row.get(at))),
            }
        }
        sink.end_row();
    }
}

/// Of a database in MySQL, all numbers in the units that SQLite stores.
pub async fn mysql(client: &mut mysql_async::Conn, database: &str, table: &Table, sink: &mut dyn RowSink) {
    use mysql_async::Row;
    use mysql_async::prelude::Queryable;
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| match column.kind {
            ColumnKind::Int | ColumnKind::Text => column.name.to_owned(),
            ColumnKind::Money => format!("CAST({} * 100 AS SIGNED)", column.name),
            ColumnKind::Rate => format!("CAST({} * 10000 AS SIGNED)", column.name),
            ColumnKind::Time => format!("TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {})", column.name),
        })
        .collect();
    let rows: Vec<Row> = client
        .query(format!("SELECT {} FROM {database}.{} {}", columns.join(", "), table.name, order(table)))
        .await
        .unwrap();
    for row in rows {
        for (at, column) in table.columns.iter().enumerate() {
            match column.kind {
                ColumnKind::Text => sink.put(Value::Text(&row.get::<String, _>(at).unwrap())),
                kind => sink.put(value(kind, row.get::<Option<i64>, _>(at).unwrap())),
            }
        }
        sink.end_row();
    }
}
