//! Rows as text for `LOAD DATA`.

use std::io::Write;

use bytes::{BufMut, Bytes, BytesMut};

use super::value::date_text;
use crate::workload::value::{RowSink, Timestamp, Value};
use crate::workload::{Part, Rows};

/// Bytes that are passed on at once, in one packet of the protocol.
const CHUNK: usize = 256 << 10;
/// Space for the largest row beyond a chunk, so that a buffer rarely grows.
const MARGIN: usize = 8 << 10;

/// The statement that loads rows with these columns. The file name has no meaning: the rows come from the client's
/// memory.
pub fn statement(table: &str, columns: &[&str]) -> String {
    format!(
        "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\\t' ESCAPED BY \
         '\\\\' \
         LINES TERMINATED BY '\\n' ({})",
        columns.join(", ")
    )
}

/// Receives rows and buffers their text.
#[derive(Debug)]
pub struct TextRows {
    buffer: BytesMut,
    in_row: bool,
    /// The last date: nearly all dates of a population are the same.
    date: (Timestamp, String),
}

impl Default for TextRows {
    fn default() -> Self {
        let date = Timestamp::default();
        TextRows { buffer: BytesMut::with_capacity(CHUNK + MARGIN), in_row: false, date: (date, date_text(date)) }
    }
}

impl TextRows {
    /// The buffered text, if it is at least a chunk.
    pub fn chunk(&mut self) -> Option<Bytes> {
        (self.buffer.len() >= CHUNK).then(|| {
            let chunk = self.buffer.split().freeze();
            self.buffer.reserve(CHUNK + MARGIN);
            chunk
        })
    }

    /// The remaining text.
    pub fn rest(&mut self) -> Bytes {
        self.buffer.split().freeze()
    }
}

impl RowSink for TextRows {
    fn put(&mut self, value: Value<'_>) {
        if self.in_row {
            self.buffer.put_u8(b'\t');
        }
        self.in_row = true;
        match value {
            Value::Null => self.buffer.put_slice(b"\\N"),
            Value::Text(text) => {
                for byte in text.bytes() {
                    let escaped = match byte {
                        b'\t' => b't',
                        b'\n' => b'n',
                        b'\\' => b'\\',
                        0 => b'0',
                        plain => {
                            self.buffer.put_u8(plain);
                            continue;
                        }
                    };
                    self.buffer.put_slice(&[b'\\', escaped]);
                }
            }
            Value::Time(time) => {
                if time != self.date.0 {
                    self.date = (time, date_text(time));
                }
                self.buffer.put_slice(self.date.1.as_bytes());
            }
            // Writing to a buffer cannot fail.
            Value::Int(number) => drop(write!((&mut self.buffer).writer(), "{number}")),
            Value::Money(amount) => drop(write!((&mut self.buffer).writer(), "{amount}")),
            Value::Rate(rate) => drop(write!((&mut self.buffer).writer(), "{rate}")),
        }
    }

    fn end_row(&mut self) {
        self.buffer.put_u8(b'\n');
        self.in_row = false;
    }
}

/// The text of a part of a population in chunks.
pub struct Chunks<R> {
    rows: R,
    part: Part,
    next: u32,
    text: TextRows,
}

impl<R: Rows> Chunks<R> {
    /// For a part.
    pub fn new(rows: R, part: Part) -> Self {
        Chunks { rows, part, next: 0, text: TextRows::default() }
    }
}

impl<R: Rows> Iterator for Chunks<R> {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        while self.next < self.part.units {
            self.rows.write(&self.part, self.next, &mut self.text);
            self.next += 1;
            if let Some(chunk) = self.text.chunk() {
                return Some(chunk);
            }
        }
        Some(self.text.rest()).filter(|rest| !rest.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::value::{Money, Rate};

    #[test]
    fn values_are_written_as_load_data_reads_them() {
        let mut rows = TextRows::default();
        let values = [
            Value::Int(-7),
            Value::Null,
            Value::Money(Money(-1_005)),
            Value::Rate(Rate(2_000)),
            Value::Text("a\tb\\c\n"),
            Value::Time(Timestamp(1_000_000_000_000_001)),
        ];
        values.into_iter().for_each(|value| rows.put(value));
        rows.end_row();
        rows.put(Value::Text(""));
        rows.end_row();
        assert_eq!(&rows.rest()[..], b"-7\t\\N\t-10.05\t0.2000\ta\\tb\\\\c\\n\t2001-09-09 01:46:40.000001\n\n");
    }
}
