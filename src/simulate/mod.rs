//! What a buffer of any size would find of TPC-C at any number of warehouses, without a database: the workload's own
//! stream of transactions, the pages that it asks for, and buffers that hold them or do not.
//!
//! Large scales are sampled. Pages belong to warehouses, and warehouses are alike: so many of them stand for all, with
//! a buffer that is smaller by the same factor (spatial sampling, whole warehouses at a time), and of `item`, which all
//! warehouses share, the same share of pages.

pub(crate) mod clock;
pub(crate) mod district;
pub(crate) mod layout;
pub(crate) mod pages;
pub(crate) mod references;
pub(crate) mod reuse;
pub(crate) mod skew;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::workload::tpcc::{Tpcc, schema};
use crate::workload::value::Timestamp;
use crate::workload::{Terminal as _, Workload};
use layout::Layout;
use pages::{Buffers, Counts, Policy};
use rand::{RngExt, SeedableRng};
use references::Database;

/// A sampled buffer has at least so many pages, if more warehouses can bring that about.
const FEWEST_PAGES: u64 = 1_000;
/// The most warehouses that are simulated unless more are asked for.
const MOST_WAREHOUSES: u32 = 200;
/// The warm-up ends after so many transactions a simulated warehouse, even if the largest buffer is not full.
const WARM_UP: u64 = 4_000;
/// Transactions that count, for each simulated warehouse.
const COUNTED: u64 = 2_000;
/// At least so many count.
const FEWEST_COUNTED: u64 = 100_000;
/// Transactions between two looks at whether to go on.
const STEP: u64 = 10_000;

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Options {
    /// W.
    pub warehouses: u32,
    /// Sizes of the buffer in bytes, ascending.
    pub sizes: Vec<u64>,
    /// Bytes of a page.
    pub page: u32,
    /// Which page goes.
    pub policy: Policy,
    /// Of population and inputs.
    pub seed: u64,
    /// Sessions that insert at the same time, each on a page of its own.
    pub sessions: u32,
    /// The most warehouses to simulate; none for as many as the smallest buffer needs.
    pub sample: Option<u32>,
    /// Transactions before those that count; none for the rule.
    pub warm_up: Option<u64>,
    /// Transactions that count; none for the rule.
    pub transactions: Option<u64>,
    /// Whether the first use of a page is a miss at any size, as for a server that began with an empty buffer.
    pub from_empty: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Simulation {
    /// Whose pages: `PostgreSQL`.
    pub layout: &'static str,
    /// W.
    pub warehouses: u32,
    /// Warehouses that were simulated and stand for all.
    pub simulated_warehouses: u32,
    /// Which page goes.
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
    /// Bytes of the pages that warm-up and counted transactions asked for, for all warehouses: a larger buffer could
    /// hold no more of them.
    pub touched_bytes: u64,
    /// Whether first uses count as misses.
    pub from_empty: bool,
    /// Whether it was ended before its time.
    pub interrupted: bool,
    /// Tables and indexes by name.
    pub relations: BTreeMap<&'static str, Relation>,
    /// By size.
    pub sizes: Vec<AtSize>,
}

/// What the transactions ask of a table or an index.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Relation {
    /// Whether it is an index.
    pub index: bool,
    /// Pages asked for in a transaction: the mean.
    pub references_per_transaction: f64,
    /// Pages made in a transaction: the mean. They are missed at any size.
    pub created_per_transaction: f64,
}

/// A size of the buffer. Hit rates are in percent; none where nothing was asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtSize {
    /// Its bytes.
    pub buffer_bytes: u64,
    /// Of all pages.
    pub overall: Option<f64>,
    /// Of pages of tables.
    pub data: Option<f64>,
    /// Of pages of indexes.
    pub index: Option<f64>,
    /// Pages missed in a transaction: the mean.
    pub misses_per_transaction: f64,
    /// Percent of what was asked for that is left out, as it was asked for the first time while there was room.
    pub unknown: f64,
    /// By name of table or index.
    pub relations: BTreeMap<&'static str, Option<f64>>,
}

/// Simulates. `go_on` is told from time to time how far it is, from 0 to 1, and says whether to go on; what was counted
/// until then is the result.
///
/// # Errors
/// If a size has no page, in words for the user.
pub fn simulate(options: &Options, go_on: &mut dyn FnMut(f64) -> bool) -> Result<Simulation, String> {
    let layout = Layout::postgres();
    let (Some(smallest), Some(largest)) = (options.sizes.first(), options.sizes.last()) else {
        return Err("no size of the buffer is given; name one with --buffer".to_owned());
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

    let population = Tpcc::population(simulated, options.seed, Timestamp::default(), 0);
    let terminals = Tpcc::terminals(simulated, &Tpcc::parameters(&population), options.seed)?;
    let sessions = options.sessions.max(1) as usize;
    let mut users: Vec<_> = (0..u64::from(simulated) * u64::from(Tpcc::TERMINALS))
        .map(|number| Tpcc::terminal(&terminals, number))
        .collect();
    let c = Tpcc::constants(&terminals).get("ol_i_id").and_then(|c| u32::try_from(*c).ok()).unwrap_or_default();
    let mut database = Database::load(&layout, options.page, &population, share, c, sessions);
    let names: Vec<&'static str> = layout.relations().collect();
    let mut buffers =
        Buffers::new(options.policy, options.sizes.iter().map(|size| pages_of(*size)).collect(), names.len());
    let mut choice = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(options.seed);
    let mut work = |database: &mut Database, buffers: &mut Buffers| {
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
    let per_transaction = |number: u64| if done > 0 { number as f64 / done as f64 } else { 0.0 };
    let relations = names.iter().zip(&counts).enumerate().map(|(at, (name, counts))| {
        let relation = Relation {
            index: at >= schema::TABLES.len(),
            references_per_transaction: per_transaction(counts.references),
            created_per_transaction: per_transaction(counts.created),
        };
        (*name, relation)
    });
    let sizes = options.sizes.iter().enumerate().map(|(at, bytes)| {
        let (tables, indexes) = counts.split_at(schema::TABLES.len());
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
        layout: layout.name,
        warehouses: all,
        simulated_warehouses: simulated,
        policy: options.policy,
        page_bytes: options.page,
        seed: options.seed,
        sessions: options.sessions,
        database_bytes: (database.loaded_pages() as f64 / share) as u64 * u64::from(options.page),
        warm_up_transactions: warmed,
        transactions: done,
        touched_bytes: (f64::from(buffers.pages()) / share) as u64 * u64::from(options.page),
        from_empty: options.from_empty,
        interrupted,
        sizes: sizes.collect(),
        relations: relations.collect(),
    })
}

/// At a size: pages asked for that count, those found, and those left out.
fn totals(of: &[Counts], at: usize, from_empty: bool) -> (u64, u64, u64) {
    let sum = |number: fn(&Counts, usize) -> u64| of.iter().map(|counts| number(counts, at)).sum::<u64>();
    let unknown = if from_empty { 0 } else { sum(|counts, at| counts.unknown[at]) };
    (sum(|counts, _| counts.references) - unknown, sum(|counts, at| counts.found[at]), unknown)
}

/// Percent found.
fn hit_rate(of: &[Counts], at: usize, from_empty: bool) -> Option<f64> {
    let (known, found, _) = totals(of, at, from_empty);
    (known > 0).then(|| 100.0 * found as f64 / known as f64)
}

#[cfg(test)]
mod tests;
