//! A user asks whether a database keeps transactions apart: the tests of clause 3, what breaks them, and what a run
//! takes from them.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use graymark::engine::server::PrivateServer as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::{Done, family, graymark, json_file, open_directory, run, start, succeed};
use crate::support::loaded::{loaded, loaded_postgres_data};
use crate::support::{require_mariadb, require_postgres, small_mariadb, small_server};

/// New-Order reads the district's next order number, and writes the one after it without looking again; and Payment
/// does the same with the customer's balance.
const PLANTED_POSTGRES: &str = "\
-- name: new_order_district
WITH seen AS MATERIALIZED (
    SELECT d_next_o_id, d_tax FROM tpcc.district WHERE d_w_id = $1::integer AND d_id = $2::integer)
UPDATE tpcc.district SET d_next_o_id = seen.d_next_o_id + 1 FROM seen
 WHERE d_w_id = $1::integer AND d_id = $2::integer
RETURNING seen.d_next_o_id, seen.d_tax;
-- name: payment_customer_by_id
WITH seen AS MATERIALIZED (
    SELECT c_balance FROM tpcc.customer WHERE c_w_id = $3::integer AND c_d_id = $4::integer AND c_id = $5::integer)
UPDATE tpcc.customer SET c_balance = seen.c_balance - $6::numeric, c_ytd_payment = c_ytd_payment + $6::numeric,
       c_payment_cnt = c_payment_cnt + 1
  FROM seen
 WHERE c_w_id = $3::integer AND c_d_id = $4::integer AND c_id = $5::integer
RETURNING c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
          c_credit_lim, c_discount, customer.c_balance, ''::text;
";

/// The same in MariaDB, where a plain read at REPEATABLE READ is of the transaction's snapshot.
const PLANTED_MARIADB: &str = "\
-- name: new_order_district
SELECT d_next_o_id INTO @seen FROM district WHERE d_w_id = ?1 AND d_id = ?2;
UPDATE district SET d_next_o_id = @seen + 1 WHERE d_w_id = ?1 AND d_id = ?2;
SELECT CAST(@seen AS INTEGER), d_tax FROM district WHERE d_w_id = ?1 AND d_id = ?2;
";

/// The tests of a level that were not held, by id and form.
fn broken<'a>(acid: &'a Value, isolation: &str) -> Vec<&'a str> {
    let levels = acid["levels"].as_array().unwrap();
    let level = levels.iter().find(|level| level["isolation"] == isolation).unwrap();
    let tests = level["tests"].as_array().unwrap();
    assert!(tests.len() >= 20 && tests.iter().all(|test| !test["transcript"].as_array().unwrap().is_empty()));
    let broken = tests.iter().filter(|test| test["state"] != "held");
    broken.map(|test| test["id"].as_str().unwrap()).collect()
}

/// The phenomena that a level lets through, by their names; all were looked for.
fn allowed<'a>(acid: &'a Value, isolation: &str) -> Vec<&'a str> {
    let levels = acid["phenomena"].as_array().unwrap();
    let level = levels.iter().find(|level| level["isolation"] == isolation).unwrap();
    let all = level["phenomena"].as_array().unwrap();
    assert!(all.len() == 12 && all.iter().all(|one| one["outcome"] != "not tested"), "{level}");
    let allowed = all.iter().filter(|one| one["outcome"] == "allowed");
    allowed.map(|one| one["name"].as_str().unwrap()).collect()
}

/// Tests over statements that others take the place of.
fn planted(place: &Path, url: &str, isolation: &str, statements: &str) -> (Value, Done) {
    fs::write(place.join("planted.sql"), statements).unwrap();
    let with = ["--statements", "planted.sql", "--isolation", isolation, "--seed", "5", "--json"];
    let done = run(place, &[&["acid", "tpcc", "--db", url], &with[..]].concat());
    assert_eq!(done.code, Some(1), "{done:?}");
    (done.json(), done)
}

/// The rule of a clause in the verdict of a run.
fn rule(summary: &Value, id: &str) -> Value {
    let clauses = summary["verdict"]["clauses"].as_array().unwrap();
    clauses.iter().find(|clause| clause["id"] == id).unwrap_or_else(|| panic!("{id}: {clauses:?}")).clone()
}

#[test]
fn postgres_keeps_the_standard_at_repeatable_read_and_a_run_says_so() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (small_server(), TempDir::new().unwrap());
    let (url, place) = (server.tcp_url(), place.path());
    let acid = |more: &[&str]| run(place, &[&["acid", "tpcc", "--db", &url, "--seed", "5", "--json"], more].concat());
    // An empty database is loaded first. At READ COMMITTED, a read that is repeated sees more.
    let done = acid(&["--all-levels", "--out", "levels"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    let found = done.json();
    assert_eq!(found["scale"], 2);
    assert_eq!(broken(&found, "read committed"), ["3.4.2.8", "3.4.2.9"], "{}", found["levels"]);
    for level in ["repeatable read", "serializable"] {
        assert!(broken(&found, level).is_empty(), "{level}: {}", found["levels"]);
    }
    let skews = ["write skew", "write skew over phantoms"];
    assert!(allowed(&found, "serializable").is_empty(), "{}", found["phenomena"]);
    assert_eq!(allowed(&found, "repeatable read"), skews, "{}", found["phenomena"]);
    for level in ["read uncommitted", "read committed"] {
        let others = ["dirty write", "aborted read", "intermediate read", "circular information flow"];
        let allowed = allowed(&found, level);
        assert!(allowed.len() == 8 && !others.iter().any(|other| allowed.contains(other)), "{level}: {allowed:?}");
    }
    assert_eq!(found["consistency"]["failed"], Value::from(Vec::<Value>::new()));
    assert_eq!(json_file(&place.join("levels"), "acid.json"), found);
    let transcript = fs::read_to_string(place.join("levels/transcript.txt")).unwrap();
    assert!(transcript.contains("write skew at serializable: prevented by abort"), "{transcript}");
    assert!(transcript.contains("T2 waits") && transcript.contains("T1 is held open"), "{transcript}");
    let text = succeed(place, &["report", "levels"]).out;
    assert!(text.contains("held by version (case D)") && text.contains("not by waiting: T2.waited = 1"), "{text}");

    // A run takes what was found at its level, in its way of speaking, with its settings.
    let ran = |record: &str, more: &[&str]| {
        let usual = ["run", "--db", &url, "--ramp-up", "0s", "--duration", "1s", "--clients", "1", "--check", "none"];
        succeed(place, &[&usual[..], &["--json", "--out", record, "--acid", "levels"], more].concat()).json()
    };
    let summary = ran("run", &["--isolation", "repeatable-read"]);
    assert_eq!(
        (rule(&summary, "3.2")["state"].clone(), rule(&summary, "3.4")["state"].clone()),
        ("held".into(), "held".into())
    );
    let text = succeed(place, &["report", "run", "--full"]).out;
    assert!(text.contains("3.4"), "{text}");
    let other = ran("other", &["--isolation", "repeatable-read", "--via", "statements"]);
    let isolation = rule(&other, "3.4");
    assert!(isolation["state"] == "not tested" && isolation["note"].as_str().unwrap().contains("way of speaking"));
    // The record of a run that knew of no tests takes them later, and nothing else of it changes.
    let plain = ["run", "--db", &url, "--ramp-up", "0s", "--duration", "1s", "--clients", "1", "--check", "none"];
    let before = succeed(place, &[&plain[..], &["--json", "--out", "plain"]].concat()).json();
    assert_eq!(rule(&before, "3.4")["state"], "not tested");
    let after = succeed(place, &["report", "plain", "--acid", "levels", "--json"]).json();
    assert_eq!(rule(&after, "3.4")["state"], "broken");
    assert_eq!(before["transactions"], after["transactions"]);
    run(place, &["report", "plain", "--acid", "plain"]).refused(2, &["is not a record of graymark acid"]);

    // Statements without row locks are found, and such tests are no run's.
    let (found, _) = planted(place, &url, "read-committed", PLANTED_POSTGRES);
    let broken = broken(&found, "read committed");
    for id in ["3.4.2.3", "3.4.2.5"] {
        assert!(broken.contains(&id), "{id}: {broken:?}");
    }
    assert_eq!(found["replaced"], Value::from(vec!["new_order_district", "payment_customer_by_id"]));
    run(place, &["acid", "--db", &url, "--statements", "absent.sql"]).refused(2, &["absent.sql"]);
}

#[test]
fn mariadbs_lost_update_at_repeatable_read_is_found() {
    let Some(()) = require_mariadb() else { return };
    let (server, place) = (small_mariadb(&[]), TempDir::new().unwrap());
    let (url, place) = (server.tcp_url(), place.path());
    succeed(place, &["load", "--db", &url, "-w", "2", "--seed", "5"]);
    let tests = ["acid", "tpcc", "--db", &url, "--isolation", "repeatable-read", "--seed", "5", "--json"];
    let sound = succeed(place, &tests).json();
    assert!(broken(&sound, "repeatable read").is_empty(), "{}", sound["levels"]);
    let lets =
        ["lost update", "read skew by an update", "write skew", "phantom by an update", "write skew over phantoms"];
    assert_eq!(allowed(&sound, "repeatable read"), lets, "{}", sound["phenomena"]);
    let (found, done) = planted(place, &url, "repeatable-read", PLANTED_MARIADB);
    let broken = broken(&found, "repeatable read");
    assert!(broken.contains(&"3.4.2.3"), "{broken:?}");
    assert!(done.err.contains("repeatable read: 3.4.2.3 home: broken"), "{}", done.err);
    assert!(succeed(place, &["report", "latest"]).out.contains("3.4.2.3"));
}

/// One writer at a time; and with one warehouse, nothing can be remote.
#[test]
fn sqlite_keeps_the_standard_by_waiting_and_by_version() {
    let place = loaded();
    let place = place.path();
    let found =
        succeed(place, &["acid", "--db", "sqlite:loaded.db", "--seed", "5", "--json", "--out", "record"]).json();
    let level = &found["levels"][0];
    assert_eq!(level["isolation"], "serializable");
    for test in level["tests"].as_array().unwrap() {
        let expected = if test["form"] == "remote" { "not tested" } else { "held" };
        assert_eq!(test["state"], expected, "{test}");
    }
    let clause = |id: &str| level["clauses"].as_array().unwrap().iter().find(|clause| clause["id"] == id).cloned();
    let isolation = clause("3.4").unwrap();
    assert!(isolation["state"] == "not tested" && isolation["note"].as_str().unwrap().contains("one warehouse"));
    assert!(fs::read_to_string(place.join("record/report.html")).unwrap().contains("3.4.2.9"));
    assert!(allowed(&found, "serializable").is_empty(), "{}", found["phenomena"]);
    // Somebody else's table of the name is left alone.
    let file = rusqlite::Connection::open(place.join("loaded.db")).unwrap();
    file.execute_batch("CREATE TABLE graymark_phenomena (theirs TEXT); INSERT INTO graymark_phenomena VALUES ('x')")
        .unwrap();
    run(place, &["acid", "--db", "sqlite:loaded.db"]).refused(3, &["cannot create the table graymark_phenomena"]);
    let theirs: String = file.query_row("SELECT theirs FROM graymark_phenomena", [], |row| row.get(0)).unwrap();
    assert_eq!(theirs, "x");
    file.execute_batch("DROP TABLE graymark_phenomena").unwrap();
    // The rows that a test changes for a while are as they were: every item is that of the seed.
    assert_eq!(run(place, &["check", "--db", "sqlite:loaded.db"]).code, Some(0));
    run(place, &["acid", "--db", "simulated:service=1ms"]).refused(2, &["does not work on"]);
}

/// The account's new balance is one that was read without its row's lock.
const PLANTED_DEBITCREDIT: &str = "\
-- name: account
WITH seen AS MATERIALIZED (SELECT account_balance FROM debitcredit.account WHERE account_id = $2::integer)
UPDATE debitcredit.account SET account_balance = seen.account_balance + $1::numeric FROM seen
 WHERE account_id = $2::integer
RETURNING account.account_balance;
";

/// TPC-B's tests of DebitCredit: held by PostgreSQL and SQLite, and broken by a statement that takes no lock.
#[test]
fn debitcredit_keeps_what_tpc_b_asks_for() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let states = |acid: &Value| -> Vec<String> {
        let tests = acid["levels"][0]["tests"].as_array().unwrap();
        let told = |test: &Value| format!("{} {} {}", test["id"], test["form"], test["state"]).replace('"', "");
        tests.iter().map(told).collect()
    };
    let usual = ["acid", "debitcredit", "--seed", "5", "--json", "--db"];
    let done = succeed(place, &[&usual[..], &["sqlite:bank.db"]].concat()).json();
    assert!(
        states(&done).len() == 11 && states(&done).iter().all(|test| test.ends_with(" held")),
        "{}",
        done["levels"]
    );
    let clauses = done["clauses"].as_array().unwrap();
    assert!(clauses.iter().any(|clause| clause["id"] == "consistency" && clause["state"] == "held"), "{clauses:?}");
    // Of one branch, nothing can be remote, nor have its account alone in common.
    let one = succeed(place, &[&usual[..], &["sqlite:one.db", "-b", "1"]].concat()).json();
    let untested: Vec<String> = states(&one).into_iter().filter(|test| test.ends_with("not tested")).collect();
    assert_eq!(untested.len(), 4, "{untested:?}");

    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let url = server.tcp_url();
    let done = succeed(place, &[&usual[..], &[&url]].concat()).json();
    assert!(states(&done).iter().all(|test| test.ends_with(" held")), "{}", done["levels"]);
    fs::write(place.join("planted.sql"), PLANTED_DEBITCREDIT).unwrap();
    let done = run(place, &[&usual[..], &[&url, "--statements", "planted.sql"]].concat());
    assert_eq!(done.code, Some(1), "{done:?}");
    let broken: Vec<String> = states(&done.json()).into_iter().filter(|test| test.ends_with("broken")).collect();
    assert_eq!(broken, ["isolation 1 account broken"]);
}

/// A server that answers a commit before its log is written loses the last ones when all of its processes are killed.
#[test]
fn what_a_kill_loses_is_found_row_by_row() {
    let Some(()) = require_postgres() else { return };
    let place = open_directory();
    let place = place.path();
    let data = loaded_postgres_data(place);
    let url = format!("postgres:local?data={}", data.display());
    let audit = |record: &str, more: &[&str]| {
        let usual = ["acid", "--db", &url, "--clients", "2", "--seed", "5", "--crash", "kill", "--json", "--out"];
        start(graymark(place, &[&usual[..], &[record], more].concat()))
    };
    let clause = |acid: &Value, id: &str| {
        let clauses = acid["clauses"].as_array().unwrap();
        clauses.iter().find(|clause| clause["id"] == id).unwrap()["state"].clone()
    };
    let (_, done) = audit("sound", &[]).end();
    assert_eq!(done.code, Some(0), "{done:?}");
    let sound = done.json();
    let crash = &sound["crashes"][0];
    assert!(crash["committed"].as_u64().unwrap() > 0 && crash["lost"] == 0 && crash["risen"] == 0, "{crash}");
    assert!(crash["first_s"].as_f64().unwrap() > 0.0, "{crash}");
    assert_eq!((clause(&sound, "3.5.3.2"), clause(&sound, "3.5")), ("held".into(), "not tested".into()));
    let told = fs::read_to_string(place.join("sound/success-1.txt")).unwrap();
    assert_eq!(
        told.lines().filter(|line| line.starts_with("C 0 ")).count() as u64,
        crash["committed"].as_u64().unwrap()
    );

    // The log of the last commits stays in the server's memory: its buffers are large, and who writes them stands
    // still.
    let mut planted = audit("planted", &["--set", "synchronous_commit=off", "--set", "wal_buffers=64MB"]);
    planted.wait_for("check: the consistency conditions before the run");
    let writes_log =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|title| title.contains("walwriter"));
    let writers: Vec<u32> = family(planted.id()).into_iter().filter(writes_log).collect();
    let [writer] = writers[..] else { panic!("{writers:?}") };
    kill(Pid::from_raw(i32::try_from(writer).unwrap()), Signal::SIGSTOP).unwrap();
    let (_, done) = planted.end();
    assert_eq!(done.code, Some(1), "{done:?}");
    let planted = done.json();
    let crash = &planted["crashes"][0];
    assert!(crash["lost"].as_u64().unwrap() > 0, "{crash}");
    assert!(crash["examples"][0].as_str().unwrap().starts_with("o_w_id=1 "), "{crash}");
    assert_eq!((clause(&planted, "3.5.3.2"), clause(&planted, "3.5")), ("broken".into(), "broken".into()));
    assert!(succeed(place, &["report", "planted"]).out.contains("success-1.txt: not survived"));
    // A server that does not start again has lost everything; that is told, and its record is kept.
    let mut gone = audit("gone", &["--times", "3"]);
    gone.wait_for("check: the consistency conditions before the run");
    fs::remove_file(data.join("global/pg_control")).unwrap();
    let (_, done) = gone.end();
    assert_eq!(done.code, Some(1), "{done:?}");
    let crashes = done.json()["crashes"].as_array().unwrap().clone();
    let [crash] = crashes.as_slice() else { panic!("{crashes:?}") };
    assert!(crash["unusable"].as_str().unwrap().contains("pg_control"), "{crash}");
    assert!(crash["lost"] == crash["committed"] && crash["lost"].as_u64().unwrap() > 0, "{crash}");
    assert_eq!(clause(&done.json(), "3.5.3.2"), Value::from("broken"));
    assert!(succeed(place, &["report", "gone"]).out.contains("the database cannot be used any more: "));
    // A server that is not ours is not killed.
    run(place, &["acid", "--db", "sqlite:x.db", "--crash", "kill"]).refused(2, &["kills the server"]);
}

/// Data or log are gone for good: a backup and the second copy of the log bring every commit back, unless its end is
/// left out.
#[test]
fn a_server_that_loses_its_data_or_its_log_is_restored_with_all_commits() {
    let Some(()) = require_postgres() else { return };
    let place = TempDir::new().unwrap();
    let place = place.path();
    let audit = |record: &str, more: &[&str]| {
        let usual = ["acid", "debitcredit", "-b", "1", "--db", "postgres:local", "--seed", "5", "--clients", "2"];
        run(place, &[&usual[..], &["--crash", "media", "--json", "--out", record], more].concat())
    };
    let states = |acid: &Value| {
        let clauses = acid["clauses"].as_array().unwrap();
        let state = |id: &str| clauses.iter().find(|clause| clause["id"] == id).unwrap()["state"].clone();
        (state("durability: media"), state("durability"))
    };
    let done = audit("sound", &["--times", "2"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let sound = done.json();
    for (crash, medium) in sound["crashes"].as_array().unwrap().iter().zip(["data", "log"]) {
        assert!(crash["committed"].as_u64().unwrap() > 0 && crash["lost"] == 0 && crash["risen"] == 0, "{crash}");
        assert!(crash["media"]["medium"] == medium && crash["media"]["unusable"] == "", "{crash}");
    }
    assert_eq!(states(&sound), ("held".into(), "not tested".into()));

    let done = audit("planted", &["--without-last-log"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    let planted = done.json();
    let crash = &planted["crashes"][0];
    assert!(crash["lost"].as_u64().unwrap() > 0 && crash["media"]["unusable"] == "", "{crash}");
    assert_eq!(states(&planted), ("broken".into(), "broken".into()));
    let text = succeed(place, &["report", "planted"]).out;
    assert!(text.contains("Losses of media:") && text.contains("success-1.txt: not survived"), "{text}");
    run(place, &["acid", "--db", "sqlite:x.db", "--crash", "media"]).refused(2, &["takes a private PostgreSQL"]);
    run(place, &["acid", "--db", "postgres:local", "--crash", "kill", "--without-last-log"])
        .refused(2, &["for --crash media"]);
}

/// A server that Graymark did not start is crashed and recovered by the user's programs, and audited in the same way.
#[test]
fn ones_own_server_is_crashed_by_ones_own_programs() {
    let Some(()) = require_postgres() else { return };
    let place = TempDir::new().unwrap();
    let place = place.path();
    let server = small_server();
    // Each program says that it was called, and waits until the test has done what it is called. Another process
    // writes it, so that nobody here has it open.
    let write = r#"for name in crash recover; do
        printf '#!/bin/sh\ntouch %s.called; while [ ! -e %s.done ]; do sleep 0.05; done\n' $name $name > $name
        chmod 755 $name
    done"#;
    assert!(Command::new("sh").args(["-c", write]).current_dir(place).status().unwrap().success());
    let url = server.url();
    let usual = ["acid", "debitcredit", "-b", "1", "--db", &url, "--seed", "5", "--clients", "2", "--json"];
    let programs = ["--crash-with", "crash", "--recover-with", "recover"];
    let over = AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            for name in ["crash", "recover"] {
                while !place.join(format!("{name}.called")).exists() {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
                if name == "crash" { server.crash() } else { server.start_again() }.unwrap();
                fs::write(place.join(format!("{name}.done")), "").unwrap();
            }
        });
        let done = run(place, &[&usual[..], &programs, &["--out", "audit"]].concat());
        over.store(true, Ordering::Relaxed);
        done
    });
    assert_eq!(done.code, Some(0), "{done:?}");
    let acid = done.json();
    let crash = &acid["crashes"][0];
    assert!(crash["committed"].as_u64().unwrap() > 0 && crash["lost"] == 0 && crash["risen"] == 0, "{crash}");
    assert!(crash["scripts"]["disconnected"].as_u64().unwrap() > 0, "{crash}");
    let clauses = acid["clauses"].as_array().unwrap();
    let clause = clauses.iter().find(|clause| clause["id"] == "durability: program").unwrap();
    assert_eq!(clause["state"], "held", "{clause}");

    // Neither is missing, and a program that fails ends the audit; the other one is run all the same.
    run(place, &[&usual[..], &["--crash-with", "crash"]].concat()).refused(2, &["--recover-with"]);
    let failing = ["--crash-with", "/bin/false", "--recover-with", "recover"];
    fs::remove_file(place.join("recover.called")).unwrap();
    let done = run(place, &[&usual[..], &failing, &["--out", "failed"]].concat());
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.err.contains("/bin/false ended with") && place.join("recover.called").exists(), "{done:?}");
}
