//! How fast one core makes the rows of the initial population, with nothing behind them: `cargo bench --bench
//! population`.
//!
//! Bytes are counted as a plain binary row has them: characters of a text, 4 for an integer or a rate, 8 for money or a
//! time.

use std::hint::black_box;
use std::time::Instant;

use graymark::workload::tpcc::population::Population;
use graymark::workload::tpcc::schema::TABLES;
use graymark::workload::value::{RowSink, Timestamp, Value};
use graymark::workload::{Part, Population as _, Rows as _};

const RUNS: usize = 5;

#[derive(Default)]
struct Nowhere {
    rows: u64,
    bytes: u64,
}

impl RowSink for Nowhere {
    fn put(&mut self, value: Value<'_>) {
        self.bytes += match black_box(value) {
            Value::Null => 0,
            Value::Int(_) | Value::Rate(_) => 4,
            Value::Money(_) | Value::Time(_) => 8,
            Value::Text(text) => text.len() as u64,
        };
    }

    fn end_row(&mut self) {
        self.rows += 1;
    }
}

fn main() {
    let population = Population::new(1, 1, Timestamp(0));
    let parts = population.parts();
    for (table, description) in TABLES.iter().enumerate() {
        let parts: Vec<Part> = parts.iter().filter(|part| part.table == table).copied().collect();
        measure(description.name, &population, &parts);
    }
    measure("all", &population, &parts);
}

fn measure(name: &str, population: &Population, parts: &[Part]) {
    let mut runs: Vec<(f64, Nowhere)> = (0..RUNS)
        .map(|_| {
            let mut sink = Nowhere::default();
            let mut rows = population.rows();
            let begun = Instant::now();
            for part in parts {
                for unit in 0..part.units {
                    rows.write(part, unit, &mut sink);
                }
            }
            (begun.elapsed().as_secs_f64(), sink)
        })
        .collect();
    runs.sort_by(|left, right| left.0.total_cmp(&right.0));
    let (seconds, sink) = &runs[RUNS / 2];
    println!(
        "{name:<10} {:>8} rows {:>6.1} MB {:>7.0} MB/s {:>6.2} million rows/s (median of {RUNS})",
        sink.rows,
        sink.bytes as f64 / 1e6,
        sink.bytes as f64 / 1e6 / seconds,
        sink.rows as f64 / 1e6 / seconds,
    );
}
