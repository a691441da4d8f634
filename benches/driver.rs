//! Costs of the parts of the driver's own path on one core: `cargo bench --bench driver`.
//!
//! The timer wheel that moves terminals, the generation of inputs, the recording of a response time, and the encoding
//! of rows for the wire. The row generator has its own bench, `population`.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a bench ends with a panic")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use graymark::drive::wheel::Wheel;
use graymark::engine::wire::postgres::bulk::CopyRows;
use graymark::measure::{Measured, note};
use graymark::workload::tpcc::Tpcc;
use graymark::workload::tpcc::population::Population;
use graymark::workload::tpcc::schema::TABLES;
use graymark::workload::value::Timestamp;
use graymark::workload::{Population as _, Rows as _, Terminal as _, Workload};

const SEED: u64 = 7;

criterion_group!(benches, driver);
criterion_main!(benches);

fn driver(criterion: &mut Criterion) {
    for sleepers in [10_000, 1_000_000] {
        let what = format!("timer wheel, {sleepers} asleep: wake and sleep again");
        measure(criterion, &what, &|| wheel(sleepers));
    }
    measure(criterion, "input of a terminal", &inputs);
    measure(criterion, "response time into a histogram", &histogram);
    measure(criterion, "row of order_line for COPY, made and encoded", &copy);
}

/// Measures `work`, which returns how many operations it did.
fn measure(criterion: &mut Criterion, what: &str, work: &dyn Fn() -> u64) {
    let mut group = criterion.benchmark_group("driver");
    group.sample_size(10).throughput(Throughput::Elements(work()));
    group.bench_function(what, |bencher| bencher.iter(work));
    group.finish();
}

/// Sleeps of about 21 s, as between the transactions of a terminal, in steps of a millisecond.
fn wheel(sleepers: u32) -> u64 {
    let mut wheel = Wheel::new(sleepers as usize);
    let spread = |sleeper: u32| u64::from(sleeper.wrapping_mul(2_654_435_761)) % 42_000_000;
    for sleeper in 0..sleepers {
        wheel.sleep(sleeper, spread(sleeper));
    }
    let (mut woken, mut done) = (Vec::new(), u64::from(sleepers));
    for now in (0..20_000_000).step_by(1_000) {
        wheel.wake(now, &mut woken);
        done += woken.len() as u64;
        for (due, sleeper) in woken.drain(..) {
            wheel.sleep(sleeper, due + spread(sleeper ^ now as u32));
        }
    }
    done
}

fn inputs() -> u64 {
    let population = Population::new(10, SEED, Timestamp(0));
    let terminals =
        Tpcc::terminals(10, &Tpcc::parameters(&population), SEED).expect("the parameters are the population's own");
    let mut terminal = Tpcc::terminal(&terminals, 0);
    for _ in 0..100_000 {
        black_box(terminal.next_input());
    }
    100_000
}

fn histogram() -> u64 {
    let mut measured = Measured::new();
    for number in 0..1_000_000_u64 {
        note(&mut measured.response, 500 + number.wrapping_mul(2_654_435_761) % 20_000);
    }
    black_box(&measured.response);
    1_000_000
}

fn copy() -> u64 {
    let population = Population::new(1, SEED, Timestamp(0));
    let table = TABLES.iter().position(|table| table.name == "order_line").expect("it is one of the nine");
    let mut rows = population.rows();
    let mut done = 0;
    for part in population.parts().iter().filter(|part| part.table == table) {
        let mut encoder = CopyRows::new(TABLES[table].columns.len());
        for unit in 0..part.units {
            rows.write(part, unit, &mut encoder);
            black_box(encoder.chunk());
        }
        black_box(encoder.finish());
        done += part.rows;
    }
    done
}
