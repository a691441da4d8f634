//! The pages that the five transactions request on InnoDB: clustered tables and secondary indexes, statement by
//! statement as in `procedures.sql` of MariaDB.
//!
//! A page counts as often as `Innodb_buffer_pool_read_requests` counts it: once for each level of an index that is
//! descended, once more for each row of an index from which the scan continues, and for each estimate of the optimizer.
//! Requests of undo pages count as well, for the transaction and for its purge.

pub(crate) mod tree;

use super::district::{self, District, Items, Names, Order};
use super::pages::{Buffers, Place};
use super::references::{customer_row, district, middle};
use super::skew;
use crate::workload::tpcc::input::{Customer, Delivery, Input, NewOrder, OrderStatus, Payment, StockLevel};
use crate::workload::tpcc::population::Population;
use crate::workload::tpcc::{CUSTOMERS, DISTRICTS, FIRST_OPEN_ORDER, ITEMS, ORDERS, UNUSED_ITEM, schema};
use tree::{Keys, Shape, Tree, key};

/// Tables, and the two secondary indexes.
const TREES: usize = schema::TABLES.len() + 2;
/// `customer_name`
const CUSTOMER_NAME: usize = schema::TABLES.len();
/// `orders_customer`
const ORDERS_CUSTOMER: usize = schema::TABLES.len() + 1;
/// Names of the secondary indexes.
const INDEXES: [&str; 2] = ["customer_name", "orders_customer"];

/// Mean bytes of a row of each table and of an entry of each index. A row has a header of 5 bytes, one for the nullable
/// columns, one for the length of each text (two for C_DATA), and 13 for its transaction; `history` has 6 more for its
/// hidden key. A number has 4, money 3 or 6, a rate 2, a date 8 bytes.
const ROWS: [f32; TREES] = [100.0, 109.0, 578.0, 74.0, 30.0, 55.0, 83.0, 88.0, 331.0, 43.0, 21.0];
/// Bytes of the carrier, which an undelivered order does not have,
const CARRIER: f32 = 4.0;
/// and of the delivery date of its lines.
const DELIVERED: f32 = 8.0;
/// Mean bytes of a key and the number of the page below.
const POINTERS: [f32; TREES] = [13.0, 17.0, 21.0, 15.0, 21.0, 21.0, 25.0, 13.0, 17.0, 47.0, 25.0];
/// The index under which undo requests are counted.
const UNDO: usize = TREES;
/// Rollback segments, which writing transactions use in turns (`innodb_undo_logs`). Each has a header page and a page
/// for the undo of rows.
const SEGMENTS: f64 = 128.0;
/// Seconds between two visits of purge, which frees the second page each time; the next transaction creates a new one.
const FREED: f64 = 1.7;
/// Requests of these two pages by a writing transaction: at its start and end, and at its purge.
const WRITES: (u32, u32) = (4, 4);
/// Requests of the second one for each row: at its change and at its purge.
const ROW: u32 = 2;

/// The state of the database that its pages depend on.
#[derive(Debug)]
pub struct Database {
    trees: [Tree; TREES],
    names: Names,
    districts: Vec<District<()>>,
    /// Leaves of `item` that represent all, if only some of the warehouses are simulated.
    items: Vec<u32>,
    histories: u32,
    loaded_pages: u64,
    /// Rows that the transaction changed: tree and key.
    changed: Vec<(usize, u64)>,
    /// Rollback segments: the undo page of each, and when it was created.
    segments: Vec<(Place, u64)>,
    /// Transactions after which purge frees undo pages; 0 for never.
    freed_after: u64,
    /// Transactions so far, those of them that wrote, and undo pages created.
    transactions: u64,
    writers: usize,
    made: u64,
}

/// The distance between the keys of two customers in `orders_customer`: a customer can have any order of a district.
const ORDERS_APART: u64 = 1 << 32;

/// An entry of `orders_customer`; one key stands for all of a customer's loaded orders.
fn order_of_customer(district: usize, customer: u16, number: u32) -> u64 {
    customer_row(district, customer) * ORDERS_APART + u64::from(number.saturating_sub(ORDERS as u32))
}

/// A row of `orders`.
fn order_row(district: usize, number: u32) -> u64 {
    key(district, number - 1)
}

/// A row of `new_order`.
fn open_row(district: usize, number: u32) -> u64 {
    key(district, number - FIRST_OPEN_ORDER as u32)
}

/// A row of `stock`.
fn stock_row(w_id: i32, item: u32) -> u64 {
    (w_id as u64 - 1) * ITEMS as u64 + u64::from(item) - 1
}

impl Database {
    /// Names of tables and indexes, tables first, and undo.
    pub fn relations() -> impl Iterator<Item = &'static str> {
        schema::TABLES.iter().map(|table| table.name).chain(INDEXES).chain(["undo"])
    }

    /// After the load. `share` is the fraction of all warehouses in `population`, `c` the run's constant for items.
    /// `per_second` transactions are executed per second; 0 if unknown.
    pub fn load(page: u32, population: &Population, share: f64, c: u32, per_second: u32) -> Database {
        let names = Names::all();
        let mut lines = 0;
        let districts: Vec<District<()>> = (1..=population.warehouses)
            .flat_map(|warehouse| district::load(population, &names, warehouse, &mut lines))
            .collect();
        let mut trees: [Tree; TREES] = std::array::from_fn(|at| {
            let clustered = at < schema::TABLES.len();
            let keys = if at == ORDERS_CUSTOMER { Keys::Even } else { Keys::Dense };
            Tree::new(at, Shape { page, clustered, keys, pointer: POINTERS[at] })
        });
        let warehouses = u64::from(population.warehouses);
        let customers = warehouses * (DISTRICTS * CUSTOMERS) as u64;
        for (at, rows) in [
            (schema::WAREHOUSE, warehouses),
            (schema::DISTRICT, warehouses * DISTRICTS as u64),
            (schema::CUSTOMER, customers),
            (schema::HISTORY, customers),
            (schema::ITEM, ITEMS as u64),
            (schema::STOCK, warehouses * ITEMS as u64),
            (CUSTOMER_NAME, customers),
        ] {
            trees[at].load(0, 1, rows, ROWS[at]);
        }
        trees[ORDERS_CUSTOMER].load(0, ORDERS_APART, customers, ROWS[ORDERS_CUSTOMER]);
        let (first_open, end) = (FIRST_OPEN_ORDER as u32, ORDERS as u32 + 1);
        for (district, of) in districts.iter().enumerate() {
            let mut load = |at: usize, rows: std::ops::Range<u32>, less: f32| {
                trees[at].load(key(district, rows.start), 1, (rows.end - rows.start).into(), ROWS[at] - less);
            };
            let (open, lines) = (of.lines(first_open).0, of.next_line());
            load(schema::NEW_ORDER, 0..end - first_open, 0.0);
            load(schema::ORDERS, 0..first_open - 1, 0.0);
            load(schema::ORDERS, first_open - 1..end - 1, CARRIER);
            load(schema::ORDER_LINE, 0..open, 0.0);
            load(schema::ORDER_LINE, open..lines, DELIVERED);
        }
        let [items] = skew::item_pages(c, share, [&|row| trees[schema::ITEM].loaded_leaf(row)]);
        for (at, tree) in trees.iter_mut().enumerate() {
            tree.build(if at == schema::ITEM { 1.0 } else { share });
        }
        let loaded = |(at, tree): (usize, &Tree)| match at {
            schema::ITEM => (tree.leaves() as f64 * share) as u64,
            _ => tree.leaves(),
        };
        Database {
            loaded_pages: trees.iter().enumerate().map(loaded).sum(),
            histories: customers as u32,
            trees,
            names,
            districts,
            items,
            changed: Vec::new(),
            segments: (0..(SEGMENTS * share).ceil() as u64)
                .map(|segment| (Place::loaded(2 * segment + 1), 0))
                .collect(),
            freed_after: (FREED * f64::from(per_second) * share) as u64,
            transactions: 0,
            writers: 0,
            made: 0,
        }
    }

    /// Leaves after the load.
    pub fn loaded_pages(&self) -> u64 {
        self.loaded_pages
    }

    /// Leaves of each table and index.
    #[cfg(test)]
    pub fn leaves(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Self::relations().zip(self.trees.iter().map(Tree::leaves))
    }

    /// Requests the pages of a transaction.
    pub fn execute(&mut self, input: &Input, to: &mut Buffers) {
        self.transactions += 1;
        match input {
            Input::NewOrder(order) => self.new_order(order, to),
            Input::Payment(payment) => self.payment(payment, to),
            Input::OrderStatus(status) => self.order_status(status, to),
            Input::Delivery(delivery) => self.delivery(delivery, to),
            Input::StockLevel(level) => self.stock_level(level, to),
        }
        self.undo(to);
    }

    /// The undo of a transaction's changes.
    fn undo(&mut self, to: &mut Buffers) {
        if self.changed.is_empty() {
            return;
        }
        let at = self.writers % self.segments.len();
        self.writers = self.writers.wrapping_add(1);
        let rows = self.changed.len() as u32;
        self.changed.clear();
        let (undo, since) = &mut self.segments[at];
        let period = self.transactions.checked_div(self.freed_after).unwrap_or_default();
        if *since != period {
            (*undo, *since) = (Place::grown(self.made), period);
            self.made += 1;
        }
        to.touch(UNDO, Place::loaded(2 * at as u64), WRITES.0);
        to.touch(UNDO, *undo, WRITES.1 + ROW * rows);
    }

    fn search(&self, at: usize, key: u64, to: &mut Buffers) {
        self.trees[at].search(key, 1, to);
    }

    /// Searches for a row and changes it.
    fn change(&mut self, at: usize, key: u64, to: &mut Buffers) {
        self.search(at, key, to);
        self.changed.push((at, key));
    }

    fn insert(&mut self, at: usize, key: u64, less: f32, to: &mut Buffers) {
        self.trees[at].insert(key, ROWS[at] - less, to);
        if at < schema::TABLES.len() {
            self.changed.push((at, key));
        }
    }

    fn warehouse_and_district(&self, w_id: i32, district: usize, to: &mut Buffers) {
        self.search(schema::WAREHOUSE, w_id as u64 - 1, to);
        self.search(schema::DISTRICT, district as u64, to);
    }

    /// Changes a customer. The optimizer also makes an estimate on the name index, of which it knows the district.
    fn change_customer(&mut self, district: usize, customer: u16, to: &mut Buffers) {
        let first = (district * CUSTOMERS as usize) as u64;
        self.trees[CUSTOMER_NAME].estimate(first, first + CUSTOMERS as u64 - 1, to);
        self.change(schema::CUSTOMER, customer_row(district, customer), to);
    }

    /// Counts the customers with a name, and finds the middle one. Each statement makes an estimate for the whole
    /// district in the table, and for the name in its index.
    fn by_name(&self, district: usize, name: &str, to: &mut Buffers) -> Option<u16> {
        let first = (district * CUSTOMERS as usize) as u64;
        let (begin, namesakes) = self.districts[district].namesakes(&self.names, name);
        let begin = first + begin as u64;
        let end = begin + (namesakes.len() as u64).saturating_sub(1);
        for _ in 0..2 {
            self.trees[schema::CUSTOMER].estimate(first, first + CUSTOMERS as u64 - 1, to);
            self.trees[CUSTOMER_NAME].estimate(begin, end, to);
            self.trees[CUSTOMER_NAME].scan(begin, end, namesakes.len() as u32, to);
        }
        middle(namesakes)
    }

    /// A row of `item`, one of those that represent all.
    fn item(&self, item: u32, to: &mut Buffers) {
        let tree = &self.trees[schema::ITEM];
        tree.search_leaf(self.items[tree.loaded_leaf(u64::from(item) - 1) as usize], to);
    }

    fn lines(&self, district: usize, number: u32) -> (u64, u64, u32) {
        let (first, lines) = self.districts[district].lines(number);
        (key(district, first), key(district, first + lines.saturating_sub(1)), lines)
    }

    fn new_order(&mut self, order: &NewOrder, to: &mut Buffers) {
        let district = district(order.w_id, order.d_id);
        let customer = order.c_id as u16;
        self.search(schema::WAREHOUSE, order.w_id as u64 - 1, to);
        self.search(schema::CUSTOMER, customer_row(district, customer), to);
        self.change(schema::DISTRICT, district as u64, to);
        self.search(schema::DISTRICT, district as u64, to);

        let number = self.districts[district].next_order();
        let by_customer = order_of_customer(district, customer, number);
        self.insert(schema::ORDERS, order_row(district, number), CARRIER, to);
        self.insert(ORDERS_CUSTOMER, by_customer, 0.0, to);
        self.insert(schema::NEW_ORDER, open_row(district, number), 0.0, to);

        let mut lines: Vec<_> = order.lines.iter().filter(|line| line.i_id != UNUSED_ITEM).collect();
        lines.sort_unstable_by_key(|line| (line.supply_w_id, line.i_id));
        // Found, then changed by its key.
        for line in &lines {
            let row = stock_row(line.supply_w_id, line.i_id as u32);
            self.search(schema::STOCK, row, to);
            self.change(schema::STOCK, row, to);
        }
        let first = self.districts[district].next_line();
        for (line, at) in lines.iter().zip(first..) {
            self.item(line.i_id as u32, to);
            self.search(schema::STOCK, stock_row(line.supply_w_id, line.i_id as u32), to);
            self.insert(schema::ORDER_LINE, key(district, at), DELIVERED, to);
        }
        // The fields of the terminal's screen.
        for line in &lines {
            self.item(line.i_id as u32, to);
            self.search(schema::STOCK, stock_row(line.supply_w_id, line.i_id as u32), to);
        }
        if lines.len() < order.lines.len() {
            self.roll_back(by_customer, to);
            return;
        }
        let of = &mut self.districts[district];
        let first_line = of.inserted_lines;
        of.inserted_lines += lines.len() as u32;
        of.newest[order.c_id as usize - 1] = number;
        of.remember(order.lines.iter().map(|line| line.i_id as u32).collect::<Items>());
        of.inserted.push(Order { customer, lines: lines.len() as u8, first_line, places: () });
    }

    /// Rolls back a New-Order.
    fn roll_back(&mut self, by_customer: u64, to: &mut Buffers) {
        let changed = self.changed.clone();
        for (at, key) in changed.into_iter().rev() {
            self.search(at, key, to);
            match at {
                schema::ORDERS => {
                    self.trees[at].remove(key, ROWS[at] - CARRIER);
                    self.search(ORDERS_CUSTOMER, by_customer, to);
                    self.trees[ORDERS_CUSTOMER].remove(by_customer, ROWS[ORDERS_CUSTOMER]);
                }
                schema::NEW_ORDER => self.trees[at].remove(key, ROWS[at]),
                schema::ORDER_LINE => self.trees[at].remove(key, ROWS[at] - DELIVERED),
                _ => {}
            }
        }
    }

    fn payment(&mut self, payment: &Payment, to: &mut Buffers) {
        let customers = district(payment.c_w_id, payment.c_d_id);
        let customer = match &payment.customer {
            Customer::Id(id) => *id as u16,
            Customer::LastName(name) => {
                let Some(middle) = self.by_name(customers, name, to) else { return };
                middle
            }
        };
        let at = district(payment.w_id, payment.d_id);
        self.change_customer(customers, customer, to);
        self.change(schema::DISTRICT, at as u64, to);
        self.change(schema::WAREHOUSE, payment.w_id as u64 - 1, to);
        self.warehouse_and_district(payment.w_id, at, to);
        let history = self.histories;
        self.histories += 1;
        self.insert(schema::HISTORY, history.into(), 0.0, to);
        self.warehouse_and_district(payment.w_id, at, to);
        self.search(schema::CUSTOMER, customer_row(customers, customer), to);
    }

    fn order_status(&mut self, status: &OrderStatus, to: &mut Buffers) {
        let district = district(status.w_id, status.d_id);
        let customer = match &status.customer {
            Customer::Id(id) => *id as u16,
            Customer::LastName(name) => {
                let Some(middle) = self.by_name(district, name, to) else { return };
                middle
            }
        };
        let number = self.districts[district].newest[usize::from(customer) - 1];
        self.search(schema::CUSTOMER, customer_row(district, customer), to);
        self.search(ORDERS_CUSTOMER, order_of_customer(district, customer, number), to);
        self.search(schema::ORDERS, order_row(district, number), to);
        let (first, last, lines) = self.lines(district, number);
        self.trees[schema::ORDER_LINE].scan(first, last, lines, to);
    }

    fn delivery(&mut self, delivery: &Delivery, to: &mut Buffers) {
        for d_id in 1..=DISTRICTS {
            let district = district(delivery.w_id, d_id);
            let number = self.districts[district].oldest_open;
            let newest = self.districts[district].next_order() - 1;
            let at = open_row(district, number);
            // The optimizer makes an estimate for the queue.
            self.trees[schema::NEW_ORDER].estimate(at, open_row(district, newest), to);
            self.search(schema::NEW_ORDER, at, to);
            if number > newest {
                continue;
            }
            self.change(schema::NEW_ORDER, at, to);
            self.trees[schema::NEW_ORDER].remove(at, ROWS[schema::NEW_ORDER]);

            let first = (district * CUSTOMERS as usize) as u64;
            let last = first + CUSTOMERS as u64 - 1;
            let (first, last) = (first * ORDERS_APART, last * ORDERS_APART + (ORDERS_APART - 1));
            self.trees[ORDERS_CUSTOMER].estimate(first, last, to);
            let order = order_row(district, number);
            self.change(schema::ORDERS, order, to);
            self.trees[schema::ORDERS].lengthen(order, CARRIER, to);
            self.search(schema::ORDERS, order, to);

            let (first, last, lines) = self.lines(district, number);
            self.trees[schema::ORDER_LINE].estimate(first, last, to);
            self.trees[schema::ORDER_LINE].scan(first, last, lines, to);
            for line in first..=last {
                self.changed.push((schema::ORDER_LINE, line));
                self.trees[schema::ORDER_LINE].lengthen(line, DELIVERED, to);
            }
            self.trees[schema::ORDER_LINE].scan(first, last, lines, to);

            let customer = self.districts[district].customer(number);
            self.change_customer(district, customer, to);
            self.districts[district].oldest_open += 1;
        }
    }

    fn stock_level(&mut self, level: &StockLevel, to: &mut Buffers) {
        let district = district(level.w_id, level.d_id);
        self.search(schema::DISTRICT, district as u64, to);
        let end = self.districts[district].next_order();
        let begin = end - self.districts[district].recent.len() as u32;
        let (first, ..) = self.lines(district, begin);
        let (_, last, _) = self.lines(district, end - 1);
        self.trees[schema::ORDER_LINE].estimate(first, last, to);
        self.trees[schema::ORDER_LINE].scan(first, last, (last - first + 1) as u32, to);
        // One search for each line, even if its item was found before.
        for order in &self.districts[district].recent {
            for item in order {
                self.search(schema::STOCK, stock_row(level.w_id, *item), to);
            }
        }
    }
}

#[cfg(test)]
mod tests;
