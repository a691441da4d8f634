//! A minimal workload for tests: counters that are incremented and read, and a row for each step. It shows what a
//! workload needs: this folder and its line in the list, its transactions in `engine/sql/counter.rs`, and its `.sql`
//! files.

use std::collections::BTreeMap;

use super::about::About;
use super::lasting::{Columns, Rule, SeedInvariant};
use super::stream::{Source, Stream};
use super::value::{RowSink, Timestamp, Value};
use super::{Column, ColumnKind, Headline, Outcome, Part, Table, Users, Workload};

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Counter;

/// A transaction's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Increments this counter.
    Step(i32),
    /// Reads this counter.
    Look(i32),
}

/// A transaction's result: whether it was a step, and the counter's value after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    pub step: bool,
    pub value: i32,
}

/// Counters, numbered from 1, with value zero.
#[derive(Clone, Copy, Debug)]
pub struct Population {
    counters: u32,
}

/// Writes their rows.
pub struct Rows;

/// The counters, and the seed of the random inputs.
#[derive(Clone, Copy, Debug)]
pub struct Terminals {
    counters: u32,
    seed: u64,
}

/// Generates inputs.
pub struct Terminal {
    counters: i32,
    stream: Stream,
}

const fn int(name: &'static str) -> Column {
    Column { name, kind: ColumnKind::Int }
}

static TABLES: [Table; 2] = [
    Table { name: "counter", columns: &[int("id"), int("value")], primary_key: &["id"] },
    Table { name: "step", columns: &[int("counter_id"), int("value")], primary_key: &[] },
];

impl Workload for Counter {
    const NAME: &'static str = "counter";
    const ABOUT: &'static About = &About {
        name: Counter::NAME,
        title: "Counter",
        help: "Counters",
        default_db: "sqlite:graymark-counter.db",
        unit: Counter::SCALE_UNIT,
        most: String::new,
        read_only: &[],
        accounts: false,
    };
    const TRANSACTIONS: &'static [&'static str] = &["step", "look"];
    const PROFILES: &'static [&'static str] = &["plain"];
    const TABLES: &'static [Table] = &TABLES;
    const SEED_INVARIANTS: &'static [SeedInvariant] = &[SeedInvariant {
        id: "seed_counter",
        title: "Every counter is there",
        table: 0,
        key: &["id"],
        columns: Columns::Only(&["id"]),
        rule: Rule::AsLoaded,
        grows: false,
        always: true,
    }];
    const EFFECTS: &'static [&'static str] = &["steps"];
    const TALLIES: &'static [&'static str] = &[];

    type Population = Population;
    type Input = Input;
    type Output = Output;
    type Terminal = Terminal;
    type Terminals = Terminals;

    const HEADLINE: usize = 0;
    const COUNTS: Headline = Headline::TransactionsPerSecond;
    const DEFERRED: Option<usize> = None;
    const CEILING: f64 = 60.0;
    const PASS: u64 = 1_000_000;
    const TERMINALS: u32 = 1;
    const SCALE_UNIT: (&'static str, &'static str) = ("counter", "counters");

    fn max_scale(_: usize) -> u32 {
        1_000
    }

    fn users(_: usize) -> Users {
        Users::None
    }

    fn metric(_: usize, _: bool) -> &'static str {
        "steps a second"
    }

    fn population(counters: u32, _: u64, _: Timestamp, _: usize) -> Population {
        Population { counters }
    }

    fn parameters(_: &Population) -> BTreeMap<String, i64> {
        BTreeMap::new()
    }

    fn terminals(counters: u32, _: &BTreeMap<String, i64>, seed: u64) -> Result<Terminals, String> {
        Ok(Terminals { counters, seed })
    }

    fn terminal(terminals: &Terminals, number: u64) -> Terminal {
        Terminal { counters: terminals.counters as i32, stream: Source::new(terminals.seed, 0_u64).stream(number) }
    }

    fn keying_time(_: usize) -> u64 {
        0
    }

    fn transaction(input: &Input) -> usize {
        usize::from(matches!(input, Input::Look(_)))
    }

    fn simulated(input: &Input) -> Result<Output, String> {
        Ok(Output { step: matches!(input, Input::Step(_)), value: 1 })
    }

    fn outcome(_: &Output) -> Outcome {
        Outcome::Committed
    }

    fn screen(input: &Input, output: Option<&Output>) -> String {
        format!("{input:?} {output:?}")
    }

    fn count(output: &Output, effects: &mut [u64]) {
        effects[0] += u64::from(output.step);
    }

    fn tally(_: &Input, _: &Output, _: &mut [u64]) {}

    fn count_at_most(transaction: usize, effects: &mut [u64]) {
        effects[0] += u64::from(transaction == 0);
    }
}

impl super::Population for Population {
    type Rows = Rows;

    fn parts(&self) -> Vec<Part> {
        vec![Part { table: 0, number: 1, units: self.counters, rows: self.counters.into() }]
    }

    fn tables(&self) -> &'static [Table] {
        &TABLES
    }

    fn rows(&self) -> Rows {
        Rows
    }
}

impl super::Rows for Rows {
    fn write(&mut self, _: &Part, unit: u32, sink: &mut impl RowSink) {
        sink.put(Value::Int(unit as i32 + 1));
        sink.put(Value::Int(0));
        sink.end_row();
    }
}

impl super::Terminal for Terminal {
    type Input = Input;

    fn choose(&mut self) -> usize {
        usize::from(self.stream.percent(50))
    }

    fn input(&mut self, transaction: usize) -> Input {
        let counter = self.stream.within(1, self.counters);
        if transaction == 0 { Input::Step(counter) } else { Input::Look(counter) }
    }

    fn think_time(&mut self, _: usize, _: u64) -> u64 {
        0
    }
}
