//! What the transactions have to know of a district: its customers by name, its orders and their lines.

use std::collections::{HashMap, VecDeque};

use super::pages::Place;
use crate::workload::tpcc::input::LastName;
use crate::workload::tpcc::population::Population;
use crate::workload::tpcc::random::last_name;
use crate::workload::tpcc::{CUSTOMERS, DISTRICTS, FIRST_OPEN_ORDER, MAX_LINES, ORDERS, schema};
use crate::workload::value::{RowSink, Value};
use crate::workload::{Part, Population as _, Rows as _};

/// Orders whose lines a Stock-Level looks at (clause 2.8.2.2).
const RECENT: usize = 20;

/// The items of an order's lines.
pub type Items = arrayvec::ArrayVec<u32, MAX_LINES>;

/// An order that a transaction inserted.
#[derive(Clone, Debug)]
pub struct Order {
    /// Its customer, from 1.
    pub customer: u16,
    /// Where its row is.
    pub row: Place,
    /// Where its row in the queue of open orders is.
    pub open: Place,
    /// Where its lines are, and how many on each page.
    pub lines: arrayvec::ArrayVec<(Place, u8), MAX_LINES>,
    /// Lines that were inserted into the district before it.
    pub first_line: u32,
}

/// A district.
#[derive(Debug)]
pub struct District {
    /// Loaded orders: the customer of each.
    pub loaded_customers: Vec<u16>,
    /// Loaded orders: lines in the whole database before each, and one more for the end.
    pub loaded_lines: Vec<u64>,
    /// Newest order of each customer, from customer 1.
    pub newest: Vec<u32>,
    /// Customers in the order of name and first name.
    pub by_name: Vec<u16>,
    /// Where each name begins in `by_name`, in the alphabetical order of names, and one more for the end.
    pub names: Vec<u16>,
    /// Inserted orders: the first has the number [`ORDERS`] + 1.
    pub inserted: Vec<Order>,
    /// Lines of the inserted orders.
    pub inserted_lines: u32,
    /// The oldest order that is not yet delivered.
    pub oldest_open: u32,
    /// Items of the newest orders.
    pub recent: VecDeque<Items>,
    /// Leaves that grew at its end: of `new_order_pkey`, `orders_pkey`, `order_line_pkey`.
    pub leaves: [Vec<Place>; 3],
}

impl District {
    /// The next order's number.
    pub fn next_order(&self) -> u32 {
        ORDERS as u32 + 1 + self.inserted.len() as u32
    }

    /// An order that a transaction inserted; none if it was loaded.
    pub fn order(&self, number: u32) -> Option<&Order> {
        self.inserted.get((number as usize).checked_sub(ORDERS as usize + 1)?)
    }

    /// Notes the items of a new order.
    pub fn remember(&mut self, items: Items) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(items);
    }
}

/// Names in alphabetical order.
#[derive(Debug)]
pub struct Names(HashMap<LastName, usize>);

impl Names {
    /// All of them (clause 4.3.2.3).
    pub fn all() -> Self {
        let mut names: Vec<LastName> = (0..1_000).map(last_name).collect();
        names.sort_unstable();
        Names(names.into_iter().enumerate().map(|(place, name)| (name, place)).collect())
    }

    /// A name's place among them; none if it is no name.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.0.get(name).copied()
    }
}

/// Keeps some columns of the rows that it is given.
struct Picked {
    table: usize,
    columns: &'static [&'static str],
    at: usize,
    ints: Vec<i32>,
    texts: Vec<String>,
}

impl RowSink for Picked {
    fn put(&mut self, value: Value<'_>) {
        if self.columns.contains(&schema::TABLES[self.table].columns[self.at].name) {
            match value {
                Value::Int(int) => self.ints.push(int),
                Value::Text(text) => self.texts.push(text.to_owned()),
                _ => {}
            }
        }
        self.at += 1;
    }

    fn end_row(&mut self) {
        self.at = 0;
    }
}

/// The districts of a warehouse as they are loaded. `lines` counts the lines of the database so far.
pub fn load(population: &Population, names: &Names, warehouse: u32, lines: &mut u64) -> Vec<District> {
    let mut rows = population.rows();
    let per_warehouse = |per_district: i32| (DISTRICTS * per_district) as u32;
    let mut read = |table: usize, columns: &'static [&'static str], units: std::ops::Range<u32>| {
        let part = Part { table, number: warehouse, units: units.end, rows: units.end.into() };
        let mut picked = Picked { table, columns, at: 0, ints: Vec::new(), texts: Vec::new() };
        for unit in units {
            rows.write(&part, unit, &mut picked);
        }
        (picked.ints, picked.texts)
    };
    let (orders, _) = read(schema::ORDERS, &["o_c_id", "o_ol_cnt"], 0..per_warehouse(ORDERS));
    let (_, customers) = read(schema::CUSTOMER, &["c_first", "c_last"], 0..per_warehouse(CUSTOMERS));
    (0..DISTRICTS as usize)
        .map(|district| {
            let first = district * ORDERS as usize;
            let mut newest = vec![0; CUSTOMERS as usize];
            let mut loaded_lines = Vec::with_capacity(ORDERS as usize + 1);
            let mut loaded_customers = Vec::with_capacity(ORDERS as usize);
            for (order, columns) in orders[2 * first..].chunks_exact(2).take(ORDERS as usize).enumerate() {
                loaded_customers.push(columns[0] as u16);
                newest[columns[0] as usize - 1] = order as u32 + 1;
                loaded_lines.push(*lines);
                *lines += columns[1] as u64;
            }
            loaded_lines.push(*lines);

            let first = district * CUSTOMERS as usize;
            let mut sorted: Vec<(usize, &str, u16)> = customers[2 * first..]
                .chunks_exact(2)
                .take(CUSTOMERS as usize)
                .zip(1..)
                .map(|(texts, customer)| (names.place(&texts[1]).unwrap_or_default(), texts[0].as_str(), customer))
                .collect();
            sorted.sort_unstable();
            let begins = (0..=1_000).map(|name| sorted.partition_point(|(other, ..)| *other < name) as u16).collect();

            let unit = |order: usize| (district * ORDERS as usize + order) as u32;
            let recent = (ORDERS as usize - RECENT..ORDERS as usize)
                .map(|order| read(schema::ORDER_LINE, &["ol_i_id"], unit(order)..unit(order) + 1).0)
                .map(|items| items.into_iter().map(|item| item as u32).collect())
                .collect();
            District {
                loaded_customers,
                loaded_lines,
                newest,
                by_name: sorted.into_iter().map(|(.., customer)| customer).collect(),
                names: begins,
                inserted: Vec::new(),
                inserted_lines: 0,
                oldest_open: FIRST_OPEN_ORDER as u32,
                recent,
                leaves: Default::default(),
            }
        })
        .collect()
}
