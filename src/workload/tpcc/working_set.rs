//! The working set of a warehouse, as estimated in Orri Erling's "Virtuoso and Database Scalability": all pages of
//! STOCK and CUSTOMER, which are updated everywhere all the time, and the pages where rows of ORDER and ORDER-LINE are
//! inserted and updated.

use super::population::Population;
use super::schema::{CUSTOMER, STOCK, TABLES};
use crate::workload::value::{RowSink, Timestamp, Value};
use crate::workload::{Population as _, Rows};

/// Insertion and update points in a warehouse: two for each district in each of two tables.
const POINTS: u64 = 40;
/// Bytes of pages around such a point, with the recent lines that Stock-Level reads: the article counts 8 MB for all
/// forty.
const POINT_BYTES: u64 = 200_000;
/// Rows of each table from which the mean row length is estimated.
const SAMPLE: u32 = 2_000;

/// The working set of a warehouse from the bytes of its STOCK and CUSTOMER.
pub const fn of(stock_and_customer: u64) -> u64 {
    stock_and_customer + POINTS * POINT_BYTES
}

/// Bytes of the values of STOCK and CUSTOMER of a warehouse, without the overhead of a database. Numbers have four
/// bytes, amounts and dates eight.
pub fn values() -> u64 {
    let population = Population::new(1, 1, Timestamp(0));
    let mut rows = population.rows();
    let parts = population.parts();
    let tables = [STOCK, CUSTOMER].into_iter().filter_map(|table| parts.iter().find(|part| part.table == table));
    tables
        .map(|part| {
            let sample = SAMPLE.min(part.units);
            let mut bytes = Bytes(0);
            (0..sample).for_each(|unit| rows.write(part, unit, &mut bytes));
            bytes.0 * part.rows / u64::from(sample.max(1))
        })
        .sum()
}

/// Names of the two tables.
pub const UPDATED: [&str; 2] = [TABLES[STOCK].name, TABLES[CUSTOMER].name];

struct Bytes(u64);

impl RowSink for Bytes {
    fn put(&mut self, value: Value<'_>) {
        self.0 += value.bytes();
    }

    fn end_row(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_near_to_the_articles() {
        // 100,000 rows of 302 bytes and 30,000 of about 550.
        let values = values();
        assert!((46_000_000..48_000_000).contains(&values), "{values}");
        // The article's tables had 58 MB, a quarter more than the values alone; its working set is 66 MB.
        assert_eq!(of(58_000_000), 66_000_000);
        let least = of(values) as f64 / 66e6;
        assert!((0.8..1.0).contains(&least), "{least}");
    }
}
