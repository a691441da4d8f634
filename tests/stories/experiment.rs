//! A user repeats the experiment of "Virtuoso and Database Scalability" on a database of theirs: its load as a profile,
//! the serial read, and a table of systems.

use crate::support::command::{Done, json_file, new_record, open_directory, run, succeed};
use crate::support::loaded::{loaded, loaded_postgres_data};
use crate::support::{require_mariadb, require_postgres};
use graymark::engine::server;
use serde_json::Value;
use tempfile::TempDir;

/// Rows of each table of a population of one warehouse.
const ROWS: [(&str, u64); 6] = [
    ("warehouse", 1),
    ("district", 10),
    ("customer", 30_000),
    ("orders", 30_000),
    ("item", 100_000),
    ("stock", 100_000),
];

#[test]
fn the_profile_sets_the_run_and_flags_win() {
    let place = loaded();
    let db = "sqlite:loaded.db?synchronous=off";
    let run = ["run", "--db", db, "--profile", "virtuoso", "--duration", "6s", "--check", "none", "--json"];
    let summary = succeed(place.path(), &run).json();
    let figures = ["clients", "scale", "ramp_up_s", "pace", "profile"].map(|key| summary[key].clone());
    assert_eq!(
        figures,
        [Value::from(2), Value::from(1), Value::from(0.0), Value::from("none"), Value::from("virtuoso")]
    );
    let effects = &summary["database"]["effects"]["new_orders"];
    assert_eq!((&effects["client"], &summary["database"]["agrees"]), (&effects["database"], &Value::Bool(true)));
    // The first of the checkpoints opens the interval.
    assert_eq!(summary["maintenance"][0]["kind"], "checkpoint");
    let clauses = summary["verdict"]["clauses"].as_array().unwrap();
    let broken = |id: &str| clauses.iter().any(|clause| clause["id"] == id && clause["state"] == "broken");
    assert!(["4.2.2", "5.2.5.2", "5.2.5.4", "5.5.2.1"].into_iter().all(broken), "{clauses:#?}");

    let record = new_record(place.path(), &[]);
    let plan = std::fs::read_to_string(record.join("plan.toml")).unwrap();
    for line in
        ["profile = \"virtuoso\"", "clients = 2", "duration = \"6s\"", "checkpoint = \"1200s\"", "ramp_up = \"0s\""]
    {
        assert!(plan.lines().any(|found| found == line), "{plan}");
    }
    let flags = [&run[..], &["--clients", "3", "--checkpoint", "1s", "--ramp-up", "1s"]].concat();
    let summary = succeed(place.path(), &flags).json();
    assert_eq!(["clients", "ramp_up_s"].map(|key| summary[key].clone()), [Value::from(3), Value::from(1.0)]);
    assert!(summary["maintenance"].as_array().unwrap().len() >= 2, "{}", summary["maintenance"]);

    // A run that asks for no profile is told without one.
    let plain = ["run", "--db", db, "--duration", "5s", "--ramp-up", "0s", "--check", "none", "--json"];
    let plain = succeed(place.path(), &plain).json();
    assert_eq!((&plain["profile"], &plain["clients"]), (&Value::Null, &Value::from(4)));
}

/// A run that is asked to begins with empty caches, and says what was emptied.
#[test]
fn a_run_begins_with_empty_caches_if_asked_to() {
    let place = loaded();
    let db = "sqlite:loaded.db?synchronous=off";
    let run = ["run", "--db", db, "--ramp-up", "0s", "--duration", "10s", "--check", "none", "--cold"];
    let done = succeed(place.path(), &[&run[..], &["--full"]].concat());
    assert!(done.err.contains("caches: cold: ") && done.out.contains("Cold start"), "{done:?}");
    let record = new_record(place.path(), &[]);
    let cold = &json_file(&record, "summary.json")["cold"];
    assert_eq!(cold["cold"], true, "{cold}");
    assert!(cold["how"].as_str().unwrap().contains("page cache"), "{cold}");
    let simulated = ["run", "--db", "simulated:service=1ms", "--duration", "1s", "--cold"];
    let refused = crate::support::command::run(place.path(), &simulated);
    assert!(refused.code == Some(2) && refused.err.contains("--cold: the caches of simulated"), "{refused:?}");
}

/// What a scan that was reported as JSON says of each pass.
fn scanned(done: &Done, first: &str) -> Value {
    let scan = done.json();
    let passes = scan["passes"].as_array().unwrap();
    assert_eq!(passes.iter().map(|pass| pass["name"].as_str().unwrap()).collect::<Vec<_>>(), [first, "warm"]);
    for pass in passes {
        let tables = pass["tables"].as_array().unwrap();
        assert_eq!(tables.len(), 9, "{pass}");
        for (name, rows) in ROWS {
            let found = tables.iter().find(|table| table[0] == name).unwrap();
            assert_eq!(found[1]["rows"], rows, "{name}");
            // No row is shorter than its numbers, and none of the standard's is longer than 700 bytes; pages are not
            // quite full.
            let bytes = found[1]["bytes"].as_u64().unwrap();
            assert!(bytes >= 8 * rows && bytes < 1_000 * rows + 100_000, "{name}: {bytes}");
        }
    }
    assert_eq!(scan["caches"]["cold"], first == "cold", "{scan}");
    scan
}

#[test]
fn an_embedded_database_is_read_from_end_to_end() {
    let place = loaded();
    let scan = scanned(&succeed(place.path(), &["scan", "--db", "sqlite:loaded.db", "--json"]), "cold");
    assert!(scan["caches"]["how"].as_str().unwrap().contains("page cache"), "{scan}");
    let results = succeed(place.path(), &["scan", "--db", "sqlite:loaded.db", "--out", "serial"]);
    let total = results.out.lines().find(|line| line.starts_with("total")).unwrap();
    assert_eq!(total.split_whitespace().count(), 7, "{}", results.out);
    assert!(results.out.contains("\nCold: ") && results.err.contains("scan: warm: stock: 100000 rows"), "{results:?}");
    // Its record is reported, and stands in a table of systems.
    let report = succeed(place.path(), &["report", "serial"]).out;
    assert!(report.contains(total), "{report}");
    assert_eq!(succeed(place.path(), &["report", "serial", "--json"]).json()["passes"][0]["name"], "cold");
    let page = std::fs::read_to_string(place.path().join("serial/report.html")).unwrap();
    assert!(page.contains("Serial read of tpcc on SQLite") && page.contains("stock"), "{page}");
    let table = succeed(place.path(), &["report", "--table", "serial"]).out;
    assert!(table.contains("serial read: cold ") && table.contains("1 warehouse"), "{table}");
    let again = run(place.path(), &["scan", "--db", "sqlite:loaded.db", "--out", "serial"]);
    assert!(again.code == Some(2) && again.err.contains("serial is not empty"), "{again:?}");

    run(place.path(), &["scan", "--db", "sqlite:other.db"]).refused(3, &["holds no tpcc tables", "graymark load"]);
    run(place.path(), &["scan", "--db", "simulated:"]).refused(2, &["graymark scan reads the tables at"]);
}

#[test]
fn a_private_server_is_restarted_for_the_cold_read() {
    let Some(()) = require_postgres() else { return };
    let place = open_directory();
    let data = loaded_postgres_data(place.path());
    let url = format!("postgres:local?data={}&fsync=off", data.display());
    let scan = scanned(&succeed(place.path(), &["scan", "--db", &url, "--json"]), "cold");
    assert!(scan["caches"]["how"].as_str().unwrap().contains("restarted"), "{scan}");

    // The same files by a server that is not Graymark's to restart.
    let settings = vec![("fsync".to_owned(), "off".to_owned())];
    let options = server::postgres::PostgresServerOptions { data: Some(data), settings, ..Default::default() };
    let server = server::postgres::Server::start(&options).unwrap();
    let scan = scanned(&succeed(place.path(), &["scan", "--db", &server.url(), "--json"]), "first");
    assert!(scan["caches"]["how"].as_str().unwrap().contains("restart it yourself first"), "{scan}");
}

#[test]
fn a_private_mariadb_is_restarted_for_the_cold_read() {
    let Some(()) = require_mariadb() else { return };
    let place = open_directory();
    let url = format!("mysql:local?data={}&innodb_flush_log_at_trx_commit=0", place.path().join("data").display());
    succeed(place.path(), &["load", "--db", &url]);
    let scan = scanned(&succeed(place.path(), &["scan", "--db", &url, "--json"]), "cold");
    assert!(scan["caches"]["how"].as_str().unwrap().contains("restarted"), "{scan}");
}

#[cfg(not(feature = "odbc"))]
#[test]
fn a_build_without_odbc_says_what_is_missing() {
    let place = TempDir::new().unwrap();
    for url in ["virtuoso:local", "virtuoso://dba@localhost:1111"] {
        run(place.path(), &["check", "--db", url]).refused(2, &["no ODBC", "--features odbc"]);
    }
}

#[test]
fn records_stand_side_by_side() {
    let place = TempDir::new().unwrap();
    let bench = ["bench", "--profile", "virtuoso", "--duration", "10s", "--check", "none", "--json", "--out"];
    let summary = succeed(place.path(), &[&bench[..], &["a"]].concat()).json();
    succeed(place.path(), &["run", "--db", "simulated:", "--duration", "5s", "--ramp-up", "0s", "--out", "b"]);
    let bank = ["run", "debitcredit", "--db", "simulated:", "--duration", "5s", "--ramp-up", "0s", "--out", "c"];
    succeed(place.path(), &bank);

    let table = succeed(place.path(), &["report", "--table", "a", "b", "c"]);
    let workload = ["workload", "tpcc", "tpcc", "debitcredit"];
    assert!(table.out.lines().any(|line| line.split_whitespace().eq(workload)), "{}", table.out);
    let line = |title: &str| {
        let found = table.out.lines().find(|line| line.starts_with(&format!("{title}  ")));
        found.unwrap_or_else(|| panic!("{title}: {}", table.out)).replace(',', "")
    };
    assert!(table.out.starts_with("run ") && line("load time").contains(" s"), "{}", table.out);
    // The figure of the page, and the count of the database.
    let nopm = summary["new_orders_per_minute"].as_f64().unwrap();
    assert!(line("figure").contains(&format!("{} NOPM", nopm.trunc())), "{nopm}: {}", table.out);
    assert!(line("figure").ends_with(" tps"), "{}", table.out);
    let orders = summary["database"]["new_orders"].as_f64().unwrap();
    let counted = (orders * 60.0 / summary["interval_s"].as_f64().unwrap()).trunc();
    assert!(line("New-Orders/min by the database").contains(&format!(" {counted} ")), "{counted}: {}", table.out);
    let load = line("load");
    assert!(load.contains("1 warehouse 2 clients") && load.contains("1 branch"), "{load}");

    let markdown = succeed(place.path(), &["report", "--table=markdown", "a", "b"]);
    assert!(markdown.out.starts_with("| differs | a | b |\n"), "{}", markdown.out);
    let heads = ["\n| figure | run | ", " | p50 / p90 / p99 ms | blocks read |"];
    assert!(heads.iter().all(|head| markdown.out.contains(head)), "{}", markdown.out);
    let csv = succeed(place.path(), &["report", "--table=csv", "a", "b"]).out;
    assert!(csv.starts_with("run,differs: ") && csv.lines().nth(1).unwrap().starts_with("a,"), "{csv}");
    let latex = succeed(place.path(), &["report", "--table=latex", "a", "b"]).out;
    assert!(latex.starts_with("\\begin{tabular}") && latex.contains("\\end{tabular}"), "{latex}");
    let json = succeed(place.path(), &["report", "--table", "--json", "a", "b"]).json();
    assert_eq!(succeed(place.path(), &["report", "--table=json", "a", "b"]).json(), json);
    let load = json_file(&place.path().join("a"), "load.json");
    assert_eq!(json["records"][0]["load_s"], load["seconds"]);
    // What a record does not tell is not made up.
    assert_eq!(
        (&json["records"][1]["load_s"], &json["records"][1]["server_cpu_percent"]),
        (&Value::Null, &Value::Null)
    );

    run(place.path(), &["report", "a", "b"]).refused(2, &["--table"]);
    run(place.path(), &["report", "--table", "a", "nowhere"]).refused(2, &["nowhere"]);
}
