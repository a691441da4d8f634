//! A user asks which of two databases is faster, on a machine that others use, too.

use crate::support::command::{json_file, run, succeed};
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
    let found = succeed(place, &[&duet[..], &short].concat()).json();
    let pairs = found["pairs"].as_array().unwrap();
    assert_eq!((pairs.len(), found["blocks"].as_u64()), (2, Some(2)), "{found}");
    for side in ["a", "b"] {
        let of = &found[side];
        assert_eq!((&of["database"]["agrees"], of["failed"].as_u64()), (&true.into(), Some(0)), "{found}");
        assert!(of["transactions_per_second"].as_f64().unwrap() > 0.0, "{found}");
        assert!(pairs.iter().all(|pair| pair[side].as_f64().unwrap() > 0.0), "{found}");
    }
    assert_eq!(json_file(&place.join("graymark-runs/duet"), "duet.json"), found);
    assert_eq!(succeed(place, &["report", "twins", "--json"]).json(), found);
    assert!(succeed(place, &["report", "twins"]).out.contains("one after the other in the same time"));
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

/// A database that answers thirty times as fast, at the same time; and what cannot be played.
#[test]
fn what_is_faster_is_told_and_mistakes_are_refused() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let sides = ["simulated:", "--a", "service=30ms", "--b", "service=1ms", "--together", "--clients", "1"];
    let short = ["--slice", "4s", "--duration", "8s", "--ramp-up", "0s", "--out", "together", "--json"];
    let found = succeed(place, &[&["duet"], &sides[..], &short].concat()).json();
    assert!(found["paired"]["percent"].as_f64().unwrap() > 100.0, "{found}");
    assert_eq!((&found["together"], &found["a"]["settings"]["service"]), (&true.into(), &"30ms".into()), "{found}");

    run(place, &["duet", "postgres://host/db"]).refused(2, &["the same database"]);
    run(place, &["duet", "sqlite:x.db", "sqlite:x.db?cache=2"]).refused(2, &["in the same place"]);
    run(place, &["duet", "sqlite:x.db", "postgres://host/db", "--b", "x=1"]).refused(2, &["yourself"]);
    run(place, &["duet", "sqlite:x.db", "--duration", "15s"]).refused(2, &["too short for two pairs"]);
    run(place, &["duet", "sqlite:x.db", "--slice", "1s"]).refused(2, &["--slice must be at least 2 s"]);
}
