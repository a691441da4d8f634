//! What is particular to ODBC: drivers that differ, and what must come out the same all the same.
#![cfg(feature = "odbc")]

#[path = "support/odbc.rs"]
mod odbc;
mod support;

use graymark::engine::odbc::connection::Connection;
use graymark::engine::odbc::parameter::Param;
use graymark::engine::odbc::target::Target;
use graymark::engine::{Failure, Isolation};
use graymark::workload::value::{Money, Rate, Timestamp};
use odbc::Place;

fn connect(place: &Place) -> Connection {
    Connection::open(&Target::parse(&place.url(), &|_| None).unwrap()).unwrap()
}

/// A time type, and whether decimals are exact.
fn values_come_back(place: &Place, time: &str) {
    let connection = connect(place);
    let told = connection.capabilities();
    println!("{told:?}");
    assert!(!told.dbms_version.is_empty() && !told.driver.is_empty(), "{told:?}");
    let decimals = !matches!(place, Place::Sqlite(_));
    connection
        .execute(&format!(
            "CREATE TABLE kinds (i INTEGER NOT NULL, l BIGINT, f DOUBLE PRECISION, m DECIMAL(12, 2), r DECIMAL(4, 4), c CHAR(9), \
             t VARCHAR(600), d {time})"
        ))
        .unwrap();
    let mut insert = connection.prepare("INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?, ?, ?)").unwrap();
    let long = "x".repeat(599);
    let date = Timestamp(1_000_000_000_123_000);
    // Once one by one, once as an array whose texts grow while it is filled.
    let put = |insert: &mut graymark::engine::odbc::statement::Statement, set: usize, i: i32| {
        let text = &long[..(i.unsigned_abs() as usize * 7) % 599];
        let values = [
            Param::Int(i),
            Param::Long(i64::from(i) * 5_000_000_000),
            Param::Double(f64::from(i) / 4.0),
            Param::Decimal { units: -i64::from(i), scale: 2 },
            Param::Decimal { units: i64::from(i % 10_000), scale: 4 },
            Param::Text("123"),
            if i % 5 == 0 { Param::Null } else { Param::Text(text) },
            if i % 3 == 0 { Param::Null } else { Param::Time(date) },
        ];
        for (number, value) in values.into_iter().enumerate() {
            insert.set(set, number, value).unwrap();
        }
    };
    for i in 0..10 {
        put(&mut insert, 0, i);
        insert.execute(1).unwrap();
        assert_eq!(insert.affected().unwrap(), 1);
    }
    for i in 10..300 {
        put(&mut insert, i as usize - 10, i);
    }
    insert.execute(290).unwrap();
    put(&mut insert, 0, 300);
    insert.execute(1).unwrap();

    let mut select = connection.prepare("SELECT i, l, f, m, r, c, t, d FROM kinds WHERE i >= ? ORDER BY i").unwrap();
    for first in [0, 250] {
        select.set(0, 0, Param::Int(first)).unwrap();
        select.execute(1).unwrap();
        assert_eq!(select.columns().unwrap(), ["i", "l", "f", "m", "r", "c", "t", "d"]);
        let mut i = first;
        while let Some(row) = select.fetch().unwrap() {
            assert_eq!(row.int(0).unwrap(), i);
            assert_eq!(row.long(1).unwrap(), i64::from(i) * 5_000_000_000);
            assert_eq!(row.double(2).unwrap(), f64::from(i) / 4.0);
            if decimals {
                assert_eq!(row.money(3).unwrap(), Money(-i64::from(i)));
                assert_eq!(row.rate(4).unwrap(), Rate(i));
            }
            assert_eq!(row.text(5).unwrap(), "123");
            let text = &long[..(i as usize * 7) % 599];
            assert_eq!(row.optional_text(6).unwrap(), (i % 5 != 0).then_some(text), "{i}");
            assert_eq!(row.optional_time(7).unwrap(), (i % 3 != 0).then_some(date), "{i}");
            i += 1;
        }
        assert_eq!(i, 301);
    }

    // What the database refuses leaves the connection usable; a transaction is taken back whole.
    let refused = connection.execute("SELECT nothing FROM nowhere").unwrap_err();
    assert!(matches!(refused.failure(true), Failure::Invalid(_)), "{refused}");
    connection.set_autocommit(false).unwrap();
    put(&mut insert, 0, 400);
    insert.execute(1).unwrap();
    connection.rollback().unwrap();
    put(&mut insert, 0, 401);
    insert.execute(1).unwrap();
    connection.commit().unwrap();
    connection.set_autocommit(true).unwrap();
    let reply = connection.query("SELECT i FROM kinds WHERE i >= 400").unwrap();
    assert_eq!(reply.rows.iter().map(|row| row.int(0).unwrap()).collect::<Vec<_>>(), [401]);
    assert_eq!(connection.execute("DELETE FROM kinds WHERE i < 100").unwrap(), 100);

    // One row too many of an array: none may be lost in silence.
    connection.execute("CREATE TABLE few (i INTEGER PRIMARY KEY)").unwrap();
    let mut insert = connection.prepare("INSERT INTO few VALUES (?)").unwrap();
    for (set, i) in [1, 2, 3, 2, 5].into_iter().enumerate() {
        insert.set(set, 0, Param::Int(i)).unwrap();
    }
    insert.execute(5).expect_err("a duplicate key in an array is told");
}

#[test]
fn values_come_back_from_postgresql() {
    let Some(place) = Place::postgres() else { return };
    values_come_back(&place, "TIMESTAMP");
    let connection = connect(&place);
    for (isolation, name) in [
        (Isolation::Serializable, "serializable"),
        (Isolation::RepeatableRead, "repeatable read"),
        (Isolation::ReadCommitted, "read committed"),
    ] {
        connection.set_isolation(isolation).unwrap();
        let reply = connection.query("SHOW transaction_isolation").unwrap();
        assert_eq!(reply.rows[0].text(0).unwrap(), name);
    }
}

#[test]
fn values_come_back_from_mariadb() {
    let Some(place) = Place::mariadb() else { return };
    values_come_back(&place, "DATETIME(6)");
    let connection = connect(&place);
    for (isolation, name) in [
        (Isolation::Serializable, "SERIALIZABLE"),
        (Isolation::RepeatableRead, "REPEATABLE-READ"),
        (Isolation::ReadCommitted, "READ-COMMITTED"),
    ] {
        connection.set_isolation(isolation).unwrap();
        let reply = connection.query("SELECT @@tx_isolation").unwrap();
        assert_eq!(reply.rows[0].text(0).unwrap(), name);
    }
    connection.execute("CREATE PROCEDURE twice (IN a INT, OUT b INT) SET b = 2 * a").unwrap();
    let mut call = connection.prepare("{call twice(?, ?)}").unwrap();
    call.expect_output(1, 20);
    for a in [21, -4] {
        call.set(0, 0, Param::Int(a)).unwrap();
        call.execute(1).unwrap();
        assert_eq!(call.output(1), Some((2 * a).to_string().as_str()));
    }
}

#[test]
fn values_come_back_from_sqlite() {
    let Some(place) = Place::sqlite() else { return };
    values_come_back(&place, "TIMESTAMP");
}
