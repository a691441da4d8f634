//! A user brings a worked database back to its initial population, and is told when that cannot be.

use crate::support;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::support::command::{graymark, run, start, succeed};
use crate::support::loaded::loaded_server;
use crate::support::{
    checksums, checksums_of, client, mysql_checksums, mysql_client, require_mariadb, require_postgres, small_mariadb,
    small_server,
};
use graymark::workload::Workload;
use graymark::workload::debitcredit::DebitCredit;
use graymark::workload::tpcc::Tpcc;
use mysql_async::prelude::Queryable;
use nix::sys::signal::Signal;
use rusqlite::types::Value;

/// Runs a command that must succeed; its standard output, without the breaks and indents of wrapped lines.
fn done(arguments: &[&str]) -> String {
    succeed(Path::new("."), arguments).out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn load(url: &str, scale: &str, more: &[&str]) {
    let fixed = ["load", "tpcc", "--db", url, "-w", scale, "--seed", "7", "--date", "2026-01-31T12:00:00Z"];
    done(&[&fixed, more].concat());
}

fn work(url: &str, seconds: &str) {
    let out = tempfile::tempdir().unwrap();
    let record = out.path().join("record").display().to_string();
    done(&[
        "run",
        "tpcc",
        "--db",
        url,
        "--clients",
        "2",
        "--ramp-up",
        "0s",
        "--duration",
        seconds,
        "--rate",
        "150",
        "--check",
        "none",
        "--out",
        &record,
    ]);
}

/// Kills a restore with no chance to tidy up, when it tells that it has come to a step.
fn kill_at(url: &str, step: &str) {
    let mut restore = start(graymark(Path::new("."), &["restore", "tpcc", "--db", url]));
    restore.wait_for(&format!("restore: {step}"));
    restore.signal(Signal::SIGKILL);
    restore.end();
}

type Sums = BTreeMap<String, String>;

/// What a user of any engine goes through. `sums` sees every row of every table.
/// `stranger` writes past Graymark.
fn story(url: &str, again: &str, options: &[&str], sums: impl Fn() -> Sums, stranger: impl Fn(&str)) {
    load(url, "1", options);
    let fresh = sums();
    assert_eq!(fresh.len(), Tpcc::TABLES.len());

    let out = done(&["restore", "tpcc", "--db", url]);
    assert!(
        out.contains("nothing: the database was in its initial state") && out.contains("is in its initial state"),
        "{out}"
    );
    assert_eq!(sums(), fresh);

    work(url, "4s");
    let worked = sums();
    for (table, sum) in &worked {
        assert_eq!(*sum == fresh[table], *table == "item", "{table}");
    }
    let out = done(&["restore", "tpcc", "--db", url, "--json"]);
    assert_eq!(sums(), fresh);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    for undone in report["restore"]["undone"].as_array().unwrap() {
        assert_eq!(undone[1].as_u64().unwrap() == 0, undone[0] == "item", "{undone}");
    }

    work(url, "4s");
    let worked = sums();
    for step in ["stock quantities", "orders", "district"] {
        kill_at(url, step);
        let left = sums();
        assert!(left == worked || left == fresh, "a restore killed at {step} left the tables between the two");
    }
    // The server may still be at work for the client that was killed.
    done(&["restore", "tpcc", "--db", again]);
    assert_eq!(sums(), fresh);
    done(&["check", "tpcc", "--deep", "--db", url]);

    // Columns that no transaction changes, and that no undoing puts back.
    let faults = [
        (
            "UPDATE customer SET c_last = 'NOBODY' WHERE c_d_id = 3 AND c_id = 9",
            "c_w_id=1 c_d_id=3 c_id=9 c_last=NOBODY loaded=",
        ),
        (
            "UPDATE stock SET s_dist_05 = 'elsewhere' WHERE s_i_id = 77",
            "s_w_id=1 s_i_id=77 s_dist_05=elsewhere loaded=",
        ),
        (
            "UPDATE orders SET o_carrier_id = 11 - o_carrier_id WHERE o_d_id = 1 AND o_id = 5",
            "o_w_id=1 o_d_id=1 o_id=5 o_carrier_id=",
        ),
    ];
    faults.iter().for_each(|(fault, _)| stranger(fault));
    let ended = run(Path::new("."), &["restore", "tpcc", "--db", url]);
    assert!(ended.code == Some(1) && faults.iter().all(|(_, reported)| ended.out.contains(reported)), "{ended:?}");
    assert!(ended.out.contains("FAILED: the database is not as it was loaded"), "{ended:?}");
}

/// A checksum of each table's rows in the order of all its columns.
fn sqlite_sums<W: Workload>(file: &Path) -> Sums {
    let connection = rusqlite::Connection::open(file).unwrap();
    let sum = |table: &graymark::workload::Table| {
        let order: Vec<&str> = if table.primary_key.is_empty() {
            table.columns.iter().map(|column| column.name).collect()
        } else {
            table.primary_key.to_vec()
        };
        let mut select =
            connection.prepare(&format!("SELECT * FROM {} ORDER BY {}", table.name, order.join(", "))).unwrap();
        let (columns, mut hasher) = (select.column_count(), DefaultHasher::new());
        let mut rows = select.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                match row.get::<_, Value>(column).unwrap() {
                    Value::Null => 0.hash(&mut hasher),
                    Value::Integer(number) => number.hash(&mut hasher),
                    Value::Text(text) => text.hash(&mut hasher),
                    other => panic!("no column holds {other:?}"),
                }
            }
        }
        (table.name.to_owned(), format!("{:x}", hasher.finish()))
    };
    W::TABLES.iter().map(sum).collect()
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn sqlite_is_as_it_was_loaded_row_by_row() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("tpcc.db");
    let url = format!("sqlite:{}?synchronous=off", file.display());
    let stranger = |sql: &str| rusqlite::Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    story(&url, &url, &["--foreign-keys"], || sqlite_sums::<Tpcc>(&file), stranger);
}

#[test]
fn postgres_is_as_it_was_loaded_row_by_row() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let url = server.url();
    let stranger = |sql: &str| {
        block_on(async { client(&url).await.batch_execute(&format!("SET search_path TO tpcc; {sql}")).await.unwrap() });
    };
    story(
        &url,
        &format!("{url}&pooler=on"),
        &["--foreign-keys"],
        || block_on(checksums(&url)).into_iter().collect(),
        stranger,
    );
}

#[test]
fn mariadb_is_as_it_was_loaded_row_by_row() {
    let Some(()) = require_mariadb() else { return };
    let server = small_mariadb(&[]);
    let url = server.url();
    let stranger =
        |sql: &str| block_on(async { mysql_client(&url, Some("tpcc")).await.query_drop(sql).await.unwrap() });
    story(&url, &url, &["--foreign-keys"], || block_on(mysql_checksums::<Tpcc>(&url)).into_iter().collect(), stranger);
}

/// The same with a bank: every table but the fillers changes.
fn bank_story(url: &str, profile: &str, sums: impl Fn() -> Sums) {
    done(&["load", "debitcredit", "--db", url, "-b", "1", "--profile", profile, "--seed", "7"]);
    let fresh = sums();
    let out = done(&["restore", "debitcredit", "--db", url]);
    assert!(
        out.contains("nothing: the database was in its initial state") && out.contains("is in its initial state"),
        "{out}"
    );
    assert_eq!(sums(), fresh);

    let place = tempfile::tempdir().unwrap();
    let run = [
        "run",
        "debitcredit",
        "--db",
        url,
        "--clients",
        "2",
        "--ramp-up",
        "0s",
        "--duration",
        "4s",
        "--pace",
        "none",
        "--json",
    ];
    let summary = succeed(place.path(), &run).json();
    let worked = sums();
    assert!(worked.iter().all(|(table, sum)| *sum != fresh[table]), "{worked:?}");
    let report: serde_json::Value =
        serde_json::from_str(&done(&["restore", "debitcredit", "--db", url, "--json"])).unwrap();
    assert_eq!(sums(), fresh);
    let undone = report["restore"]["undone"].as_array().unwrap();
    assert_eq!(undone[3], serde_json::json!(["history", summary["database"]["effects"]["history_rows"]["database"]]));
    assert!(undone.iter().all(|undone| undone[1].as_u64().unwrap() > 0), "{undone:?}");
    done(&["check", "debitcredit", "--deep", "--db", url]);
    done(&["drop", "debitcredit", "--db", url]);
    let gone = support::command::run(Path::new("."), &["check", "debitcredit", "--db", url]);
    gone.refused(3, &["no debitcredit tables", "graymark load debitcredit"]);
}

#[test]
fn a_bank_in_sqlite_is_as_it_was_loaded_row_by_row() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("bank.db");
    let url = format!("sqlite:{}?synchronous=off", file.display());
    for profile in DebitCredit::PROFILES {
        bank_story(&url, profile, || sqlite_sums::<DebitCredit>(&file));
    }
}

#[test]
fn a_bank_in_postgres_is_as_it_was_loaded_row_by_row() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let url = server.url();
    for profile in DebitCredit::PROFILES {
        bank_story(&url, profile, || block_on(checksums_of::<DebitCredit>(&url)).into_iter().collect());
    }
}

#[test]
fn a_bank_in_mariadb_is_as_it_was_loaded_row_by_row() {
    let Some(()) = require_mariadb() else { return };
    let server = small_mariadb(&[]);
    let url = server.url();
    bank_story(&url, "tpc-b", || block_on(mysql_checksums::<DebitCredit>(&url)).into_iter().collect());
}

#[test]
fn what_others_did_to_a_bank_is_not_called_restored() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("bank.db");
    let url = format!("sqlite:{}?synchronous=off", file.display());
    done(&["load", "debitcredit", "--db", &url, "-b", "1", "--seed", "7"]);
    let stranger = |sql: &str| rusqlite::Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    stranger("DELETE FROM account WHERE account_id = 5; DELETE FROM teller WHERE teller_id = 5");
    let done = run(Path::new("."), &["restore", "debitcredit", "--db", &url]);
    assert_eq!(done.code, Some(1), "{done:?}");
    for name in [
        "FAILED: the database is not as it was loaded",
        "table=teller rows=9 loaded=10",
        "table=account rows=9999 loaded=10000",
    ] {
        assert!(done.out.contains(name), "{name} is not named: {}", done.out);
    }
}

/// What a padded bank keeps is held against its seed: fillers, branches, and which rows there are.
#[test]
fn a_bank_that_strangers_changed_is_reported_by_a_check() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("bank.db");
    let url = format!("sqlite:{}?synchronous=off", file.display());
    done(&["load", "debitcredit", "--db", &url, "-b", "2", "--profile", "tpc-b", "--seed", "7"]);
    let stranger = |sql: &str| rusqlite::Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    // Earlier versions wrote the first 89 or 93 characters of the same fillers.
    stranger("UPDATE account SET filler = substr(filler, 1, 89) WHERE account_id > 99999");
    stranger("UPDATE branch SET filler = substr(filler, 1, 93)");
    done(&["check", "debitcredit", "--deep", "--db", &url]);
    stranger("UPDATE account SET filler = 'x' WHERE account_id = 100005");
    done(&["check", "debitcredit", "--db", &url]);
    let reported = |arguments: &[&str], names: &[&str]| {
        let ended = run(Path::new("."), arguments);
        assert!(ended.code == Some(1) && ended.out.matches("FAILED").count() == 1, "{ended:?}");
        assert!(names.iter().all(|name| ended.out.contains(name)), "{names:?}: {ended:?}");
    };
    let deep = ["check", "debitcredit", "--deep", "--db", &url];
    reported(&deep, &["seed_account        FAILED in 1 row:", "account_id=100005 filler=x loaded="]);
    stranger("UPDATE account SET filler = (SELECT filler FROM account WHERE account_id = 5) WHERE account_id = 100005");
    reported(&deep, &["account_id=100005 filler="]);
    stranger("UPDATE teller SET branch_id = 1 - branch_id WHERE teller_id IN (5, 15)");
    let usual = ["check", "debitcredit", "--db", &url];
    reported(
        &usual,
        &[
            "seed_teller         FAILED in 2 rows:",
            "teller_id=5 branch_id=1 loaded=0",
            "teller_id=15 branch_id=0 loaded=1",
        ],
    );
}

#[test]
fn what_others_did_is_not_called_restored() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("tpcc.db");
    let url = format!("sqlite:{}?synchronous=off", file.display());
    load(&url, "1", &[]);
    work(&url, "4s");
    let stranger = |sql: &str| rusqlite::Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    let fails = |names: &[&str]| {
        let done = run(Path::new("."), &["restore", "tpcc", "--db", &url]);
        assert_eq!(done.code, Some(1), "{done:?}");
        let out = done.out;
        assert!(
            out.contains("FAILED: the database is not as it was loaded") && !out.contains("held: the database"),
            "{out}"
        );
        for name in names {
            assert!(out.contains(name), "{name} is not named: {out}");
        }
    };
    stranger(
        "DELETE FROM history WHERE rowid = 5; DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = 7 \
         AND ol_number = 1;",
    );
    fails(&["table=history rows=29999 loaded=30000", "table=order_line"]);
    // A row whose texts are not of the seed is not taken for restored.
    stranger(
        "UPDATE stock SET s_order_cnt = 1, s_data = 'mine' WHERE s_i_id = 77; UPDATE customer SET c_balance = 0 WHERE \
         c_id = 9;",
    );
    fails(&["table=history", "initial stock", "s_i_id=77", "initial customer"]);
    fails(&["table=history", "initial stock", "initial customer"]);
    // Rows cannot be held against a seed that did not make them.
    stranger("UPDATE graymark_manifest SET manifest = replace(manifest, '\"c_load\":', '\"c_load\":9')");
    let ended = run(Path::new("."), &["check", "tpcc", "--db", &url]);
    assert!(ended.code == Some(1) && ended.out.contains("seed                FAILED in 1 row: "), "{ended:?}");
    assert!(ended.out.contains("c_load=9"), "{ended:?}");
}

#[test]
fn a_database_that_is_in_use_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("tpcc.db");
    let url = format!("sqlite:{}?synchronous=off", file.display());
    let refused = |workload: &str, url: &str, code: i32, words: &str| {
        let done = run(Path::new("."), &["restore", workload, "--db", url]);
        assert!(
            done.code == Some(code) && done.err.lines().last().is_some_and(|last| last.contains(words)),
            "{done:?}"
        );
    };
    refused("tpcc", &url, 3, "graymark load tpcc");
    refused("tpcc", "simulated:service=1ms", 2, "just run");
    load(&url, "1", &[]);
    let user = rusqlite::Connection::open(&file).unwrap();
    user.execute_batch("BEGIN; SELECT count(*) FROM warehouse; UPDATE warehouse SET w_ytd = 0;").unwrap();
    refused("tpcc", &url, 3, "locked by another process");
    drop(user);

    let Some(()) = require_postgres() else { return };
    let server = loaded_server();
    block_on(async {
        let user = client(&server.url()).await;
        user.batch_execute("BEGIN; UPDATE tpcc.warehouse SET w_ytd = 0").await.unwrap();
        refused("tpcc", &server.url(), 3, "another session holds locks on the tables: process");
        user.batch_execute("ROLLBACK").await.unwrap();
    });
    done(&["restore", "tpcc", "--db", &server.url()]);

    let Some(()) = require_mariadb() else { return };
    let server = small_mariadb(&[]);
    let url = server.url();
    done(&["load", "debitcredit", "--db", &url, "-b", "1", "--seed", "7"]);
    block_on(async {
        let mut user = mysql_client(&url, Some("debitcredit")).await;
        user.query_drop("START TRANSACTION; UPDATE branch SET branch_balance = 1").await.unwrap();
        refused("debitcredit", &url, 3, "end the run");
        user.query_drop("ROLLBACK").await.unwrap();
    });
    done(&["restore", "debitcredit", "--db", &url]);
}
