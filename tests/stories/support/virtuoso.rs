//! A private Virtuoso and its rows.

use std::path::Path;

use graymark::engine::server;
use graymark::engine::wire::odbc::driver::Connection;
use graymark::engine::wire::virtuoso::Virtuoso;
use graymark::result::Via;
use graymark::workload::value::{RowSink, Value};
use graymark::workload::{ColumnKind, Table};

use crate::support;

/// Whether a private Virtuoso can be started here and spoken to; a test that needs one ends without.
pub fn require() -> Option<()> {
    let places = [
        "/usr/lib/x86_64-linux-gnu/odbc",
        "/usr/lib/aarch64-linux-gnu/odbc",
        "/usr/lib/odbc",
        "/usr/lib64",
        "/usr/local/lib",
    ];
    let driver = places.iter().any(|place| Path::new(place).join("virtodbc.so").exists());
    let there = server::virtuoso::available().map_err(|error| error.to_string());
    let there = there.and_then(|()| {
        if driver { Ok(()) } else { Err("Virtuoso's ODBC driver (virtodbc.so) is not installed".to_owned()) }
    });
    support::found(there)
}

/// A small private Virtuoso.
pub fn small() -> Virtuoso {
    Virtuoso::open(support::options("virtuoso:local?buffers=20000", Via::Procedures))
        .expect("a private Virtuoso starts")
}

/// The rows of a table, in the schema's columns and in the order of the primary key.
pub fn dump(connection: &Connection, table: &Table, sink: &mut dyn RowSink) {
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| match column.kind {
            ColumnKind::Time => format!("CAST ({} AS VARCHAR)", column.name),
            _ => column.name.to_owned(),
        })
        .collect();
    let order =
        if table.primary_key.is_empty() { String::new() } else { format!("ORDER BY {}", table.primary_key.join(", ")) };
    let mut select =
        connection.prepare(&format!("SELECT {} FROM tpcc.DBA.{} {order}", columns.join(", "), table.name)).unwrap();
    select.execute(1).unwrap();
    while let Some(row) = select.fetch().unwrap() {
        for (at, column) in table.columns.iter().enumerate() {
            sink.put(match column.kind {
                _ if row.optional_text(at).unwrap().is_none() => Value::Null,
                ColumnKind::Int => Value::Int(row.int(at).unwrap()),
                ColumnKind::Money => Value::Money(row.money(at).unwrap()),
                ColumnKind::Rate => Value::Rate(row.rate(at).unwrap()),
                ColumnKind::Time => Value::Time(row.time(at).unwrap()),
                ColumnKind::Text => Value::Text(row.text(at).unwrap()),
            });
        }
        sink.end_row();
    }
}
