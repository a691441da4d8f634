//! Rows in the binary format of `COPY … FROM STDIN (FORMAT binary)`.

use bytes::{BufMut, Bytes, BytesMut};

use super::numeric::{Numeric, since_2000};
use super::schema::Schema;
use crate::workload::Table;
use crate::workload::value::{RowSink, Value};

/// Bytes that are passed on at once.
pub const CHUNK: usize = 128 << 10;
/// Space for the largest row beyond a chunk, so that a buffer rarely grows.
const MARGIN: usize = 8 << 10;
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

/// The COPY statement for the rows of a table.
pub fn statement(schema: &Schema, table: &Table) -> String {
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    format!("COPY {schema}.{} ({}) FROM STDIN (FORMAT binary)", table.name, columns.join(", "))
}

/// Receives rows and buffers their encoded form.
#[derive(Debug)]
pub struct CopyRows {
    buffer: BytesMut,
    columns: i16,
    in_row: bool,
    /// Rows so far.
    pub rows: u64,
}

impl CopyRows {
    /// For rows with a number of columns; it begins with the file header.
    pub fn new(columns: usize) -> CopyRows {
        let mut buffer = BytesMut::with_capacity(CHUNK + MARGIN);
        buffer.put_slice(SIGNATURE);
        // Flags and the length of the header's extension.
        buffer.put_u64(0);
        CopyRows { buffer, columns: columns as i16, in_row: false, rows: 0 }
    }

    /// The buffered bytes, if they are at least a chunk.
    pub fn chunk(&mut self) -> Option<Bytes> {
        (self.buffer.len() >= CHUNK).then(|| {
            let chunk = self.buffer.split().freeze();
            self.buffer.reserve(CHUNK + MARGIN);
            chunk
        })
    }

    /// The remaining bytes, with the trailer that ends the copy.
    pub fn finish(mut self) -> Bytes {
        self.buffer.put_i16(-1);
        self.buffer.freeze()
    }

    fn put_field(&mut self, bytes: &[u8]) {
        self.buffer.put_i32(bytes.len() as i32);
        self.buffer.put_slice(bytes);
    }
}

impl RowSink for CopyRows {
    fn put(&mut self, value: Value<'_>) {
        if !self.in_row {
            self.buffer.put_i16(self.columns);
            self.in_row = true;
        }
        match value {
            Value::Null => self.buffer.put_i32(-1),
            Value::Int(number) => self.put_field(&number.to_be_bytes()),
            Value::Money(amount) => self.put_field(Numeric::money(amount).as_bytes()),
            Value::Rate(rate) => self.put_field(Numeric::rate(rate).as_bytes()),
            Value::Text(text) => self.put_field(text.as_bytes()),
            Value::Time(time) => self.put_field(&since_2000(time).to_be_bytes()),
        }
    }

    fn end_row(&mut self) {
        self.in_row = false;
        self.rows += 1;
    }
}
