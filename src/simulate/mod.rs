//! Simulated hit rates of buffers of any size for TPC-C at any number of warehouses, without a database: the workload's
//! own stream of transactions, the pages that it requests, and buffers with their replacement policies.
//!
//! Large scales are sampled. Pages belong to warehouses, and warehouses are alike: some of them represent all, with a
//! buffer that is smaller by the same factor (spatial sampling, whole warehouses at a time), and of `item`, which all
//! warehouses share, the same fraction of pages.

pub(crate) mod clock;
pub(crate) mod district;
pub(crate) mod innodb;
pub(crate) mod layout;
pub(crate) mod midpoint;
pub(crate) mod pages;
pub(crate) mod references;
pub(crate) mod reuse;
pub(crate) mod skew;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::workload::tpcc::input::Input;
use crate::workload::tpcc::{Tpcc, schema};
use crate::workload::value::Timestamp;
use crate::workload::{Terminal as _, Workload};
use layout::Layout;
use pages::{Buffers, Counts, Policy};
use rand::{RngExt, SeedableRng};
use references::Database;

/// The minimum pages of a sampled buffer, if more warehouses can achieve that.
const FEWEST_PAGES: u64 = 1_000;
/// The default maximum of simulated warehouses.
const MOST_WAREHOUSES: u32 = 200;
/// Maximum warm-up in transactions per simulated warehouse, even if the largest buffer is not full.
const WARM_UP: u64 = 4_000;
/// Counted transactions per simulated warehouse.
const COUNTED: u64 = 2_000;
/// Minimum number of counted transactions.
const FEWEST_COUNTED: u64 = 100_000;
/// Transactions between two calls of `go_on`.
const STEP: u64 = 10_000;

/// The engine whose tables and indexes are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// PostgreSQL's heaps and B-trees.
    Postgres,
    /// InnoDB's tables, clustered by primary key, of MariaDB and MySQL.
    Innodb,
}

impl Pages {
    /// The default page size in bytes.
    pub fn usual_page(self) -> u32 {
        match self {
            Pages::Postgres => 8 << 10,
            Pages::Innodb => 16 << 10,
        }
    }
}

/// A database that has been loaded.
#[derive(Debug)]
enum Loaded {
    Postgres(Box<Database>),
    Innodb(Box<innodb::Database>),
}

impl Loaded {
    fn execute(&mut self, input: &Input, session: usize, buffers: &mut Buffers) {
        match self {
            Loaded::Postgres(database) => database.execute(input, session, buffers),
            Loaded::Innodb(database) => database.execute(input, buffers),
        }
    }

    fn pages(&self) -> u64 {
        match self {
            Loaded::Postgres(database) => database.loaded_pages(),
            Loaded::Innodb(database) => database.loaded_pages(),
        }
    }
}

/// The parameters of a simulation.
#[derive(Clone, Debug)]
pub struct Options {
    /// The engine.
    pub pages: Pages,
    /// Transactions per second of the whole database: an old page of [`Policy::Midpoint`] becomes young when it is used
    /// a second after its first use, as with `innodb_old_blocks_time` 1000. With 0 it becomes young at once.
    pub per_second: u32,
    /// W.
    pub warehouses: u32,
    /// Sizes of the buffer in bytes, ascending.
    pub sizes: Vec<u64>,
    /// Bytes of a page.
    pub page: u32,
    /// The replacement policy.
    pub policy: Policy,
    /// The seed of population and inputs.
    pub seed: u64,
    /// Sessions that insert at the same time, each on its own page.
    pub sessions: u32,
    /// The maximum number of warehouses to simulate; `None` for as many as the smallest buffer needs.
    pub sample: Option<u32>,
    /// Transactions before those that count; `None` for the default rule.
    pub warm_up: Option<u64>,
    /// Transactions that count; `None` for the default rule.
    pub transactions: Option<u64>,
    /// Whether the first use of a page counts as a miss at any size, as for a server that starts with an empty buffer.
    pub from_empty: bool,
}

/// The result of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Simulation {
    /// The engine: `PostgreSQL` or `InnoDB`.
    pub layout: &'static str,
    /// W.
    pub warehouses: u32,
    /// Warehouses that were simulated and represent all.
    pub simulated_warehouses: u32,
    /// The replacement policy.
    pub policy: Policy,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// The seed.
    pub seed: u64,
    /// Sessions that insert.
    pub sessions: u32,
    /// Bytes of the database after the load, of all warehouses.
    pub database_bytes: u64,
    /// Transactions before those that count.
    pub warm_up_transactions: u64,
    /// Transactions that count.
    pub transactions: u64,
    /// Bytes of all pages that were requested, for all warehouses: a larger buffer could not hold more of them.
    pub touched_bytes: u64,
    /// Whether first uses count as misses.
    pub from_empty: bool,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Tables and indexes by name; for InnoDB, undo as well.
    pub relations: BTreeMap<&'static str, Relation>,
    /// By size.
    pub sizes: Vec<AtSize>,
}

/// Page requests of a table or an index.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Relation {
    /// Whether it is an index.
    pub index: bool,
    /// Mean number of page requests per transaction.
    pub references_per_transaction: f64,
    /// Mean number of pages created per transaction. They are misses at any size, except on InnoDB.
    pub created_per_transaction: f64,
}

/// The result for a buffer size. Hit rates are in percent; `None` without requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtSize {
    /// The buffer size in bytes.
    pub buffer_bytes: u64,
    /// Of all pages.
    pub overall: Option<f64>,
    /// Of pages of tables.
    pub data: Option<f64>,
    /// Of pages of indexes.
    pub index: Option<f64>,
    /// Mean number of misses per transaction.
    pub misses_per_transaction: f64,
    /// Percent of requests that are left out, because they were the first for their page while the buffer was not full.
    pub unknown: f64,
    /// By name of table or index.
    pub relations: BTreeMap<&'static str, Option<f64>>,
}

/// Simulates. `go_on` is called from time to time with the progress, from 0 to 1, and returns whether to go on; what
/// was counted until then is the result.
///
/// # Errors
/// If a size is smaller than a page, as a message for the user.
pub fn simulate(options: &Options, go_on: &mut dyn FnMut(f64) -> bool) -> Result<Simulation, String> {
    let (Some(smallest), Some(largest)) = (options.sizes.first(), options.sizes.last()) else {
        return Err("no buffer size is given; set one with --buffer".to_owned());
    };
    let all = options.warehouses.max(1);
    let needed = FEWEST_PAGES * u64::from(options.page) * u64::from(all) / (*smallest).max(1);
    let usual = u32::try_from(needed).unwrap_or(u32::MAX).clamp(40, MOST_WAREHOUSES);
    let simulated = options.sample.unwrap_or(usual).clamp(1, all);
    let share = f64::from(simulated) / f64::from(all);
    let pages_of =
        |bytes: u64| (bytes as f64 / f64::from(options.page) * share).round().min(f64::from(u32::MAX - 1)) as u32;
    if pages_of(*smallest) == 0 {
        return Err(format!(
            "a buffer of {smallest} bytes has no page among {simulated} of {all} warehouses; name a larger one with \
             --buffer"
        ));
    }

    let rise_after = (f64::from(options.per_second) * share).round() as u64;
    let population = Tpcc::population(simulated, options.seed, Timestamp::default(), 0);
    let terminals = Tpcc::terminals(simulated, &Tpcc::parameters(&population), options.seed)?;
    let sessions = options.sessions.max(1) as usize;
    let mut users: Vec<_> = (0..u64::from(simulated) * u64::from(Tpcc::TERMINALS))
        .map(|number| Tpcc::terminal(&terminals, number))
        .collect();
    let c = Tpcc::constants(&terminals).get("ol_i_id").and_then(|c| u32::try_from(*c).ok()).unwrap_or_default();
    let sizes = options.sizes.iter().map(|size| pages_of(*size)).collect();
    let (mut database, names, mut buffers, name) = match options.pages {
        Pages::Postgres => {
            let layout = Layout::postgres();
            let database = Database::load(&layout, options.page, &population, share, c, sessions);
            let names: Vec<&'static str> = layout.relations().collect();
            let buffers = Buffers::new(options.policy, sizes, names.len(), share, rise_after);
            (Loaded::Postgres(Box::new(database)), names, buffers, layout.name)
        }
        Pages::Innodb => {
            let database = innodb::Database::load(options.page, &population, share, c, options.per_second);
            let names: Vec<&'static str> = innodb::Database::relations().collect();
            let buffers = Buffers::new(options.policy, sizes, names.len(), share, rise_after).making();
            (Loaded::Innodb(Box::new(database)), names, buffers, "InnoDB")
        }
    };
    let mut choice = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(options.seed);
    let mut work = |database: &mut Loaded, buffers: &mut Buffers| {
        buffers.begin();
        let user = choice.random_range(0..users.len());
        database.execute(&users[user].next_input(), user % sessions, buffers);
    };

    let warm_up = options.warm_up.unwrap_or(WARM_UP * u64::from(simulated));
    let counted = options.transactions.unwrap_or((COUNTED * u64::from(simulated)).max(FEWEST_COUNTED));
    let (mut warmed, mut done, mut interrupted) = (0, 0, false);
    while warmed < warm_up && !interrupted {
        work(&mut database, &mut buffers);
        warmed += 1;
        let full = options.warm_up.is_none() && buffers.pages() >= pages_of(*largest);
        if full {
            break;
        }
        interrupted = warmed.is_multiple_of(STEP) && !go_on(warmed as f64 / (warm_up + counted) as f64);
    }
    buffers.count();
    while done < counted && !interrupted {
        work(&mut database, &mut buffers);
        done += 1;
        interrupted = done.is_multiple_of(STEP) && !go_on((warm_up + done) as f64 / (warm_up + counted) as f64);
    }

    let counts = buffers.counts();
    let undo = usize::from(options.pages == Pages::Innodb);
    let indexes = names.len() - schema::TABLES.len() - undo;
    let per_transaction = |number: u64| if done > 0 { number as f64 / done as f64 } else { 0.0 };
    let relations = names.iter().zip(&counts).enumerate().map(|(at, (name, counts))| {
        let relation = Relation {
            index: (0..indexes).contains(&at.wrapping_sub(schema::TABLES.len())),
            references_per_transaction: per_transaction(counts.references),
            created_per_transaction: per_transaction(counts.created),
        };
        (*name, relation)
    });
    let sizes = options.sizes.iter().enumerate().map(|(at, bytes)| {
        let (tables, others) = counts.split_at(schema::TABLES.len());
        let indexes = &others[..indexes];
        let rate = |of: &[Counts]| hit_rate(of, at, options.from_empty);
        let (known, found, unknown) = totals(&counts, at, options.from_empty);
        AtSize {
            buffer_bytes: *bytes,
            overall: rate(&counts),
            data: rate(tables),
            index: rate(indexes),
            misses_per_transaction: per_transaction(known - found),
            unknown: if known > 0 { 100.0 * unknown as f64 / (known + unknown) as f64 } else { 0.0 },
            relations: names
                .iter()
                .zip(&counts)
                .map(|(name, counts)| (*name, rate(std::slice::from_ref(counts))))
                .collect(),
        }
    });
    Ok(Simulation {
        layout: name,
        warehouses: all,
        simulated_warehouses: simulated,
        policy: options.policy,
        page_bytes: options.page,
        seed: options.seed,
        sessions: options.sessions,
        database_bytes: (database.pages() as f64 / share) as u64 * u64::from(options.page),
        warm_up_transactions: warmed,
        transactions: done,
        touched_bytes: (f64::from(buffers.pages()) / share) as u64 * u64::from(options.page),
        from_empty: options.from_empty,
        interrupted,
        sizes: sizes.collect(),
        relations: relations.collect(),
    })
}

/// For a size: counted requests, hits, and requests left out.
fn totals(of: &[Counts], at: usize, from_empty: bool) -> (u64, u64, u64) {
    let sum = |number: fn(&Counts, usize) -> u64| of.iter().map(|counts| number(counts, at)).sum::<u64>();
    let unknown = if from_empty { 0 } else { sum(|counts, at| counts.unknown[at]) };
    (sum(|counts, _| counts.references) - unknown, sum(|counts, at| counts.found[at]), unknown)
}

/// The hit rate in percent.
fn hit_rate(of: &[Counts], at: usize, from_empty: bool) -> Option<f64> {
    let (known, found, _) = totals(of, at, from_empty);
    (known > 0).then(|| 100.0 * found as f64 / known as f64)
}

#[cfg(test)]
mod tests;
