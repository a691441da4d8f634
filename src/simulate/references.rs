//! The pages that the five transactions request on PostgreSQL's heaps and B-trees, statement by statement as in
//! `procedures.sql`.
//!
//! A page counts as often as PostgreSQL counts it: once for each level of an index that a search descends, once for the
//! page of the row that it finds, and for an updated row twice more, because the server fetches the old version again
//! before it writes the new one. A scan from row to row counts a page again only after it has visited another one.

use super::district::{self, District, Items, Names, Order};
use super::layout::{Layout, index};
use super::pages::{Buffers, Part, Place};
use super::skew;
use crate::workload::tpcc::input::{Customer, Delivery, Input, NewOrder, OrderStatus, Payment, StockLevel};
use crate::workload::tpcc::population::Population;
use crate::workload::tpcc::{CUSTOMERS, DISTRICTS, FIRST_OPEN_ORDER, ITEMS, MAX_LINES, ORDERS, UNUSED_ITEM, schema};

/// How often the page of a row counts when an index leads an update to it: found, fetched once more, changed.
const UPDATED: u32 = 3;
/// Leaves into which one loaded leaf can be split by later entries.
const SPLITS: u64 = 16;

/// The state of the database that its pages depend on.
#[derive(Debug)]
pub struct Database {
    trees: [Tree; index::COUNT],
    heaps: [Heap; schema::TABLES.len()],
    names: Names,
    districts: Vec<District<Rows>>,
    /// For each loaded page of `customer`: whether a row was updated since the load, so that an index-only scan has to
    /// visit it.
    updated: Vec<bool>,
    /// Entries added to each loaded leaf of `orders_customer`.
    inserted: Vec<u16>,
    /// Pages of `item` and leaves of its index: those that represent them, if only some of the warehouses are
    /// simulated.
    items: [Vec<u32>; 2],
    loaded_pages: u64,
    /// Whether `warehouse` has only one page, with all warehouses of the database.
    one_page: bool,
}

/// Positions of the rows of an order that a transaction inserted.
#[derive(Clone, Debug)]
struct Rows {
    /// Its own.
    order: Place,
    /// The row in the queue of open orders.
    open: Place,
    /// The pages of its lines, with the number of lines on each.
    lines: arrayvec::ArrayVec<(Place, u8), MAX_LINES>,
}

/// A table's pages.
#[derive(Debug)]
struct Heap {
    rows: f64,
    room: f64,
    inserted: f64,
    /// The page on which each session inserts, and its used bytes.
    cursors: Vec<(u32, f64)>,
    grown: u32,
}

/// An index's pages.
#[derive(Debug)]
struct Tree {
    loaded: u64,
    full: u64,
    /// The levels above the leaves, from the root: the first page of the level, and leaves below each of its pages.
    levels: Vec<(u64, u64)>,
    grown: u32,
}

/// The position of an index of `layout` among all tables and indexes.
fn relation(index: usize) -> usize {
    schema::TABLES.len() + index
}

impl Heap {
    fn loaded(&self, row: u64) -> Place {
        Place::loaded((row as f64 / self.rows) as u64)
    }

    /// The page that takes the next row of a session.
    fn insert(&mut self, session: usize) -> Place {
        let (page, taken) = &mut self.cursors[session];
        if *taken + self.inserted > self.room {
            (*page, *taken) = (self.grown, 0.0);
            self.grown += 1;
        }
        *taken += self.inserted;
        Place { part: Part::Grown, page: *page }
    }
}

impl Tree {
    /// An index with `entries` entries in the simulated warehouses, and `all` in the whole database.
    fn new(layout: &Layout, index: usize, page: u32, entries: u64, all: u64) -> Tree {
        let (loaded, full) = layout.entries(index, page);
        let fanout = layout.fanout(index, page);
        let mut levels = Vec::new();
        let (mut below, mut first) = (1, 0);
        let mut pages = all.div_ceil(loaded);
        while pages > 1 {
            pages = pages.div_ceil(fanout);
            below *= fanout;
            levels.push((first, below));
            first += entries.div_ceil(loaded).div_ceil(below);
        }
        levels.reverse();
        Tree { loaded, full, levels, grown: 0 }
    }

    fn leaf(&self, entry: u64) -> u64 {
        entry / self.loaded
    }
}

impl Database {
    /// After the load. `share` is the fraction of all warehouses in `population`, `c` the run's constant for items.
    pub fn load(layout: &Layout, page: u32, population: &Population, share: f64, c: u32, sessions: usize) -> Database {
        let names = Names::all();
        let mut lines = 0;
        let districts: Vec<District<Rows>> = (1..=population.warehouses)
            .flat_map(|warehouse| district::load(population, &names, warehouse, &mut lines))
            .collect();
        let warehouses = u64::from(population.warehouses);
        let customers = warehouses * (DISTRICTS * CUSTOMERS) as u64;
        let entries = |index| match index {
            index::WAREHOUSE => warehouses,
            index::DISTRICT => warehouses * DISTRICTS as u64,
            index::NEW_ORDER => warehouses * (DISTRICTS * (ORDERS - FIRST_OPEN_ORDER + 1)) as u64,
            index::ORDER_LINE => lines,
            index::ITEM => (ITEMS as f64 * share) as u64,
            index::STOCK => warehouses * ITEMS as u64,
            _ => customers,
        };
        let trees: [Tree; index::COUNT] =
            std::array::from_fn(|at| Tree::new(layout, at, page, entries(at), (entries(at) as f64 / share) as u64));
        let heaps: [Heap; schema::TABLES.len()] = std::array::from_fn(|table| Heap {
            rows: layout.loaded_rows(table, page),
            room: layout.room(table, page),
            inserted: layout.tables[table].inserted,
            cursors: vec![(0, f64::INFINITY); sessions.max(1)],
            grown: 0,
        });
        let rows = |table| match table {
            schema::STOCK => entries(index::STOCK),
            schema::ITEM => entries(index::ITEM),
            schema::ORDER_LINE => lines,
            schema::NEW_ORDER => entries(index::NEW_ORDER),
            schema::WAREHOUSE => warehouses,
            schema::DISTRICT => entries(index::DISTRICT),
            _ => customers,
        };
        let items = skew::item_pages(
            c,
            share,
            [&|row| heaps[schema::ITEM].loaded(row).page.into(), &|row| trees[index::ITEM].leaf(row)],
        );
        let pages = (0..heaps.len()).map(|table| u64::from(heaps[table].loaded(rows(table)).page) + 1);
        let leaves = (0..trees.len()).map(|at| trees[at].leaf(entries(at)) + 1);
        Database {
            loaded_pages: pages.chain(leaves).sum(),
            one_page: warehouses as f64 / share <= heaps[schema::WAREHOUSE].rows,
            updated: vec![false; heaps[schema::CUSTOMER].loaded(customers).page as usize + 1],
            inserted: vec![0; trees[index::ORDERS_CUSTOMER].leaf(customers) as usize + 1],
            trees,
            heaps,
            names,
            districts,
            items,
        }
    }

    /// Pages of tables and leaves of indexes after the load.
    pub fn loaded_pages(&self) -> u64 {
        self.loaded_pages
    }

    /// Requests the pages of a transaction of a session.
    pub fn execute(&mut self, input: &Input, session: usize, to: &mut Buffers) {
        match input {
            Input::NewOrder(order) => self.new_order(order, session, to),
            Input::Payment(payment) => self.payment(payment, session, to),
            Input::OrderStatus(status) => self.order_status(status, to),
            Input::Delivery(delivery) => self.delivery(delivery, to),
            Input::StockLevel(level) => self.stock_level(level, to),
        }
    }

    /// Descends from the root of an index to the pages above a loaded leaf.
    fn descend(&self, index: usize, leaf: u64, to: &mut Buffers) {
        for (first, below) in &self.trees[index].levels {
            to.touch(relation(index), Place { part: Part::Inner, page: (first + leaf / below) as u32 }, 1);
        }
    }

    /// Searches an index for a loaded entry.
    fn search(&self, index: usize, entry: u64, to: &mut Buffers) {
        let leaf = self.trees[index].leaf(entry);
        self.descend(index, leaf, to);
        to.touch(relation(index), Place::loaded(leaf), 1);
    }

    /// The page of a loaded row.
    fn row(&self, table: usize, row: u64, times: u32, to: &mut Buffers) {
        to.touch(table, self.heaps[table].loaded(row), times);
    }

    fn insert(&mut self, table: usize, session: usize, to: &mut Buffers) -> Place {
        let place = self.heaps[table].insert(session);
        to.touch(table, place, 1);
        place
    }

    fn warehouse(&self, w_id: i32, times: u32, to: &mut Buffers) {
        let row = w_id as u64 - 1;
        // A table of one page is read without its index.
        if !self.one_page {
            self.search(index::WAREHOUSE, row, to);
        }
        self.row(schema::WAREHOUSE, row, times, to);
    }

    fn district(&self, district: usize, times: u32, to: &mut Buffers) {
        self.search(index::DISTRICT, district as u64, to);
        self.row(schema::DISTRICT, district as u64, times, to);
    }

    fn customer(&mut self, district: usize, customer: u16, times: u32, to: &mut Buffers) {
        let row = customer_row(district, customer);
        self.search(index::CUSTOMER, row, to);
        self.row(schema::CUSTOMER, row, times, to);
        if times == UPDATED {
            self.updated[self.heaps[schema::CUSTOMER].loaded(row).page as usize] = true;
        }
    }

    fn item(&self, item: u32, to: &mut Buffers) {
        let row = u64::from(item) - 1;
        let [pages, leaves] = &self.items;
        let leaf = leaves[self.trees[index::ITEM].leaf(row) as usize];
        self.descend(index::ITEM, leaf.into(), to);
        to.touch(relation(index::ITEM), Place::loaded(leaf.into()), 1);
        let page = pages[self.heaps[schema::ITEM].loaded(row).page as usize];
        to.touch(schema::ITEM, Place::loaded(page.into()), 1);
    }

    fn stock(&self, w_id: i32, item: u32, times: u32, to: &mut Buffers) {
        let row = (w_id as u64 - 1) * ITEMS as u64 + u64::from(item) - 1;
        self.search(index::STOCK, row, to);
        self.row(schema::STOCK, row, times, to);
    }

    /// Searches an index that grows at the end of each district, for the `loaded`-th entry of the database or, if it
    /// came later, the `inserted`-th of its district.
    fn search_tail(&mut self, index: usize, district: usize, loaded: u64, inserted: Option<u64>, to: &mut Buffers) {
        let tree = &mut self.trees[index];
        // The first ones fit on the last loaded leaf.
        let Some(inserted) = inserted.and_then(|entry| entry.checked_sub(tree.full - tree.loaded)) else {
            return self.search(index, loaded, to);
        };
        let leaves = &mut self.districts[district].leaves[tail(index)];
        // A leaf whose entries are added in order at one place is split there, so that it remains full.
        let at = (inserted / tree.full) as usize;
        while leaves.len() <= at {
            leaves.push(Place::grown(tree.grown.into()));
            tree.grown += 1;
        }
        let leaf = leaves[at];
        self.descend(index, self.trees[index].leaf(loaded), to);
        to.touch(relation(index), leaf, 1);
    }

    fn search_order(&mut self, index: usize, district: usize, number: u32, to: &mut Buffers) {
        let loaded = (district * ORDERS as usize) as u64 + u64::from(number.min(ORDERS as u32)) - 1;
        self.search_tail(index, district, loaded, u64::from(number).checked_sub(ORDERS as u64 + 1), to);
    }

    fn search_open(&mut self, district: usize, number: u32, to: &mut Buffers) {
        let inserted = u64::from(number).checked_sub(ORDERS as u64 + 1);
        self.search_tail(index::NEW_ORDER, district, open_row(district, number), inserted, to);
    }

    /// Requests the leaf of an open order once more, without a search.
    fn leaf_of_open(&self, district: usize, number: u32, to: &mut Buffers) {
        let tree = &self.trees[index::NEW_ORDER];
        let inserted = u64::from(number)
            .checked_sub(ORDERS as u64 + 1)
            .and_then(|entry| entry.checked_sub(tree.full - tree.loaded));
        let grown = inserted.and_then(|entry| {
            self.districts[district].leaves[tail(index::NEW_ORDER)].get((entry / tree.full) as usize)
        });
        let leaf = grown.copied().unwrap_or_else(|| Place::loaded(tree.leaf(open_row(district, number))));
        to.touch(relation(index::NEW_ORDER), leaf, 1);
    }

    /// The leaf of `orders_customer` with a customer's orders, which may have been split since the load.
    fn search_customers_orders(&mut self, district: usize, customer: u16, insert: bool, to: &mut Buffers) {
        let tree = &self.trees[index::ORDERS_CUSTOMER];
        let entry = customer_row(district, customer);
        let leaf = tree.leaf(entry);
        let inserted = &mut self.inserted[leaf as usize];
        *inserted = inserted.saturating_add(u16::from(insert));
        let entries = tree.loaded + u64::from(*inserted);
        let leaves = entries.div_ceil(tree.full).next_power_of_two().min(SPLITS);
        let split = entry % tree.loaded * leaves / tree.loaded;
        let place = if split == 0 { Place::loaded(leaf) } else { Place::grown(leaf * SPLITS + split) };
        self.descend(index::ORDERS_CUSTOMER, leaf, to);
        to.touch(relation(index::ORDERS_CUSTOMER), place, 1);
    }

    /// Customers with a name, ordered by first name, and their position in `customer_name`.
    fn namesakes(&self, district: usize, name: &str) -> (u64, Vec<u16>) {
        let (first, namesakes) = self.districts[district].namesakes(&self.names, name);
        ((district * CUSTOMERS as usize + first) as u64, namesakes.to_vec())
    }

    /// Leaves of `customer_name` with these namesakes.
    fn search_names(&self, first: u64, namesakes: usize, to: &mut Buffers) {
        self.search(index::CUSTOMER_NAME, first, to);
        let tree = &self.trees[index::CUSTOMER_NAME];
        for leaf in tree.leaf(first) + 1..=tree.leaf(first + namesakes as u64) {
            to.touch(relation(index::CUSTOMER_NAME), Place::loaded(leaf), 1);
        }
    }

    fn new_order(&mut self, order: &NewOrder, session: usize, to: &mut Buffers) {
        let district = district(order.w_id, order.d_id);
        self.warehouse(order.w_id, 1, to);
        self.customer(district, order.c_id as u16, 1, to);
        self.district(district, UPDATED, to);

        let number = self.districts[district].next_order();
        let row = self.insert(schema::ORDERS, session, to);
        self.search_order(index::ORDERS, district, number, to);
        self.search_customers_orders(district, order.c_id as u16, true, to);
        let open = self.insert(schema::NEW_ORDER, session, to);
        self.search_open(district, number, to);

        let mut lines: Vec<_> = order.lines.iter().filter(|line| line.i_id != UNUSED_ITEM).collect();
        lines.sort_unstable_by_key(|line| (line.supply_w_id, line.i_id));
        for line in &lines {
            self.item(line.i_id as u32, to);
            self.stock(line.supply_w_id, line.i_id as u32, UPDATED, to);
        }
        let first_line = self.districts[district].inserted_lines;
        let loaded = self.districts[district].last_loaded_line();
        let mut pages = arrayvec::ArrayVec::<(Place, u8), MAX_LINES>::new();
        for line in 0..lines.len() {
            let place = self.insert(schema::ORDER_LINE, session, to);
            match pages.last_mut() {
                Some((last, rows)) if *last == place => *rows += 1,
                _ => pages.push((place, 1)),
            }
            self.search_tail(index::ORDER_LINE, district, loaded, Some(u64::from(first_line) + line as u64), to);
        }
        if lines.len() < order.lines.len() {
            // After a rollback the rows keep their positions, and the order its number.
            return;
        }
        let of = &mut self.districts[district];
        of.inserted_lines += lines.len() as u32;
        of.newest[order.c_id as usize - 1] = number;
        of.remember(order.lines.iter().map(|line| line.i_id as u32).collect::<Items>());
        let places = Rows { order: row, open, lines: pages };
        of.inserted.push(Order { customer: order.c_id as u16, lines: lines.len() as u8, first_line, places });
    }

    fn payment(&mut self, payment: &Payment, session: usize, to: &mut Buffers) {
        let customers = district(payment.c_w_id, payment.c_d_id);
        let customer = match &payment.customer {
            Customer::Id(id) => *id as u16,
            Customer::LastName(name) => {
                let (first, namesakes) = self.namesakes(customers, name);
                self.search_names(first, namesakes.len(), to);
                // An index-only scan, except for rows on pages that were updated.
                to.resident(schema::CUSTOMER, 1);
                let mut last = None;
                for namesake in &namesakes {
                    let place = self.heaps[schema::CUSTOMER].loaded(customer_row(customers, *namesake));
                    if self.updated[place.page as usize] && last.replace(place) != Some(place) {
                        to.touch(schema::CUSTOMER, place, 1);
                    }
                }
                let Some(middle) = middle(&namesakes) else { return };
                middle
            }
        };
        self.customer(customers, customer, UPDATED, to);
        self.district(district(payment.w_id, payment.d_id), UPDATED, to);
        self.warehouse(payment.w_id, UPDATED, to);
        self.insert(schema::HISTORY, session, to);
    }

    fn order_status(&mut self, status: &OrderStatus, to: &mut Buffers) {
        let district = district(status.w_id, status.d_id);
        let customer = match &status.customer {
            Customer::Id(id) => {
                self.customer(district, *id as u16, 1, to);
                *id as u16
            }
            Customer::LastName(name) => {
                let (first, namesakes) = self.namesakes(district, name);
                self.search_names(first, namesakes.len(), to);
                for namesake in &namesakes {
                    self.row(schema::CUSTOMER, customer_row(district, *namesake), 1, to);
                }
                let Some(middle) = middle(&namesakes) else { return };
                middle
            }
        };
        self.search_customers_orders(district, customer, false, to);
        let number = self.districts[district].newest[usize::from(customer) - 1];
        to.touch(schema::ORDERS, self.order_row(district, number), 1);
        self.search_lines(district, number, to);
        for (place, _) in self.line_pages(district, number) {
            to.touch(schema::ORDER_LINE, place, 1);
        }
    }

    fn delivery(&mut self, delivery: &Delivery, to: &mut Buffers) {
        let districts = district(delivery.w_id, 1)..district(delivery.w_id, 1) + DISTRICTS as usize;
        let open: Vec<(usize, u32)> = districts
            .map(|district| (district, self.districts[district].oldest_open))
            .filter(|(district, number)| *number < self.districts[*district].next_order())
            .collect();
        for (district, number) in &open {
            self.take(*district, *number, to);
        }
        for (district, number) in &open {
            self.search_order(index::ORDERS, *district, *number, to);
            to.touch(schema::ORDERS, self.order_row(*district, *number), UPDATED);
        }
        for (district, number) in &open {
            self.search_lines(*district, *number, to);
            for (place, rows) in self.line_pages(*district, *number) {
                to.touch(schema::ORDER_LINE, place, 1 + (UPDATED - 1) * u32::from(rows));
            }
        }
        for (district, number) in open {
            let of = &mut self.districts[district];
            of.oldest_open += 1;
            let customer = of.customer(number);
            self.customer(district, customer, UPDATED, to);
        }
    }

    /// Removes the oldest order from a district's queue. The search begins at the original start of the queue and
    /// passes the entries of orders that were removed since, until a vacuum.
    fn take(&mut self, district: usize, number: u32, to: &mut Buffers) {
        let row = |of: &Self, number: u32| match of.districts[district].order(number) {
            Some(order) => order.places.open,
            None => of.heaps[schema::NEW_ORDER].loaded(open_row(district, number)),
        };
        let begin = open_row(district, FIRST_OPEN_ORDER as u32);
        self.search(index::NEW_ORDER, begin, to);
        let tree = &self.trees[index::NEW_ORDER];
        for leaf in tree.leaf(begin) + 1..=tree.leaf(open_row(district, number)) {
            to.touch(relation(index::NEW_ORDER), Place::loaded(leaf), 1);
        }
        let inserted = u64::from(number)
            .checked_sub(ORDERS as u64 + 1)
            .and_then(|entry| entry.checked_sub(tree.full - tree.loaded));
        if let Some(inserted) = inserted {
            let last = (inserted / tree.full) as usize;
            for leaf in self.districts[district].leaves[tail(index::NEW_ORDER)].iter().take(last + 1) {
                to.touch(relation(index::NEW_ORDER), *leaf, 1);
            }
        }
        // The row that was removed last is found dead, and the scan goes back to its leaf to mark it; then this one is
        // found and locked.
        let place = row(self, number);
        match (number > FIRST_OPEN_ORDER as u32).then(|| row(self, number - 1)) {
            Some(dead) => {
                self.leaf_of_open(district, number - 1, to);
                to.touch(schema::NEW_ORDER, dead, 1 + 2 * u32::from(dead == place));
                if dead != place {
                    to.touch(schema::NEW_ORDER, place, 2);
                }
            }
            None => to.touch(schema::NEW_ORDER, place, 2),
        }
        self.search_open(district, number, to);
        to.touch(schema::NEW_ORDER, place, 2);
    }

    fn stock_level(&mut self, level: &StockLevel, to: &mut Buffers) {
        let district = district(level.w_id, level.d_id);
        self.district(district, 1, to);
        self.district(district, 1, to);
        let end = self.districts[district].next_order();
        let mut last = None;
        for number in end - self.districts[district].recent.len() as u32..end {
            if last.is_none() {
                self.search_lines(district, number, to);
            }
            for (place, _) in self.line_pages(district, number) {
                if last.replace(place) != Some(place) {
                    to.touch(schema::ORDER_LINE, place, 1);
                }
            }
        }
        let mut items: Vec<u32> = self.districts[district].recent.iter().flatten().copied().collect();
        items.sort_unstable();
        items.dedup();
        for item in items {
            self.stock(level.w_id, item, 1, to);
        }
    }

    /// The page of an order's row.
    fn order_row(&self, district: usize, number: u32) -> Place {
        match self.districts[district].order(number) {
            Some(order) => order.places.order,
            None => self.heaps[schema::ORDERS].loaded((district * ORDERS as usize) as u64 + u64::from(number) - 1),
        }
    }

    fn search_lines(&mut self, district: usize, number: u32, to: &mut Buffers) {
        let of = &self.districts[district];
        let inserted = of.order(number).map(|order| u64::from(order.first_line));
        let loaded = match inserted {
            Some(_) => of.last_loaded_line(),
            None => of.loaded_lines[number as usize - 1],
        };
        self.search_tail(index::ORDER_LINE, district, loaded, inserted, to);
    }

    /// The pages of an order's lines, with the number of lines on each.
    fn line_pages(&self, district: usize, number: u32) -> arrayvec::ArrayVec<(Place, u8), 15> {
        let of = &self.districts[district];
        if let Some(order) = of.order(number) {
            return order.places.lines.clone();
        }
        let mut pages = arrayvec::ArrayVec::<(Place, u8), 15>::new();
        for line in of.loaded_lines[number as usize - 1]..of.loaded_lines[number as usize] {
            let place = self.heaps[schema::ORDER_LINE].loaded(line);
            match pages.last_mut() {
                Some((last, rows)) if *last == place => *rows += 1,
                _ => pages.push((place, 1)),
            }
        }
        pages
    }
}

/// A district's index among all districts.
pub(super) fn district(w_id: i32, d_id: i32) -> usize {
    (w_id as usize - 1) * DISTRICTS as usize + d_id as usize - 1
}

/// A customer's index among all customers.
pub(super) fn customer_row(district: usize, customer: u16) -> u64 {
    (district * CUSTOMERS as usize) as u64 + u64::from(customer) - 1
}

/// A loaded open order's index among all of them; for a later order, that of the district's last one.
fn open_row(district: usize, number: u32) -> u64 {
    let (first, last) = (FIRST_OPEN_ORDER as u32, ORDERS as u32);
    (district * (last - first + 1) as usize) as u64 + u64::from(number.min(last) - first)
}

/// The customer in the middle (clause 2.5.2.2).
pub(super) fn middle(namesakes: &[u16]) -> Option<u16> {
    namesakes.get(namesakes.len().div_ceil(2).checked_sub(1)?).copied()
}

/// An index's position in [`District::leaves`].
fn tail(index: usize) -> usize {
    match index {
        index::NEW_ORDER => 0,
        index::ORDERS => 1,
        _ => 2,
    }
}
