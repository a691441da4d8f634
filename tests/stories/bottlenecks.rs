//! What limits a run: planted causes are named, and what is not known is said.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::support::command::{graymark, json_file, run, start, succeed};
use crate::support::loaded::{fail_half_of_history, loaded, loaded_mariadb, loaded_postgres};
use crate::support::private::Private;
use crate::support::{client, few_commits, mysql_client, require_mariadb, require_postgres};
use crate::versions;
use graymark::engine::server::postgres::{Postgres, PostgresServerOptions};
use graymark::measure::waterfall::{Part, Waterfall};
use mysql_async::prelude::Queryable;
use serde_json::Value;
use tempfile::TempDir;

/// Causes are planted one after another.
static PLANTED: Mutex<()> = Mutex::new(());

/// A process that takes a CPU for itself. It is killed at the end of the test.
struct Hog(Child, Instant);

impl Hog {
    fn start() -> Hog {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
        Hog(command.spawn().expect("a shell"), Instant::now())
    }

    /// The share of a CPU that it has had so far.
    fn cpus(&self) -> f64 {
        let clock = std::fs::read_to_string(format!("/proc/{}/schedstat", self.0.id())).expect("it runs");
        let used = clock.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()).expect("a number");
        used / 1e9 / self.1.elapsed().as_secs_f64()
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_stranger_on_the_machine_is_named_and_nothing_of_it_changes_the_exit_code_unasked() {
    let _alone = PLANTED.lock().unwrap_or_else(PoisonError::into_inner);
    let place = loaded();
    let hog = Hog::start();
    let db = "sqlite:loaded.db?synchronous=off";
    let arguments = ["run", "--db", db, "--ramp-up", "1s", "--duration", "10s", "--check", "none"];
    // A little load: it is the stranger who is to be busy.
    let little = ["--rate", "50", "--json", "--out", "noisy"];
    let done = succeed(place.path(), &[&arguments[..], &little].concat());
    let summary = done.json();
    assert!(waterfall(&summary).all.part(Part::ServerCpu) > 0.0, "{summary}");
    let strangers = &summary["strangers"];
    assert!(strangers["cpu"].as_f64() > Some(10.0), "{strangers}");
    let named: Vec<u64> =
        strangers["processes"].as_array().unwrap().iter().filter_map(|process| process["pid"].as_u64()).collect();
    // Where ten others are busier in the 10 s of the run, they are named instead. The hog, which also ran before and
    // after, cannot have had much more than they.
    let least = strangers["processes"].as_array().unwrap().iter().filter_map(|process| process["cpu_s"].as_f64());
    let least = least.fold(f64::INFINITY, f64::min);
    let is_named = named.contains(&u64::from(hog.0.id()));
    assert!(is_named || (named.len() == 10 && hog.cpus() < 4.0 * least / 10.0), "{strangers}");
    assert!(
        done.err.contains("Machine not quiet: other processes used") && done.err.contains("% of a CPU"),
        "{}",
        done.err
    );
    let rule = &summary["verdict"]["own"][0];
    assert_eq!((&rule["id"], &rule["state"]), (&Value::from("quiet"), &Value::from("broken")), "{rule}");
    let clauses = summary["verdict"]["clauses"].as_array().unwrap();
    assert!(clauses.iter().all(|clause| clause["id"] != "quiet"), "{clauses:?}");

    let text = succeed(place.path(), &["report", "noisy", "--full"]).out;
    assert!(
        text.lines().take_while(|line| !line.is_empty()).any(|line| line.starts_with("! Machine not quiet")),
        "{text}"
    );
    let compared = succeed(place.path(), &["compare", "noisy", "noisy"]);
    assert!(compared.err.contains("its machine was not quiet: other processes used"), "{}", compared.err);
    assert!(
        compared.out.contains("where the time goes, µs") && compared.out.contains("No part of"),
        "{}",
        compared.out
    );
    let events = std::fs::read_to_string(place.path().join("noisy/events.jsonl")).unwrap();
    assert!(events.contains("\"event\":\"strangers\""), "{events}");

    let refused = run(
        place.path(),
        &[
            "run",
            "--db",
            "sqlite:loaded.db",
            "--ramp-up",
            "0s",
            "--duration",
            "3s",
            "--check",
            "none",
            "--require-quiet",
        ],
    );
    assert_eq!(refused.code, Some(1), "{refused:?}");
}

/// The waterfall of a summary, whose parts add up to the mean response time of each type.
fn waterfall(summary: &Value) -> Waterfall {
    let found: Result<Waterfall, _> = serde_json::from_value(summary["waterfall"].clone());
    let found = found.unwrap_or_else(|error| panic!("{error}: {}", summary["counters"]["notes"]));
    for (name, parts) in &found.types {
        let sum: f64 = parts.parts.values().sum();
        assert!((sum - parts.response_us).abs() < 0.001 * parts.response_us, "{name}: {parts:?}");
        let reported = 1e3 * summary["transactions"][name]["response_ms"]["mean"].as_f64().unwrap();
        assert!((reported - parts.response_us).abs() < 0.001 * reported, "{name}: {reported} {parts:?}");
    }
    found
}

/// What limits a run first, and its waterfall.
fn first(summary: &Value) -> (String, Waterfall) {
    (summary["bounds"]["bottleneck"].as_str().unwrap_or_default().to_owned(), waterfall(summary))
}

/// A private PostgreSQL that waits for no disk when it commits, so that locks alone are what takes time.
fn quick_to_commit() -> Private<Postgres> {
    let settings = [
        ("fsync", "off"),
        ("synchronous_commit", "off"),
        ("shared_buffers", "64MB"),
        ("shared_preload_libraries", "pg_stat_statements"),
        ("pg_stat_statements.track", "all"),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    loaded_postgres(PostgresServerOptions { settings, tcp: true, ..PostgresServerOptions::default() })
}

/// Each Payment sleeps while it has the row of its warehouse.
const SLOW_PAYMENTS: &str = "CREATE FUNCTION tpcc.slow() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_sleep(0.1); RETURN NULL; END';
    CREATE TRIGGER slow AFTER UPDATE ON tpcc.warehouse FOR EACH ROW EXECUTE FUNCTION tpcc.slow()";

/// Lets another client say something to the server.
fn batch(url: &str, sql: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { client(url).await.batch_execute(sql).await }).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn planted_waits_on_postgresql_are_named() {
    let Some(()) = require_postgres() else { return };
    let _alone = PLANTED.lock().unwrap_or_else(PoisonError::into_inner);
    let server = quick_to_commit();
    let url = server.tcp_url();
    let place = TempDir::new().unwrap();
    let arguments = ["run", "--db", &url, "--ramp-up", "1s", "--check", "none", "--json"];
    // On a machine with others their CPU may be what limits a run most; what its transactions wait for stays the same.
    let named = |found: &Waterfall, bottleneck: &str| {
        assert_eq!(found.longest()[0].0, Part::RowLocks, "{found:?}");
        let others = ["row locks", "CPU used by other processes", "the client's wait for a CPU"];
        assert!(others.contains(&bottleneck), "{bottleneck}: {found:?}");
    };

    // All clients want the row of one warehouse, and each Payment has it for a tenth of a second: much longer than
    // anything else takes, however slow the machine is.
    batch(&url, SLOW_PAYMENTS);
    batch(&url, "CREATE EXTENSION pg_stat_statements");
    let hot =
        succeed(place.path(), &[&arguments[..], &["--clients", "16", "--duration", "6s", "--out", "hot"]].concat());
    let (bottleneck, found) = first(&hot.json());
    // Whoever waits for the row of a district, a Payment or a New-Order, waits for a Payment that waits for the warehouse:
    // one of them is the slowest, by whom the clients happen to meet.
    let within = hot.json()["statements_within"].as_array().unwrap().clone();
    let is_of = |reported: &Value, routines: &[&str], table: &str| {
        routines.iter().any(|routine| reported["routine"] == *routine)
            && reported["text"].as_str().unwrap().starts_with(&format!("UPDATE tpcc.{table}"))
    };
    let waits =
        is_of(&within[0], &["payment"], "warehouse") || is_of(&within[0], &["payment", "new_order"], "district");
    assert!(waits, "{within:?}");
    let slow = within.iter().find(|reported| is_of(reported, &["payment"], "warehouse")).unwrap();
    assert!(slow["us_per_call"].as_f64().unwrap() > 1e5, "each sleeps for a tenth of a second: {slow}");
    named(&found, &bottleneck);
    assert!(found.looks > 0, "{found:?}");
    let text = succeed(place.path(), &["report", "hot", "--full"]).out;
    assert!(
        ["\nWhere the time goes\n", "\nrow locks ", "\nWhat limits it\n"].iter().all(|words| text.contains(words)),
        "{text}"
    );
    let page = std::fs::read_to_string(place.path().join("hot/report.html")).unwrap();
    assert!(page.contains("Where the time of the mean transaction goes"));

    // Another session holds the row of the warehouse, and lets it go only to ask for it again: it comes after those who
    // wait for it.
    batch(&url, "DROP TRIGGER slow ON tpcc.warehouse");
    let done = AtomicBool::new(false);
    let held = std::thread::scope(|scope| {
        scope.spawn(|| {
            tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
                let holder = client(&url).await;
                while !done.load(Ordering::Relaxed) {
                    holder.batch_execute("BEGIN; SELECT * FROM tpcc.warehouse FOR UPDATE").await.unwrap();
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    holder.batch_execute("COMMIT").await.unwrap();
                }
            });
        });
        let held =
            run(place.path(), &[&arguments[..], &["--clients", "2", "--duration", "5s", "--out", "held"]].concat());
        done.store(true, Ordering::Relaxed);
        held
    });
    let (bottleneck, found) = first(&held.json());
    named(&found, &bottleneck);
    a_dip_is_explained(&url, place.path());
}

/// Settings under which the performance schema of MariaDB and MySQL tells each wait.
const WAITS_TOLD: [(&str, &str); 3] = [
    ("performance_schema", "ON"),
    ("performance_schema_instrument", "wait/%=ON"),
    ("performance_schema_consumer_events_waits_current", "ON"),
];

/// Payments sleep while they have the row of their warehouse, so that the others wait for the row. Each server comes
/// with words of the source that its report names.
#[cfg(target_os = "linux")]
fn payments_that_sleep_are_named(url: &str, source: &str) {
    let place = TempDir::new().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let slow = "CREATE TRIGGER slow AFTER UPDATE ON warehouse FOR EACH ROW DO SLEEP(0.1)";
    runtime.block_on(async { mysql_client(url, Some("tpcc")).await.query_drop(slow).await }).unwrap();
    let arguments = ["run", "--db", url, "--ramp-up", "1s", "--check", "none", "--clients", "16"];
    let done = succeed(place.path(), &[&arguments[..], &["--duration", "5s", "--out", "hot", "--json"]].concat());
    let found = waterfall(&done.json());
    assert_eq!(found.longest()[0].0, Part::RowLocks, "{found:?}");
    assert!(found.all.part(Part::OtherWaits) > 0.0, "the sleep: {found:?}");
    assert!(found.sources.iter().any(|reported| reported.contains(source)), "{found:?}");
}

/// With the performance schema and without it.
#[test]
#[cfg(target_os = "linux")]
fn planted_waits_on_mariadb_are_named() {
    let Some(()) = require_mariadb() else { return };
    let _alone = PLANTED.lock().unwrap_or_else(PoisonError::into_inner);
    let plain: &[(&str, &str)] = &[];
    for (settings, source) in
        [(plain, "the performance schema tells no waits"), (&WAITS_TOLD[..], "waits: the performance")]
    {
        payments_that_sleep_are_named(&loaded_mariadb(settings).tcp_url(), source);
    }
}

/// As MySQL is by default, and with each wait told.
#[test]
#[cfg(target_os = "linux")]
fn planted_waits_on_mysql_are_named() {
    let _alone = PLANTED.lock().unwrap_or_else(PoisonError::into_inner);
    let plain: &[(&str, &str)] = &[];
    for (settings, source) in
        [(plain, "the performance schema tells no waits"), (&WAITS_TOLD[..], "waits: the performance")]
    {
        let Some(server) = versions::mysql("8.0", settings) else { return };
        let place = TempDir::new().unwrap();
        succeed(place.path(), &["load", "--db", &server.url(), "-w", "1", "--seed", "5"]);
        payments_that_sleep_are_named(&server.tcp_url(), source);
    }
}

/// Another session holds a row for some seconds of a run: the dip is told with its process and its statement.
fn a_dip_is_explained(url: &str, place: &std::path::Path) {
    let arguments = ["run", "--db", url, "--ramp-up", "1s", "--check", "none", "--clients", "2", "--duration", "20s"];
    let steady = ["--rate", "40", "--arrivals", "constant", "--out", "dip"];
    let mut done = start(graymark(place, &[&arguments[..], &steady].concat()));
    // By the run's own clock: the last second that its record tells.
    let mut passed = |seconds: usize| {
        let passed = || {
            let series = std::fs::read_to_string(place.join("dip/series.csv")).unwrap_or_default();
            series.lines().last()?.split(',').next()?.parse::<usize>().ok()
        };
        while passed().is_none_or(|passed| passed < seconds) {
            assert!(done.at_work(), "it ended before its second {seconds}");
            std::thread::sleep(Duration::from_millis(50));
        }
        passed().unwrap()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let holder = runtime.block_on(async {
        let holder = client(url).await;
        // Before, for the last statement of a session is what is told of it.
        let pid: i32 = holder.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
        let from = passed(6);
        // The planted fault: a password in a statement of another session.
        let secret = "BEGIN; SELECT w_ytd FROM tpcc.warehouse WHERE w_name <> 'hunter2-plain' FOR UPDATE";
        holder.batch_execute(secret).await.unwrap();
        passed(from + 4);
        holder.batch_execute("COMMIT").await.unwrap();
        pid.to_string()
    });
    let (_, done) = done.end();
    assert_eq!(done.code, Some(0), "{done:?}");

    let reported = succeed(place, &["explain", "dip", "--json"]).json();
    let dips = reported["moments"].as_array().unwrap().iter().filter(|moment| moment["why"] == "dip");
    let held = dips.clone().find(|dip| dip["differences"][0]["cause"] == "lock_holder");
    let held = held.unwrap_or_else(|| panic!("{reported}"));
    let words = held["differences"][0]["words"].as_str().unwrap();
    assert!(words.contains(&format!("session {holder} (not of the run")) && words.contains("w_ytd"), "{words}");
    let causes: Vec<&Value> =
        held["differences"].as_array().unwrap().iter().map(|difference| &difference["cause"]).collect();
    assert!(causes.contains(&&Value::from("row_locks")), "{held}");
    let at = format!("{}s", held["start_s"].as_f64().unwrap() + 1.0);
    let text = succeed(place, &["explain", "dip", "--at", &at]).out;
    assert!(
        text.lines().any(|line| line.starts_with("Dip at ")) && text.contains(&holder) && text.contains("row locks"),
        "{text}"
    );
    run(place, &["explain", "dip", "--at", "90s"]).refused(2, &["no second 90", "give a time within"]);
    assert!(succeed(place, &["report", "dip", "--full"]).out.contains(&format!("lock of session {holder}")));
    let page = std::fs::read_to_string(place.join("dip/report.html")).unwrap();
    assert!(page.contains(&format!("lock of session {holder}")));
    let shown = [reported.to_string(), text, page, std::fs::read_to_string(place.join("dip/events.jsonl")).unwrap()];
    for shown in shown {
        assert!(shown.contains(&holder) && !shown.contains("hunter2"), "{shown}");
    }
}

/// Half the clients of a database that takes a fixed time for each transaction do half the work.
#[test]
fn experiments_are_measured_beside_the_base() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let arguments = ["why", "--db", "simulated:service=20ms", "-w", "1", "--clients", "4", "--ramp-up", "0s"];
    let only =
        ["--minutes", "1", "--duration", "10s", "--only", "half-clients,no-flush", "--rounds", "1", "--out", "why"];
    let done = succeed(place, &[&arguments[..], &only, &["--json"]].concat());
    let found = done.json();
    let experiments = found["experiments"].as_array().unwrap();
    let half = experiments.iter().find(|tried| tried["name"] == "half-clients").unwrap();
    let percent = half["gain"]["percent"].as_f64().unwrap();
    assert!(percent < -20.0, "{found}");
    // Nobody sees where the time of a simulated database goes.
    assert!(half["bound_percent"].is_null() && half["within_bound"].is_null(), "{half}");
    let left_out = found["left_out"].as_array().unwrap();
    assert!(left_out.iter().any(|why| why.as_str().unwrap().starts_with("no-flush: the setting")), "{found}");
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(place.join("why/why.json")).unwrap()).unwrap();
    assert_eq!(kept["experiments"], found["experiments"]);
    assert!(std::fs::read_to_string(place.join("why/why.md")).unwrap().contains("| 2 clients instead of 4 |"));
    assert!(done.err.contains("why: round 1, half-clients"), "{}", done.err);

    let url = ["why", "--db", "postgres://host/db"];
    run(place, &url).refused(2, &["copy of the same database"]);
    run(place, &["why", "--only", "faster"]).refused(2, &["unknown experiment `faster`", "no-flush"]);
    run(place, &["why", "--db", "simulated:", "--duration", "5s"]).refused(2, &["10 s"]);
}

/// The planted fault: the database that is copied for each run gets a trigger during the first run, and fails from the
/// second one on.
#[test]
fn an_experiment_whose_transactions_fail_is_named_and_fails() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let db = "sqlite:x.db?synchronous=off";
    let arguments = ["why", "debitcredit", "--db", db, "-b", "1", "--clients", "2", "--ramp-up", "0s"];
    let only = ["--minutes", "1", "--duration", "10s", "--only", "half-clients", "--rounds", "1", "--out", "why"];
    let mut working = start(graymark(place, &[&arguments[..], &only].concat()));
    working.wait_for("run: measurement");
    fail_half_of_history(&place.join("x-w1.db"));
    let (_, done) = working.end();
    assert_eq!(done.code, Some(1), "{done:?}");
    let found = json_file(&place.join("why"), "why.json");
    let failures = found["failures"].as_array().unwrap();
    assert_eq!(failures, &["transactions of why/half-clients/1 failed"], "{found}");
    assert_eq!(found["experiments"][0]["failed"], true, "{found}");
    let page = std::fs::read_to_string(place.join("why/why.md")).unwrap();
    let first = done.out.lines().next().unwrap();
    assert!(first.contains("FAILED") && page.contains("FAILED"), "{done:?}");
}

/// Clients that meet in one branch, and the same ones in a branch each; a log in memory, of which nothing stays there.
#[test]
#[cfg(target_os = "linux")]
fn clients_are_kept_apart_and_the_log_is_moved_into_memory() {
    let Some(()) = require_postgres() else { return };
    let place = TempDir::new().unwrap();
    let place = place.path();
    let url = few_commits("postgres:local?shared_buffers=64MB");
    let arguments = ["why", "debitcredit", "--db", &url, "-b", "1", "--clients", "2"];
    let only = ["--only", "own-warehouses,log-in-memory", "--minutes", "1", "--rounds", "1", "--ramp-up", "0s"];
    let in_memory = || -> BTreeSet<_> {
        let names = std::fs::read_dir("/dev/shm").unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("graymark-log-")).collect()
    };
    let of_others = in_memory();
    let found = succeed(place, &[&arguments[..], &only, &["--duration", "10s", "--out", "why", "--json"]].concat());
    let found = found.json();
    let of = |name: &str| {
        let all = found["experiments"].as_array().unwrap();
        all.iter().find(|tried| tried["name"] == name).unwrap_or_else(|| panic!("{name}: {found}"))
    };
    assert_eq!(of("own-warehouses")["what"], "each client has a branch of its own, of a database of 2 instead of 1");
    assert_eq!(of("own-warehouses")["cause"], "row locks and other locks");
    // The clients no longer wait for each other: twice as fast, unless the disk of a busy machine lets both wait.
    let stood_still = ["base", "own-warehouses"]
        .iter()
        .any(|name| !json_file(&place.join("why").join(name).join("1"), "summary.json")["standstills"].is_null());
    let bound = of("own-warehouses")["bound_percent"].as_f64().unwrap();
    assert!(bound > 0.0 || stood_still, "{found}");
    assert!(of("log-in-memory")["never_in_earnest"].is_string() && of("log-in-memory")["bound_percent"].is_number());
    let plan = std::fs::read_to_string(place.join("why/own-warehouses/1/plan.toml")).unwrap();
    assert!(plan.contains("at_home = true") && plan.contains("scale = 2"), "{plan}");
    assert!(!place.join("why/databases").exists(), "its databases are gone");
    assert!(in_memory().is_subset(&of_others), "its log is gone from memory");
}
