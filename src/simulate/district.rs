//! The state of a district that the transactions depend on: its customers by name, its orders and their lines.

use std::collections::{HashMap, VecDeque};

use super::pages::Place;
use crate::workload::tpcc::input::LastName;
use crate::workload::tpcc::population::Population;
use crate::workload::tpcc::random::last_name;
use crate::workload::tpcc::{CUSTOMERS, DISTRICTS, FIRST_OPEN_ORDER, MAX_LINES, ORDERS, schema};
use crate::workload::value::{RowSink, Value};
use crate::workload::{Part, Population as _, Rows as _};

/// Orders whose lines a Stock-Level reads (clause 2.8.2.2).
const RECENT: usize = 20;

/// The items of an order's lines.
pub type Items = arrayvec::ArrayVec<u32, MAX_LINES>;

/// An order that a transaction inserted.
#[derive(Clone, Debug)]
pub struct Order<P> {
    /// Its customer, from 1.
    pub customer: u16,
    /// How many lines it has.
    pub lines: u8,
    /// Lines that were inserted into the district before it.
    pub first_line: u32,
    /// Positions of its rows, as the layout needs them.
    pub places: P,
}

/// A district. `P` is what the layout stores of the positions of an order's rows.
#[derive(Debug)]
pub struct District<P> {
    /// Loaded orders: the customer of each.
    pub loaded_customers: Vec<u16>,
    /// Loaded orders: lines in the whole database before each, and one more for the end.
    pub loaded_lines: Vec<u64>,
    /// Newest order of each customer, from customer 1.
    pub newest: Vec<u32>,
    /// Customers in the order of name and first name.
    pub by_name: Vec<u16>,
    /// The start of each name in `by_name`, in the alphabetical order of names, and one more for the end.
    pub names: Vec<u16>,
    /// Inserted orders: the first has the number [`ORDERS`] + 1.
    pub inserted: Vec<Order<P>>,
    /// Lines of the inserted orders.
    pub inserted_lines: u32,
    /// The oldest order that is not yet delivered.
    pub oldest_open: u32,
    /// Items of the newest orders.
    pub recent: VecDeque<Items>,
    /// Leaves at the end of a district that grew: of `new_order_pkey`, `orders_pkey`, `order_line_pkey`.
    pub leaves: [Vec<Place>; 3],
}

impl<P> District<P> {
    /// The next order's number.
    pub fn next_order(&self) -> u32 {
        ORDERS as u32 + 1 + self.inserted.len() as u32
    }

    /// An order that a transaction inserted; `None` if it was loaded.
    pub fn order(&self, number: u32) -> Option<&Order<P>> {
        self.inserted.get((number as usize).checked_sub(ORDERS as usize + 1)?)
    }

    /// The number of its lines so far.
    pub fn next_line(&self) -> u32 {
        (self.last_loaded_line() + 1 - self.loaded_lines[0]) as u32 + self.inserted_lines
    }

    /// Lines of an order, counted in its district from 0, those of the load first: the first one and their number.
    pub fn lines(&self, number: u32) -> (u32, u32) {
        let begin = self.loaded_lines[0];
        match self.order(number) {
            Some(order) => ((self.loaded_lines[ORDERS as usize] - begin) as u32 + order.first_line, order.lines.into()),
            None => {
                let (first, end) = (self.loaded_lines[number as usize - 1], self.loaded_lines[number as usize]);
                ((first - begin) as u32, (end - first) as u32)
            }
        }
    }

    /// The customer of an order.
    pub fn customer(&self, number: u32) -> u16 {
        match self.order(number) {
            Some(order) => order.customer,
            None => self.loaded_customers[number as usize - 1],
        }
    }

    /// The last loaded line, counted in the whole database.
    pub fn last_loaded_line(&self) -> u64 {
        self.loaded_lines[ORDERS as usize] - 1
    }

    /// Customers with a name, ordered by first name, and the position of the first in `by_name`.
    pub fn namesakes(&self, names: &Names, name: &str) -> (usize, &[u16]) {
        let Some(place) = names.place(name) else { return (0, &[]) };
        let (first, end) = (usize::from(self.names[place]), usize::from(self.names[place + 1]));
        (first, &self.by_name[first..end])
    }

    /// Adds the items of a new order.
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

    /// The index of a name; `None` if it is no valid name.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.0.get(name).copied()
    }
}

/// Keeps some columns of the rows that it receives.
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

/// The districts of a warehouse after the load. `lines` counts the lines of the database so far.
pub fn load<P>(population: &Population, names: &Names, warehouse: u32, lines: &mut u64) -> Vec<District<P>> {
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
