//! A user asks which of two databases is faster, on a machine that others use, too.

use std::path::Path;

use crate::support::command::{graymark, json_file, run, start, succeed};
use crate::support::{block_on, client, require_postgres, small_server, with_database};
use serde_json::Value;
use tempfile::TempDir;

/// SQLite against itself: both sides work on copies of one database, in turns, and each counts what it did.
#[test]
fn two_databases_take_turns_on_copies_of_one() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let duet = [
        "duet",
        "sqlite:x.db?synchronous=off",
        "--workload",
        "debitcredit",
        "-b",
        "1",
        "--clients",
        "2",
        "--name",
        "twins",
    ];
    let short = ["--slice", "5s", "--duration", "20s", "--ramp-up", "0s", "--out", "graymark-runs/duet", "--json"];
    let done = run(place, &[&duet[..], &short].concat());
    let found = done.json();
    // On a busy machine all clients of a side may wait for seconds, which fails the command.
    let stood_still = ["a", "b"].iter().any(|side| !found[side]["standstills"].is_null());
    let not_ranked = found["lead"] == "not_ranked";
    assert!(done.code == Some(i32::from(not_ranked)) && (stood_still || !not_ranked), "{done:?}");
    let pairs = found["pairs"].as_array().unwrap();
    assert_eq!((pairs.len(), found["blocks"].as_u64()), (2, Some(2)), "{found}");
    for side in ["a", "b"] {
        let of = &found[side];
        assert_eq!((&of["database"]["agrees"], of["failed"].as_u64()), (&true.into(), Some(0)), "{found}");
        assert!(of["transactions_per_second"].as_f64().unwrap() > 0.0, "{found}");
        assert!(not_ranked || pairs.iter().all(|pair| pair[side].as_f64().unwrap() > 0.0), "{found}");
    }
    assert_eq!(json_file(&place.join("graymark-runs/duet"), "duet.json"), found);
    assert_eq!(succeed(place, &["report", "twins", "--json"]).json(), found);
    let reported = succeed(place, &["report", "twins"]).out;
    assert_eq!(reported.contains("one after the other in the same time"), !not_ranked, "{reported}");
    assert!(succeed(place, &["list"]).out.contains("duet: "));
    // Where the sides are not ranked, no interval suggests a winner.
    let mut refused = found.clone();
    (refused["lead"], refused["sentence"]) = ("not_ranked".into(), "Not ranked: they differ.".into());
    std::fs::write(place.join("graymark-runs/duet/duet.json"), refused.to_string()).unwrap();
    let reported = succeed(place, &["report", "twins"]).out;
    assert!(!reported.contains("one after the other in the same time") && !reported.contains(" %"), "{reported}");
    // The planted fault: a transaction failed.
    let mut failed = found;
    failed["b"]["failed"] = 1.into();
    std::fs::write(place.join("graymark-runs/duet/duet.json"), failed.to_string()).unwrap();
    assert!(succeed(place, &["list"]).out.contains("FAILED, duet: "));
    let left: Vec<_> = std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["graymark-runs"], "its databases are gone");
}

/// A database that answers ten times as fast, at the same time; and what cannot be played.
#[test]
fn what_is_faster_is_told_and_mistakes_are_refused() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let sides = ["simulated:", "--a", "service=1s", "--b", "service=100ms", "--together", "--clients", "1"];
    let short = ["--slice", "4s", "--duration", "8s", "--ramp-up", "0s", "--out", "together", "--json"];
    let found = succeed(place, &[&["duet"], &sides[..], &short].concat()).json();
    assert!(found["paired"]["percent"].as_f64().unwrap() > 100.0, "{found}");
    assert_eq!((&found["together"], &found["a"]["settings"]["service"]), (&true.into(), &"1s".into()), "{found}");

    run(place, &["duet", "postgres://host/db"]).refused(2, &["the same database"]);
    run(place, &["duet", "sqlite:x.db", "sqlite:x.db?cache=2"]).refused(2, &["in the same place"]);
    run(place, &["duet", "sqlite:x.db", "postgres://host/db", "--b", "x=1"]).refused(2, &["yourself"]);
    run(place, &["duet", "sqlite:x.db", "--duration", "15s"]).refused(2, &["too short for two pairs"]);
    run(place, &["duet", "sqlite:x.db", "--slice", "1s"]).refused(2, &["--slice must be at least 2 s"]);
}

/// A duet of two databases, after whose first pair something happens to A: its result, and its first lines of text.
fn disturbed(place: &Path, urls: [&str; 2], more: &[&str], happens: impl FnOnce()) -> (Value, Vec<String>) {
    let duet = ["duet", urls[0], urls[1], "--workload", "debitcredit", "--clients", "2", "--slice", "2s"];
    let arguments = [&duet[..], &["--duration", "16s", "--ramp-up", "0s", "--out"], more].concat();
    let mut working = start(graymark(place, &arguments));
    working.wait_for("duet: pair 1 of");
    happens();
    let (_, done) = working.end();
    assert_eq!(done.code, Some(1), "{done:?}");
    let found = json_file(&place.join(more[0]), "duet.json");
    assert_eq!(found["lead"], "not_ranked", "{found}");
    // On a busy machine B may stand still, too, for a while.
    let who = if found["b"]["standstills"].is_null() { "A was" } else { "both sides were" };
    let sentence = found["sentence"].as_str().unwrap();
    assert!(sentence.starts_with(&format!("Not ranked: {who} unavailable")), "{found}");
    assert_eq!(found["b"]["connections"]["lost"], 0, "{found}");
    let lines = done.out.lines().map(str::to_owned).collect::<Vec<String>>();
    assert!(lines[0].starts_with("! A: the database was unavailable: "), "{lines:?}");
    assert!(!done.out.contains("faster"), "{done:?}");
    (found, lines)
}

/// The planted faults: all sessions of a side lose their connections, and a lock stops a side for some seconds.
#[test]
fn a_side_that_is_unavailable_is_named_and_not_ranked() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (small_server(), TempDir::new().unwrap());
    let (place, a) = (place.path(), server.tcp_url());
    let b = with_database(&a, "other");
    block_on(async { client(&a).await.batch_execute("CREATE DATABASE other").await.unwrap() });
    for url in [&a, &b] {
        succeed(place, &["load", "debitcredit", "--db", url, "-b", "1", "--seed", "3"]);
    }
    let does = |sql: &str| block_on(async { client(&a).await.batch_execute(sql).await.unwrap() });
    let (found, lines) = disturbed(place, [&a, &b], &["lost"], || {
        does(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
    });
    assert!(found["a"]["connections"]["lost"].as_u64() >= Some(2), "{found}");
    assert!(lines[0].contains("connections were lost"), "{lines:?}");
    let (found, lines) = disturbed(place, [&a, &b], &["still", "--together"], || {
        does("BEGIN; LOCK TABLE debitcredit.branch; SELECT pg_sleep(4); COMMIT");
    });
    let behind_it = |of: &Value| (3.0..=10.0).contains(&of[1].as_f64().unwrap());
    assert!(found["a"]["standstills"].as_array().unwrap().iter().any(behind_it), "{found}");
    assert_eq!(found["a"]["connections"]["lost"], 0, "{found}");
    assert!(lines[0].contains("no transaction completed in"), "{lines:?}");
    assert!(succeed(place, &["list", "."]).out.contains("FAILED, duet: not ranked"));
}
