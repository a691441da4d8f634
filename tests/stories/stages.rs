//! A user adds clients in stages, warms caches up at random, and prices what came of it.

use crate::support;
use std::fs;
use std::path::Path;

use crate::support::command::{graymark, json_file, run, start, succeed};
use crate::support::loaded::loaded;
use crate::support::require_postgres;
use graymark::result::format::file;
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

const USAGE: i32 = 2;

/// Runs in stages of two seconds and returns the summary.
fn staged(place: &Path, db: &str, stages: &str) -> Value {
    let arguments = [
        "bench",
        "--db",
        db,
        "--ramp-up",
        "1s",
        "--stages",
        stages,
        "--stage-duration",
        "2s",
        "--check",
        "after",
        "--out",
        "record",
        "--json",
    ];
    succeed(place, &arguments).json()
}

#[test]
fn a_ramp_up_that_does_not_become_steady_ends_at_its_limit_and_says_so() {
    let place = TempDir::new().unwrap();
    let arguments = ["bench", "--db", "simulated:service=5ms", "--ramp-up", "auto:1s", "--duration", "4s", "--json"];
    let done = succeed(place.path(), &arguments);
    let summary = done.json();
    assert_eq!((summary["ramp_up_s"].as_f64(), summary["interval_s"].as_f64()), (Some(1.0), Some(4.0)));
    assert_eq!(summary["ramp_up_auto"]["steady"], false);
    assert!(done.err.contains("not steady within the limit"), "{}", done.err);
    let clauses = summary["verdict"]["clauses"].as_array().unwrap();
    let steady = clauses.iter().find(|clause| clause["rule"] == "throughput at the start of the interval").unwrap();
    assert_eq!(steady["state"], "broken");
    let record = Path::new(summary["record"].as_str().unwrap());
    let plan = fs::read_to_string(place.path().join(record).join(file::PLAN)).unwrap();
    assert!(plan.contains("ramp_up = \"auto:1s\""), "{plan}");
    let staged = ["run", "--db", "simulated:service=5ms", "--ramp-up", "auto", "--stages", "1,2"];
    run(place.path(), &staged).refused(USAGE, &["give a time"]);
}

/// Each stage has its row, and together they are the interval.
fn add_up(summary: &Value, clients: &[u64]) {
    let stages = summary["stages"].as_array().unwrap();
    assert_eq!(stages.iter().map(|stage| stage["clients"].as_u64().unwrap()).collect::<Vec<_>>(), clients);
    assert_eq!(summary["clients"], *clients.iter().max().unwrap());
    let interval = summary["interval_s"].as_f64().unwrap();
    let sum = |key: &str| stages.iter().map(|stage| stage[key].as_f64().unwrap()).sum::<f64>();
    assert_eq!(sum("seconds"), interval);
    let of_types = |key: &str| {
        let types = summary["transactions"].as_object().unwrap();
        types.values().map(|of| of[key].as_f64().unwrap()).sum::<f64>()
    };
    for key in ["completed", "errors", "retries"] {
        assert_eq!(sum(key), of_types(key), "{key}");
    }
    let minutes = stages
        .iter()
        .map(|stage| stage["new_orders_per_minute"].as_f64().unwrap() * stage["seconds"].as_f64().unwrap());
    let orders = summary["transactions"]["new_order"]["completed"].as_f64().unwrap();
    assert!((minutes.sum::<f64>() / 60.0 - orders).abs() < 1e-6);
    for (stage, number) in stages.iter().zip(0..) {
        assert_eq!(stage["start_s"], 1.0 + 2.0 * f64::from(number));
        let of_stage = stage["completed"].as_f64().unwrap() / stage["seconds"].as_f64().unwrap();
        assert!((stage["transactions_per_second"].as_f64().unwrap() - of_stage).abs() < 1e-6, "{stage}");
        let ms = |key: &str| stage["response_ms"][key].as_f64().unwrap();
        assert!(ms("p50") <= ms("p90") && ms("p90") <= ms("p99"), "{stage}");
    }
}

/// A simulated transaction takes its time and no CPU, so that a client completes no more than so many a second.
#[test]
fn clients_come_and_go() {
    let place = TempDir::new().unwrap();
    let clients = [1, 4, 8, 2];
    let summary = staged(place.path(), "simulated:service=20ms", "1,4,8,2");
    add_up(&summary, &clients);
    assert_eq!(summary["interval_s"], 8.0);
    assert_eq!(summary["interrupted"], false);
    for (stage, clients) in summary["stages"].as_array().unwrap().iter().zip(clients) {
        assert_eq!(stage["whole"], true);
        // Those of the stage before may end one transaction each in this one.
        let most = clients as f64 * 2.0 / 0.020 + 8.0;
        assert!(stage["completed"].as_f64().unwrap() <= most, "{stage}");
        assert!(stage["client_cpu_us_per_transaction"].as_f64().is_none_or(|us| us >= 0.0), "{stage}");
        let counted = &stage["counters"]["grown"]["machine_cpu_s"]["seconds"];
        assert!(counted.as_f64().is_none_or(|seconds| seconds < 4.0), "{stage}");
    }
    let record = place.path().join("record");
    let events = fs::read_to_string(record.join(file::EVENTS)).unwrap();
    assert_eq!(events.matches("stage_began").count(), 4, "{events}");
    // An interval whose load changes is in no steady state.
    let clauses = summary["verdict"]["clauses"].as_array().unwrap();
    let steady = clauses.iter().find(|clause| clause["rule"] == "number of clients during the interval").unwrap();
    assert_eq!((&steady["state"], &steady["value"]), (&"broken".into(), &"1 to 8".into()));

    let text = fs::read_to_string(record.join(file::REPORT_TEXT)).unwrap();
    let page = fs::read_to_string(record.join(file::REPORT_HTML)).unwrap();
    let unfolded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["over all stages, with 1 to 8 clients: not a steady-state rate", "4 stages of 2 s, 1 to 8 clients"] {
        assert!(unfolded.contains(words), "{text}");
        assert!(page.contains(words), "{words}");
    }
    let (_, table) = text.split_once("Stages of the measurement interval\n").unwrap();
    let rows: Vec<&str> = table.lines().skip(1).take(4).map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(rows, ["1", "4", "8", "2"], "{table}");
    for figure in
        ["Throughput against clients", "Response time against clients", "Numbers are the clients of each stage"]
    {
        assert!(page.contains(figure), "{figure}");
    }
    // The plan of the record is one that can be run again.
    let again = ["run", "--plan", "record/plan.toml", "--stage-duration", "1s", "--ramp-up", "0s", "--json"];
    let summary = succeed(place.path(), &again).json();
    assert_eq!((&summary["interval_s"], summary["stages"].as_array().unwrap().len()), (&4.0.into(), 4));
    run(place.path(), &["run", "--plan", "record/plan.toml", "--clients", "3"]).refused(USAGE, &["remove --clients"]);
    // A file's clients and duration give way to stages on the command line.
    fs::write(place.path().join("plan.toml"), "db = \"simulated:\"\nclients = 3\nduration = \"1h\"\n").unwrap();
    let flags = ["run", "--plan", "plan.toml", "--stages", "2", "--stage-duration", "1s", "--ramp-up", "0s", "--json"];
    assert_eq!(succeed(place.path(), &flags).json()["clients"], 2);
}

/// Each session has a thread of its own, and the database counts what all of them did.
#[test]
fn stages_on_sqlite() {
    let place = loaded();
    let summary = staged(place.path(), "sqlite:loaded.db", "1,3,2");
    add_up(&summary, &[1, 3, 2]);
    assert_eq!(summary["client"]["threads"], 3);
    assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
    assert_eq!(summary["consistency"]["failed"], Value::Array(Vec::new()));
}

#[test]
fn an_interrupted_run_keeps_its_stages() {
    let place = TempDir::new().unwrap();
    let arguments = [
        "run",
        "--db",
        "simulated:service=5ms",
        "--ramp-up",
        "0s",
        "--stages",
        "1,2,64",
        "--stage-duration",
        "6s",
        "--out",
        "record",
        "--json",
    ];
    let mut work = start(graymark(place.path(), &arguments));
    work.wait_for("run: stage 2, 2 clients");
    std::thread::sleep(std::time::Duration::from_millis(300));
    work.signal(Signal::SIGINT);
    let (_, done) = work.end();
    assert_eq!(done.code, Some(130), "{done:?}");
    let summary = done.json();
    assert_eq!(summary["interrupted"], true);
    let stages = summary["stages"].as_array().unwrap();
    assert_eq!(stages.iter().map(|stage| stage["whole"] == true).collect::<Vec<_>>(), [true, false], "{summary}");
    let last = stages[1]["seconds"].as_f64().unwrap();
    assert!(last > 0.0 && last < 6.0, "{last}");
    let all = summary["interval_s"].as_f64().unwrap();
    assert!((all - 6.0 - last).abs() < 1e-9, "{all} {last}");
    assert_eq!(json_file(&place.path().join("record"), file::SUMMARY), summary);
    let reported = succeed(place.path(), &["report", "record", "--full"]).out;
    assert!(reported.contains("\n2* ") && reported.contains("is incomplete"), "{reported}");
}

/// Clients that are not wanted yet hear of an interrupt at once.
#[test]
fn sleeping_clients_hear_of_an_interrupt() {
    let place = TempDir::new().unwrap();
    let arguments = [
        "run",
        "--db",
        "simulated:service=5ms",
        "--ramp-up",
        "0s",
        "--stages",
        "1,64",
        "--stage-duration",
        "1day",
        "--out",
        "record",
    ];
    let mut work = start(graymark(place.path(), &arguments));
    work.wait_for("run: stage 1, 1 client");
    work.signal(Signal::SIGINT);
    let (_, done) = work.end();
    assert_eq!(done.code, Some(130), "{done:?}");
    assert!(!done.err.contains("stage 2"), "{done:?}");
}

/// Warms up both ways, and compares what is reported.
fn warm(place: &Path, db: &str, population: u64) {
    for how in ["scan", "random"] {
        let arguments = [
            "run",
            "--db",
            db,
            "--warm",
            how,
            "--clients",
            "1",
            "--ramp-up",
            "0s",
            "--duration",
            "5s",
            "--check",
            "none",
            "--out",
            how,
            "--json",
        ];
        let done = succeed(place, &arguments);
        assert!(done.err.contains("\nwarm: reading "), "{done:?}");
        let summary = done.json();
        let work = &summary["maintenance"][0];
        assert_eq!(work["kind"], "warm_up", "{summary}");
        let (rows, seconds) = (work["rows"].as_u64().unwrap(), work["seconds"].as_f64().unwrap());
        assert!(seconds > 0.0 && work["start_s"] == -seconds, "{work}");
        let reported = work["work"].as_str().unwrap();
        if how == "scan" {
            assert!(rows >= population && reported.contains("from end to end"), "{work}");
        } else {
            // Two tenths at least, and no more reads than there are rows.
            assert!(
                (population / 6..=population).contains(&rows) && reported.contains("8 tables read at random"),
                "{work}"
            );
        }
        let text = fs::read_to_string(place.join(how).join(file::REPORT_TEXT)).unwrap();
        let line = text.lines().find(|line| line.starts_with("Warm-up")).unwrap_or_else(|| panic!("{text}"));
        assert!(line.contains(&format!(" s: {rows} rows of ")), "{line}");
    }
}

/// Rows of one warehouse in the tables that have a primary key, but for order lines: their number hangs on the seed.
const ROWS: u64 = 1 + 10 + 30_000 + 30_000 + 9_000 + 100_000 + 100_000 + 290_000;

#[test]
fn warm_ups_on_sqlite() {
    let place = loaded();
    warm(place.path(), "sqlite:loaded.db?synchronous=off", ROWS);
    // The rows that are read are those that are there: nothing is written, and nothing is missed.
    let again = [
        "run",
        "--db",
        "sqlite:loaded.db",
        "--warm",
        "random",
        "--seed",
        "3",
        "--duration",
        "3s",
        "--ramp-up",
        "0s",
        "--json",
    ];
    assert_eq!(succeed(place.path(), &again).json()["consistency"]["failed"], Value::Array(Vec::new()));
}

#[test]
fn warm_ups_and_stages_on_postgresql() {
    if require_postgres().is_none() {
        return;
    }
    let place = support::command::open_directory();
    let db = "postgres:local?data=data&shared_buffers=64MB&fsync=off";
    let summary = staged(place.path(), db, "1,3,2");
    add_up(&summary, &[1, 3, 2]);
    assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
    for stage in summary["stages"].as_array().unwrap() {
        assert!(stage["server_cpu_us_per_transaction"].as_f64().is_none_or(|us| us >= 0.0), "{stage}");
    }
    warm(place.path(), db, ROWS);
}

/// A workload without New-Orders, whose profile has think times unless stages leave them out.
#[test]
fn debitcredit_in_stages_warm_and_priced() {
    let place = TempDir::new().unwrap();
    fs::write(place.path().join("price.toml"), PRICE).unwrap();
    let arguments = [
        "bench",
        "debitcredit",
        "--profile",
        "tpc-a",
        "-b",
        "1",
        "--db",
        "sqlite:bank.db?synchronous=off",
        "--ramp-up",
        "0s",
        "--stages",
        "1,2",
        "--stage-duration",
        "3s",
        "--warm",
        "random",
        "--price",
        "price.toml",
        "--out",
        "record",
        "--json",
    ];
    let summary = succeed(place.path(), &arguments).json();
    let stages = summary["stages"].as_array().unwrap();
    let completed = |of: &Value| of["completed"].as_u64().unwrap();
    assert_eq!(stages.iter().map(completed).sum::<u64>(), completed(&summary["transactions"]["debit_credit"]));
    assert!(stages.iter().all(|stage| stage["new_orders_per_minute"].is_null() && stage["whole"] == true), "{summary}");
    assert_eq!((&summary["pace"], &summary["database"]["agrees"]), (&"none".into(), &true.into()));
    let warm = &summary["maintenance"][0];
    assert!(warm["rows"].as_u64().unwrap() <= 100_011 && warm["work"].as_str().unwrap().contains("3 tables"), "{warm}");
    assert_eq!(summary["price"]["metric"], "EUR/tps");
    let clauses = summary["verdict"]["clauses"].as_array().unwrap();
    assert!(clauses.iter().any(|clause| clause["id"] == "steady" && clause["state"] == "broken"), "{summary}");
    let text = fs::read_to_string(place.path().join("record").join(file::REPORT_TEXT)).unwrap();
    assert!(text.contains("2 stages of 3 s, 1 to 2 clients") && text.contains("EUR/tps"), "{text}");
    assert!(stages.iter().all(|stage| stage["over_2s_percent"].is_number()) && text.contains("over 2 s %"), "{text}");
    among_other_years(place.path());
}

/// The price stands among those of other years, of which only some count.
fn among_other_years(place: &Path) {
    let head = "year,system,metric,price_per_metric,source\n";
    let points = "1990,Mainframe,EUR/tps,100000,a book\n2000,Server,EUR/tps,1000,a paper\n2000,C,EUR/tpmC,5,a page\n";
    fs::write(place.join("trend.csv"), format!("{head}{points}")).unwrap();
    let reported = succeed(place, &["report", "record", "--trend", "trend.csv", "--json"]).json();
    assert!((reported["times_cheaper_in_ten_years"].as_f64().unwrap() - 100.0).abs() < 1e-6, "{reported}");
    assert_eq!((reported["points"].as_array().unwrap().len(), &reported["of_other_metrics"]), (2, &1.into()));
    let text = succeed(place, &["report", "record", "--trend", "trend.csv"]).out;
    assert!(text.contains("Mainframe") && text.contains("this result") && text.contains("100 times"), "{text}");
    let picture = fs::read_to_string(place.join("record/price-trend.svg")).unwrap();
    assert!(picture.contains("2000") && picture.contains("1990"), "{picture}");
    let published = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/trend.csv");
    run(place, &["report", "record", "--trend", published]).refused(USAGE, &["EUR/tps"]);
    run(place, &["report", "record", "--trend", "price.toml"]).refused(USAGE, &["price.toml", "not a file of prices"]);
}

#[test]
fn a_warm_up_of_nothing_is_reported() {
    let place = TempDir::new().unwrap();
    let arguments = ["run", "--db", "simulated:", "--warm", "random", "--ramp-up", "0s", "--duration", "4s", "--json"];
    let summary = succeed(place.path(), &arguments).json();
    assert_eq!(summary["maintenance_notes"][0], "a simulated database has no rows to read");
}

const PRICE: &str = "currency = \"EUR\"\n[[parts]]\nname = \"box\"\nprice = 999.99\nquantity = 2\nyearly = 0.01\n";

#[test]
fn a_run_is_priced() {
    let place = TempDir::new().unwrap();
    fs::write(place.path().join("price.toml"), PRICE).unwrap();
    let arguments =
        ["run", "--db", "simulated:service=5ms", "--ramp-up", "0s", "--duration", "4s", "--out", "record", "--json"];
    let summary = succeed(place.path(), &[&arguments[..], &["--price", "price.toml"]].concat()).json();
    let price = &summary["price"];
    // 2 × (999.99 + 3 × 0.01) is 2,000.04.
    assert_eq!(
        (&price["total"], &price["currency"], &price["metric"]),
        (&2_001.into(), &"EUR".into(), &"EUR/NOPM".into())
    );
    let rate = summary["new_orders_per_minute"].as_f64().unwrap().trunc();
    let each = price["per_metric"].as_f64().unwrap();
    assert!(each >= 2_001.0 / rate && each < 2_001.0 / rate * 1.01, "{each} for {rate}");
    let record = place.path().join("record");
    assert_eq!(fs::read_to_string(record.join(file::PRICE)).unwrap(), PRICE);
    let text = fs::read_to_string(record.join(file::REPORT_TEXT)).unwrap();
    assert!(text.contains("2,001 EUR for 1 part with maintenance for 3 years") && text.contains("EUR/NOPM"), "{text}");
    assert!(fs::read_to_string(record.join(file::REPORT_HTML)).unwrap().contains("name = &quot;box&quot;"));
}

#[test]
fn a_record_is_priced_later_and_nothing_measured_changes() {
    let place = TempDir::new().unwrap();
    let arguments = ["run", "--db", "simulated:service=5ms", "--ramp-up", "0s", "--duration", "4s", "--out", "record"];
    succeed(place.path(), &arguments);
    let record = place.path().join("record");
    let files = || {
        let mut files: Vec<_> = fs::read_dir(&record).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| !path.file_name().unwrap().to_str().unwrap().starts_with("report."));
        files.sort();
        files.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect::<Vec<_>>()
    };
    let before = files();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/price.toml");
    let first = succeed(place.path(), &["report", "record", "--price", example, "--json"]).json();
    assert_eq!((&first["price"]["total"], &first["price"]["currency"]), (&3_419.into(), &"USD".into()));
    fs::write(place.path().join("price.toml"), PRICE).unwrap();
    let reported = succeed(place.path(), &["report", "record", "--full", "--price", "price.toml"]).out;
    assert!(reported.contains("2,001 EUR"), "{reported}");
    let after = files();
    assert_eq!(after.len(), before.len() + 1, "{after:?}");
    for (path, text) in before {
        let (_, now) = after.iter().find(|(known, _)| *known == path).unwrap();
        let kept = text.trim_end().trim_end_matches("\n}");
        assert!(if path.ends_with(file::SUMMARY) { now.starts_with(kept) } else { *now == text }, "{}", path.display());
    }
    // The price stays when the report is written again.
    assert!(succeed(place.path(), &["report", "record", "--full"]).out.contains("2,001 EUR"));
}

#[test]
fn price_files_that_make_no_sense() {
    let place = TempDir::new().unwrap();
    let list = place.path().join("price.toml");
    for (text, word) in [
        (PRICE.replace("999.99", "-1"), "price"),
        (PRICE.replace("999.99", "nan"), "price"),
        (PRICE.replace("999.99", "0.001"), "two decimals"),
        (PRICE.replace("quantity", "number"), "number"),
        (PRICE.replace("EUR", ""), "currency"),
        ("currency = \"EUR\"\n".to_owned(), "parts"),
    ] {
        fs::write(&list, text).unwrap();
        run(place.path(), &["bench", "--price", "price.toml"])
            .refused(USAGE, &["price.toml is not a price file", word]);
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "a mistake leaves nothing behind");
    fs::write(&list, PRICE).unwrap();
    run(place.path(), &["report", "nowhere", "--price", "price.toml"]).refused(USAGE, &["nowhere", "no record named"]);
    // A record of a run that was killed has nothing to price.
    fs::create_dir(place.path().join("killed")).unwrap();
    let header = r#"{"format":1,"graymark":"0","command":"run","workload":"tpcc","transactions":[],"status":"running",
        "started":""}"#;
    fs::write(place.path().join("killed").join(file::HEADER), header).unwrap();
    run(place.path(), &["report", "killed", "--price", "price.toml"]).refused(USAGE, &["killed", "nothing to price"]);
}
