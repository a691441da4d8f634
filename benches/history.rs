//! Time and memory for checking a history: `cargo bench --bench history -- [TRANSACTIONS=10000000] [WAREHOUSES=1000]`.
//!
//! The history is that of a serial TPC-C, with all of its keys: order numbers and balances as recorded by `run
//! --history 100%`,
//! of 100 sessions whose transactions overlap. It must be clean; with one lost update planted, it must not be.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a bench ends with a panic")]

use std::time::Instant;

use graymark::history::{Access, Head, History, Versions};
use graymark::measure::process::{peak_rss_bytes, usage};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const SESSIONS: u64 = 100;
const DISTRICTS: u64 = 10;
const CUSTOMERS: u64 = 3_000;
const FIRST_NUMBER: i64 = 3_000;

/// The kind of a key.
#[derive(Clone, Copy)]
enum Of {
    Numbers,
    Newest,
    Balance,
    Delivered,
}

fn key(of: Of, place: u64) -> u64 {
    ((of as u64) << 56) | place
}

fn versions(key: u64) -> Versions {
    if key >> 56 == Of::Balance as u64 { Versions::Value { whole: true } } else { Versions::Counter }
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let mut number = |otherwise: u64| numbers.next().map_or(otherwise, |text| text.parse().expect("a number"));
    let (transactions, warehouses) = (number(10_000_000), number(1_000));
    for planted in [false, true] {
        let history = history(transactions, warehouses, planted);
        let (begin, before) = (Instant::now(), usage());
        let found = history.check(versions);
        let (seconds, after) = (begin.elapsed().as_secs_f64(), usage());
        println!(
            "{transactions} transactions, {} keys, {} dependencies: checked in {seconds:.1} s ({:.1} s of CPU), at most \
             {:.0} MiB from the program's start; anomalies: {:?}",
            found.keys,
            found.dependencies,
            after.user_s + after.system_s - before.user_s - before.system_s,
            peak_rss_bytes() as f64 / 1_048_576.0,
            found.counts
        );
        assert_eq!(found.counts.is_empty(), !planted, "{found:?}");
    }
}

/// The mix of TPC-C, one transaction after the other, reported with overlapping times.
fn history(transactions: u64, warehouses: u64, planted: bool) -> History {
    let mut draw = Xoshiro256PlusPlus::seed_from_u64(7);
    let districts = (warehouses * DISTRICTS) as usize;
    let customers = districts * CUSTOMERS as usize;
    let (mut next, mut delivered) = (vec![FIRST_NUMBER; districts], vec![2_100_i64; districts]);
    let (mut newest, mut balance) = (vec![0_i64; customers], vec![-1_000_i64; customers]);
    let mut history = History::default();
    let mut to_plant = planted;
    for number in 0..transactions {
        // It takes effect in the middle; the next one of its session begins after its end.
        let at = 1_000 + 10 * number;
        let head = Head {
            session: (number % SESSIONS) as u32,
            began: at - draw.random_range(1..5 * SESSIONS),
            ended: at + draw.random_range(1..5 * SESSIONS),
            committed: true,
        };
        let district = draw.random_range(0..districts);
        let customer = district * CUSTOMERS as usize + draw.random_range(0..CUSTOMERS as usize);
        let mut accesses = Vec::with_capacity(DISTRICTS as usize);
        match draw.random_range(0..100) {
            0..45 => {
                let mut read = next[district];
                // The first New-Order of the second half whose district has had one: it ignores that one.
                if to_plant && number >= transactions / 2 && read > FIRST_NUMBER {
                    read -= 1;
                    to_plant = false;
                }
                next[district] = read + 1;
                accesses.push(Access::update(key(Of::Numbers, district as u64), read, read + 1));
                newest[customer] = read + 1;
                accesses.push(Access::write(key(Of::Newest, customer as u64), read + 1));
            }
            45..88 => {
                let read = balance[customer];
                balance[customer] -= draw.random_range(100..500_000);
                accesses.push(Access::update(key(Of::Balance, customer as u64), read, balance[customer]));
            }
            88..92 => {
                accesses.push(Access::read(key(Of::Newest, customer as u64), newest[customer]));
                accesses.push(Access::read(key(Of::Balance, customer as u64), balance[customer]));
            }
            92..96 => {
                let first = district - district % DISTRICTS as usize;
                for (place, read) in delivered.iter_mut().enumerate().skip(first).take(DISTRICTS as usize) {
                    accesses.push(Access::update(key(Of::Delivered, place as u64), *read, *read + 1));
                    *read += 1;
                }
            }
            // A Stock-Level shows no version.
            _ => {}
        }
        history.add(head, accesses);
    }
    history
}
