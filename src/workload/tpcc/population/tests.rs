use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::workload::ColumnKind;
use crate::workload::tpcc::schema::TABLES;
use crate::workload::{Population as _, Rows as _};

const DATE: Timestamp = Timestamp(1_700_000_000_000_000);

/// A value as a number (money in cents, rates in 1/10,000) or as text.
#[derive(Clone, Debug, PartialEq)]
enum Cell {
    Null,
    Number(i64),
    Text(String),
}

/// Passes on whole rows, and checks that every value is of its column's kind.
struct Checked<F> {
    table: usize,
    row: Vec<Cell>,
    on_row: F,
}

impl<F: FnMut(&[Cell])> RowSink for Checked<F> {
    fn put(&mut self, value: Value<'_>) {
        let column = TABLES[self.table].columns[self.row.len()];
        let (kind, cell) = match value {
            Value::Null => (column.kind, Cell::Null),
            Value::Int(value) => (ColumnKind::Int, Cell::Number(value.into())),
            Value::Money(value) => (ColumnKind::Money, Cell::Number(value.0)),
            Value::Rate(value) => (ColumnKind::Rate, Cell::Number(value.0.into())),
            Value::Time(value) => (ColumnKind::Time, Cell::Number(value.0)),
            Value::Text(value) => (ColumnKind::Text, Cell::Text(value.to_owned())),
        };
        assert_eq!(column.kind, kind, "{}", column.name);
        self.row.push(cell);
    }

    fn end_row(&mut self) {
        assert_eq!(self.row.len(), TABLES[self.table].columns.len());
        (self.on_row)(&self.row);
        self.row.clear();
    }
}

fn write(rows: &mut Rows, part: &Part, units: impl IntoIterator<Item = u32>, on_row: impl FnMut(&[Cell])) {
    let mut sink = Checked { table: part.table, row: Vec::new(), on_row };
    for unit in units {
        rows.write(part, unit, &mut sink);
    }
    assert!(sink.row.is_empty());
}

/// All rows of a table, each with the part's number, checking that each part has as many as it says.
fn each_row(population: &Population, table: usize, mut on_row: impl FnMut(u32, &[Cell])) {
    let mut rows = population.rows();
    for part in population.parts().iter().filter(|part| part.table == table) {
        let mut count = 0;
        write(&mut rows, part, 0..part.units, |row| {
            count += 1;
            on_row(part.number, row);
        });
        assert_eq!(count, part.rows, "{part:?}");
    }
}

fn rows_of(population: &Population, part: &Part, units: impl IntoIterator<Item = u32>) -> Vec<Vec<Cell>> {
    let mut all = Vec::new();
    write(&mut population.rows(), part, units, |row| all.push(row.to_vec()));
    all
}

fn part_of(population: &Population, table: usize, number: u32) -> Part {
    *population.parts().iter().find(|part| part.table == table && part.number == number).unwrap()
}

fn number(row: &[Cell], table: usize, column: &str) -> i64 {
    match row[place(table, column)] {
        Cell::Number(number) => number,
        ref other => panic!("{column} is {other:?}"),
    }
}

fn text<'a>(row: &'a [Cell], table: usize, column: &str) -> &'a str {
    match &row[place(table, column)] {
        Cell::Text(text) => text,
        other => panic!("{column} is {other:?}"),
    }
}

fn place(table: usize, column: &str) -> usize {
    TABLES[table].columns.iter().position(|known| known.name == column).unwrap()
}

/// The allowed values of a column.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// A number in this range, both ends of which occur.
    Between(i64, i64),
    /// This number.
    Is(i64),
    /// Letters and digits, of these lengths.
    AString(usize, usize),
    /// This many letters.
    Letters(usize),
    /// This many digits.
    Digits(usize),
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// Checked elsewhere.
    Name,
}
use Rule::*;

const TIME: Rule = Is(DATE.0);

#[rustfmt::skip]
const RULES: [&[Rule]; 9] = [
    &[Between(1, 400), AString(6, 10), AString(10, 20), AString(10, 20), AString(10, 20), Letters(2), Digits(9),
      Between(0, 2_000),
      Is(30_000_000)],
    &[Between(1, 10), Between(1, 400), AString(6, 10), AString(10, 20), AString(10, 20), AString(10, 20), Letters(2),
      Digits(9),
      Between(0, 2_000), Is(3_000_000), Is(3_001)],
    &[Between(1, 3_000), Between(1, 10), Between(1, 2), AString(8, 16), OneOf(&["OE"]), Name, AString(10, 20),
      AString(10, 20),
      AString(10, 20), Letters(2), Digits(9), Digits(16), TIME, OneOf(&["GC", "BC"]), Is(5_000_000), Between(0,
      5_000), Is(-1_000),
      Is(1_000), Is(1), Is(0), AString(300, 500)],
    &[Between(1, 3_000), Between(1, 10), Between(1, 2), Between(1, 10), Between(1, 2), TIME, Is(1_000), AString(12,
      24)],
    &[Between(2_101, 3_000), Between(1, 10), Between(1, 2)],
    &[Between(1, 3_000), Between(1, 10), Between(1, 2), Between(1, 3_000), TIME, Between(1, 10), Between(5, 15), Is(1)],
    &[Between(1, 3_000), Between(1, 10), Between(1, 2), Between(1, 15), Between(1, 100_000), Between(1, 2), TIME,
      Is(5), Between(0, 999_999),
      Letters(24)],
    &[Between(1, 100_000), Between(1, 10_000), AString(14, 24), Between(100, 10_000), AString(26, 50)],
    &[Between(1, 100_000), Between(1, 1), Between(10, 100), Letters(24), Letters(24), Letters(24), Letters(24),
      Letters(24), Letters(24),
      Letters(24), Letters(24), Letters(24), Letters(24), Is(0), Is(0), Is(0), AString(26, 50)],
];

/// The least and greatest value, or length, of a column.
type Seen = (i64, i64);

fn check_cell(rule: Rule, cell: &Cell, seen: &mut Seen) {
    let all = |text: &str, of: fn(&u8) -> bool| text.as_bytes().iter().all(of);
    let (holds, extent) = match (rule, cell) {
        (_, Cell::Null) => return,
        (Between(low, high), &Cell::Number(value)) => ((low..=high).contains(&value), value),
        (Is(only), &Cell::Number(value)) => (value == only, value),
        (AString(low, high), Cell::Text(value)) => {
            ((low..=high).contains(&value.len()) && all(value, u8::is_ascii_alphanumeric), value.len() as i64)
        }
        (Letters(length), Cell::Text(value)) => (value.len() == length && all(value, u8::is_ascii_alphabetic), 0),
        (Digits(length), Cell::Text(value)) => (value.len() == length && all(value, u8::is_ascii_digit), 0),
        (OneOf(known), Cell::Text(value)) => (known.contains(&value.as_str()), 0),
        (Name, Cell::Text(value)) => ((9..=15).contains(&value.len()), 0),
        _ => (false, 0),
    };
    assert!(holds, "{cell:?} is not {rule:?}");
    *seen = (seen.0.min(extent), seen.1.max(extent));
}

#[test]
fn every_column_follows_its_rule_and_uses_its_range() {
    for (table, rules) in RULES.iter().enumerate() {
        let warehouses = match table {
            schema::WAREHOUSE | schema::DISTRICT => 400,
            schema::STOCK | schema::ITEM => 1,
            _ => 2,
        };
        let population = Population::new(2, 7, DATE);
        let mut rows = population.rows();
        let mut seen = vec![(i64::MAX, i64::MIN); rules.len()];
        let template = part_of(&population, table, 1);
        let numbers = if table == schema::ITEM { 10 } else { warehouses };
        for number in 1..=numbers {
            write(&mut rows, &Part { number, ..template }, 0..template.units, |row| {
                assert_eq!(row.len(), rules.len());
                for (((rule, cell), seen), column) in rules.iter().zip(row).zip(&mut seen).zip(TABLES[table].columns) {
                    assert!(
                        *cell != Cell::Null || ["o_carrier_id", "ol_delivery_d"].contains(&column.name),
                        "{}",
                        column.name
                    );
                    check_cell(*rule, cell, seen);
                }
            });
        }
        for ((rule, seen), column) in rules.iter().zip(seen).zip(TABLES[table].columns) {
            let (low, high) = match *rule {
                Between(low, high) => (low, high),
                AString(low, high) => (low as i64, high as i64),
                _ => continue,
            };
            let margin = (high - low) / 100;
            assert!(seen.0 - low <= margin && high - seen.1 <= margin, "{} only reaches {seen:?}", column.name);
        }
    }
}

#[test]
fn parts_hold_what_they_say_and_keys_are_complete() {
    let population = Population::new(2, 3, DATE);
    for (table, description) in TABLES.iter().enumerate() {
        let mut keys = std::collections::HashSet::new();
        let mut rows = 0;
        each_row(&population, table, |_, row| {
            rows += 1;
            let key: Vec<_> = description.primary_key.iter().map(|column| number(row, table, column)).collect();
            assert!(description.primary_key.is_empty() || keys.insert(key), "a key of {} twice", description.name);
        });
        assert_eq!(rows, population.table_rows()[table]);
    }
    let mut rows = population.table_rows();
    let lines = std::mem::take(&mut rows[schema::ORDER_LINE]);
    assert_eq!(rows, [2, 20, 60_000, 60_000, 18_000, 60_000, 0, 100_000, 200_000]);
    assert!((594_000..=606_000).contains(&lines), "{lines} is not within 1 % of 600,000");
}

#[test]
fn rows_carry_their_warehouse_and_zip_codes_their_constant() {
    let population = Population::new(2, 3, DATE);
    for (table, description) in TABLES.iter().enumerate().filter(|(table, _)| *table != schema::ITEM) {
        each_row(&population, table, |w_id, row| {
            for (column, cell) in description.columns.iter().zip(row) {
                if column.name.ends_with("w_id") {
                    assert_eq!(*cell, Cell::Number(w_id.into()), "{}", column.name);
                }
                if column.name.ends_with("zip") {
                    assert!(matches!(cell, Cell::Text(zip) if zip.ends_with("11111")));
                }
            }
        });
    }
}

#[test]
fn the_first_thousand_names_are_in_order_and_the_rest_is_skewed() {
    let population = Population::new(1, 3, DATE);
    let mut drawn = BTreeMap::new();
    each_row(&population, schema::CUSTOMER, |_, row| {
        let c_id = number(row, schema::CUSTOMER, "c_id") as i32;
        let name = text(row, schema::CUSTOMER, "c_last");
        if c_id <= 1_000 {
            assert_eq!(name, last_name(c_id - 1).as_str());
        } else {
            *drawn.entry(name.to_owned()).or_insert(0) += 1;
        }
    });
    assert_eq!(drawn.values().sum::<u32>(), 20_000);
    // NURand's most frequent number has bits 0 to 7 set on top of what its range allows, moved by C.
    let hottest = (0..1_000).max_by_key(|&number| drawn.get(last_name(number).as_str()).copied().unwrap_or(0)).unwrap();
    assert!(
        [255, 511, 767, 1023].map(|number| (number + population.c_load as i32) % 1_000).contains(&hottest),
        "{hottest}"
    );
}

#[test]
fn a_tenth_is_marked() {
    let population = Population::new(1, 3, DATE);
    for (table, column, mark, rows) in [
        (schema::ITEM, "i_data", "ORIGINAL", 100_000),
        (schema::STOCK, "s_data", "ORIGINAL", 100_000),
        (schema::CUSTOMER, "c_credit", "BC", 30_000),
    ] {
        let mut marked = 0;
        each_row(&population, table, |_, row| marked += u32::from(text(row, table, column).contains(mark)));
        let share = f64::from(marked) / f64::from(rows);
        assert!((0.095..=0.105).contains(&share), "{share} of {column}");
    }
}

#[test]
fn each_district_orders_once_for_each_customer_in_its_own_order() {
    let population = Population::new(2, 3, DATE);
    let mut customers: BTreeMap<(i64, i64), Vec<i64>> = BTreeMap::new();
    each_row(&population, schema::ORDERS, |_, row| {
        let column = |name| number(row, schema::ORDERS, name);
        customers.entry((column("o_w_id"), column("o_d_id"))).or_default().push(column("o_c_id"));
    });
    assert_eq!(customers.len(), 20);
    let different: std::collections::BTreeSet<_> = customers.values().collect();
    assert_eq!(different.len(), 20);
    for mut district in customers.into_values() {
        assert!(!district.is_sorted());
        district.sort_unstable();
        assert!(district.into_iter().eq(1..=3_000));
    }
}

#[test]
fn open_orders_have_no_carrier_and_lines_agree_with_their_order() {
    let population = Population::new(1, 3, DATE);
    let mut lines = BTreeMap::new();
    each_row(&population, schema::ORDER_LINE, |_, row| {
        let column = |name| number(row, schema::ORDER_LINE, name);
        let order = lines.entry((column("ol_d_id"), column("ol_o_id"))).or_insert(0);
        *order += 1;
        assert_eq!(column("ol_number"), *order);
        let open = column("ol_o_id") > 2_100;
        assert_eq!(row[place(schema::ORDER_LINE, "ol_delivery_d")] == Cell::Null, open);
        assert_eq!(column("ol_amount") > 0, open);
    });
    let mut counts = [0u32; 11];
    each_row(&population, schema::ORDERS, |_, row| {
        let column = |name| number(row, schema::ORDERS, name);
        let order = (column("o_d_id"), column("o_id"));
        assert_eq!(lines.get(&order), Some(&column("o_ol_cnt")));
        counts[column("o_ol_cnt") as usize - 5] += 1;
        assert_eq!(row[place(schema::ORDERS, "o_carrier_id")] == Cell::Null, order.1 > 2_100);
    });
    assert!(counts.iter().all(|&count| (2_500..=2_960).contains(&count)), "{counts:?}");
}

#[test]
fn another_seed_makes_other_rows_and_another_date_only_other_dates() {
    let population = Population::new(1, 3, DATE);
    let part = part_of(&population, schema::CUSTOMER, 1);
    let rows = rows_of(&population, &part, 0..10);
    assert_ne!(rows, rows_of(&Population::new(1, 4, DATE), &part, 0..10));
    let mut later = rows_of(&Population::new(1, 3, Timestamp(0)), &part, 0..10);
    assert_ne!(rows, later);
    for row in &mut later {
        row[place(schema::CUSTOMER, "c_since")] = Cell::Number(DATE.0);
    }
    assert_eq!(rows, later);
    assert!(Population::new(0, 3, DATE).parts().iter().all(|part| part.table == schema::ITEM));
}

/// An interrupted load is continued, perhaps by a later version: the rows of a seed must not change within a manifest's
/// format.
#[test]
fn a_seed_means_the_same_for_ever() {
    let population = Population::new(1, 1, DATE);
    let item = rows_of(&population, &part_of(&population, schema::ITEM, 1), [0]);
    let order = rows_of(&population, &part_of(&population, schema::ORDERS, 1), [2_100]);
    assert_eq!(population.c_load, 17);
    assert_eq!(text(&item[0], schema::ITEM, "i_name"), "ddrYVRQFR7HtG3t0J");
    assert_eq!(text(&item[0], schema::ITEM, "i_data"), "KNHqxzDeCvWsOToJrO5xWEyJPMnf4qTYt4");
    assert_eq!(number(&item[0], schema::ITEM, "i_price"), 8_291);
    assert_eq!(number(&order[0], schema::ORDERS, "o_c_id"), 656);
    assert_eq!(number(&order[0], schema::ORDERS, "o_ol_cnt"), 10);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Any unit is the same alone, after others, and in sequence; and no two rows are the same.
    #[test]
    fn any_unit_can_be_made_alone(
        seed: u64,
        table in 0..9usize,
        w_id in 1..=3u32,
        unit: prop::sample::Index,
        before: prop::sample::Index,
    ) {
        let population = Population::new(3, seed, DATE);
        let part = part_of(&population, table, w_id);
        let unit = unit.index(part.units as usize) as u32;
        let before = before.index(part.units as usize) as u32;
        let alone = rows_of(&population, &part, [unit]);
        let first = unit.saturating_sub(3);
        let sequence = rows_of(&population, &part, first..=unit);
        prop_assert_eq!(&sequence[sequence.len() - alone.len()..], &alone[..]);
        let after_another = rows_of(&population, &part, [before, unit]);
        prop_assert_eq!(&after_another[after_another.len() - alone.len()..], &alone[..]);
        if unit != before {
            prop_assert_ne!(&after_another[0], &alone[0]);
        }
    }
}
