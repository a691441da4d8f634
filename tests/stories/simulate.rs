//! Someone sizes a machine that is not there yet: what would a buffer of some size find? The answer is held against a
//! database that is there.

use crate::support;
use crate::support::command::{run, succeed};
use crate::support::require_postgres;
use graymark::record::Record;
use graymark::result::Phase;
use serde_json::Value;
use tempfile::TempDir;

fn rate(of: &Value, name: &str) -> f64 {
    of[name].as_f64().unwrap_or_else(|| panic!("{name} in {of}"))
}

#[test]
fn a_private_postgresql_finds_what_the_simulation_says() {
    let Some(()) = require_postgres() else { return };
    // The server's user has to reach the data directory.
    let place = support::command::open_directory();
    for buffer in ["16MB", "64MB"] {
        let db =
            format!("postgres:local?data={}&shared_buffers={buffer}&fsync=off", place.path().join(buffer).display());
        let arguments = [
            "bench",
            "--db",
            &db,
            "-w",
            "1",
            "--set",
            "autovacuum=off",
            "--clients",
            "2",
            "--seed",
            "3",
            "--check",
            "none",
        ];
        succeed(
            place.path(),
            &[&arguments[..], &["--ramp-up", "3s", "--duration", "5s", "--out", &format!("of-{buffer}")]].concat(),
        );
        let record = Record::open(&place.path().join(format!("of-{buffer}"))).unwrap();
        let summary = serde_json::to_value(record.summary.as_ref().unwrap()).unwrap();
        let measured = &summary["counters"]["pages"];
        let completed =
            |phase| record.series.iter().filter(|row| row.phase == phase).map(|row| row.completed).sum::<u64>();
        let (warm_up, counted) = (completed(Phase::RampUp).to_string(), completed(Phase::Measurement).to_string());

        let arguments = [
            "predict",
            "simulate",
            "-w",
            "1",
            "--buffer",
            buffer,
            "--policy",
            "clock-sweep",
            "--clients",
            "2",
            "--from-empty",
        ];
        let rest = ["--seed", "4", "--warm-up", &warm_up, "--transactions", &counted, "--json"];
        let simulated = succeed(place.path(), &[&arguments[..], &rest].concat()).json();
        for kind in ["data", "index", "overall"] {
            let (measured, simulated) = (rate(&measured[kind], "hit_percent"), rate(&simulated["sizes"][0], kind));
            assert!((measured - simulated).abs() < 2.0, "{buffer} {kind}: measured {measured}, simulated {simulated}");
        }
    }
}

#[test]
fn ten_thousand_warehouses_are_simulated_on_a_desk() {
    let place = TempDir::new().unwrap();
    let arguments =
        ["predict", "simulate", "-w", "10000", "--buffer", "32GB..512GB", "--sample", "10", "--transactions", "10000"];
    let simulation = succeed(place.path(), &[&arguments[..], &["--json"]].concat()).json();
    let sizes = simulation["sizes"].as_array().unwrap();
    let overall: Vec<f64> = sizes.iter().map(|size| rate(size, "overall")).collect();
    assert!(overall.len() >= 13 && overall.is_sorted() && overall[0] > 80.0, "{overall:?}");
    assert_eq!(
        (simulation["warehouses"].as_u64(), simulation["simulated_warehouses"].as_u64()),
        (Some(10_000), Some(10))
    );
    let database = rate(&simulation, "database_bytes");
    assert!((0.9e12..1.5e12).contains(&database), "{database}");

    let text = succeed(place.path(), &[&arguments[..], &["--relations"]].concat()).out;
    for told in ["10,000 warehouses", "stock_pkey", "32 GiB", "512 GiB"] {
        assert!(text.contains(told), "{told} in {text}");
    }
}

#[test]
fn the_skew_is_shown() {
    let place = TempDir::new().unwrap();
    let text = succeed(place.path(), &["predict", "skew"]).out;
    assert!(text.contains("84.4") && text.contains("pages of 13 rows"), "{text}");
    let skew = succeed(place.path(), &["predict", "skew", "--page", "16KiB", "--json"]).json();
    let pages = skew["skew"][1]["points"].as_array().unwrap();
    let quarter = pages.iter().find(|point| rate(point, "hottest_percent") == 25.0).unwrap();
    assert!((rate(quarter, "accesses_percent") - 75.0).abs() < 0.3, "{quarter}");
}

#[test]
fn sizes_that_make_no_sense_are_refused_in_one_line() {
    let place = TempDir::new().unwrap();
    for (buffer, told) in [
        ("much", "64MB"),
        ("8GB..1GB", "smaller size"),
        ("0", "no size"),
        ("1GB,,2GB", "no size"),
        ("1..2..3", "no size"),
    ] {
        run(place.path(), &["predict", "simulate", "--buffer", buffer]).refused(2, &["--buffer", told]);
    }
    run(place.path(), &["predict", "simulate", "-w", "100000", "--buffer", "1MB"]).refused(2, &["no page", "--buffer"]);
    run(place.path(), &["predict", "simulate", "--buffer", "1GB", "--page", "1MB"]).refused(2, &["1KiB to 64KiB"]);
}
