//! Generates rows on a separate thread, while the writer inserts earlier ones into the file.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::engine::Error;
use crate::workload::value::{RowSink, Value};
use crate::workload::{Part, Population, Rows};

/// Bytes of texts, and number of values, at which rows are passed on.
const FULL_TEXTS: usize = 128 * 1_024;
const FULL_VALUES: usize = 16 * 1_024;
/// Number of batches that wait for the writer.
const WAITING: usize = 2;

/// Some rows of a part.
#[derive(Debug, Default)]
pub(super) struct Batch {
    cells: Vec<Cell>,
    texts: String,
    /// Whether these are the part's last ones.
    pub(super) is_last: bool,
}

#[derive(Debug)]
enum Cell {
    Value(Value<'static>),
    /// A range of the texts.
    Text(usize),
    EndOfRow,
}

impl RowSink for Batch {
    fn put(&mut self, value: Value<'_>) {
        self.cells.push(match value {
            Value::Text(text) => {
                self.texts.push_str(text);
                Cell::Text(text.len())
            }
            Value::Null => Cell::Value(Value::Null),
            Value::Int(value) => Cell::Value(Value::Int(value)),
            Value::Money(value) => Cell::Value(Value::Money(value)),
            Value::Rate(value) => Cell::Value(Value::Rate(value)),
            Value::Time(value) => Cell::Value(Value::Time(value)),
        });
    }

    fn end_row(&mut self) {
        self.cells.push(Cell::EndOfRow);
    }
}

impl Batch {
    /// Passes the rows to a sink.
    pub(super) fn pour(&self, sink: &mut impl RowSink) {
        let mut texts = self.texts.as_str();
        for cell in &self.cells {
            match cell {
                Cell::Value(value) => sink.put(*value),
                Cell::Text(length) => {
                    let (text, rest) = texts.split_at_checked(*length).unwrap_or((texts, ""));
                    texts = rest;
                    sink.put(Value::Text(text));
                }
                Cell::EndOfRow => sink.end_row(),
            }
        }
    }

    fn is_full(&self) -> bool {
        self.texts.len() >= FULL_TEXTS || self.cells.len() >= FULL_VALUES
    }
}

/// Starts to generate the rows of some parts, one part after the other. The thread ends when the receiver is dropped.
///
/// # Errors
/// If no thread can be started.
pub(super) fn start<P: Population>(population: &P, parts: Vec<Part>) -> Result<Receiver<Batch>, Error> {
    let (sender, made) = sync_channel(WAITING);
    let rows = population.rows();
    let thread = std::thread::Builder::new().name("rows".to_owned()).spawn(move || make(rows, &parts, &sender));
    thread.map(|_| made).map_err(|error| Error::Database(format!("cannot start a thread that makes rows: {error}")))
}

fn make(mut rows: impl Rows, parts: &[Part], to: &SyncSender<Batch>) {
    for part in parts {
        let mut batch = Batch::default();
        for unit in 0..part.units {
            rows.write(part, unit, &mut batch);
            if batch.is_full() && to.send(std::mem::take(&mut batch)).is_err() {
                return;
            }
        }
        batch.is_last = true;
        if to.send(batch).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tpcc::population::Population as Warehouses;
    use crate::workload::value::Timestamp;

    /// Rows as text.
    #[derive(Default)]
    struct Written(Vec<String>);

    impl RowSink for Written {
        fn put(&mut self, value: Value<'_>) {
            self.0.push(format!("{value:?}"));
        }

        fn end_row(&mut self) {
            self.0.push("end".to_owned());
        }
    }

    #[test]
    fn rows_arrive_as_they_are_made_one_part_after_the_other() {
        let population = Warehouses::new(1, 7, Timestamp(0));
        let small = |part: &Part| part.rows <= 10 || part.units == 3_000;
        let parts: Vec<Part> = population.parts().into_iter().filter(small).take(4).collect();
        let made = start(&population, parts.clone()).unwrap();
        let mut rows = Population::rows(&population);
        for part in &parts {
            let (mut direct, mut poured) = (Written::default(), Written::default());
            (0..part.units).for_each(|unit| rows.write(part, unit, &mut direct));
            loop {
                let batch = made.recv().unwrap();
                batch.pour(&mut poured);
                if batch.is_last {
                    break;
                }
            }
            assert!(!direct.0.is_empty() && direct.0 == poured.0);
        }
        assert!(made.recv().is_err());
    }
}
