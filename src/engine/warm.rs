//! Random warm-up: rows of the initial population are read by their primary keys, each with the same probability, until
//! that helps no more. Compared with a scan it shows the cost of a cold cache (Gray and Levine, MSR-TR-2005-39, section
//! 2).
//!
//! It reads in tenths of the number of rows. It ends when a tenth took almost as long as the one before, because then
//! the caches are full; otherwise after as many reads as there are rows; and in any case after [`LONGEST`].

use std::future::Future;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Error, MaintenanceOutcome};
use crate::workload::value::{RowSink, Value};
use crate::workload::{ColumnKind, Part, Population, Rows, Table, Workload};

/// The maximum duration of a warm-up.
pub const LONGEST: Duration = Duration::from_secs(30 * 60);
/// A tenth that takes at least this fraction of the time of the one before did not help.
const NO_HELP: f64 = 0.95;
/// Number of keys that are drawn, and then read, at once.
const BATCH: u64 = 1_000;

/// Reads rows by their primary keys, implemented by each engine.
pub trait Reader {
    /// Reads the complete rows of a table with these keys, and counts them. `keys` has the columns of the primary key
    /// row by row; rows may be missing.
    fn read(&mut self, table: usize, keys: &[i32]) -> impl Future<Output = Result<u64, Error>>;
}

/// The primary key's columns as indexes into the table's; `None` if the key is not made of integers: then the table is
/// not read.
pub fn key(table: &Table) -> Option<Vec<usize>> {
    let place =
        |name: &&str| table.columns.iter().position(|column| column.name == *name && column.kind == ColumnKind::Int);
    table.primary_key.iter().map(place).collect::<Option<Vec<usize>>>().filter(|key| !key.is_empty())
}

/// Warms up. `on_step` receives the number of rows read and its maximum.
///
/// # Errors
/// Those of the reader.
pub async fn at_random<W: Workload>(
    population: &W::Population,
    seed: u64,
    reader: &mut impl Reader,
    on_step: &(dyn Fn(u64, u64) + Send + Sync),
) -> Result<MaintenanceOutcome, Error> {
    let began = Instant::now();
    in_tenths(Draw::<W>::new(population, seed), reader, on_step, &|| began.elapsed()).await
}

/// `clock` returns the time since the start.
async fn in_tenths<W: Workload>(
    mut draw: Draw<W>,
    reader: &mut impl Reader,
    on_step: &(dyn Fn(u64, u64) + Send + Sync),
    clock: &dyn Fn() -> Duration,
) -> Result<MaintenanceOutcome, Error> {
    let all = draw.rows();
    let (mut drawn, mut found, mut tenths) = (0, 0, 0);
    let mut before = f64::INFINITY;
    let end = loop {
        if drawn >= all {
            break "as many reads as there are rows";
        }
        tenths += 1;
        let (tenth_began, goal) = (clock(), (all * tenths).div_ceil(10));
        while drawn < goal && clock() < LONGEST {
            let number = BATCH.min(goal - drawn);
            for (table, keys) in draw.keys(number).iter().enumerate().filter(|(_, keys)| !keys.is_empty()) {
                found += reader.read(table, keys).await?;
            }
            drawn += number;
            on_step(drawn, all);
            // An embedded reader never waits; yielding allows a stop.
            tokio::task::yield_now().await;
        }
        if drawn < goal {
            break "no longer than half an hour";
        }
        let took = (clock() - tenth_began).as_secs_f64();
        if took >= before * NO_HELP {
            break "more were no help, for the last tenth was hardly faster than the one before";
        }
        before = took;
    };
    let work = format!("{found} rows of {} tables read at random: {end}", draw.tables());
    Ok(MaintenanceOutcome::Read { rows: found, work })
}

/// Draws random keys of the initial population.
struct Draw<W: Workload> {
    /// Parts of the tables that have keys, each with the cumulative number of rows.
    parts: Vec<(u64, Part)>,
    rows: <W::Population as Population>::Rows,
    random: Xoshiro256PlusPlus,
    sinks: Vec<Option<KeySink>>,
    /// Keys drawn by table.
    drawn: Vec<Vec<i32>>,
}

impl<W: Workload> Draw<W> {
    fn new(population: &W::Population, seed: u64) -> Self {
        let sinks: Vec<Option<KeySink>> =
            population.tables().iter().map(|table| key(table).map(KeySink::new)).collect();
        let mut sum = 0;
        let with_key = population.parts().into_iter().filter(|part| sinks.get(part.table).is_some_and(Option::is_some));
        let parts = with_key.map(|part| {
            sum += part.rows;
            (sum, part)
        });
        Draw {
            parts: parts.collect(),
            rows: population.rows(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            drawn: vec![Vec::new(); sinks.len()],
            sinks,
        }
    }

    /// Rows of the tables that have keys.
    fn rows(&self) -> u64 {
        self.parts.last().map_or(0, |(sum, _)| *sum)
    }

    fn tables(&self) -> usize {
        self.sinks.iter().flatten().count()
    }

    /// Draws this number of keys, by table.
    fn keys(&mut self, number: u64) -> &[Vec<i32>] {
        self.drawn.iter_mut().for_each(Vec::clear);
        let all = self.rows();
        for _ in 0..number {
            let row = self.random.random_range(0..all);
            let place = self.parts.partition_point(|(sum, _)| *sum <= row);
            let Some((_, part)) = self.parts.get(place) else { continue };
            let (Some(Some(sink)), Some(drawn)) = (self.sinks.get_mut(part.table), self.drawn.get_mut(part.table))
            else {
                continue;
            };
            sink.clear();
            self.rows.write(part, self.random.random_range(0..part.units), sink);
            // A unit may be several rows, such as the lines of an order.
            let width = sink.key.len();
            let rows = sink.keys.len() / width;
            if rows > 0 {
                let first = self.random.random_range(0..rows) * width;
                drawn.extend_from_slice(&sink.keys[first..first + width]);
            }
        }
        &self.drawn
    }
}

/// Keeps only the keys of rows.
struct KeySink {
    key: Vec<usize>,
    keys: Vec<i32>,
    row: Vec<Option<i32>>,
}

impl KeySink {
    fn new(key: Vec<usize>) -> KeySink {
        KeySink { key, keys: Vec::new(), row: Vec::new() }
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.row.clear();
    }
}

impl RowSink for KeySink {
    fn put(&mut self, value: Value<'_>) {
        self.row.push(match value {
            Value::Int(value) => Some(value),
            _ => None,
        });
    }

    fn end_row(&mut self) {
        let columns = self.key.iter().map(|place| self.row.get(*place).copied().flatten());
        self.keys.extend(columns.map(Option::unwrap_or_default));
        self.row.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::{HashMap, HashSet};

    use super::*;
    use crate::workload::tpcc::{Tpcc, schema};
    use crate::workload::value::Timestamp;

    /// Rows that each page holds.
    const ROWS: i32 = 3;

    /// A table, and a key of it with zeros behind.
    type Key = (usize, [i32; 4]);

    /// A cache with space for some pages. Time is counted in its reads.
    struct Cache<'a> {
        room: usize,
        pages: HashSet<Key>,
        clock: &'a Cell<Duration>,
        reads: HashMap<Key, u64>,
        width: Vec<usize>,
    }

    impl Cache<'_> {
        fn new(room: usize, clock: &Cell<Duration>) -> Cache<'_> {
            let width = schema::TABLES.iter().map(|table| table.primary_key.len()).collect();
            Cache { room, pages: HashSet::new(), clock, reads: HashMap::new(), width }
        }
    }

    impl Reader for Cache<'_> {
        async fn read(&mut self, table: usize, keys: &[i32]) -> Result<u64, Error> {
            let width = self.width[table];
            for key in keys.chunks_exact(width) {
                let mut page = (table, [0; 4]);
                page.1[..width].copy_from_slice(key);
                *self.reads.entry(page).or_default() += 1;
                page.1[width - 1] /= ROWS;
                let cached = self.pages.contains(&page);
                if !cached && self.pages.len() < self.room {
                    self.pages.insert(page);
                }
                self.clock.set(self.clock.get() + Duration::from_micros(if cached { 1 } else { 1_000 }));
            }
            Ok((keys.len() / width) as u64)
        }
    }

    /// Reads by table and key, their number, and the description.
    type Warmed = (HashMap<Key, u64>, u64, String);

    fn warm(room: usize) -> Warmed {
        let clock = Cell::new(Duration::ZERO);
        let mut cache = Cache::new(room, &clock);
        let population = Tpcc::population(1, 7, Timestamp(0), 0);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let most = std::sync::atomic::AtomicU64::new(0);
        let on_step = |rows: u64, all: u64| {
            assert!(rows <= all);
            most.store(all, std::sync::atomic::Ordering::Relaxed);
        };
        let draw = Draw::<Tpcc>::new(&population, 3);
        let outcome = runtime.block_on(in_tenths(draw, &mut cache, &on_step, &|| clock.get())).unwrap();
        let MaintenanceOutcome::Read { rows, work } = outcome else { panic!("it reads") };
        let sizes = population.table_rows();
        assert_eq!(most.into_inner(), sizes.iter().sum::<u64>() - sizes[schema::HISTORY], "all rows that have a key");
        (cache.reads, rows, work)
    }

    #[test]
    fn it_reads_keys_that_exist_in_proportion_to_the_rows() {
        let (reads, rows, work) = warm(usize::MAX);
        assert_eq!(reads.values().sum::<u64>(), rows);
        assert!(work.contains("of 8 tables read at random"), "{work}");
        assert!(reads.keys().all(|(table, _)| *table != schema::HISTORY), "history has no key");
        for (table, key) in reads.keys() {
            let within = match *table {
                schema::STOCK => key[0] == 1 && (1..=100_000).contains(&key[1]),
                schema::ITEM => (1..=100_000).contains(&key[0]),
                schema::ORDER_LINE => {
                    key[0] == 1 && (1..=10).contains(&key[1]) && (1..=3_000).contains(&key[2]) && key[3] <= 15
                }
                _ => key[0] == 1,
            };
            assert!(within, "table {table}, key {key:?}");
        }
        let of = |wanted: usize| {
            reads.iter().filter(|((table, _), _)| *table == wanted).map(|(_, reads)| *reads).sum::<u64>()
        };
        let stock = of(schema::STOCK) as f64 / rows as f64;
        let lines = of(schema::ORDER_LINE) as f64 / rows as f64;
        assert!((0.15..0.20).contains(&stock) && (0.48..0.58).contains(&lines), "stock {stock}, lines {lines}");
    }

    #[test]
    fn it_goes_on_while_it_helps_and_ends_when_it_does_not() {
        let tenths = |room: usize| {
            let (_, rows, work) = warm(room);
            (rows / 56_000, work)
        };
        // If nothing stays in the cache, the second tenth takes as long as the first.
        let (none, why) = tenths(0);
        assert!(none == 2 && why.contains("no help"), "{none}: {why}");
        // If everything does, each tenth is faster than the one before.
        let (all, why) = tenths(usize::MAX);
        assert!(all == 10 && why.ends_with("as many reads as there are rows"), "{all}: {why}");
        // If a part does, only until the cache is full.
        let (part, why) = tenths(100_000);
        assert!((3..10).contains(&part) && why.contains("no help"), "{part}: {why}");
    }

    #[test]
    fn it_does_not_go_on_for_ever() {
        let clock = Cell::new(LONGEST - Duration::from_micros(1));
        let draw = Draw::<Tpcc>::new(&Tpcc::population(1, 7, Timestamp(0), 0), 3);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut cache = Cache::new(0, &clock);
        let outcome = runtime.block_on(in_tenths(draw, &mut cache, &|_, _| {}, &|| clock.get())).unwrap();
        let MaintenanceOutcome::Read { rows, work } = outcome else { panic!("it reads") };
        assert!(rows == BATCH && work.ends_with("no longer than half an hour"), "{rows}: {work}");
    }
}
