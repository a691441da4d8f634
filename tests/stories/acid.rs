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

use crate::support::command::{Done, STEADY, graymark, json_file, open_directory, run, start, succeed, the_one_of};
use crate::support::loaded::{loaded, loaded_postgres_data};
use crate::support::{
    few_commits, private_postgres, require_mariadb, require_postgres, small_mariadb, small_postgres, small_server,
    with_few_commits,
};

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

/// The levels at which the tests were run.
fn levels(acid: &Value) -> Vec<&str> {
    acid["levels"].as_array().unwrap().iter().map(|level| level["isolation"].as_str().unwrap()).collect()
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

/// Whether the rule on isolation names the repeated reads of READ COMMITTED as what breaks it.
fn reported_repeats(rule: &Value) -> bool {
    rule["note"].as_str().unwrap().starts_with("broken: 3.4.2.8, 3.4.2.9; tests of ")
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
    // READ UNCOMMITTED is another name of READ COMMITTED here.
    assert_eq!(levels(&found), ["read committed", "repeatable read", "serializable"]);
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
        let usual = ["run", "--db", &url, "--ramp-up", "0s", "--duration", "4s", "--clients", "1", "--check", "none"];
        succeed(place, &[&usual[..], &STEADY, &["--json", "--out", record, "--acid", "levels"], more].concat()).json()
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
    assert!(isolation["state"] == "not tested" && isolation["note"].as_str().unwrap().contains("method"));
    // The record of a run that knew of no tests takes them later, and nothing else of it changes.
    let plain = ["run", "--db", &url, "--ramp-up", "0s", "--duration", "4s", "--clients", "1", "--check", "none"];
    let before = succeed(place, &[&plain[..], &STEADY, &["--json", "--out", "plain"]].concat()).json();
    assert_eq!(rule(&before, "3.4")["state"], "not tested");
    let after = succeed(place, &["report", "plain", "--acid", "levels", "--json"]).json();
    let isolation = rule(&after, "3.4");
    assert!(isolation["state"] == "broken" && reported_repeats(&isolation), "{isolation}");
    assert_eq!(before["transactions"], after["transactions"]);
    // A run that is given them says the same at once.
    let isolation = rule(&ran("given", &[]), "3.4");
    assert!(isolation["state"] == "broken" && reported_repeats(&isolation), "{isolation}");
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
    let tests =
        ["acid", "tpcc", "--db", &url, "--isolation", "repeatable-read", "--seed", "5", "--all-levels", "--json"];
    let sound = succeed(place, &tests).json();
    for level in ["repeatable read", "serializable"] {
        assert!(broken(&sound, level).is_empty(), "{level}: {}", sound["levels"]);
    }
    assert_eq!(broken(&sound, "read committed"), ["3.4.2.8", "3.4.2.9"], "{}", sound["levels"]);
    // Order-Status sees orders that are not committed, at home and remote.
    let dirty = ["3.4.2.1", "3.4.2.1", "3.4.2.2", "3.4.2.2", "3.4.2.8", "3.4.2.9"];
    assert_eq!(broken(&sound, "read uncommitted"), dirty, "{}", sound["levels"]);
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

#[test]
fn tests_that_cannot_be_run_are_refused_before_anything_is_loaded() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    fs::create_dir(place.join("full")).unwrap();
    fs::write(place.join("full/mine"), "").unwrap();
    run(place, &["acid", "--db", "sqlite:new.db", "-w", "1", "--out", "full"]).refused(2, &["full is not empty"]);
    run(place, &["acid", "--db", "sqlite:new.db", "--crash", "kill"]).refused(2, &["give --crash power"]);
    let all = ["acid", "--db", "postgres:local", "--crash", "kill", "--all-levels"];
    run(place, &all).refused(2, &["--all-levels"]);
    let fault = ["run", "--db", "sqlite:new.db", "--fault", "1s: kill", "--dry-run"];
    run(place, &fault).refused(2, &["needs a server that Graymark starts"]);
    let tables = rusqlite::Connection::open(place.join("new.db")).unwrap();
    let tables: i64 = tables.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 0, "nothing was loaded");
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
        let reported = |test: &Value| format!("{} {} {}", test["id"], test["form"], test["state"]).replace('"', "");
        tests.iter().map(reported).collect()
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
    let url = few_commits(&format!("postgres:local?data={}", data.display()));
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
    let reported = fs::read_to_string(place.join("sound/success-1.txt")).unwrap();
    assert_eq!(
        reported.lines().filter(|line| line.starts_with("C 0 ")).count() as u64,
        crash["committed"].as_u64().unwrap()
    );

    // The log of the last commits stays in the server's memory: its buffers are large, and who writes them stands
    // still.
    let mut planted = audit("planted", &["--set", "synchronous_commit=off", "--set", "wal_buffers=64MB"]);
    planted.wait_for("check: the consistency conditions before the run");
    let writes_log =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|title| title.contains("walwriter"));
    let writer = the_one_of(planted.id(), writes_log);
    kill(Pid::from_raw(i32::try_from(writer).unwrap()), Signal::SIGSTOP).unwrap();
    let (_, done) = planted.end();
    assert_eq!(done.code, Some(1), "{done:?}");
    let planted = done.json();
    let crash = &planted["crashes"][0];
    assert!(crash["lost"].as_u64().unwrap() > 0, "{crash}");
    assert!(crash["examples"][0].as_str().unwrap().starts_with("o_w_id=1 "), "{crash}");
    assert_eq!((clause(&planted, "3.5.3.2"), clause(&planted, "3.5")), ("broken".into(), "broken".into()));
    assert!(succeed(place, &["report", "planted"]).out.contains("success-1.txt: not survived"));
    // A server that does not start again has lost everything; that is reported, and its record is kept.
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
    assert!(succeed(place, &["report", "gone"]).out.contains("the database is unusable: "));
    // A server that is not ours is not killed.
    run(place, &["acid", "--db", "sqlite:x.db", "--crash", "kill"]).refused(2, &["kills the processes of a server"]);
}

/// Data or log are gone for good: a backup and the second copy of the log bring every commit back, unless its end is
/// left out.
#[test]
fn a_server_that_loses_its_data_or_its_log_is_restored_with_all_commits() {
    let Some(()) = require_postgres() else { return };
    let place = TempDir::new().unwrap();
    let place = place.path();
    let audit = |record: &str, more: &[&str]| {
        let url = few_commits("postgres:local?shared_buffers=64MB");
        let usual = ["acid", "debitcredit", "-b", "1", "--db", &url, "--seed", "5", "--clients", "2"];
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
    run(place, &["acid", "--db", "sqlite:x.db", "--crash", "media"]).refused(2, &["needs a private PostgreSQL"]);
    run(place, &["acid", "--db", "postgres:local", "--crash", "kill", "--without-last-log"])
        .refused(2, &["for --crash media"]);
}

/// A server that Graymark did not start is crashed and recovered by the user's programs, and audited in the same way.
#[test]
fn ones_own_server_is_crashed_by_ones_own_programs() {
    let Some(()) = require_postgres() else { return };
    let place = TempDir::new().unwrap();
    let place = place.path();
    let server = private_postgres(with_few_commits(small_postgres()));
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

    // The planted fault: programs that do nothing.
    let idle = ["--crash-with", "/bin/true", "--recover-with", "/bin/true", "--out", "idle"];
    let done = run(place, &[&usual[..], &idle].concat());
    assert_eq!(done.code, Some(1), "{done:?}");
    let clauses = done.json()["clauses"].clone();
    let clause = clauses.as_array().unwrap().iter().find(|clause| clause["id"] == "durability: program").unwrap();
    assert_eq!(clause["state"], "not tested", "{clause}");
    let listed = succeed(place, &["list", "."]).out;
    assert!(listed.contains("durability: program not tested"), "{listed}");

    // Neither is missing, and a program that fails ends the audit; the other one is run all the same.
    run(place, &[&usual[..], &["--crash-with", "crash"]].concat()).refused(2, &["--recover-with"]);
    let failing = ["--crash-with", "/bin/false", "--recover-with", "recover"];
    fs::remove_file(place.join("recover.called")).unwrap();
    let done = run(place, &[&usual[..], &failing, &["--out", "failed"]].concat());
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.err.contains("/bin/false ended with") && place.join("recover.called").exists(), "{done:?}");
}

/// Ctrl-C in the middle of a series of crashes, and a Graymark that is killed there: what was audited is not lost.
#[test]
fn a_series_that_is_ended_early_keeps_what_it_has_shown() {
    let Some(()) = require_postgres() else { return };
    let place = open_directory();
    let place = place.path();
    let data = loaded_postgres_data(place);
    let url = few_commits(&format!("postgres:local?data={}", data.display()));
    let begun = |record: &str| {
        let usual = ["acid", "--db", &url, "--clients", "2", "--crash", "kill", "--times", "1000", "--json", "--out"];
        let mut series = start(graymark(place, &[&usual[..], &[record]].concat()));
        series.wait_for("acid: killed after");
        series
    };
    let interrupted = begun("interrupted");
    interrupted.signal(Signal::SIGINT);
    let (_, done) = interrupted.end();
    assert_eq!(done.code, Some(130), "{done:?}");
    let acid = done.json();
    let held = |acid: &Value| {
        let clauses = acid["clauses"].as_array().unwrap();
        let kills = clauses.iter().find(|clause| clause["id"] == "3.5.3.2").unwrap();
        assert_eq!((&acid["interrupted"], &kills["state"]), (&true.into(), &"held".into()), "{acid}");
        assert!(!acid["crashes"].as_array().unwrap().is_empty(), "{acid}");
    };
    held(&acid);
    assert_eq!(json_file(&place.join("interrupted"), "acid.json"), acid);

    let mut killed = begun("killed");
    killed.wait_for("acid: killed after");
    killed.signal(Signal::SIGKILL);
    killed.end();
    held(&json_file(&place.join("killed"), "acid.json"));
    assert!(succeed(place, &["report", "killed"]).out.contains("stopped early"));
}

/// Over ODBC, each session stays on the thread that opened it. The results are those of the same servers by their own
/// protocols, and statements without row locks are found here, too.
#[cfg(feature = "odbc")]
#[test]
fn over_odbc_the_same_tests_hold_and_the_same_phenomena_are_allowed() {
    use crate::support::loaded::loaded_server;
    use crate::support::odbc::{self, Place};
    let place = TempDir::new().unwrap();
    let directory = place.path();
    let acid = |url: &str, more: &[&str]| {
        run(directory, &[&["acid", "tpcc", "-w", "1", "--db", url, "--seed", "5", "--json"], more].concat()).json()
    };
    let failed = |acid: &Value, isolation: &str| -> Vec<String> {
        let levels = acid["levels"].as_array().unwrap();
        let tests = levels.iter().find(|level| level["isolation"] == isolation).unwrap()["tests"].as_array().unwrap();
        let home = tests.iter().filter(|test| test["form"] != "remote");
        let home: Vec<&Value> = home.inspect(|test| assert_ne!(test["state"], "not tested", "{test}")).collect();
        assert_eq!(home.len(), 12, "{acid}");
        let broken = home.iter().filter(|test| test["state"] == "broken");
        broken.map(|test| test["id"].as_str().unwrap().to_owned()).collect()
    };
    if let Some(sqlite) = Place::sqlite() {
        let found = acid(&sqlite.url(), &[]);
        assert!(failed(&found, "serializable").is_empty(), "{found}");
        assert!(allowed(&found, "serializable").is_empty(), "{}", found["phenomena"]);
    }
    if let Some(mariadb) = Place::mariadb() {
        let found = acid(&mariadb.url(), &["--isolation", "repeatable-read", "--all-levels"]);
        assert!(failed(&found, "repeatable read").is_empty(), "{found}");
        let dirty = ["3.4.2.1", "3.4.2.2", "3.4.2.8", "3.4.2.9"];
        assert_eq!(failed(&found, "read uncommitted"), dirty, "{found}");
        let lets =
            ["lost update", "read skew by an update", "write skew", "phantom by an update", "write skew over phantoms"];
        assert_eq!(allowed(&found, "repeatable read"), lets, "{}", found["phenomena"]);
    }
    if odbc::require_postgres().is_some() {
        let server = loaded_server();
        let url = odbc::postgres_url(&server, "postgres");
        let found = acid(&url, &[]);
        assert_eq!(failed(&found, "read committed"), ["3.4.2.8", "3.4.2.9"], "{found}");
        assert_eq!(allowed(&found, "read committed").len(), 8, "{}", found["phenomena"]);
        let found = acid(&url, &["--isolation", "serializable"]);
        assert!(failed(&found, "serializable").is_empty(), "{found}");
        assert!(allowed(&found, "serializable").is_empty(), "{}", found["phenomena"]);
        fs::write(directory.join("planted.sql"), PLANTED_POSTGRES).unwrap();
        let found = acid(&url, &["--statements", "planted.sql"]);
        let broken = failed(&found, "read committed");
        assert!(["3.4.2.3", "3.4.2.5"].iter().all(|id| broken.iter().any(|broken| broken == id)), "{broken:?}");
    }
}

/// Virtuoso locks what REPEATABLE READ and SERIALIZABLE read; the phantoms of REPEATABLE READ and the skews of READ
/// COMMITTED are found. A server that stops answering ends the tests with an error.
#[cfg(feature = "odbc")]
#[test]
fn virtuoso_is_tested_step_by_step_and_a_hanging_server_ends_the_tests() {
    let Some(()) = crate::support::virtuoso::require() else { return };
    let engine = crate::support::virtuoso::small();
    let (server, place) = (engine.server().unwrap(), TempDir::new().unwrap());
    let password = fs::read_to_string(server.data().join("graymark.password")).unwrap();
    let url = format!("virtuoso://dba:{}@{}", password.trim(), server.address());
    let place = place.path();
    let done = run(place, &["acid", "--db", &url, "-w", "2", "--all-levels", "--seed", "5", "--json"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    let found = done.json();
    for level in ["read uncommitted", "read committed", "repeatable read"] {
        assert_eq!(broken(&found, level), ["3.4.2.8", "3.4.2.9"], "{}", found["levels"]);
    }
    assert!(broken(&found, "serializable").is_empty(), "{}", found["levels"]);
    for level in ["read uncommitted", "read committed"] {
        let others = ["dirty write", "aborted read", "intermediate read", "circular information flow"];
        let allowed = allowed(&found, level);
        assert!(allowed.len() == 8 && !others.iter().any(|other| allowed.contains(other)), "{level}: {allowed:?}");
    }
    let phantoms = ["phantom", "phantom by an update", "write skew over phantoms"];
    assert_eq!(allowed(&found, "repeatable read"), phantoms, "{}", found["phenomena"]);
    // Of a group that both find empty, Virtuoso does not always lock the place: rarely, on a busy machine.
    let rare = ["write skew over phantoms"];
    let unlocked = allowed(&found, "serializable");
    assert!(unlocked.iter().all(|name| rare.contains(name)), "{}", found["phenomena"]);
    // What waits, the server's counter of waits says.
    let by = |level: &str, id: &str| {
        let levels = found["levels"].as_array().unwrap();
        let level = levels.iter().find(|one| one["isolation"] == level).unwrap();
        let test = level["tests"].as_array().unwrap().iter().find(|test| test["id"] == id).unwrap();
        test["by"].as_str().unwrap().to_owned()
    };
    assert_eq!([by("read committed", "3.4.2.1"), by("repeatable read", "3.4.2.1")], ["version", "waiting"]);
    assert_eq!(by("read committed", "3.4.2.3"), "waiting");
    assert_eq!(found["consistency"]["failed"], Value::from(Vec::<Value>::new()));
    assert!(found["left"].as_str().unwrap().contains("graymark drop tpcc"), "{}", found["left"]);

    let mut hanging = start(graymark(place, &["acid", "--db", &url, "--timeout", "30s"]));
    hanging.wait_for("acid: read committed: G0");
    server.pause().unwrap();
    let (_, done) = hanging.end();
    server.resume();
    assert_eq!(done.code, Some(3), "{done:?}");
    let said = ["the server does not answer", "could not be opened within 30 s"];
    assert!(said.iter().any(|said| done.err.contains(said)), "{}", done.err);
}
