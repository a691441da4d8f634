//! Someone sizes a machine that is not there yet: what would a buffer of some size find? The answer is held against a
//! database that is there.

use crate::support;
use crate::support::command::{run, succeed};
use crate::support::{require_mariadb, require_postgres};
use graymark::record::Record;
use graymark::result::Phase;
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// How long is measured.
const SECONDS: &str = "8s";

fn rate(of: &Value, name: &str) -> f64 {
    of[name].as_f64().unwrap_or_else(|| panic!("{name} in {of}"))
}

/// Runs a warehouse on a private server with a buffer of some size, and simulates as many transactions before and in
/// the measurement: the summary, the simulation, and by how many points of a hundred they may differ by chance.
/// `simulate` is given the transactions a second.
fn measured_and_simulated(
    place: &Path,
    db: &str,
    buffer: &str,
    more: &[&str],
    simulate: impl Fn(u64) -> Vec<String>,
) -> (Value, Value, f64) {
    succeed(place, &["load", "--db", db, "-w", "1", "--seed", "3"]);
    // On the server that is started anew, whose buffer has nothing of the load.
    let arguments = ["run", "--db", db, "--clients", "2", "--seed", "3", "--check", "none"];
    let out = format!("of-{buffer}");
    succeed(place, &[&arguments[..], &["--duration", SECONDS, "--out", &out], more].concat());
    let record = Record::open(&place.join(&out)).unwrap();
    let summary = serde_json::to_value(record.summary.as_ref().unwrap()).unwrap();
    let completed = |phase| record.series.iter().filter(|row| row.phase == phase).map(|row| row.completed).sum::<u64>();
    let (warm_up, counted) = (completed(Phase::RampUp), completed(Phase::Measurement));
    let seconds = rate(&summary, "ramp_up_s") + rate(&summary, "interval_s");
    let simulate = simulate(((warm_up + counted) as f64 / seconds).ceil() as u64);
    let simulate: Vec<&str> = simulate.iter().map(String::as_str).collect();
    let by_chance = 1.5 + 20.0 / (counted.max(1) as f64).sqrt();
    let (warm_up, counted) = (warm_up.to_string(), counted.to_string());
    let arguments = ["predict", "simulate", "-w", "1", "--buffer", buffer, "--clients", "2", "--from-empty"];
    let rest = ["--seed", "4", "--warm-up", &warm_up, "--transactions", &counted, "--json"];
    (summary, succeed(place, &[&arguments[..], &rest, &simulate].concat()).json(), by_chance)
}

#[test]
fn a_private_postgresql_finds_what_the_simulation_says() {
    let Some(()) = require_postgres() else { return };
    // The server's user has to reach the data directory.
    let place = support::command::open_directory();
    for buffer in ["16MB", "64MB"] {
        let db =
            format!("postgres:local?data={}&shared_buffers={buffer}&fsync=off", place.path().join(buffer).display());
        let more = ["--set", "autovacuum=off", "--ramp-up", "3s"];
        let simulate = |_| ["--policy", "clock-sweep"].map(str::to_owned).into();
        let (summary, simulated, most) = measured_and_simulated(place.path(), &db, buffer, &more, simulate);
        let measured = &summary["counters"]["pages"];
        for kind in ["data", "index", "overall"] {
            let (measured, simulated) = (rate(&measured[kind], "hit_percent"), rate(&simulated["sizes"][0], kind));
            let reported = format!("{buffer} {kind}: measured {measured}, simulated {simulated}, at most {most} apart");
            assert!((measured - simulated).abs() < most, "{reported}");
        }
    }
}

#[test]
fn a_private_mariadb_finds_what_the_simulation_says() {
    let Some(()) = require_mariadb() else { return };
    let place = support::command::open_directory();
    for buffer in ["48MB", "96MB"] {
        let db = format!(
            "mysql:local?data={}&buffers={buffer}&innodb_flush_log_at_trx_commit=0",
            place.path().join(buffer).display()
        );
        // How long a page stays in the old part is a time, so that it matters how fast this machine is now.
        let simulate = |per_second: u64| {
            let policy = ["--layout", "innodb", "--policy", "midpoint", "--per-second"].map(str::to_owned);
            [&policy[..], &[per_second.to_string()]].concat()
        };
        let (summary, simulated, most) =
            measured_and_simulated(place.path(), &db, buffer, &["--ramp-up", "8s"], simulate);
        let measured = rate(&summary["counters"]["pages"]["overall"], "hit_percent");
        let simulated = rate(&simulated["sizes"][0], "overall");
        let reported = format!("{buffer}: measured {measured}, simulated {simulated}, at most {most} apart");
        assert!((measured - simulated).abs() < most, "{reported}");
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
    for reported in ["10,000 warehouses", "stock_pkey", "32 GiB", "512 GiB"] {
        assert!(text.contains(reported), "{reported} in {text}");
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
    for (buffer, reported) in [
        ("much", "64MB"),
        ("8GB..1GB", "smaller size"),
        ("0", "not a size"),
        ("1GB,,2GB", "not a size"),
        ("1..2..3", "not a size"),
    ] {
        run(place.path(), &["predict", "simulate", "--buffer", buffer]).refused(2, &["--buffer", reported]);
    }
    run(place.path(), &["predict", "simulate", "-w", "100000", "--buffer", "1MB"]).refused(2, &["no page", "--buffer"]);
    run(place.path(), &["predict", "simulate", "--buffer", "1GB", "--page", "1MB"]).refused(2, &["1KiB to 64KiB"]);
    run(place.path(), &["predict", "simulate", "--buffer", "1GB", "--per-second", "100"])
        .refused(2, &["--per-second", "midpoint"]);
}
