//! A database that has been damaged is told from one that has not: each consistency condition and invariant of TPC-C
//! finds the fault that is its own, names the row, and stays silent otherwise. In a file, and in MariaDB.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::command::{graymark, json_file, loaded, run, start, succeed};
use crate::support::{client, mysql_client, require_mariadb, require_postgres, small_mariadb, small_server};
use graymark::engine::sql::script::{Named, statements};
use graymark::workload::tpcc::population::Population;
use graymark::workload::tpcc::schema::TABLES;
use graymark::workload::value::{RowSink, Timestamp, Value};
use graymark::workload::{ColumnKind, Population as _, Rows as _, Table};
use mysql_async::prelude::Queryable;
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, Statement};
use serde_json::Value as Json;
use tempfile::TempDir;

const CONDITIONS: &str = include_str!("../../src/engine/dialect/common/tpcc/consistency.sql");
const EFFECTS: &str = include_str!("../../src/engine/dialect/common/tpcc/effects.sql");

/// One warehouse as it is after the load.
fn load(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000;")
        .unwrap();
    for table in &TABLES {
        connection.execute_batch(&create_table(table)).unwrap();
    }
    let population = Population::new(1, 20_260_101, Timestamp(1_767_225_600_000_000));
    let mut rows = population.rows();
    connection.execute_batch("BEGIN").unwrap();
    for part in population.parts() {
        let table = &TABLES[part.table];
        let places = vec!["?"; table.columns.len()].join(", ");
        let insert = connection.prepare(&format!("INSERT INTO {} VALUES ({places})", table.name)).unwrap();
        let mut sink = Inserter { insert, column: 0 };
        for unit in 0..part.units {
            rows.write(&part, unit, &mut sink);
        }
    }
    connection.execute_batch("COMMIT").unwrap();
    connection
}

fn create_table(table: &Table) -> String {
    let columns = table.columns.iter().map(|column| match column.kind {
        ColumnKind::Text => format!("{} TEXT", column.name),
        _ => format!("{} INTEGER", column.name),
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    if table.primary_key.is_empty() {
        return format!("CREATE TABLE {} ({columns})", table.name);
    }
    format!("CREATE TABLE {} ({columns}, PRIMARY KEY ({})) WITHOUT ROWID", table.name, table.primary_key.join(", "))
}

struct Inserter<'a> {
    insert: Statement<'a>,
    column: usize,
}

impl RowSink for Inserter<'_> {
    fn put(&mut self, value: Value<'_>) {
        self.column += 1;
        let place = self.column;
        match value {
            Value::Null => self.insert.raw_bind_parameter(place, None::<i64>),
            Value::Int(value) => self.insert.raw_bind_parameter(place, value),
            Value::Money(value) => self.insert.raw_bind_parameter(place, value.0),
            Value::Rate(value) => self.insert.raw_bind_parameter(place, value.0),
            Value::Time(value) => self.insert.raw_bind_parameter(place, value.0),
            Value::Text(value) => self.insert.raw_bind_parameter(place, value),
        }
        .unwrap();
    }

    fn end_row(&mut self) {
        self.insert.raw_execute().unwrap();
        self.column = 0;
    }
}

/// What the Payment of [`work`] pays, in cents, as a file holds it.
const PAID: &str = "12345";

/// A New-Order, a Payment and two Deliveries by the rules: the conditions must hold of what they leave behind too.
fn work() -> String {
    let placed_and_paid = "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 4;
             INSERT INTO orders VALUES (3001, 4, 1, 17, 20260131, NULL, 5, 1);
             INSERT INTO new_order VALUES (3001, 4, 1);
             INSERT INTO order_line SELECT 3001, 4, 1, i_id, i_id, 1, NULL, 7, 7 * i_price, s_dist_04
                 FROM item JOIN stock ON s_i_id = i_id WHERE i_id <= 5;
             UPDATE stock SET s_quantity = CASE WHEN s_quantity >= 17 THEN s_quantity - 7 ELSE s_quantity + 84 END,
                              s_ytd = s_ytd + 7, s_order_cnt = s_order_cnt + 1 WHERE s_i_id <= 5;

             UPDATE warehouse SET w_ytd = w_ytd + 12345;
             UPDATE district SET d_ytd = d_ytd + 12345 WHERE d_id = 4;
             UPDATE customer SET c_balance = c_balance - 12345, c_ytd_payment = c_ytd_payment + 12345, c_payment_cnt = c_payment_cnt + 1
                 WHERE c_d_id = 6 AND c_id = 17;
             INSERT INTO history VALUES (17, 6, 1, 4, 1, 20260131, 12345, 'x');";
    format!("{placed_and_paid} {} {}", delivery(4, 2101), delivery(4, 2102))
}

/// The delivery of an order.
fn delivery(d_id: i32, o_id: i32) -> String {
    format!(
        "DELETE FROM new_order WHERE no_d_id = {d_id} AND no_o_id = {o_id};
         UPDATE orders SET o_carrier_id = 3 WHERE o_d_id = {d_id} AND o_id = {o_id};
         UPDATE order_line SET ol_delivery_d = 20260131 WHERE ol_d_id = {d_id} AND ol_o_id = {o_id};
         UPDATE customer
             SET c_balance = c_balance + (SELECT sum(ol_amount) FROM order_line WHERE ol_d_id = {d_id} AND ol_o_id = {o_id}),
                 c_delivery_cnt = c_delivery_cnt + 1
             WHERE c_d_id = {d_id} AND c_id = (SELECT o_c_id FROM orders WHERE o_d_id = {d_id} AND o_id = {o_id});"
    )
}

/// The rows that a statement returns, each as `column=value` pairs.
fn rows(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query([]).unwrap();
    let mut found = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let cells = columns.iter().enumerate().map(|(place, column)| match row.get(place).unwrap() {
            Cell::Null => format!("{column}=null"),
            Cell::Integer(value) => format!("{column}={value}"),
            Cell::Text(value) => format!("{column}={value}"),
            other => panic!("{column} is {other:?}"),
        });
        found.push(cells.collect::<Vec<_>>().join(" "));
    }
    found.sort();
    found
}

/// What conditions find, as (name, row).
type Found<'a> = Vec<(&'a str, String)>;

fn findings<'a>(connection: &Connection, conditions: &[Named<'a>]) -> Found<'a> {
    conditions.iter().flat_map(|named| rows(connection, named.sql).into_iter().map(|row| (named.name, row))).collect()
}

/// The tables that a piece of SQL names. A condition that names none of the tables that a fault names cannot see it.
fn tables(sql: &str) -> impl Iterator<Item = &'static str> {
    let words: Vec<&str> = sql.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    TABLES.iter().map(|table| table.name).filter(move |table| words.contains(table))
}

#[test]
fn a_loaded_and_a_worked_database_are_consistent_and_effects_count_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let connection = load(&folder.path().join("tpcc.db"));
    let conditions = statements(CONDITIONS);
    let effects = || {
        let statement = statements(EFFECTS).into_iter().find(|named| named.name == "effects").unwrap();
        connection.query_one(statement.sql, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?])).unwrap()
    };
    assert_eq!(findings(&connection, &conditions), []);
    let before: [i64; 3] = effects();
    connection.execute_batch(&work()).unwrap();
    assert_eq!(findings(&connection, &conditions), []);
    let after = effects();
    assert_eq!([after[0] - before[0], after[1] - before[1], after[2] - before[2]], [1, 1, 2]);
}

struct Fault {
    what: &'static str,
    sql: String,
    /// The conditions that must find it, each with the beginning of the row it must return; no other row of any
    /// condition is returned.
    found: &'static [(&'static str, &'static str)],
}

fn fault(what: &'static str, sql: impl Into<String>, found: &'static [(&'static str, &'static str)]) -> Fault {
    Fault { what, sql: sql.into(), found }
}

/// A fault of each condition's own, which no other condition sees, except where one follows from others:
/// - 3.3.2.1 from 3.3.2.8 and 3.3.2.9, as the payments of a warehouse are those of its districts. So 3.3.2.1 cannot
///   fail without one of these, nor 3.3.2.8 without 3.3.2.1 or 3.3.2.9.
/// - 3.3.2.4 from 3.3.2.6, as the lines of a district are those of its orders. So it cannot fail alone.
fn faults() -> Vec<Fault> {
    vec![
        fault(
            "a warehouse's total lost a payment",
            "UPDATE warehouse SET w_ytd = w_ytd - 1",
            &[("3.3.2.1", "w_id=1"), ("3.3.2.8", "w_id=1")],
        ),
        fault(
            "an order number was skipped",
            "UPDATE district SET d_next_o_id = 3002 WHERE d_id = 1",
            &[("3.3.2.2", "w_id=1 d_id=1")],
        ),
        fault("an order was delivered out of turn", delivery(2, 2500), &[("3.3.2.3", "w_id=1 d_id=2 span=900 \
            new_orders=899")]),
        fault(
            "a line was lost",
            "DELETE FROM order_line
                 WHERE ol_d_id = 3 AND ol_o_id = 7 AND ol_number = (SELECT o_ol_cnt FROM orders WHERE o_d_id = 3 AND o_id = 7)",
            &[("3.3.2.4", "w_id=1 d_id=3"), ("3.3.2.6", "w_id=1 d_id=3 o_id=7")],
        ),
        fault(
            "a line has no order",
            "INSERT INTO order_line VALUES (0, 3, 1, 1, 1, 1, NULL, 5, 0, '')",
            &[("3.3.2.4", "w_id=1 d_id=3"), ("3.3.2.6", "w_id=1 d_id=3 o_id=0 o_ol_cnt=0 order_lines=1")],
        ),
        fault(
            "a delivered order is still open",
            "UPDATE orders SET o_carrier_id = 3 WHERE o_d_id = 1 AND o_id = 2500;
             UPDATE order_line SET ol_delivery_d = 20260131, ol_amount = 0 WHERE ol_d_id = 1 AND ol_o_id = 2500",
            &[("3.3.2.5", "w_id=1 d_id=1 o_id=2500 o_carrier_id=3 no_o_id=2500")],
        ),
        fault(
            "an order without a carrier is not open",
            "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 1 AND o_id = 50;
             UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 50",
            &[("3.3.2.5", "w_id=1 d_id=1 o_id=50 o_carrier_id=null no_o_id=null")],
        ),
        fault(
            "an open order has no order",
            "INSERT INTO new_order VALUES (3001, 2, 1)",
            &[
                ("3.3.2.2", "w_id=1 d_id=2 d_next_o_id_minus_1=3000 max_o_id=3000 max_no_o_id=3001"),
                ("3.3.2.5", "w_id=1 d_id=2 o_id=null o_carrier_id=null no_o_id=3001"),
                ("3.3.2.11", "w_id=1 d_id=2 orders=3000 new_orders=901"),
            ],
        ),
        fault(
            "a line moved to another order",
            "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 1 AND o_id = 8;
             UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_d_id = 1 AND o_id = 9",
            &[("3.3.2.6", "w_id=1 d_id=1 o_id=8"), ("3.3.2.6", "w_id=1 d_id=1 o_id=9")],
        ),
        fault(
            "a line of a delivered order is not",
            "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 8 AND ol_number = 2",
            &[("3.3.2.7", "w_id=1 d_id=1 o_id=8 ol_number=2 ol_delivery_d=null")],
        ),
        fault(
            "a line of an open order is delivered",
            "UPDATE order_line SET ol_delivery_d = 20260131, ol_amount = 0 WHERE ol_d_id = 1 AND ol_o_id = 2800 AND \
             ol_number = 2",
            &[("3.3.2.7", "w_id=1 d_id=1 o_id=2800 ol_number=2 ol_delivery_d=20260131 o_carrier_id=null")],
        ),
        fault(
            "a payment went to an unknown warehouse",
            "UPDATE history SET h_w_id = 2 WHERE h_d_id = 1 AND h_c_id = 1",
            &[
                ("3.3.2.8", "w_id=1 w_ytd=30012345 sum_h_amount=30011345"),
                ("3.3.2.8", "w_id=2 w_ytd=0 sum_h_amount=1000"),
                ("3.3.2.9", "w_id=1 d_id=1"),
                ("3.3.2.9", "w_id=2 d_id=1"),
            ],
        ),
        fault(
            "a payment was booked to the wrong district",
            "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 1; UPDATE district SET d_ytd = d_ytd - 1 WHERE d_id = \
             2",
            &[("3.3.2.9", "w_id=1 d_id=1"), ("3.3.2.9", "w_id=1 d_id=2")],
        ),
        fault(
            "a payment went to an unknown district",
            "UPDATE history SET h_d_id = 11 WHERE h_d_id = 1 AND h_c_id = 1",
            &[("3.3.2.9", "w_id=1 d_id=11 d_ytd=0 sum_h_amount=1000"), ("3.3.2.9", "w_id=1 d_id=1 ")],
        ),
        fault(
            "a customer without a delivered line was charged too much",
            "UPDATE customer SET c_balance = c_balance - 1, c_ytd_payment = c_ytd_payment + 1
                 WHERE c_d_id = 1 AND c_id = (SELECT min(o_c_id) FROM orders WHERE o_d_id = 1 AND o_id > 2100)",
            &[("3.3.2.10", "w_id=1 d_id=1 c_id=")],
        ),
        fault(
            "a payment is of an unknown customer",
            "UPDATE history SET h_c_id = 3001 WHERE h_d_id = 1 AND h_c_id = 1",
            &[
                ("3.3.2.10", "w_id=1 d_id=1 c_id=1 "),
                ("3.3.2.10", "w_id=1 d_id=1 c_id=3001 c_balance=0 sum_ol_amount=0 sum_h_amount=1000"),
                ("payment_cnt", "w_id=1 d_id=1 c_id=1 "),
                ("payment_cnt", "w_id=1 d_id=1 c_id=3001 c_payment_cnt=0 payments=1"),
            ],
        ),
        // The order's lines cost nothing and were delivered before the load ended, so nobody's counts or balance know
        // of it.
        fault(
            "an order that the load delivered is open again",
            "INSERT INTO new_order VALUES (2100, 1, 1);
             UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 1 AND o_id = 2100;
             UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 2100",
            &[("3.3.2.11", "w_id=1 d_id=1 orders=3000 new_orders=901 sum_c_delivery_cnt=0")],
        ),
        fault(
            "a payment was not added to its customer's total",
            "UPDATE customer SET c_ytd_payment = c_ytd_payment - 12345 WHERE c_d_id = 6 AND c_id = 17",
            &[("3.3.2.12", "w_id=1 d_id=6 c_id=17 c_balance=-13345 c_ytd_payment=1000 sum_ol_amount=0")],
        ),
        fault(
            "a delivered order has an unknown customer",
            "UPDATE orders SET o_c_id = 3001 WHERE o_d_id = 4 AND o_id = 2101",
            &[
                ("3.3.2.10", "w_id=1 d_id=4 c_id="),
                ("3.3.2.10", "w_id=1 d_id=4 c_id=3001 c_balance=0"),
                ("3.3.2.12", "w_id=1 d_id=4 c_id="),
                ("3.3.2.12", "w_id=1 d_id=4 c_id=3001 c_balance=0"),
                ("delivery_cnt", "w_id=1 d_id=4 c_id="),
                ("delivery_cnt", "w_id=1 d_id=4 c_id=3001 customers=0 c_delivery_cnt=0 delivered_orders=1"),
            ],
        ),
        fault(
            "a customer too many",
            "INSERT INTO customer (c_id, c_d_id, c_w_id, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt)
                 VALUES (3001, 1, 1, 0, 0, 0, 0)",
            &[("cardinality", "of_table=customer w_id=1 d_id=1 i_id=0 has_rows=3001 should_have=3000")],
        ),
        fault(
            "stock of an unknown item",
            "INSERT INTO stock (s_i_id, s_w_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt) VALUES (100001, 1, 10, \
             0, 0, 0)",
            &[
                ("cardinality", "of_table=stock w_id=0 d_id=0 i_id=100001 has_rows=1 should_have=0"),
                ("cardinality", "of_table=stock w_id=1 d_id=0 i_id=0 has_rows=100001 should_have=100000"),
            ],
        ),
        fault(
            "an item too many",
            "INSERT INTO item (i_id) VALUES (100001)",
            &[
                ("cardinality", "of_table=item w_id=0 d_id=0 i_id=0 has_rows=100001 should_have=100000"),
                ("cardinality", "of_table=stock w_id=0 d_id=0 i_id=100001 has_rows=0 should_have=1"),
            ],
        ),
        fault(
            "a district was lost",
            "DELETE FROM district WHERE d_id = 10",
            &[
                ("3.3.2.1", "w_id=1"),
                ("3.3.2.2", "w_id=1 d_id=10 d_next_o_id_minus_1=0 max_o_id=3000 max_no_o_id=3000"),
                ("3.3.2.9", "w_id=1 d_id=10 d_ytd=0 sum_h_amount=3000000"),
                ("3.3.2.11", "w_id=1 d_id=10"),
                ("cardinality", "of_table=customer w_id=1 d_id=10 i_id=0 has_rows=3000 should_have=0"),
                ("cardinality", "of_table=district w_id=1 d_id=0 i_id=0 has_rows=9 should_have=10"),
            ],
        ),
        fault(
            "an order was renumbered",
            "UPDATE orders SET o_id = 0 WHERE o_d_id = 1 AND o_id = 5;
             UPDATE order_line SET ol_o_id = 0 WHERE ol_d_id = 1 AND ol_o_id = 5",
            &[("order_ids", "w_id=1 d_id=1 min_o_id=0 max_o_id=3000 orders=3000")],
        ),
        fault(
            "an order of home lines says that it is not",
            "UPDATE orders SET o_all_local = 0 WHERE o_d_id = 1 AND o_id = 5",
            &[("all_local", "w_id=1 d_id=1 o_id=5 o_all_local=0 remote_lines=0")],
        ),
        // With one warehouse there is no other stock row that could have supplied the line.
        fault(
            "a new line names another warehouse",
            "UPDATE order_line SET ol_supply_w_id = 2 WHERE ol_d_id = 4 AND ol_o_id = 3001 AND ol_i_id = 5",
            &[
                ("all_local", "w_id=1 d_id=4 o_id=3001 o_all_local=1 remote_lines=1"),
                ("stock_order_cnt", "w_id=1 i_id=5 stock_rows=1 s_order_cnt=1 order_lines=0"),
                ("stock_order_cnt", "w_id=2 i_id=5 stock_rows=0 s_order_cnt=0 order_lines=1"),
                ("stock_ytd", "w_id=1 i_id=5 s_ytd=7 sum_ol_quantity=0"),
                ("stock_ytd", "w_id=2 i_id=5 s_ytd=0 sum_ol_quantity=7"),
                ("stock_remote_cnt", "w_id=2 i_id=5 s_remote_cnt=0 remote_lines=1"),
            ],
        ),
        fault(
            "a delivery was counted for the wrong customer",
            "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_d_id = 1 AND c_id = 1;
             UPDATE customer SET c_delivery_cnt = c_delivery_cnt - 1 WHERE c_d_id = 1 AND c_id = 2",
            &[("delivery_cnt", "w_id=1 d_id=1 c_id=1 "), ("delivery_cnt", "w_id=1 d_id=1 c_id=2 ")],
        ),
        fault(
            "an order has an unknown customer",
            "UPDATE orders SET o_c_id = 3001 WHERE o_d_id = 1 AND o_id = 2500",
            &[("delivery_cnt", "w_id=1 d_id=1 c_id=3001 customers=0 c_delivery_cnt=0 delivered_orders=0")],
        ),
        fault(
            "a payment was not counted",
            "UPDATE customer SET c_payment_cnt = 1 WHERE c_d_id = 6 AND c_id = 17",
            &[("payment_cnt", "w_id=1 d_id=6 c_id=17 c_payment_cnt=1 payments=2")],
        ),
        fault(
            "a line was not counted in stock",
            "UPDATE stock SET s_order_cnt = 0 WHERE s_i_id = 3",
            &[("stock_order_cnt", "w_id=1 i_id=3 stock_rows=1 s_order_cnt=0 order_lines=1")],
        ),
        fault(
            "a line has no stock row",
            "UPDATE order_line SET ol_i_id = 100001 WHERE ol_d_id = 1 AND ol_o_id = 8 AND ol_number = 2",
            &[("stock_order_cnt", "w_id=1 i_id=100001 stock_rows=0")],
        ),
        fault(
            "a quantity was not added to stock's total",
            "UPDATE stock SET s_ytd = 0 WHERE s_i_id = 3",
            &[("stock_ytd", "w_id=1 i_id=3 s_ytd=0 sum_ol_quantity=7")],
        ),
        fault(
            "a home line was counted as remote",
            "UPDATE stock SET s_remote_cnt = 1 WHERE s_i_id = 3",
            &[("stock_remote_cnt", "w_id=1 i_id=3 s_remote_cnt=1 remote_lines=0")],
        ),
        fault(
            "stock ran low and was not filled up, and was filled up too early",
            "UPDATE stock SET s_quantity = 9 WHERE s_i_id = 3; UPDATE stock SET s_quantity = 101 WHERE s_i_id = 4",
            &[("stock_quantity", "w_id=1 i_id=3 s_quantity=9"), ("stock_quantity", "w_id=1 i_id=4 s_quantity=101")],
        ),
        fault(
            "an order was delivered by an unknown carrier",
            "UPDATE orders SET o_carrier_id = 11 WHERE o_d_id = 1 AND o_id = 50",
            &[("o_carrier_id", "w_id=1 d_id=1 o_id=50 o_carrier_id=11")],
        ),
        fault(
            "a line was numbered anew",
            "UPDATE order_line SET ol_number = 16 WHERE ol_d_id = 1 AND ol_o_id = 8 AND ol_number = 1",
            &[("ol_number", "w_id=1 d_id=1 o_id=8 min_ol_number=2 max_ol_number=16")],
        ),
        fault(
            "a line was not charged at the price",
            "UPDATE order_line SET ol_amount = ol_amount + 1 WHERE ol_d_id = 4 AND ol_o_id = 3001 AND ol_number = 2",
            &[("ol_amount", "w_id=1 d_id=4 o_id=3001 ol_number=2")],
        ),
        fault(
            "a line has the text of another district",
            "UPDATE order_line SET ol_dist_info = (SELECT s_dist_05 FROM stock WHERE s_i_id = 3)
                 WHERE ol_d_id = 4 AND ol_o_id = 3001 AND ol_i_id = 3",
            &[("ol_dist_info", "w_id=1 d_id=4 o_id=3001 ol_number=3 supply_w_id=1 i_id=3")],
        ),
    ]
}

#[test]
fn each_fault_is_found_by_the_conditions_it_breaks_and_by_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let connection = load(&folder.path().join("tpcc.db"));
    connection.execute_batch(&work()).unwrap();
    let conditions = statements(CONDITIONS);
    for fault in faults() {
        connection.execute_batch(&format!("SAVEPOINT fault; {}", fault.sql)).unwrap();
        let found = findings(&connection, &concerned(&conditions, &fault));
        connection.execute_batch("ROLLBACK TO fault; RELEASE fault").unwrap();
        explained(&fault, found);
    }
    assert_eq!(findings(&connection, &conditions), []);
}

/// The conditions that could see a fault.
fn concerned<'a>(conditions: &[Named<'a>], fault: &Fault) -> Vec<Named<'a>> {
    let touched: Vec<_> = tables(&fault.sql).collect();
    conditions.iter().filter(|named| tables(named.sql).any(|table| touched.contains(&table))).cloned().collect()
}

/// What was found is what the fault breaks, each row once.
fn explained(fault: &Fault, mut found: Found<'_>) {
    // Longest beginnings first, so that a short one is left with the row that is its own.
    let mut expected = fault.found.to_vec();
    expected.sort_by_key(|(_, row)| std::cmp::Reverse(row.len()));
    for (name, row) in expected {
        let place = found.iter().position(|found| found.0 == name && found.1.starts_with(row));
        let place = place.unwrap_or_else(|| panic!("{}: {name} does not return {row}, left is {found:#?}", fault.what));
        found.remove(place);
    }
    assert_eq!(found, [], "{}", fault.what);
}

/// A value as a file holds it: money in cents, a date as a number of its digits.
fn as_in_a_file(text: &str) -> String {
    match text.split_once('.') {
        Some((date, _)) if date.contains(':') => date[..10].replace('-', ""),
        Some((whole, cents)) => format!("{whole}{cents}").parse::<i64>().unwrap().to_string(),
        None => text.to_owned(),
    }
}

/// As [`findings`], of MariaDB.
async fn findings_in_mariadb<'a>(user: &mut mysql_async::Conn, conditions: &[Named<'a>]) -> Found<'a> {
    let mut found = Vec::new();
    for named in conditions {
        let rows: Vec<mysql_async::Row> = user.query(named.sql).await.unwrap();
        for row in rows {
            let cell = |(at, column): (usize, &mysql_async::Column)| {
                let value: Option<String> = row.get(at).unwrap();
                format!("{}={}", column.name_str(), value.map_or("null".to_owned(), |value| as_in_a_file(&value)))
            };
            let cells: Vec<String> = row.columns_ref().iter().enumerate().map(cell).collect();
            found.push((named.name, cells.join(" ")));
        }
    }
    found
}

/// A few faults that break every condition between them: what a condition means does not depend on the engine, whether
/// it can be asked does.
fn few_faults() -> Vec<Fault> {
    let mut unmet: BTreeSet<&str> = statements(CONDITIONS).iter().map(|named| named.name).collect();
    let (mut left, mut few) = (faults(), Vec::new());
    while !unmet.is_empty() {
        let breaks =
            |fault: &Fault| unmet.iter().filter(|name| fault.found.iter().any(|(found, _)| found == *name)).count();
        let most = (0..left.len()).max_by_key(|place| breaks(&left[*place])).unwrap();
        let fault = left.swap_remove(most);
        unmet.retain(|name| fault.found.iter().all(|(found, _)| found != name));
        few.push(fault);
    }
    few
}

#[test]
fn mariadb_finds_faults_by_the_conditions_they_break_and_by_no_other() {
    let Some(()) = require_mariadb() else { return };
    let server = small_mariadb(&[]);
    let (url, place) = (server.url(), TempDir::new().unwrap());
    let load = ["load", "tpcc", "--db", &url, "-w", "1", "--seed", "20260101", "--date", "2026-01-01T00:00:00Z"];
    succeed(place.path(), &load);
    // MariaDB holds no cents but money.
    let money = |sql: &str| sql.replace(PAID, "123.45");
    let conditions = statements(CONDITIONS);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut user = mysql_client(&url, Some("tpcc")).await;
        // Faults leave out columns that do not matter to them.
        user.query_drop("SET sql_mode = ''").await.unwrap();
        user.query_drop(money(&work())).await.unwrap();
        for fault in few_faults() {
            user.query_drop(format!("START TRANSACTION; {}", money(&fault.sql))).await.unwrap();
            let found = findings_in_mariadb(&mut user, &concerned(&conditions, &fault)).await;
            user.query_drop("ROLLBACK").await.unwrap();
            explained(&fault, found);
        }
        user.query_drop("UPDATE customer SET c_payment_cnt = 1 WHERE c_d_id = 6 AND c_id = 17").await.unwrap();
    });
    // What is left is told to a user.
    let done = run(place.path(), &["check", "tpcc", "--db", &url]);
    assert_eq!(
        (done.code, done.out.matches("FAILED").count(), done.out.matches("held").count()),
        (Some(1), 1, 28),
        "{done:?}"
    );
    let told = ["payment_cnt         FAILED in 1 row:", "w_id=1 d_id=6 c_id=17 c_payment_cnt=1 payments=2"];
    assert!(told.iter().all(|line| done.out.contains(line)), "{done:?}");
}

#[test]
fn every_condition_has_a_fault_of_its_own() {
    let names: Vec<_> = statements(CONDITIONS).iter().map(|named| named.name).collect();
    assert_eq!(names.len(), 25);
    for named in statements(CONDITIONS) {
        assert!(named.notes.contains_key("title"), "{} has no title", named.name);
    }
    for name in names {
        let own = faults().iter().any(|fault| fault.found.iter().all(|(found, _)| *found == name));
        let follows = ["3.3.2.1", "3.3.2.4", "3.3.2.8"].contains(&name);
        let met = faults().iter().any(|fault| fault.found.iter().any(|(found, _)| *found == name));
        assert!(met && own != follows, "{name}");
    }
}

/// A run of two seconds on a damaged database: its summary.
fn worked(place: &Path, db: &str, via: &str) -> Json {
    let plan = ["--clients", "1", "--ramp-up", "0s", "--duration", "2s", "--check", "none", "--via", via, "--json"];
    run(place, &[&["run", "--db", db], &plan[..]].concat()).json()
}

/// Each way of speaking on a database in which most items are missing, and then one in which the unused item is for
/// sale. `does` executes a statement there.
fn belied(place: &Path, db: &str, ways: &[&str], does: impl Fn(&str)) {
    let errors = |summary: &Json, beginning: &str| {
        let errors = summary["errors"].as_object().unwrap().iter();
        errors.filter(|(why, _)| why.starts_with(beginning)).map(|(_, count)| count.as_u64().unwrap()).sum::<u64>()
    };
    does("CREATE TABLE kept_items AS SELECT * FROM item WHERE i_id % 10 > 0");
    does("DELETE FROM item WHERE i_id % 10 > 0");
    for via in ways {
        let summary = worked(place, db, via);
        // Nearly every order names a missing item; what passes for the standard's rollback is what asked for one.
        let failed = errors(&summary, "New-Order: rolled back, although no unused item was named");
        let rolled_back = summary["transactions"]["new_order"]["rolled_back"].as_u64().unwrap();
        assert!(failed > 3 * rolled_back, "{via}: {failed} failed, {rolled_back} rolled back");
        assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
    }
    does("INSERT INTO item SELECT * FROM kept_items");
    does(
        "INSERT INTO item (i_id, i_im_id, i_name, i_price, i_data)
         SELECT 200000, i_im_id, i_name, i_price, i_data FROM item WHERE i_id = 1",
    );
    let districts = (1..=10).map(|district| format!("s_dist_{district:02}")).collect::<Vec<_>>().join(", ");
    let stock = format!("s_w_id, s_quantity, {districts}, s_ytd, s_order_cnt, s_remote_cnt, s_data");
    does(&format!("INSERT INTO stock (s_i_id, {stock}) SELECT 200000, {stock} FROM stock WHERE s_i_id = 1"));
    for via in ways {
        // One order in a hundred names the unused item; on a busy machine a run may be too short for one.
        let committed = (0..30).any(|_| {
            let summary = worked(place, db, via);
            assert_eq!(summary["transactions"]["new_order"]["rolled_back"], 0, "{via}");
            // What was committed is counted by both.
            assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
            errors(&summary, "New-Order: committed, although an unused item was named") > 0
        });
        assert!(committed, "{via}");
    }
}

/// The client knows whether it asked for the rollback of one order in a hundred: one that it did not ask for is a
/// failure, and so is an order that should not have been.
#[test]
fn a_missing_item_does_not_pass_for_the_rollback_of_the_standard() {
    let place = loaded();
    let file = place.path().join("loaded.db");
    belied(place.path(), "sqlite:loaded.db", &["statements"], |sql| {
        Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    });
}

#[test]
fn a_missing_item_of_postgresql_does_not_pass_for_the_rollback_of_the_standard() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (small_server(), TempDir::new().unwrap());
    let url = server.url();
    succeed(place.path(), &["load", "--db", &url, "-w", "1"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    belied(place.path(), &url, &["statements", "procedures"], |sql| {
        let sql = format!("SET search_path TO tpcc; {sql}");
        runtime.block_on(async { client(&url).await.batch_execute(&sql).await.unwrap() });
    });
}

#[test]
fn a_missing_item_of_mariadb_does_not_pass_for_the_rollback_of_the_standard() {
    let Some(()) = require_mariadb() else { return };
    let (server, place) = (small_mariadb(&[]), TempDir::new().unwrap());
    let url = server.url();
    succeed(place.path(), &["load", "--db", &url, "-w", "1"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    belied(place.path(), &url, &["statements", "procedures"], |sql| {
        runtime.block_on(async { mysql_client(&url, Some("tpcc")).await.query_drop(sql).await.unwrap() });
    });
}

/// Two clients that know nothing of each other: each is told of the other, and the database is not called a liar.
#[test]
fn another_client_at_work_is_told_as_such() {
    let place = loaded();
    // Whoever waits for the disk in a commit lets nobody else in: on a slow one, one of the two would never get its
    // turn.
    let db = "sqlite:loaded.db?synchronous=off";
    let plan = ["run", "--db", db, "--clients", "1", "--ramp-up", "0s", "--check", "none", "--full"];
    let one = [&plan[..], &["--duration", "6s", "--out", "one"]].concat();
    let mut working = start(graymark(place.path(), &one));
    working.wait_for("run: measurement");
    let other = run(place.path(), &[&plan[..], &["--duration", "2s", "--out", "other"]].concat());
    let (_, done) = working.end();
    for (done, record) in [(done, "one"), (other, "other")] {
        assert_eq!(done.code, Some(1), "{done:?}");
        let summary = json_file(&place.path().join(record), "summary.json");
        let database = &summary["database"];
        let unasked = database["unasked"]["new_orders"].as_u64().unwrap();
        let count = |of: &str| database["effects"]["new_orders"][of].as_u64().unwrap();
        assert!(unasked > 0 && unasked == count("database") - count("client"), "{database}");
        assert!(database["missing"].is_null(), "{database}");
        let told = format!("{unasked} more New-Orders");
        let words = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&told) && words.contains("than this run asked for: another client"), "{}", done.out);
        assert!(!words.contains("they are lost"), "{}", done.out);
        let page = std::fs::read_to_string(place.path().join(record).join("report.html")).unwrap();
        assert!(page.contains(&told) && page.contains("another client"), "{record}");
        let clauses = summary["verdict"]["clauses"].as_array().unwrap();
        let rule = clauses.iter().find(|clause| clause["id"] == "5.1.2").unwrap();
        assert!(rule["state"] == "broken" && rule["note"].as_str().unwrap().contains("another client"), "{rule}");
    }
}

/// What a run began with is judged before it, and a database that has been worked since its load is no initial
/// population.
#[test]
fn a_run_on_a_worked_or_damaged_population_does_not_pass_for_one_on_a_fresh_one() {
    let place = loaded();
    let judged = |record: &str| {
        let plan = ["--clients", "1", "--ramp-up", "0s", "--duration", "1s", "--check", "both", "--out", record];
        run(place.path(), &[&["run", "--db", "sqlite:loaded.db?synchronous=off"], &plan[..]].concat());
        let summary = json_file(&place.path().join(record), "summary.json");
        let clauses = summary["verdict"]["clauses"].as_array().unwrap();
        let rule = clauses
            .iter()
            .find(|clause| clause["rule"].as_str().unwrap().starts_with("rows of ORDER,"))
            .unwrap()
            .clone();
        (summary["initial_rows"]["orders"].as_u64().unwrap(), rule)
    };
    let does = |sql: &str| Connection::open(place.path().join("loaded.db")).unwrap().execute_batch(sql).unwrap();
    let (orders, fresh) = judged("fresh");
    assert!(orders == 30_000 && fresh["state"] == "held", "{fresh}");
    let (orders, worked) = judged("worked");
    assert!(orders > 30_000 && worked["state"] == "not tested", "{worked}");
    assert!(worked["note"].as_str().unwrap().contains("restore it"), "{worked}");
    succeed(place.path(), &["restore", "--db", "sqlite:loaded.db"]);
    does(
        "CREATE TABLE kept_lines AS SELECT * FROM order_line WHERE ol_i_id % 50 = 0; DELETE FROM order_line WHERE \
         ol_i_id % 50 = 0",
    );
    let (orders, damaged) = judged("damaged");
    assert!(orders == 30_000 && damaged["state"] == "broken", "{damaged}");
}
