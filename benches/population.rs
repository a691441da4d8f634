//! How fast one core generates the rows of the initial population, without a database: `cargo bench --bench
//! population`.
//!
//! Bytes are counted as in a plain binary row: characters of a text, 4 for an integer or a rate, 8 for money or a time.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use graymark::workload::tpcc::population::Population;
use graymark::workload::tpcc::schema::TABLES;
use graymark::workload::value::{RowSink, Timestamp, Value};
use graymark::workload::{Part, Population as _, Rows as _};

criterion_group!(benches, tables);
criterion_main!(benches);

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

fn tables(criterion: &mut Criterion) {
    let population = Population::new(1, 1, Timestamp(0));
    let parts = population.parts();
    for (table, description) in TABLES.iter().enumerate() {
        let parts: Vec<Part> = parts.iter().filter(|part| part.table == table).copied().collect();
        measure(criterion, description.name, &population, &parts);
    }
    measure(criterion, "all", &population, &parts);
}

fn measure(criterion: &mut Criterion, name: &str, population: &Population, parts: &[Part]) {
    let mut group = criterion.benchmark_group("population");
    let Nowhere { rows, bytes } = make(population, parts);
    group.sample_size(10).throughput(Throughput::ElementsAndBytes { elements: rows, bytes });
    group.bench_function(name, |bencher| bencher.iter(|| make(population, parts)));
    group.finish();
}

fn make(population: &Population, parts: &[Part]) -> Nowhere {
    let (mut sink, mut rows) = (Nowhere::default(), population.rows());
    for part in parts {
        for unit in 0..part.units {
            rows.write(part, unit, &mut sink);
        }
    }
    sink
}
