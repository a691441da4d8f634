//! The initial population of clause 4.3.3.1: any row of any table from (seed, table, key).

use super::random::{Source, Stream, Topic, c_load, last_name};
use super::{CUSTOMERS, DISTRICTS, FIRST_OPEN_ORDER, ITEMS, ORDERS, schema, text};
use crate::workload::value::{Money, Rate, RowSink, Timestamp, Value};
use crate::workload::{self, Part, Table};

/// Parts of `item`, the only table that does not grow with the number of warehouses.
const ITEM_PARTS: i32 = 10;
const ITEMS_PER_PART: i32 = ITEMS / ITEM_PARTS;
const CUSTOMERS_PER_WAREHOUSE: i32 = DISTRICTS * CUSTOMERS;
const ORDERS_PER_WAREHOUSE: i32 = DISTRICTS * ORDERS;
const OPEN_ORDERS: i32 = ORDERS - FIRST_OPEN_ORDER + 1;

/// The initial population of a number of warehouses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Population {
    /// W.
    pub warehouses: u32,
    /// The seed of every row.
    pub seed: u64,
    /// C of the last names (clause 2.1.6.1).
    pub c_load: u32,
    /// C_SINCE, H_DATE, O_ENTRY_D.
    pub date: Timestamp,
}

impl Population {
    /// The population of a seed, which also determines C of the last names.
    pub fn new(warehouses: u32, seed: u64, date: Timestamp) -> Self {
        Population { warehouses, seed, c_load: c_load(seed), date }
    }

    /// Rows of each table of [`schema::TABLES`] after the load.
    pub fn table_rows(&self) -> [u64; schema::TABLES.len()] {
        let mut rows = [0; schema::TABLES.len()];
        for part in workload::Population::parts(self) {
            rows[part.table] += part.rows;
        }
        rows
    }

    /// Order lines of a warehouse: the sum of O_OL_CNT over its orders.
    fn order_lines(&self, w_id: u32) -> u64 {
        let orders = Source::new(self.seed, Topic::Order);
        (0..ORDERS_PER_WAREHOUSE as u32)
            .map(|unit| o_ol_cnt(&mut orders.stream(key(w_id, ORDERS_PER_WAREHOUSE as u32, unit))) as u64)
            .sum()
    }
}

impl workload::Population for Population {
    type Rows = Rows;

    /// Ten parts for `item`, then for each warehouse a part of each other table. A unit is a row, in `order_line` an
    /// order.
    fn parts(&self) -> Vec<Part> {
        let part = |table, number, units: i32| Part { table, number, units: units as u32, rows: units as u64 };
        let items = (1..=ITEM_PARTS as u32).map(|number| part(schema::ITEM, number, ITEMS_PER_PART));
        let warehouses = (1..=self.warehouses).flat_map(|w_id| {
            [
                part(schema::WAREHOUSE, w_id, 1),
                part(schema::DISTRICT, w_id, DISTRICTS),
                part(schema::CUSTOMER, w_id, CUSTOMERS_PER_WAREHOUSE),
                part(schema::HISTORY, w_id, CUSTOMERS_PER_WAREHOUSE),
                part(schema::ORDERS, w_id, ORDERS_PER_WAREHOUSE),
                part(schema::NEW_ORDER, w_id, DISTRICTS * OPEN_ORDERS),
                Part { rows: self.order_lines(w_id), ..part(schema::ORDER_LINE, w_id, ORDERS_PER_WAREHOUSE) },
                part(schema::STOCK, w_id, ITEMS),
            ]
        });
        items.chain(warehouses).collect()
    }

    fn tables(&self) -> &'static [Table] {
        &schema::TABLES
    }

    fn rows(&self) -> Rows {
        let source = |topic| Source::new(self.seed, topic);
        Rows {
            c_load: self.c_load,
            date: Value::Time(self.date),
            warehouses: source(Topic::Warehouse),
            districts: source(Topic::District),
            customers: source(Topic::Customer),
            histories: source(Topic::History),
            orders: source(Topic::Order),
            order_lines: source(Topic::OrderLines),
            permutations: source(Topic::Permutation),
            items: source(Topic::Item),
            stocks: source(Topic::Stock),
            permuted: None,
            permutation: (1..=CUSTOMERS as u16).collect(),
        }
    }
}

/// The key of a row's stream: its index among all rows of its table.
fn key(w_id: u32, per_warehouse: u32, unit: u32) -> u64 {
    u64::from(w_id) * u64::from(per_warehouse) + u64::from(unit)
}

/// O_OL_CNT, the first number of an order's stream: `orders` and `order_line` both begin with it.
fn o_ol_cnt(order: &mut Stream) -> i32 {
    order.within(5, 15)
}

/// Writes rows of the population.
pub struct Rows {
    c_load: u32,
    date: Value<'static>,
    warehouses: Source,
    districts: Source,
    customers: Source,
    histories: Source,
    orders: Source,
    order_lines: Source,
    permutations: Source,
    items: Source,
    stocks: Source,
    /// The district of the cached permutation of customers, by its key.
    permuted: Option<u64>,
    /// O_C_ID of that district's orders.
    permutation: Vec<u16>,
}

impl workload::Rows for Rows {
    fn write(&mut self, part: &Part, unit: u32, sink: &mut impl RowSink) {
        match part.table {
            schema::WAREHOUSE => self.warehouse(part.number, sink),
            schema::DISTRICT => self.district(part.number, unit, sink),
            schema::CUSTOMER => self.customer(part.number, unit, sink),
            schema::HISTORY => self.history(part.number, unit, sink),
            schema::NEW_ORDER => new_order(part.number, unit, sink),
            schema::ORDERS => self.order(part.number, unit, sink),
            schema::ORDER_LINE => self.lines(part.number, unit, sink),
            schema::ITEM => self.item((part.number - 1) * ITEMS_PER_PART as u32 + unit, sink),
            schema::STOCK => self.stock(part.number, unit, sink),
            table => unreachable!("TPC-C has nine tables, none is number {table}"),
        }
    }
}

/// An identifier.
fn id(id: u32) -> Value<'static> {
    Value::Int(id as i32)
}

/// Splits a unit's number into district and row, both from 1.
fn in_district(unit: u32, per_district: i32) -> (i32, i32) {
    let unit = unit as i32;
    (unit / per_district + 1, unit % per_district + 1)
}

/// Two streets, city, state and zip, as in WAREHOUSE, DISTRICT and CUSTOMER.
fn address(stream: &mut Stream, sink: &mut impl RowSink) {
    for _ in 0..3 {
        sink.put(Value::Text(text::a_string(stream, 10, &mut [0; 20])));
    }
    sink.put(Value::Text(text::letters(stream, &mut [0; 2])));
    sink.put(Value::Text(text::zip(stream, &mut [0; 9])));
}

fn new_order(w_id: u32, unit: u32, sink: &mut impl RowSink) {
    let (d_id, place) = in_district(unit, OPEN_ORDERS);
    sink.put(Value::Int(FIRST_OPEN_ORDER - 1 + place));
    sink.put(Value::Int(d_id));
    sink.put(id(w_id));
    sink.end_row();
}

impl Rows {
    fn warehouse(&self, w_id: u32, sink: &mut impl RowSink) {
        let stream = &mut self.warehouses.stream(w_id.into());
        sink.put(id(w_id));
        sink.put(Value::Text(text::a_string(stream, 6, &mut [0; 10])));
        address(stream, sink);
        sink.put(Value::Rate(Rate(stream.within(0, 2_000))));
        sink.put(Value::Money(Money::new(300_000, 0)));
        sink.end_row();
    }

    fn district(&self, w_id: u32, unit: u32, sink: &mut impl RowSink) {
        let stream = &mut self.districts.stream(key(w_id, DISTRICTS as u32, unit));
        sink.put(id(unit + 1));
        sink.put(id(w_id));
        sink.put(Value::Text(text::a_string(stream, 6, &mut [0; 10])));
        address(stream, sink);
        sink.put(Value::Rate(Rate(stream.within(0, 2_000))));
        sink.put(Value::Money(Money::new(30_000, 0)));
        sink.put(Value::Int(ORDERS + 1));
        sink.end_row();
    }

    fn customer(&self, w_id: u32, unit: u32, sink: &mut impl RowSink) {
        let stream = &mut self.customers.stream(key(w_id, CUSTOMERS_PER_WAREHOUSE as u32, unit));
        let (d_id, c_id) = in_district(unit, CUSTOMERS);
        sink.put(Value::Int(c_id));
        sink.put(Value::Int(d_id));
        sink.put(id(w_id));
        sink.put(Value::Text(text::a_string(stream, 8, &mut [0; 16])));
        sink.put(Value::Text("OE"));
        let name = if c_id <= 1_000 { c_id - 1 } else { stream.last_name_number(self.c_load) };
        sink.put(Value::Text(&last_name(name)));
        address(stream, sink);
        sink.put(Value::Text(text::n_string(stream, &mut [0; 16])));
        sink.put(self.date);
        sink.put(Value::Text(if stream.percent(10) { "BC" } else { "GC" }));
        sink.put(Value::Money(Money::new(50_000, 0)));
        sink.put(Value::Rate(Rate(stream.within(0, 5_000))));
        sink.put(Value::Money(Money::new(-10, 0)));
        sink.put(Value::Money(Money::new(10, 0)));
        sink.put(Value::Int(1));
        sink.put(Value::Int(0));
        sink.put(Value::Text(text::a_string(stream, 300, &mut [0; 500])));
        sink.end_row();
    }

    fn history(&self, w_id: u32, unit: u32, sink: &mut impl RowSink) {
        let stream = &mut self.histories.stream(key(w_id, CUSTOMERS_PER_WAREHOUSE as u32, unit));
        let (d_id, c_id) = in_district(unit, CUSTOMERS);
        sink.put(Value::Int(c_id));
        sink.put(Value::Int(d_id));
        sink.put(id(w_id));
        sink.put(Value::Int(d_id));
        sink.put(id(w_id));
        sink.put(self.date);
        sink.put(Value::Money(Money::new(10, 0)));
        sink.put(Value::Text(text::a_string(stream, 12, &mut [0; 24])));
        sink.end_row();
    }

    fn order(&mut self, w_id: u32, unit: u32, sink: &mut impl RowSink) {
        let stream = &mut self.orders.stream(key(w_id, ORDERS_PER_WAREHOUSE as u32, unit));
        let (d_id, o_id) = in_district(unit, ORDERS);
        let lines = o_ol_cnt(stream);
        let carrier = stream.within(1, 10);
        sink.put(Value::Int(o_id));
        sink.put(Value::Int(d_id));
        sink.put(id(w_id));
        sink.put(Value::Int(self.customer_of_order(w_id, d_id, o_id)));
        sink.put(self.date);
        sink.put(if o_id < FIRST_OPEN_ORDER { Value::Int(carrier) } else { Value::Null });
        sink.put(Value::Int(lines));
        sink.put(Value::Int(1));
        sink.end_row();
    }

    /// O_C_ID: a random permutation of the district's customers (clause 4.3.3.1).
    fn customer_of_order(&mut self, w_id: u32, d_id: i32, o_id: i32) -> i32 {
        let district = key(w_id, DISTRICTS as u32, d_id as u32 - 1);
        if self.permuted != Some(district) {
            for (place, customer) in self.permutation.iter_mut().enumerate() {
                *customer = place as u16 + 1;
            }
            self.permutations.stream(district).shuffle(&mut self.permutation);
            self.permuted = Some(district);
        }
        self.permutation[o_id as usize - 1].into()
    }

    fn lines(&self, w_id: u32, unit: u32, sink: &mut impl RowSink) {
        let order = key(w_id, ORDERS_PER_WAREHOUSE as u32, unit);
        let stream = &mut self.order_lines.stream(order);
        let (d_id, o_id) = in_district(unit, ORDERS);
        let delivered = o_id < FIRST_OPEN_ORDER;
        for number in 1..=o_ol_cnt(&mut self.orders.stream(order)) {
            sink.put(Value::Int(o_id));
            sink.put(Value::Int(d_id));
            sink.put(id(w_id));
            sink.put(Value::Int(number));
            sink.put(Value::Int(stream.within(1, ITEMS)));
            sink.put(id(w_id));
            sink.put(if delivered { self.date } else { Value::Null });
            sink.put(Value::Int(5));
            let cents = if delivered { 0 } else { stream.within(1, 999_999) };
            sink.put(Value::Money(Money(cents.into())));
            sink.put(Value::Text(text::letters(stream, &mut [0; 24])));
            sink.end_row();
        }
    }

    fn item(&self, unit: u32, sink: &mut impl RowSink) {
        let stream = &mut self.items.stream(unit.into());
        sink.put(id(unit + 1));
        sink.put(Value::Int(stream.within(1, 10_000)));
        sink.put(Value::Text(text::a_string(stream, 14, &mut [0; 24])));
        sink.put(Value::Money(Money(stream.within(100, 10_000).into())));
        sink.put(Value::Text(text::data(stream, &mut [0; 50])));
        sink.end_row();
    }

    fn stock(&self, w_id: u32, unit: u32, sink: &mut impl RowSink) {
        let stream = &mut self.stocks.stream(key(w_id, ITEMS as u32, unit));
        sink.put(id(unit + 1));
        sink.put(id(w_id));
        sink.put(Value::Int(stream.within(10, 100)));
        for _ in 1..=DISTRICTS {
            sink.put(Value::Text(text::letters(stream, &mut [0; 24])));
        }
        sink.put(Value::Int(0));
        sink.put(Value::Int(0));
        sink.put(Value::Int(0));
        sink.put(Value::Text(text::data(stream, &mut [0; 50])));
        sink.end_row();
    }
}

#[cfg(test)]
mod tests;
