//! Tables that somebody else made are named and left alone, by every command.

use std::fs;
use std::time::Duration;

use crate::support;
use crate::support::command::{Done, STEADY, graymark, run, start, succeed};
use crate::support::loaded::loaded;
use crate::support::{block_on, client, require_postgres, small_server};
use graymark::result::format::file;
use tempfile::TempDir;

const USAGE: i32 = 2;
const DATABASE: i32 = 3;

/// All commands that look at tables, load them or remove them.
const EVERY_COMMAND: [&[&str]; 8] = [
    &["scan"],
    &["check"],
    &["run", "--duration", "1s"],
    &["load", "-w", "1"],
    &["bench", "-w", "1"],
    &["restore"],
    &["drop"],
    &["sweep", "max", "--of", "warehouses", "--to", "2", "--until", "errors<=0", "--replace"],
];

/// A sweep tells more than one line.
fn last_line(done: &support::command::Done) -> &str {
    done.err.lines().last().unwrap_or_default()
}

#[test]
fn sqlite_tables_of_somebody_else_are_named_and_left_alone() {
    let place = TempDir::new().unwrap();
    let shop = rusqlite::Connection::open(place.path().join("shop.db")).unwrap();
    shop.execute_batch(
        "CREATE TABLE Customer (id, name); CREATE TABLE orders (id); CREATE TABLE history (x); INSERT INTO Customer \
         VALUES (1, 'Ann')",
    )
    .unwrap();
    let content = || {
        let names: String =
            shop.query_row("SELECT group_concat(sql) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        let name: String = shop.query_row("SELECT name FROM customer", [], |row| row.get(0)).unwrap();
        names + &name
    };
    let before = content();
    let with = |arguments: &[&str]| run(place.path(), &[arguments, &["--db", "sqlite:shop.db"]].concat());
    for command in &EVERY_COMMAND[..7] {
        with(command).refused(DATABASE, &["customer, history, orders", "sqlite3 shop.db .schema", "sqlite:OTHER.db"]);
        assert!(!with(command).err.contains("graymark drop"), "{command:?}");
        assert_eq!(content(), before, "{command:?}");
    }

    // The same with a manifest that proves nothing.
    let place = loaded();
    let with = |arguments: &[&str]| run(place.path(), &[arguments, &["--db", "sqlite:loaded.db"]].concat());
    let file = rusqlite::Connection::open(place.path().join("loaded.db")).unwrap();
    let stock = || file.query_row("SELECT count(*) FROM stock", [], |row| row.get::<_, i64>(0)).unwrap();
    let manifest: String = file.query_row("SELECT manifest FROM graymark_manifest", [], |row| row.get(0)).unwrap();
    for (damage, reported) in [
        ("UPDATE graymark_manifest SET manifest = 'x'", "cannot be read"),
        ("UPDATE graymark_manifest SET manifest = json_set(manifest, '$.format', 2)", "format 2"),
        ("UPDATE graymark_manifest SET manifest = json_set(manifest, '$.scale', 0)", "its scale is 0"),
        ("DELETE FROM graymark_manifest", "0 rows"),
    ] {
        file.execute_batch(damage).unwrap();
        for command in [&["drop"], &["check"]] {
            with(command).refused(DATABASE, &[reported, "leaves alone"]);
        }
        assert_eq!(stock(), 100_000);
        file.execute_batch("DELETE FROM graymark_manifest").unwrap();
        file.execute("INSERT INTO graymark_manifest VALUES ('tpcc', ?1, 1)", [&manifest]).unwrap();
    }
    // What hangs on the tables is reported, and nothing is dropped.
    file.execute_batch(
        "CREATE VIEW low AS SELECT s_i_id FROM stock; CREATE TABLE mine (w REFERENCES warehouse (w_id))",
    )
    .unwrap();
    with(&["drop"]).refused(DATABASE, &["nothing was dropped", "the view low", "the table mine refers to warehouse"]);
    assert_eq!((stock(), with(&["check"]).code), (100_000, Some(0)));
    // A table of somebody else that has taken the name of one of ours.
    file.execute_batch("DROP VIEW low; DROP TABLE mine; ALTER TABLE history RENAME TO kept; CREATE TABLE history (x)")
        .unwrap();
    with(&["drop"]).refused(DATABASE, &["the table history has no column h_c_id"]);
    // A column of somebody else in one of ours.
    file.execute_batch(
        "DROP TABLE history; ALTER TABLE kept RENAME TO history; ALTER TABLE item ADD COLUMN c_last TEXT",
    )
    .unwrap();
    with(&["drop"]).refused(DATABASE, &["nothing was dropped", "item.c_last"]);
    assert_eq!((stock(), with(&["check"]).code), (100_000, Some(0)));
    // Generated ones, too.
    file.execute_batch("ALTER TABLE item DROP COLUMN c_last; ALTER TABLE item ADD COLUMN c_last INTEGER AS (i_id + 1)")
        .unwrap();
    with(&["drop"]).refused(DATABASE, &["nothing was dropped", "item.c_last"]);
    assert_eq!((stock(), with(&["check"]).code), (100_000, Some(0)));
    // Tables of somebody else beside ours stay, also one whose module Graymark's SQLite does not have.
    file.execute_batch(
        "ALTER TABLE item DROP COLUMN c_last; CREATE TABLE mine AS SELECT 7 AS x; PRAGMA writable_schema = ON;
         INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql)
         VALUES ('table', 'notes', 'notes', 0, 'CREATE VIRTUAL TABLE notes USING elsewhere (words)');
         PRAGMA writable_schema = OFF",
    )
    .unwrap();
    let dropped = with(&["drop"]);
    assert_eq!(dropped.code, Some(0), "{dropped:?}");
    let left: String = file
        .query_row("SELECT group_concat(name) FROM sqlite_schema WHERE name NOT LIKE 'sqlite%'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(
        (left.as_str(), file.query_row("SELECT x FROM mine", [], |row| row.get::<_, i64>(0)).unwrap()),
        ("mine,notes", 7)
    );
}

/// The planted fault: statistics that somebody keeps of a table of his own.
#[test]
fn sqlite_keeps_the_statistics_of_other_tables() {
    let place = TempDir::new().unwrap();
    let shop = rusqlite::Connection::open(place.path().join("shop.db")).unwrap();
    shop.execute_batch(
        "CREATE TABLE article (id); CREATE INDEX by_id ON article (id); INSERT INTO article VALUES (1); ANALYZE;
         UPDATE sqlite_stat1 SET stat = '1000000 7'",
    )
    .unwrap();
    let statistics = |table: &str| {
        let sql = "SELECT group_concat(stat) FROM sqlite_stat1 WHERE tbl = ?1";
        shop.query_row(sql, [table], |row| row.get::<_, Option<String>>(0)).unwrap()
    };
    succeed(place.path(), &["load", "debitcredit", "-b", "1", "--db", "sqlite:shop.db"]);
    assert_eq!(statistics("article").as_deref(), Some("1000000 7"));
    assert!(statistics("account").is_some());
    succeed(place.path(), &["drop", "debitcredit", "--db", "sqlite:shop.db"]);
    assert_eq!(statistics("article").as_deref(), Some("1000000 7"));
}

/// The rows of a query, as text.
fn asked(url: &str, sql: &str) -> Vec<String> {
    let messages =
        block_on(async { client(url).await.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")) });
    let row = |message: &tokio_postgres::SimpleQueryMessage| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("null").to_owned()),
        _ => None,
    };
    messages.iter().filter_map(row).collect()
}

#[test]
fn postgres_tables_of_somebody_else_are_named_and_left_alone() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let place = TempDir::new().unwrap();
    let url = server.url();
    let at = |schema: &str| format!("{url}{}schema={schema}", if url.contains('?') { '&' } else { '?' });
    let on = |url: &str, arguments: &[&str]| run(place.path(), &[arguments, &["--db", url]].concat());
    asked(
        &url,
        "CREATE SCHEMA tpcc; CREATE TABLE tpcc.customer (id int, name text); INSERT INTO tpcc.customer VALUES (1, \
         'Ann');
         CREATE FUNCTION tpcc.payment(due int) RETURNS int LANGUAGE sql AS 'SELECT due'",
    );
    let content = || asked(&url, "SELECT name || tpcc.payment(7) FROM tpcc.customer");
    for command in EVERY_COMMAND {
        let done = on(&url, command);
        assert_eq!(done.code, Some(DATABASE), "{command:?} {done:?}");
        let line = last_line(&done);
        for word in ["customer, payment", "\\d tpcc.*", "?schema=NAME"] {
            assert!(line.contains(word), "{line} lacks {word}");
        }
        assert!(!done.err.contains("graymark drop"), "{done:?}");
        assert_eq!(content(), ["Ann7"], "{command:?}");
        assert_eq!(asked(&url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'tpcc'"), ["1"], "{command:?}");
    }
    on(&at("pg_catalog"), &["check"]).refused(USAGE, &["schema=pg_catalog", "server's own"]);

    // What it advises serves every command, whatever the name.
    let own = at("My%20%22own%22%27s");
    let quick = ["--clients", "2", "--ramp-up", "0s", "--duration", "6s"];
    succeed(place.path(), &["load", "-w", "1", "--foreign-keys", "--db", &own]);
    succeed(place.path(), &["check", "--db", &own]);
    for via in ["procedures", "statements"] {
        let more = [
            "--db",
            &own,
            "--via",
            via,
            "--out",
            via,
            "--json",
            "--check",
            "none",
            "--checkpoint",
            "1s",
            "--vacuum",
            "1s",
            "--warm",
            "random",
        ];
        let summary = succeed(place.path(), &[&["run"], &quick[..], &STEADY, &more].concat()).json();
        assert!(
            summary["transactions_per_second"].as_f64().unwrap() > 0.0 && summary["errors"] == serde_json::json!({}),
            "{summary}"
        );
        assert_eq!(summary["database"]["agrees"], true, "{summary}");
        assert!(
            summary["counters"]["pages"]["tables"].as_object().is_none_or(|tables| tables.contains_key("stock")),
            "{summary}"
        );
        let shown = summary["engine"]["url"].as_str().unwrap();
        assert!(shown.ends_with("schema=My%20%22own%22%27s"), "{shown}");
        let plan = fs::read_to_string(place.path().join(via).join(file::PLAN)).unwrap();
        assert!(plan.contains("schema=My%20%22own%22%27s"), "{plan}");
    }
    succeed(place.path(), &["restore", "--db", &own]);
    succeed(place.path(), &["scan", "--db", &own]);
    assert_eq!(content(), ["Ann7"]);
    on(&own, &["drop", "debitcredit"]).refused(USAGE, &["holds the workload tpcc"]);
    on(&own, &["load", "debitcredit"]).refused(USAGE, &["holds the workload tpcc"]);

    // What hangs on the tables is reported, and nothing is dropped.
    let quoted = "\"My \"\"own\"\"'s\"";
    asked(
        &url,
        &format!(
            "CREATE SCHEMA shop; CREATE VIEW shop.low AS SELECT s_i_id FROM {quoted}.stock;
             CREATE TABLE shop.site (w integer REFERENCES {quoted}.warehouse (w_id))"
        ),
    );
    let routines = "SELECT count(*) FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname LIKE 'My%'";
    for _ in 0..2 {
        on(&own, &["drop"])
            .refused(DATABASE, &["nothing was dropped", "view shop.low depends", "on table shop.site depends"]);
    }
    assert_eq!(asked(&url, &format!("SELECT count(*) FROM {quoted}.stock")), ["100000"]);
    assert_eq!(asked(&url, routines), ["6"]);
    // A column of somebody else in a table of ours.
    asked(&url, &format!("ALTER TABLE {quoted}.item ADD c_last text"));
    on(&own, &["drop"]).refused(DATABASE, &["nothing was dropped", "item.c_last"]);
    asked(&url, &format!("ALTER TABLE {quoted}.item DROP c_last"));
    // A table of somebody else that inherits from one of ours: a change of ours would change its rows.
    asked(
        &url,
        &format!(
            "CREATE TABLE shop.archive () INHERITS ({quoted}.history);
             INSERT INTO shop.archive SELECT * FROM ONLY {quoted}.history LIMIT 5"
        ),
    );
    for command in EVERY_COMMAND {
        let done = on(&own, command);
        assert_eq!(done.code, Some(DATABASE), "{command:?} {done:?}");
        assert!(last_line(&done).contains("the table shop.archive inherits from one of Graymark's"), "{done:?}");
        assert_eq!(asked(&url, "SELECT count(*) FROM shop.archive"), ["5"], "{command:?}");
    }
    asked(&url, "DROP TABLE shop.archive");
    // A restore takes nobody else's rows away with its own.
    asked(
        &url,
        &format!(
            "CREATE TABLE shop.sent (w integer, d integer, o integer, FOREIGN KEY (w, d, o)
                 REFERENCES {quoted}.orders (o_w_id, o_d_id, o_id) ON DELETE CASCADE);
             INSERT INTO {quoted}.orders VALUES (3001, 1, 1, 1, now(), NULL, 5, 1);
             INSERT INTO shop.sent VALUES (1, 1, 3001)"
        ),
    );
    on(&own, &["restore"]).refused(DATABASE, &["nothing was restored", "the table shop.sent refers to orders"]);
    assert_eq!(asked(&url, "SELECT count(*) FROM shop.sent"), ["1"]);
    asked(&url, &format!("DROP TABLE shop.sent; DELETE FROM {quoted}.orders WHERE o_id = 3001"));
    succeed(place.path(), &["check", "--db", &own]);
    // Somebody else's table beside ours stays, and its schema with it; so do routines with names of ours that take
    // something else.
    asked(
        &url,
        &format!(
            "DROP SCHEMA shop CASCADE; CREATE TABLE {quoted}.mine AS SELECT 7 AS x; DROP FUNCTION {quoted}.delivery;
             CREATE FUNCTION {quoted}.delivery(due int) RETURNS int LANGUAGE sql AS 'SELECT due';
             CREATE FUNCTION {quoted}.payment(due int) RETURNS int LANGUAGE sql AS 'SELECT due'"
        ),
    );
    succeed(place.path(), &["drop", "--db", &own]);
    assert_eq!(asked(&url, &format!("SELECT {quoted}.delivery(x) + {quoted}.payment(x) FROM {quoted}.mine")), ["14"]);
    asked(&url, &format!("DROP FUNCTION {quoted}.delivery; DROP FUNCTION {quoted}.payment"));
    assert_eq!(asked(&url, "SELECT count(*) FROM pg_tables WHERE schemaname LIKE 'My%'"), ["1"]);
    assert_eq!(asked(&url, routines), ["0"]);
}

#[test]
fn a_schema_goes_only_with_whoever_made_it() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let place = TempDir::new().unwrap();
    let url = server.url();
    let at = |schema: &str| format!("{url}{}schema={schema}", if url.contains('?') { '&' } else { '?' });
    let schemas = || asked(&url, "SELECT nspname FROM pg_namespace WHERE nspname IN ('made', 'kept') ORDER BY 1");
    asked(&url, "CREATE SCHEMA kept");
    for schema in ["made", "kept"] {
        succeed(place.path(), &["load", "debitcredit", "-b", "1", "--db", &at(schema)]);
    }
    assert_eq!(schemas(), ["kept", "made"]);
    // A manifest that cannot be read proves nothing; one that can proves also tables that are no longer whole.
    let text = asked(&url, "SELECT manifest FROM made.graymark_manifest").remove(0);
    for wrong in ["'x'", "'{}'"] {
        asked(&url, &format!("UPDATE made.graymark_manifest SET manifest = {wrong}"));
        run(place.path(), &["drop", "debitcredit", "--db", &at("made")])
            .refused(DATABASE, &["cannot be read", "leaves alone"]);
    }
    assert_eq!(asked(&url, "SELECT count(*) FROM made.account"), ["10000"]);
    asked(&url, &format!("UPDATE made.graymark_manifest SET manifest = '{text}'; DROP TABLE made.teller"));
    run(place.path(), &["check", "debitcredit", "--db", &at("made")])
        .refused(DATABASE, &["no teller", "graymark drop debitcredit"]);
    // A load that was killed is ours.
    asked(&url, "UPDATE kept.graymark_manifest SET state = 'loading'");
    for schema in ["made", "kept"] {
        succeed(place.path(), &["drop", "debitcredit", "--db", &at(schema)]);
    }
    assert_eq!(schemas(), ["kept"]);
}

/// Loads a small bank into a server; returns the arguments of further commands for it.
fn bank(url: &str, place: &TempDir) -> impl Fn(&[&str]) -> Vec<String> {
    let url = url.to_owned();
    let with = move |arguments: &[&str]| -> Vec<String> {
        let (command, more) = arguments.split_first().unwrap();
        [&[*command, "debitcredit"], more, &["--db", &url]].concat().into_iter().map(str::to_owned).collect()
    };
    succeed(place.path(), &words(&with(&FIXED)));
    with
}

/// A load that another one with the same arguments continues.
const FIXED: [&str; 7] = ["load", "-b", "1", "--seed", "7", "--date", "2026-01-31T12:00:00Z"];

fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// A command that waits for another session's transaction, which then does `last` and commits, ends with an error that
/// says all of `words_of_it`.
fn refused_behind(url: &str, place: &TempDir, [first, last]: [&str; 2], arguments: &[String], words_of_it: &[&str]) {
    let done: Done = block_on(async {
        let other = client(url).await;
        other.batch_execute(&format!("BEGIN; {first}")).await.unwrap_or_else(|error| panic!("{first}: {error}"));
        let mut command = start(graymark(place.path(), &words(arguments)));
        let waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)";
        while !other.query_one(waits, &[]).await.unwrap().get::<_, bool>(0) {
            assert!(command.at_work(), "{arguments:?} did not wait: {:?}", command.end().1);
            std::thread::sleep(Duration::from_millis(20));
        }
        other.batch_execute(&format!("{last}; COMMIT")).await.unwrap_or_else(|error| panic!("{last}: {error}"));
        command.end().1
    });
    assert_eq!(done.code, Some(DATABASE), "{done:?}");
    assert!(words_of_it.iter().all(|word| last_line(&done).contains(word)), "{done:?} lacks one of {words_of_it:?}");
}

#[test]
fn postgres_tables_that_take_a_name_while_a_command_waits_are_left_alone() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (small_server(), TempDir::new().unwrap());
    let url = server.url();
    let with = bank(&url, &place);
    let parts = "SELECT count(*) FROM debitcredit.graymark_parts WHERE table_name = 'branch'";

    let swap = "ALTER TABLE debitcredit.branch RENAME TO bench_branch;
                CREATE TABLE debitcredit.branch (id integer PRIMARY KEY, city text);
                INSERT INTO debitcredit.branch VALUES (7, 'Rome')";
    refused_behind(&url, &place, [swap, ""], &with(&["drop"]), &["the table branch has no column branch_id"]);
    assert_eq!(asked(&url, "SELECT city FROM debitcredit.branch"), ["Rome"]);
    asked(&url, "DROP TABLE debitcredit.branch; ALTER TABLE debitcredit.bench_branch RENAME TO branch");

    let note = "ALTER TABLE debitcredit.branch ADD their_note text; UPDATE debitcredit.branch SET their_note = 'mine'";
    refused_behind(&url, &place, [note, ""], &with(&["drop"]), &["nothing was dropped", "branch.their_note"]);
    assert_eq!(asked(&url, "SELECT their_note FROM debitcredit.branch"), ["mine"]);
    asked(&url, "ALTER TABLE debitcredit.branch DROP their_note");

    let swap = "ALTER TABLE debitcredit.history RENAME TO bench_history;
                CREATE TABLE debitcredit.history (id integer PRIMARY KEY, battle text);
                INSERT INTO debitcredit.history VALUES (1, 'Cannae')";
    refused_behind(&url, &place, [swap, ""], &with(&["restore"]), &["the table history has no column branch_id"]);
    assert_eq!(asked(&url, "SELECT battle FROM debitcredit.history"), ["Cannae"]);
    asked(&url, "DROP TABLE debitcredit.history; ALTER TABLE debitcredit.bench_history RENAME TO history");

    // A lock of a table does not hold its schema.
    let move_on = "ALTER SCHEMA debitcredit RENAME TO bench; CREATE SCHEMA debitcredit;
                   CREATE TABLE debitcredit.history AS SELECT 'Zama' AS battle";
    for command in ["drop", "restore"] {
        let first = "LOCK TABLE debitcredit.account IN SHARE MODE";
        refused_behind(&url, &place, [first, move_on], &with(&[command]), &["history but no manifest"]);
        assert_eq!(asked(&url, "SELECT battle FROM debitcredit.history"), ["Zama"], "{command}");
        asked(&url, "DROP SCHEMA debitcredit CASCADE; ALTER SCHEMA bench RENAME TO debitcredit");
    }

    // A load that continues, and stands still before it writes.
    asked(
        &url,
        "UPDATE debitcredit.graymark_manifest SET state = 'loading'; DELETE FROM debitcredit.branch;
         DELETE FROM debitcredit.graymark_parts WHERE table_name = 'branch'",
    );
    let swap = "ALTER TABLE debitcredit.branch RENAME TO bench_branch;
                CREATE TABLE debitcredit.branch (LIKE debitcredit.bench_branch)";
    let first = "LOCK TABLE debitcredit.graymark_parts IN EXCLUSIVE MODE";
    refused_behind(
        &url,
        &place,
        [first, swap],
        &with(&FIXED),
        &["nothing more was loaded", "renamed the schema debitcredit or tables in it"],
    );
    assert_eq!(asked(&url, "SELECT count(*) FROM debitcredit.branch"), ["0"]);
    assert_eq!(asked(&url, parts), ["0"]);
    asked(&url, "DROP TABLE debitcredit.branch; ALTER TABLE debitcredit.bench_branch RENAME TO branch");

    // What is as it was loaded is loaded on, restored and dropped.
    for command in [&FIXED[..], &["check"], &["restore"], &["drop"]] {
        succeed(place.path(), &words(&with(command)));
    }
    assert_eq!(asked(&url, "SELECT count(*) FROM pg_namespace WHERE nspname = 'debitcredit'"), ["0"]);
}

#[test]
fn postgres_partitions_and_sequences_of_somebody_else_do_not_go_with_the_tables() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (small_server(), TempDir::new().unwrap());
    let url = server.url();
    let with = bank(&url, &place);
    let refused = |command: &str, words_of_it: &[&str]| {
        run(place.path(), &words(&with(&[command]))).refused(DATABASE, words_of_it);
    };
    asked(
        &url,
        "CREATE SCHEMA archive; ALTER TABLE debitcredit.history RENAME TO history_now;
         CREATE TABLE debitcredit.history (LIKE debitcredit.history_now) PARTITION BY RANGE (time_stamp);
         CREATE TABLE archive.history_2019 (LIKE debitcredit.history_now);
         INSERT INTO archive.history_2019 SELECT 1, 1, n, n, '2019-07-01' FROM generate_series(1, 1000) n;
         ALTER TABLE debitcredit.history ATTACH PARTITION archive.history_2019 FOR VALUES FROM ('2019-01-01') TO \
         ('2020-01-01');
         ALTER TABLE debitcredit.history ATTACH PARTITION debitcredit.history_now DEFAULT",
    );
    for command in ["drop", "restore", "check"] {
        refused(command, &["the table archive.history_2019 is a partition of one of Graymark's"]);
        assert_eq!(asked(&url, "SELECT count(*) FROM archive.history_2019"), ["1000"], "{command}");
    }
    asked(
        &url,
        "ALTER TABLE debitcredit.history DETACH PARTITION debitcredit.history_now; DROP SCHEMA archive CASCADE;
         DROP TABLE debitcredit.history; ALTER TABLE debitcredit.history_now RENAME TO history",
    );

    asked(&url, "CREATE SEQUENCE debitcredit.invoices START 4711 OWNED BY debitcredit.branch.branch_id");
    refused("drop", &["nothing was dropped", "the sequence invoices belongs to branch", "OWNED BY NONE"]);
    asked(&url, "ALTER SEQUENCE debitcredit.invoices OWNED BY NONE");
    succeed(place.path(), &words(&with(&["restore"])));
    succeed(place.path(), &words(&with(&["drop"])));
    assert_eq!(asked(&url, "SELECT nextval('debitcredit.invoices')"), ["4711"]);
    assert_eq!(asked(&url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'debitcredit'"), ["0"]);
}
