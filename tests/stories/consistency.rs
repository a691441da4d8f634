//! A database that has been damaged is distinguished from one that has not: each consistency condition and invariant of
//! TPC-C finds the fault that is its own, names the row, and stays silent otherwise. In a file, and in MariaDB.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::command::{STEADY, json_file, run, succeed};
use crate::support::consistency_faults::{Fault, PAID, faults, work};
use crate::support::loaded::loaded;
use crate::support::{mysql_client, require_mariadb, small_mariadb};
use graymark::engine::sql::script::{Named, statements};
use graymark::workload::tpcc::population::Population;
use graymark::workload::tpcc::schema::TABLES;
use graymark::workload::value::{RowSink, Timestamp, Value};
use graymark::workload::{ColumnKind, Population as _, Rows as _, Table};
use mysql_async::prelude::Queryable;
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, Statement};
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
        (done.code, done.out.matches("FAILED").count(), done.out.matches("held:").count()),
        (Some(1), 1, 28),
        "{done:?}"
    );
    let reported = ["payment_cnt         FAILED in 1 row:", "w_id=1 d_id=6 c_id=17 c_payment_cnt=1 payments=2"];
    assert!(reported.iter().all(|line| done.out.contains(line)), "{done:?}");
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

/// What a run began with is judged before it, and a database that has been worked since its load is no initial
/// population.
#[test]
fn a_run_on_a_worked_or_damaged_population_does_not_pass_for_one_on_a_fresh_one() {
    let place = loaded();
    let judged = |record: &str, lasts: &str| {
        let plan = ["--clients", "1", "--ramp-up", "0s", "--duration", lasts, "--check", "both", "--out", record];
        run(place.path(), &[&["run", "--db", "sqlite:loaded.db?synchronous=off"], &plan[..], &STEADY].concat());
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
    let (orders, fresh) = judged("fresh", "12s");
    assert!(orders == 30_000 && fresh["state"] == "held", "{fresh}");
    let (orders, worked) = judged("worked", "4s");
    assert!(orders > 30_000 && worked["state"] == "not tested", "{worked}");
    assert!(worked["note"].as_str().unwrap().contains("restore it"), "{worked}");
    succeed(place.path(), &["restore", "--db", "sqlite:loaded.db"]);
    does(
        "CREATE TABLE kept_lines AS SELECT * FROM order_line WHERE ol_i_id % 50 = 0; DELETE FROM order_line WHERE \
         ol_i_id % 50 = 0",
    );
    let (orders, damaged) = judged("damaged", "4s");
    assert!(orders == 30_000 && damaged["state"] == "broken", "{damaged}");
}
