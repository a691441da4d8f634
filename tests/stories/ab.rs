//! A user asks which of two settings is faster.

use crate::support::command::{graymark, json_file, open_directory, run, start, succeed};
use crate::support::{client, few_commits, require_postgres, small_server};
use nix::sys::signal::Signal;
use std::path::Path;
use tempfile::TempDir;

/// SQLite with and without waiting for the disk: each run has the settings of its side and finds the database as
/// loaded.
#[test]
fn two_settings_run_in_turns_from_the_same_database() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let ab = [
        "ab",
        "--db",
        "sqlite:ab.db",
        "-w",
        "1",
        "--a",
        "synchronous=full",
        "--b",
        "synchronous=off",
        "--repeats",
        "1",
    ];
    let short = ["--clients", "2", "--ramp-up", "0s", "--duration", "10s", "--check", "both", "--out", "ab"];
    // What each side does matters here, and not how much of it.
    let short = [&short[..], &["--pace", "standard*0.01"]].concat();
    let done = succeed(place, &[&ab[..], &short, &["--across-durability", "--json"]].concat());
    assert!(done.json()["throughput"]["percent"].is_number() && done.err.contains("synchronous"), "{done:?}");
    let [a, b] = ["a", "b"].map(|side| json_file(&place.join("ab").join(side).join("1"), "summary.json"));
    let synchronous = [&a, &b].map(|of| of["durability"]["settings"]["synchronous"].as_str().unwrap());
    assert_eq!(synchronous, ["full", "off"]);
    assert_eq!(a["initial_rows"], b["initial_rows"], "the second run found what the first one left");
    assert_eq!((&a["initial_rows"]["orders"], &a["seed"]), (&30_000.into(), &b["seed"]));
    let left = std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(left, ["ab"], "its databases are gone");
    // The records can be compared again.
    let again = succeed(place, &["compare", "ab/a", "--with", "ab/b", "--across-durability", "--json"]).json();
    assert_eq!(again["throughput"], done.json()["throughput"]);
    run(place, &["ab", "--db", "sqlite:x.db"]).refused(2, &["give the settings of the sides"]);
    run(place, &["ab", "--db", "postgress:local", "--a", "x=1"]).refused(2, &["did you mean postgres:?"]);
    run(place, &["ab", "--db", "postgres://host/db", "--a", "x=1"]).refused(2, &["graymark compare"]);
    run(place, &["ab", "--db", "sqlite:x.db", "--a", "cache=1", "--out", "ab"]).refused(2, &["not empty"]);
}

/// Without --repeats, the sides alternate in slices, and the result is that of a duet.
#[test]
fn by_default_the_sides_alternate_in_slices() {
    let Some(()) = require_postgres() else { return };
    // The server's user has to reach it.
    let place = open_directory();
    let place = place.path();
    // A data directory that does not exist yet.
    let data = place.join("new");
    let url = few_commits(&format!("postgres:local?max_connections=20&data={}", data.display()));
    let ab = ["ab", "debitcredit", "--db", &url, "-b", "1", "--clients", "2", "--ramp-up", "0s"];
    let sides = ["--a", "shared_buffers=32MB", "--b", "shared_buffers=64MB", "--duration", "20s", "--json"];
    let done = run(place, &[&ab[..], &sides, &["--out", "ab"]].concat());
    let found = done.json();
    // On a busy machine the disk may let both clients of a side wait for seconds, which fails the command.
    let stood_still = ["a", "b"].iter().any(|side| !found[side]["standstills"].is_null());
    let not_ranked = found["sentence"].as_str().unwrap().starts_with("Not ranked: ");
    assert!(done.code == Some(i32::from(not_ranked)) && (stood_still || !not_ranked), "{done:?}");
    assert!(done.err.contains("ab: the sides alternate in slices"), "{done:?}");
    assert_eq!((found["pairs"].as_array().unwrap().len(), found["slice_s"].as_u64()), (2, Some(5)), "{found}");
    let buffers = |side: &str| found[side]["settings"]["shared_buffers"].as_str().unwrap().to_owned();
    assert_eq!([buffers("a"), buffers("b")], ["32MB", "64MB"]);
    assert_eq!(json_file(&place.join("ab"), "duet.json"), found);
    let names = |at: &Path| -> Vec<_> { at.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect() };
    assert_eq!(names(place), ["ab"], "its databases are gone");
    assert!(!names(&place.join("ab")).contains(&"databases".into()), "{:?}", names(&place.join("ab")));
    // An empty directory that is there stays, and one with a file is refused before anything is loaded.
    std::fs::create_dir(place.join("mine")).unwrap();
    let refused = ["--a", "shared_bufers=32MB", "--out", "mine"];
    run(place, &[&ab[..], &refused].concat()).refused(2, &["shared_bufers"]);
    assert!(names(&place.join("mine")).is_empty());
    std::fs::write(place.join("mine/letter"), "dear").unwrap();
    let refused = ["--a", "shared_buffers=32MB", "--out", "mine"];
    run(place, &[&ab[..], &refused].concat()).refused(2, &["not empty"]);
    assert_eq!(names(&place.join("mine")), ["letter"]);
}

/// A server of the user's own, which a script sets before each run: each finds the database as it was loaded.
#[test]
fn a_server_of_ones_own_is_set_by_scripts() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (small_server(), TempDir::new().unwrap());
    let (place, url) = (place.path(), server.tcp_url());
    let set = |value: &str| {
        format!(
            "echo \"side $GRAYMARK_SIDE\"; psql --quiet '{url}' -c 'ALTER ROLE CURRENT_USER SET synchronous_commit = \
             {value}'"
        )
    };
    let ab = ["ab", "--db", &url, "-w", "1", "--a-before", &set("on"), "--b-before", &set("off"), "--repeats", "1"];
    let short = ["--clients", "1", "--ramp-up", "0s", "--duration", "10s", "--check", "none", "--out", "ab"];
    let short = [&short[..], &["--pace", "standard*0.01"]].concat();
    let done = succeed(place, &[&ab[..], &short, &["--across-durability", "--json"]].concat());
    assert!(done.json()["throughput"]["percent"].is_number(), "{done:?}");
    assert!(done.err.contains("side a") && done.err.contains("side b"), "what a script prints is no result: {done:?}");
    let [a, b] = ["a", "b"].map(|side| json_file(&place.join("ab").join(side).join("1"), "summary.json"));
    let waits = [&a, &b].map(|of| of["durability"]["settings"]["synchronous_commit"].as_str().unwrap());
    assert_eq!(waits, ["on", "off"]);
    // What is left is the work of the second run alone: it began with what was loaded.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let orders = runtime.block_on(async {
        client(&url).await.query_one("SELECT count(*) FROM tpcc.orders", &[]).await.unwrap().get::<_, i64>(0)
    });
    assert_eq!(orders, 30_000 + b["database"]["new_orders"].as_i64().unwrap(), "{}", b["database"]);
    let failing = ["ab", "--db", &url, "-w", "1", "--a-before", "exit 3", "--out", "failing"];
    let failed = run(place, &failing);
    assert!(failed.code == Some(2) && failed.err.contains("--a-before failed (exit status: 3)"), "{failed:?}");
}

/// Whoever stops a run in turns finds neither the loaded database nor the copy that the run worked on.
#[test]
fn a_copy_is_removed_when_its_run_is_stopped() {
    let place = TempDir::new().unwrap();
    let ab =
        ["ab", "debitcredit", "--db", "sqlite:ab.db", "-b", "1", "--a", "cache=2", "--repeats", "2", "--out", "ab"];
    let mut working = start(graymark(place.path(), &[&ab[..], &["--ramp-up", "0s", "--duration", "1h"]].concat()));
    working.wait_for("run: measurement");
    let names = || {
        let all = std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name());
        all.map(|name| name.to_string_lossy().into_owned()).collect::<Vec<String>>()
    };
    assert!(names().iter().any(|name| name.ends_with("-ab.db")), "{:?}", names());
    working.signal(Signal::SIGINT);
    let (_, done) = working.end();
    assert_eq!((done.code, names()), (Some(130), vec!["ab".to_owned()]), "{done:?}");
}

/// The planted faults: SIGKILL, and files of others with the names of the copies.
#[test]
fn what_a_killed_ab_leaves_is_removed_by_the_next_and_files_of_others_are_not() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let load = ["debitcredit", "--db", "sqlite:x.db", "-b", "1", "--ramp-up", "0s"];
    let ab = |duration, out| [&["ab"], &load[..], &["--a", "cache=2", "--repeats", "1", duration, out]].concat();
    let names = || {
        let all = std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name());
        all.map(|name| name.to_string_lossy().into_owned())
            .filter(|name| name.starts_with('x'))
            .collect::<Vec<String>>()
    };
    let mut working = start(graymark(place, &ab("--duration=1h", "--out=killed")));
    working.wait_for("run: measurement");
    run(place, &ab("--duration=10s", "--out=other")).refused(2, &["another graymark is using sqlite:x-w1.db"]);
    working.signal(Signal::SIGKILL);
    working.end();
    for left in ["x-w1.db", "x-w1.db.graymark-temporary", "x-w1-ab.db", "x-w1-ab.db.graymark-temporary"] {
        assert!(place.join(left).exists(), "{:?}", names());
    }
    let done = succeed(place, &ab("--duration=10s", "--out=again"));
    assert!(names().is_empty(), "{:?}: {done:?}", names());

    let tune = [&["tune"], &load[..], &["--budget", "20m", "--out=tune"]].concat();
    let why = [&["why"], &load[..], &["--out=why"]].concat();
    let duet = ["duet", "sqlite:x.db", "--workload", "debitcredit", "-b", "1", "--out=duet"];
    for (theirs, command) in [
        ("x-w1-ab.db", &ab("--duration=10s", "--out=refused")[..]),
        ("x-w1.db-journal", &ab("--duration=10s", "--out=refused")),
        ("x-w1-tune.db", &tune),
        ("x-w1-why.db", &why),
        ("x-duet-b.db", &duet),
    ] {
        std::fs::write(place.join(theirs), "theirs").unwrap();
        run(place, command).refused(2, &["already exists: give a new place"]);
        assert_eq!((names(), std::fs::read(place.join(theirs)).unwrap()), (vec![theirs.to_owned()], b"theirs".into()));
        std::fs::remove_file(place.join(theirs)).unwrap();
    }
    // An empty directory that no killed command left.
    std::fs::create_dir_all(place.join("theirs/databases")).unwrap();
    run(place, &ab("--duration=10s", "--out=theirs")).refused(2, &["theirs is not empty"]);
    assert!(place.join("theirs/databases").is_dir());
}

/// Only a server knows its settings: it is asked before anything is loaded.
#[test]
fn a_setting_that_the_server_does_not_know_is_refused_before_the_load() {
    let Some(()) = require_postgres() else { return };
    let place = TempDir::new().unwrap();
    let ab = ["ab", "--db", "postgres:local", "--a", "shared_bufers=32MB", "--b", "work_mem=8MB", "--out", "ab"];
    let done = run(place.path(), &ab);
    assert!(!done.err.contains("load:"), "{done:?}");
    done.refused(2, &["side a", "unrecognized configuration parameter", "shared_bufers"]);
    assert!(!place.path().join("ab").exists(), "nothing is left");
}
