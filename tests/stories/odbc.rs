//! What is particular to ODBC: drivers that differ, and what must come out the same all the same.

#![cfg(feature = "odbc")]

use crate::support;
use crate::support::{client, odbc};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use graymark::engine::wire::odbc::Odbc;
use graymark::engine::wire::odbc::connect::Target;
use graymark::engine::wire::odbc::driver::Connection;
use graymark::engine::wire::odbc::parameter::Param;
use graymark::engine::wire::sqlite;
use graymark::engine::{Engine, Error, Failure, Session, Sessions};
use graymark::result::{Isolation, LoadStep, Manifest, Via};
use graymark::workload::debitcredit::DebitCredit;
use graymark::workload::tpcc::Tpcc;
use graymark::workload::tpcc::population::Population;
use graymark::workload::value::{Money, Rate, Timestamp};
use graymark::workload::{Terminal as _, Workload};
use odbc::Place;
use support::command::Done;

fn connect(place: &Place) -> Connection {
    Connection::open(&Target::parse(&place.url(), &|_| None).unwrap()).unwrap()
}

/// A time type, and whether decimals are exact.
fn values_come_back(place: &Place, time: &str) {
    let connection = connect(place);
    let reported = connection.capabilities();
    println!("{reported:?}");
    assert!(!reported.dbms_version.is_empty() && !reported.driver.is_empty(), "{reported:?}");
    let decimals = !matches!(place, Place::Sqlite(_));
    connection
        .execute(&format!(
            "CREATE TABLE kinds (i INTEGER NOT NULL, l BIGINT, f DOUBLE PRECISION, m DECIMAL(12, 2), r DECIMAL(4, 4), \
             c CHAR(9), \
             t VARCHAR(600), d {time})"
        ))
        .unwrap();
    let mut insert = connection.prepare("INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?, ?, ?)").unwrap();
    let long = "x".repeat(599);
    let date = Timestamp(1_000_000_000_123_000);
    // Once one by one, once as an array whose texts grow while it is filled.
    let put = |insert: &mut graymark::engine::wire::odbc::statement::Statement, set: usize, i: i32| {
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

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn open(url: &str) -> Odbc {
    Odbc::open(support::options(url, Via::Statements)).unwrap()
}

fn manifest<W: Workload>(population: &W::Population, foreign_keys: bool) -> Manifest {
    Manifest { format: 1, scale: 1, seed: 7, date: 0, foreign_keys, parameters: W::parameters(population) }
}

/// A load that ends at some moment is gone on with, what is loaded over ODBC is a database of the engine of its own,
/// and a restore brings back what the load had made.
#[test]
fn a_load_that_was_interrupted_goes_on_and_a_restore_undoes_a_run() {
    let Some(place) = Place::sqlite() else { return };
    let file = place.file().unwrap();
    let population = Population::new(1, 7, Timestamp(0));
    let manifest = manifest::<Tpcc>(&population, true);
    block_on(async {
        let engine = open(&place.url());
        let parts = AtomicU64::new(0);
        let count = |step: LoadStep| {
            if let LoadStep::Rows { resumed: false, .. } = step {
                parts.fetch_add(1, Ordering::Relaxed);
            }
        };
        let enough = async {
            while parts.load(Ordering::Relaxed) < 3 {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            done = Engine::<Tpcc>::load(&engine, &manifest, &population, 2, &count) => panic!("nobody interrupted it: \
                {done:?}"),
            () = enough => {}
        }
        let report = Engine::<Tpcc>::load(&engine, &manifest, &population, 2, &|_| {}).await.unwrap();
        let all: u64 = report.tables.iter().map(|(_, rows)| rows).sum();
        assert!(report.resumed_rows > 0 && report.resumed_rows + report.rows == all, "{report:?}");
        let again = Engine::<Tpcc>::load(&engine, &manifest, &population, 2, &|_| {}).await.unwrap_err();
        assert!(again.to_string().contains("already loaded"), "{again}");

        let terminals = Tpcc::terminals(1, &Tpcc::parameters(&population), 42).unwrap();
        let mut terminal = Tpcc::terminal(&terminals, 0);
        let mut session = Sessions::<Tpcc>::open_session(&engine).await.unwrap();
        for _ in 0..100 {
            session.execute(&terminal.next_input()).await.unwrap();
        }
        drop(session);
        let own = sqlite::Sqlite::open(sqlite::SqliteOptions::new(&file)).unwrap();
        let findings = Engine::<Tpcc>::check(&own, &mut |_| {}).await.unwrap();
        assert!(findings.iter().all(|finding| finding.held()), "{findings:#?}");
        drop(own);
        let report = Engine::<Tpcc>::restore(&engine, &manifest, &population, &|_| {}).await.unwrap();
        assert!(report.rows() > 0 && report.held(), "{report:#?}");
        Engine::<Tpcc>::drop_tables(&engine).await.unwrap();
        let database_state = Engine::<Tpcc>::database_state(&engine).await.unwrap();
        assert_eq!(database_state, graymark::engine::DatabaseState::Nothing);
    });
}

/// A foreign key of somebody else's table could take its rows away with those that a restore removes.
#[test]
fn a_restore_takes_nobody_elses_rows_away() {
    let population = DebitCredit::population(1, 7, Timestamp(0), 0);
    let manifest = manifest::<DebitCredit>(&population, false);
    for place in [Place::sqlite(), Place::postgres()].into_iter().flatten() {
        let plain = |sql: String| match &place {
            Place::Postgres(server) => {
                block_on(async { client(&server.tcp_url()).await.batch_execute(&sql).await.unwrap() })
            }
            _ => rusqlite::Connection::open(place.file().unwrap()).unwrap().execute_batch(&sql).unwrap(),
        };
        let (schema, reported) = match &place {
            Place::Postgres(_) => ("debitcredit.", "the table public.card refers to teller"),
            _ => ("", "the table card refers to teller"),
        };
        let engine = open(&place.url());
        block_on(async { Engine::<DebitCredit>::load(&engine, &manifest, &population, 1, &|_| {}).await.unwrap() });
        plain(format!("CREATE TABLE card (t integer REFERENCES {schema}teller ON DELETE CASCADE)"));
        let restore =
            || block_on(async { Engine::<DebitCredit>::restore(&engine, &manifest, &population, &|_| {}).await });
        let Err(Error::Database(why)) = restore() else { panic!("it was restored") };
        assert!(why.starts_with("nothing was restored") && why.contains(reported), "{why}");
        plain("DROP TABLE card".to_owned());
        assert!(restore().unwrap().held());
    }
}

/// A server that is gone is reported as such, and the session is not used any more.
#[test]
fn a_server_that_is_gone_is_a_lost_connection() {
    let Some(place) = Place::mariadb() else { return };
    let population = DebitCredit::population(1, 7, Timestamp(0), 0);
    let manifest = manifest::<DebitCredit>(&population, false);
    block_on(async {
        let engine = open(&place.url());
        Engine::<DebitCredit>::load(&engine, &manifest, &population, 1, &|_| {}).await.unwrap();
        let terminals = DebitCredit::terminals(1, &DebitCredit::parameters(&population), 42).unwrap();
        let mut terminal = DebitCredit::terminal(&terminals, 0);
        let mut session = Sessions::<DebitCredit>::open_session(&engine).await.unwrap();
        session.execute(&terminal.next_input()).await.unwrap();
        let Place::Mariadb(server) = &place else { panic!("another server") };
        server.kill().unwrap();
        for _ in 0..2 {
            let failure = session.execute(&terminal.next_input()).await.unwrap_err();
            assert!(matches!(failure, Failure::Disconnected { ambiguous: false, .. }), "{failure:?}");
        }
        drop(session);
        let Err(Error::Database(why)) = Engine::<DebitCredit>::database_state(&engine).await else {
            panic!("it is there")
        };
        assert!(why.contains("see that the server runs"), "{why}");
    });
}

/// psqlODBC says of a user who is turned away what it says of a server that is not there.
#[test]
fn a_wrong_user_is_no_lost_server() {
    let Some(Place::Postgres(server)) = Place::postgres() else { return };
    let url = odbc::postgres_url(&server, "nobody");
    for (url, reported) in
        [(url.clone(), "see to Database and UID"), (url.replace("127.0.0.1", "127.0.0.2"), "see that the server runs")]
    {
        let Err(Error::Database(why)) = Odbc::open(support::options(&url, Via::Statements)) else {
            panic!("{url} was opened")
        };
        assert!(why.contains(reported) && !why.contains('\n'), "{why}");
    }
}

/// Every mistake in a connection string is told in one line that names the fix, and no password is in it.
#[test]
fn mistakes_are_reported_without_the_password() {
    let Some(place) = Place::mariadb() else { return };
    let url = {
        let Place::Mariadb(server) = &place else { panic!("another server") };
        place.url().replace(server.password(), "{se;cret}")
    };
    let wrong = [
        ("odbc:DSN=nowhere;PWD=se;".to_owned(), "odbc.ini"),
        ("odbc:Driver=/no/such/driver.so;PWD=secret".to_owned(), "install the driver"),
        ("odbc:Driver=/no/such/driver.so;JWT=secret;InitStmt={SET @a = 'secret'}".to_owned(), "install the driver"),
        (url.replace("UID=root", "UID=ann"), "GRAYMARK_ODBC_PWD"),
        (
            format!("{}GraymarkDialect=latin;", place.url()),
            "postgresql, mariadb, sqlite, sqlserver, oracle, db2, plain",
        ),
    ];
    for (url, reported) in wrong {
        let Err(Error::Usage(why) | Error::Database(why)) = Odbc::open(support::options(&url, Via::Statements)) else {
            panic!("{url} was opened");
        };
        assert!(why.contains(reported) && !why.contains("cret") && !why.contains('\n'), "{why}");
    }
    let nowhere = place.url().replace("Database=bench;", "");
    support::command::run(tempfile::tempdir().unwrap().path(), &["check", "debitcredit", "--db", &nowhere])
        .refused(2, &["add Database=NAME"]);
    let plain = format!("{}GraymarkDialect=plain;", place.url());
    let Err(Error::Usage(why)) = Odbc::open(support::options(&plain, Via::Procedures)) else { panic!("procedures") };
    assert!(why.contains("--via statements"), "{why}");
}

/// While another session holds the lock of a load, nothing is loaded, restored or dropped.
fn only_one_at_a_time(place: &Place, command: &dyn Fn(&[&str]) -> Done) {
    let lock = match place {
        Place::Postgres(_) => "SELECT pg_advisory_lock(hashtext('graymark load'), hashtext('debitcredit'))",
        // The session of a command that has just ended may hold it for a moment.
        Place::Mariadb(_) => "SELECT GET_LOCK(CONCAT('graymark ', SHA1('bench')), 600)",
        Place::Sqlite(_) => return,
    };
    let other = connect(place);
    let held = other.query(lock).unwrap();
    if matches!(place, Place::Mariadb(_)) {
        assert_eq!(held.rows[0].int(0).unwrap(), 1, "the lock is ours");
    }
    let tables = odbc_tables(place);
    // Over ODBC, PostgreSQL alone has a restore.
    let commands: &[&[&str]] = match place {
        _ if tables == 0 => &[&["load", "-b", "1"]],
        Place::Postgres(_) => &[&["restore"], &["drop"]],
        _ => &[&["drop"]],
    };
    for arguments in commands {
        command(arguments).refused(3, &["another load, restore or drop is running"]);
    }
    assert_eq!(odbc_tables(place), tables);
}

/// How many of the tables of DebitCredit and of Graymark are there.
fn odbc_tables(place: &Place) -> usize {
    let user = connect(place);
    let schema = if matches!(place, Place::Postgres(_)) { "debitcredit." } else { "" };
    let all = ["branch", "teller", "account", "history", "graymark_manifest", "graymark_parts"];
    all.iter().filter(|table| user.query(&format!("SELECT 1 FROM {schema}{table} WHERE 1 = 0")).is_ok()).count()
}

/// A session that uses a table keeps a drop waiting for a minute, and no longer.
fn a_drop_gives_up(place: &Place, command: &dyn Fn(&[&str]) -> Done) {
    let (other, tables) = (connect(place), odbc_tables(place));
    other.set_autocommit(false).unwrap();
    let schema = if matches!(place, Place::Postgres(_)) { "debitcredit." } else { "" };
    other.query(&format!("SELECT count(*) FROM {schema}history")).unwrap();
    command(&["drop"]).refused(3, &["cannot", "the tables", "another session holds locks"]);
    assert_eq!(odbc_tables(place), tables);
}

/// A column that is added while a drop waits for its table is not dropped.
fn a_table_that_changes_while_a_drop_waits(place: &Place, url: &str, directory: &Path) {
    let (holder, watcher) = (connect(place), connect(place));
    let sql = |text: &str| holder.execute(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    sql("LOCK TABLES branch WRITE");
    let (url, directory) = (url.to_owned(), directory.to_owned());
    let waits = std::thread::spawn(move || support::command::run(&directory, &["drop", "debitcredit", "--db", &url]));
    let waiting = "SELECT count(*) FROM information_schema.processlist \
                   WHERE state LIKE 'Waiting for % metadata lock' AND info LIKE '%branch%'";
    while watcher.query(waiting).unwrap().rows[0].long(0).unwrap() == 0 {
        assert!(!waits.is_finished(), "{:?}", waits.join());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    sql("ALTER TABLE branch ADD COLUMN their_note VARCHAR(50) DEFAULT 'x'");
    sql("UNLOCK TABLES");
    waits.join().unwrap().refused(3, &["nothing was dropped", "branch.their_note"]);
    sql("ALTER TABLE branch DROP COLUMN their_note");
}

/// Tables of somebody else, and what hangs on ours, are named; only what the manifest proves to be Graymark's is
/// dropped.
fn only_what_is_ours_is_dropped(place: &Place) {
    let url = place.url();
    let directory = tempfile::tempdir().unwrap();
    let command = |arguments: &[&str]| {
        support::command::run(directory.path(), &[arguments, &["debitcredit", "--db", &url]].concat())
    };
    let user = connect(place);
    let schema = if matches!(place, Place::Postgres(_)) { "debitcredit." } else { "" };
    let sql = |text: &str| {
        let text = text.replace("{s}", schema);
        user.execute(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    };
    let count =
        |table: &str| user.query(&format!("SELECT count(*) FROM {schema}{table}")).unwrap().rows[0].long(0).unwrap();
    if !schema.is_empty() {
        sql("CREATE SCHEMA debitcredit");
    }
    sql("CREATE TABLE {s}teller (x INTEGER)");
    for arguments in [&["check"][..], &["run"], &["load"], &["bench"], &["drop"]] {
        let done = command(arguments);
        done.refused(3, &["it has teller but no manifest", "a database of its own"]);
        assert!(!done.err.contains("graymark drop"), "{done:?}");
    }
    assert_eq!(count("teller"), 0);
    sql("DROP TABLE {s}teller");

    only_one_at_a_time(place, &command);
    assert_eq!(command(&["load", "-b", "1", "--foreign-keys"]).code, Some(0));
    only_one_at_a_time(place, &command);
    sql("CREATE VIEW {s}rich AS SELECT account_id FROM {s}account");
    sql("CREATE TABLE {s}site (b INTEGER, FOREIGN KEY (b) REFERENCES {s}branch (branch_id))");
    let done = command(&["drop"]);
    done.refused(3, &["nothing was dropped", "rich", "site"]);
    assert_eq!(count("account"), 10_000);
    sql("DROP VIEW {s}rich");
    sql("DROP TABLE {s}site");
    // A column of somebody else in a table of ours.
    sql("ALTER TABLE {s}account ADD COLUMN amount INTEGER");
    command(&["drop"]).refused(3, &["nothing was dropped", "account.amount"]);
    assert_eq!(count("account"), 10_000);
    if !matches!(place, Place::Sqlite(_)) {
        sql("ALTER TABLE {s}account DROP COLUMN amount");
        a_drop_gives_up(place, &command);
    }
    if matches!(place, Place::Mariadb(_)) {
        // SELECT * does not show it.
        sql("ALTER TABLE branch ADD COLUMN their_note VARCHAR(50) INVISIBLE DEFAULT 'x'");
        command(&["drop"]).refused(3, &["nothing was dropped", "branch.their_note"]);
        sql("ALTER TABLE branch DROP COLUMN their_note");
        a_table_that_changes_while_a_drop_waits(place, &url, directory.path());
    }
    sql("UPDATE {s}graymark_manifest SET manifest = 'x'");
    command(&["drop"]).refused(3, &["cannot be read", "leaves alone"]);
    assert_eq!(count("account"), 10_000);
    if let Place::Postgres(server) = place {
        sql(&format!("CREATE ROLE nobody_here LOGIN PASSWORD '{}'", server.password()));
        let url = odbc::postgres_url(server, "nobody_here");
        for arguments in [["check"], ["drop"]] {
            let done =
                support::command::run(directory.path(), &[&arguments[..], &["debitcredit", "--db", &url]].concat());
            done.refused(3, &["may not see what the schema debitcredit holds", "GRANT USAGE"]);
        }
    }
}

#[test]
fn only_what_is_ours_is_dropped_from_postgresql() {
    if let Some(place) = Place::postgres() {
        only_what_is_ours_is_dropped(&place);
    }
}

#[test]
fn only_what_is_ours_is_dropped_from_mariadb() {
    if let Some(place) = Place::mariadb() {
        only_what_is_ours_is_dropped(&place);
    }
}

#[test]
fn only_what_is_ours_is_dropped_from_sqlite() {
    if let Some(place) = Place::sqlite() {
        only_what_is_ours_is_dropped(&place);
    }
}
