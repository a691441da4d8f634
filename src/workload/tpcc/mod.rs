//! TPC-C, revision 5.11, as pure functions of a seed.

mod accesses;
mod deck;
pub mod input;
pub(crate) mod lasting;
pub mod output;
pub mod population;
pub(crate) mod random;
pub mod schema;
pub mod screen;
mod simulated;
pub(crate) mod terminal;
mod text;
pub(crate) mod timing;
mod traces;
pub(crate) mod working_set;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
pub(crate) use traces::ORDER_MARKS;

use super::access::{Accesses, Versions};
use super::lasting::SeedInvariant;
use super::trace::{Footprint, Trace};
use super::value::Timestamp;
use super::{Delivered, Headline, Outcome, Places, Preset, Table, Users, Workload};
use crate::workload::about::About;

/// The range of New-Orders per minute and warehouse of a valid result; keying and think times allow no more than its
/// end (clause 4.1.3).
pub const NEW_ORDERS_PER_WAREHOUSE: RangeInclusive<f64> = 9.0..=12.86;

/// Districts in a warehouse (clause 4.2.2).
pub const DISTRICTS: i32 = 10;
/// Customers in a district (clause 4.3.3.1).
pub const CUSTOMERS: i32 = 3_000;
/// Items in the database, at any scale (clause 4.2.2).
pub const ITEMS: i32 = 100_000;
/// Orders in a district at the start (clause 4.3.3.1).
pub const ORDERS: i32 = 3_000;
/// The first undelivered order of a district at the start (clause 4.3.3.1).
pub const FIRST_OPEN_ORDER: i32 = 2_101;
/// The maximum number of lines of an order (clause 2.4.1.3).
pub const MAX_LINES: usize = 15;
/// An item without an ITEM row: the last line of one New-Order in a hundred uses it (clause 2.4.1.5).
pub const UNUSED_ITEM: i32 = 2 * ITEMS;

/// The parameter that stores the C of the last names with the database (clause 2.1.6.1).
const C_LOAD: &str = "c_load";

/// The default profile: what a run does not set is Graymark's default.
const STANDARD: &str = "standard";

/// The profile of Orri Erling's article "Virtuoso and Database Scalability": two clients per warehouse without think
/// time, each at home in its warehouse, for an hour from the first transaction on, with a checkpoint every 20 minutes.
const VIRTUOSO: &str = "virtuoso";

/// Data shared by the terminals of a run.
#[derive(Clone, Copy, Debug)]
pub struct Terminals {
    warehouses: u32,
    constants: random::Constants,
    seed: u64,
    /// The cards of each terminal's full deck.
    cards: [u8; 5],
}

/// The workload of the TPC-C standard.
#[derive(Clone, Copy, Debug)]
pub struct Tpcc;

impl Workload for Tpcc {
    const NAME: &'static str = "tpcc";
    const ABOUT: &'static About = &About {
        name: Tpcc::NAME,
        title: "TPC-C",
        help: "TPC-C",
        default_db: "sqlite:graymark.db",
        unit: Tpcc::SCALE_UNIT,
        most: || format!("{} New-Orders a minute and warehouse that the pace allows", Tpcc::CEILING),
        read_only: &["order_status", "stock_level"],
        accounts: false,
    };
    const TRANSACTIONS: &'static [&'static str] = &["new_order", "payment", "order_status", "delivery", "stock_level"];
    const PROFILES: &'static [&'static str] = &[STANDARD, VIRTUOSO];
    const TABLES: &'static [Table] = &schema::TABLES;
    const SEED_INVARIANTS: &'static [SeedInvariant] = &lasting::SEED_INVARIANTS;
    /// New-Orders committed, Payments committed, orders delivered.
    const EFFECTS: &'static [&'static str] = &["new_orders", "payments", "deliveries"];
    const COUNTED_AT_START: &'static [&'static str] = &["history", "new_order", "orders", "order_line"];
    /// What clause 5.5.1.5 limits: lines and remote lines of New-Orders, remote Payments, transactions that name their
    /// customer by last name, Deliveries that skipped a district, and districts skipped.
    const TALLIES: &'static [&'static str] = &[
        "order_lines",
        "remote_order_lines",
        "remote_payments",
        "payments_by_name",
        "order_status_by_name",
        "deliveries_with_skips",
        "districts_skipped",
    ];

    type Population = population::Population;
    type Input = input::Input;
    type Output = output::Output;
    type Terminal = terminal::Terminal;
    type Terminals = Terminals;

    const HEADLINE: usize = 0;
    const COUNTS: Headline = Headline::NewOrdersPerMinute;
    /// Delivery.
    const DEFERRED: Option<usize> = Some(3);
    const CEILING: f64 = *NEW_ORDERS_PER_WAREHOUSE.end();
    /// One pass of the deck.
    const PASS: u64 = timing::pass();
    /// Clause 4.2.2.
    const TERMINALS: u32 = 10;
    const SCALE_UNIT: (&'static str, &'static str) = ("warehouse", "warehouses");

    /// W_ID has to allow twice as many ids (clause 1.3.1); a million warehouses are about 100 TB.
    fn max_scale(_: usize) -> u32 {
        1_000_000
    }

    fn users(_: usize) -> Users {
        Users::Possible
    }

    fn preset(profile: usize) -> Preset {
        match Self::PROFILES.get(profile) {
            Some(&VIRTUOSO) => Preset {
                clients_per_unit: Some(2),
                ramp_up: Some(0),
                duration: Some(60 * 60),
                checkpoint: Some(20 * 60),
            },
            _ => Preset::default(),
        }
    }

    fn metric(_: usize, standard: bool) -> &'static str {
        if standard { "tpmC-gm" } else { "NOPM" }
    }

    fn population(scale: u32, seed: u64, date: Timestamp, _: usize) -> population::Population {
        population::Population { warehouses: scale, seed, c_load: random::c_load(seed), date }
    }

    fn parameters(population: &population::Population) -> BTreeMap<String, i64> {
        BTreeMap::from([(C_LOAD.to_owned(), i64::from(population.c_load))])
    }

    fn terminals(scale: u32, parameters: &BTreeMap<String, i64>, seed: u64) -> Result<Terminals, String> {
        let c_load = parameters.get(C_LOAD).and_then(|c| u32::try_from(*c).ok()).filter(|c| *c <= 255);
        let c_load = c_load.ok_or_else(|| format!("`{C_LOAD}`, a number from 0 to 255"))?;
        Ok(Terminals {
            warehouses: scale,
            constants: random::Constants::for_run(seed, c_load),
            seed,
            cards: deck::CARDS,
        })
    }

    fn with_mix(terminals: Terminals, cards: &[u8]) -> Terminals {
        Terminals { cards: cards.try_into().unwrap_or(terminals.cards), ..terminals }
    }

    fn constants(terminals: &Terminals) -> BTreeMap<String, i64> {
        let random::Constants { c_last, c_id, ol_i_id } = terminals.constants;
        [("c_last", c_last), ("c_id", c_id), ("ol_i_id", ol_i_id)]
            .map(|(name, c)| (name.to_owned(), i64::from(c)))
            .into()
    }

    fn terminal(terminals: &Terminals, number: u64) -> terminal::Terminal {
        let warehouses = u64::from(terminals.warehouses);
        let per_warehouse = u64::from(Self::TERMINALS);
        let w_id = (number / per_warehouse % warehouses) as i32 + 1;
        let d_id = (number % per_warehouse) as i32 + 1;
        terminal::Terminal::new(terminals, number, w_id, d_id)
    }

    fn keying_time(transaction: usize) -> u64 {
        u64::from(timing::KEYING[transaction]) * 1_000_000
    }

    fn transaction(input: &Self::Input) -> usize {
        match input {
            input::Input::NewOrder(_) => 0,
            input::Input::Payment(_) => 1,
            input::Input::OrderStatus(_) => 2,
            input::Input::Delivery(_) => 3,
            input::Input::StockLevel(_) => 4,
        }
    }

    /// The terminal knows whether it used an unused item (clause 2.4.1.5).
    fn contradiction(input: &Self::Input, output: &Self::Output) -> Option<&'static str> {
        let (input::Input::NewOrder(asked), output::Output::NewOrder(order)) = (input, output) else { return None };
        match (asked.names_unused_item(), order.placed.is_some()) {
            (false, false) => Some("New-Order: rolled back, although no unused item was named: an ITEM row is missing"),
            (true, true) => {
                Some("New-Order: committed, although an unused item was named: there is an ITEM row too many")
            }
            _ => None,
        }
    }

    fn outcome(output: &Self::Output) -> Outcome {
        match output {
            output::Output::NewOrder(order) if order.placed.is_none() => Outcome::RolledBack,
            _ => Outcome::Committed,
        }
    }

    fn screen(input: &Self::Input, output: Option<&Self::Output>) -> String {
        let answered = output.and_then(|output| screen::Screen::answered(input, output));
        answered.unwrap_or_else(|| screen::Screen::keyed(input)).to_string()
    }

    fn simulated(input: &input::Input) -> Result<output::Output, String> {
        Ok(simulated::answer(input))
    }

    fn count(output: &Self::Output, effects: &mut [u64]) {
        match output {
            output::Output::NewOrder(order) => effects[0] += u64::from(order.placed.is_some()),
            output::Output::Payment(_) => effects[1] += 1,
            output::Output::Delivery(delivery) => effects[2] += delivery.delivered() as u64,
            output::Output::OrderStatus(_) | output::Output::StockLevel(_) => {}
        }
    }

    fn tally(input: &Self::Input, output: &Self::Output, tallies: &mut [u64]) {
        match input {
            input::Input::NewOrder(order) => {
                tallies[0] += order.lines.len() as u64;
                tallies[1] += order.lines.iter().filter(|line| line.supply_w_id != order.w_id).count() as u64;
            }
            input::Input::Payment(payment) => {
                tallies[2] += u64::from(payment.c_w_id != payment.w_id);
                tallies[3] += u64::from(matches!(payment.customer, input::Customer::LastName(_)));
            }
            input::Input::OrderStatus(status) => {
                tallies[4] += u64::from(matches!(status.customer, input::Customer::LastName(_)));
            }
            input::Input::Delivery(_) => {
                if let output::Output::Delivery(delivery) = output {
                    let skipped = DISTRICTS as u64 - delivery.delivered() as u64;
                    tallies[5] += u64::from(skipped > 0);
                    tallies[6] += skipped;
                }
            }
            input::Input::StockLevel(_) => {}
        }
    }

    fn trace(input: &Self::Input, output: &Self::Output) -> Option<Trace> {
        traces::of(input, output)
    }

    fn footprint(input: &Self::Input) -> Footprint {
        traces::footprint(input)
    }

    fn places(input: &Self::Input) -> Places {
        input.warehouses()
    }

    fn accesses(input: &Self::Input, output: &Self::Output) -> Accesses {
        accesses::of(input, output)
    }

    fn versions(key: u64) -> Versions {
        accesses::versions(key)
    }

    fn key_name(key: u64) -> String {
        accesses::name(key)
    }

    fn delivered(input: &Self::Input, output: &Self::Output) -> Option<Delivered> {
        let (input::Input::Delivery(keyed), output::Output::Delivery(done)) = (input, output) else { return None };
        Some(Delivered { w_id: keyed.w_id, carrier_id: keyed.o_carrier_id, orders: done.orders })
    }

    fn count_at_most(transaction: usize, effects: &mut [u64]) {
        match transaction {
            0 => effects[0] += 1,
            1 => effects[1] += 1,
            3 => effects[2] += DISTRICTS as u64,
            _ => {}
        }
    }
}
