//! A user gets a first result by one command, reads it, keeps it, and runs the same again.

use crate::support;
use std::path::{Path, PathBuf};

use crate::support::command::{json_file, new_record, open_directory, run, succeed};
use crate::support::loaded::{loaded, loaded_server};
use crate::support::{require_postgres, tutorial};
use graymark::result::format::file;
use serde_json::Value;
use tempfile::TempDir;

const TRANSACTIONS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

#[test]
fn the_embedded_default_needs_nothing_but_the_command() {
    let place = TempDir::new().unwrap();
    // As docs/first-result.md begins.
    let (page, _) = &tutorial::commands("first-result.md")[0];
    let page: Vec<&str> = page.iter().map(String::as_str).collect();
    assert_eq!(page, ["bench"]);
    // In less, a machine that is busy with something else may not get to a single New-Order.
    let bench = [&page[..], &["--duration", "15s", "--ramp-up", "1s", "--json"]].concat();
    let first = succeed(place.path(), &bench);
    let summary = first.json();
    assert!(first.err.contains("load: rows"), "{first:?}");
    honest(&summary);
    assert_eq!(summary["engine"]["name"], "SQLite");
    assert_eq!((&summary["scale"], &summary["via"]), (&Value::from(1), &Value::from("statements")));
    let record = new_record(place.path(), &[]);
    assert_eq!(place.path().join(summary["record"].as_str().unwrap()), record);
    complete(&record, &summary);
    assert!(record.join(file::LOAD).is_file());

    // What is loaded is used again.
    let again = succeed(place.path(), &bench);
    assert!(!again.err.contains("load:"), "{again:?}");
    assert_eq!(again.json()["population"], summary["population"]);
    let second = new_record(place.path(), std::slice::from_ref(&record));
    assert!(!second.join(file::LOAD).exists());

    runs_again(place.path(), &summary, &[]);

    // A record is enough to read it again, without the database.
    for left in ["graymark.db", "graymark.db-wal", "graymark.db-shm"] {
        let _ = std::fs::remove_file(place.path().join(left));
    }
    for report in [file::REPORT_HTML, file::REPORT_TEXT] {
        std::fs::remove_file(record.join(report)).unwrap();
    }
    let elsewhere = TempDir::new().unwrap();
    let reported = succeed(elsewhere.path(), &["report", record.to_str().unwrap()]);
    let figure = summary["new_orders_per_minute"].as_f64().unwrap();
    // Clause 5.4.4: truncated to an integer.
    let headline = format!("{} NOPM", figure.trunc());
    assert!(reported.out.replace(',', "").contains(&headline), "{figure} in\n{}", reported.out);
    complete(&record, &summary);
    let json = succeed(elsewhere.path(), &["report", record.to_str().unwrap(), "--json"]);
    assert_eq!(json.json(), summary);
}

#[test]
fn without_json_the_result_is_reported_as_text() {
    let place = TempDir::new().unwrap();
    // In less, each type of the mix would have to be lucky on a slow disk.
    let reported = succeed(place.path(), &["bench", "--duration", "15s", "--ramp-up", "0s", "--out", "record"]);
    assert!(reported.out.contains(" NOPM\n") && reported.out.contains("record/report.html"), "{}", reported.out);
    let written = std::fs::read_to_string(place.path().join("record").join(file::REPORT_TEXT)).unwrap();
    assert_eq!(reported.out.lines().next(), written.lines().next());
    // A first run in which nothing is wrong alarms nobody.
    let busy = ["! Machine not quiet", "still under way when the measurement ended", "! No transaction completed in "];
    let alarms =
        reported.out.lines().filter(|line| line.starts_with("! ") && !busy.iter().any(|word| line.contains(word)));
    assert!(reported.out.lines().count() <= 10 && alarms.count() == 0, "{}", reported.out);
    let full = succeed(place.path(), &["report", "record", "--full"]);
    assert_eq!(full.out, written);
}

#[test]
fn a_private_postgres_by_procedures_and_by_statements() {
    let Some(()) = require_postgres() else { return };
    let place = open_directory();
    let db = format!("postgres:local?data={}/data", place.path().display());
    let common = ["--set", "fsync=off", "--set", "shared_buffers=64MB"];
    let bench = |via: &str| {
        let usual = ["bench", "--db", &db, "--via", via, "--duration", "4s", "--ramp-up", "1s", "--json"];
        let done = succeed(place.path(), &[&usual[..], &common, &["--rate", "40"]].concat());
        let summary = done.json();
        honest(&summary);
        assert_eq!((&summary["engine"]["name"], &summary["via"]), (&Value::from("PostgreSQL"), &Value::from(via)));
        assert!(summary["server"]["cpu_s"].as_f64().unwrap() > 0.0, "{summary}");
        (done, summary)
    };
    let (first, summary) = bench("procedures");
    assert!(first.err.contains("load:"), "{first:?}");
    let record = new_record(place.path(), &[]);
    complete(&record, &summary);

    let (again, other) = bench("statements");
    assert!(!again.err.contains("load:"), "{again:?}");
    assert_eq!(other["population"], summary["population"]);
    complete(&new_record(place.path(), std::slice::from_ref(&record)), &other);
    runs_again(place.path(), &summary, &common);

    std::fs::remove_dir_all(place.path().join("data")).unwrap();
    succeed(place.path(), &["report", record.to_str().unwrap()]);
    complete(&record, &summary);
}

/// By the commands of docs/first-result.md.
#[test]
fn a_private_postgres_leaves_with_its_bench() {
    let Some(()) = require_postgres() else { return };
    let place = TempDir::new().unwrap();
    let commands = tutorial::commands("first-result.md");
    let [_, (text, _), (json, paths)] = &commands[..] else { panic!("{commands:?}") };
    assert!(text.starts_with(&["bench", "--db", "postgres:local"].map(str::to_owned)), "{text:?}");
    let read = text.iter().map(String::as_str).chain(["--set", "fsync=off", "--ramp-up", "0s"]).collect::<Vec<_>>();
    let read = succeed(open_directory().path(), &read);
    let screen: Vec<&str> = read.out.lines().collect();
    assert!(screen.len() <= 10 && screen[0].contains(" NOPM") && screen[1].contains("PostgreSQL"), "{read:?}");
    let arguments = json.iter().map(String::as_str).chain(["--set", "fsync=off", "--ramp-up", "0s"]);
    let arguments: Vec<&str> = arguments.collect();
    let mut command = support::command::graymark(place.path(), &arguments);
    command.env("TMPDIR", open_directory().keep());
    let temporary: PathBuf = command.get_envs().find(|(name, _)| *name == "TMPDIR").unwrap().1.unwrap().into();
    let done = support::command::end(command);
    assert_eq!(done.code, Some(0), "{done:?}");
    let summary = done.json();
    honest(&summary);
    assert_eq!(paths.len(), 3, "{paths:?}");
    assert!(paths.iter().all(|path| summary.pointer(path).is_some()), "{paths:?} of {summary}");
    let left: Vec<_> = std::fs::read_dir(&temporary).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    std::fs::remove_dir(temporary).unwrap();
}

/// Of a bank: what was counted and checked agrees, and its own figures are there.
fn honest_bank(summary: &Value, profile: &str) {
    assert_eq!((&summary["workload"], &summary["profile"]), (&Value::from("debitcredit"), &Value::from(profile)));
    assert!(summary["tps"].as_f64().unwrap() > 0.0, "{summary}");
    assert!(summary.get("new_orders_per_minute").is_none_or(Value::is_null), "{summary}");
    assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
    let rows = &summary["database"]["effects"]["history_rows"];
    assert_eq!(rows["client"], rows["database"], "{rows}");
    let in_interval = summary["transactions"]["debit_credit"]["completed"].as_i64().unwrap();
    assert!((1..=rows["database"].as_i64().unwrap()).contains(&in_interval), "{summary}");
    assert_eq!(summary["consistency"]["failed"], Value::Array(Vec::new()));
    assert_eq!(summary["consistency"]["held"], summary["consistency"]["after"].as_array().unwrap().len());
    assert_eq!(summary["verdict"]["valid"], false, "a short run is never valid");
}

#[test]
fn each_workload_has_a_file_of_its_own_by_default() {
    let place = TempDir::new().unwrap();
    // So few that even a slow disk executes a Delivery within 5 s.
    let short = ["--duration", "15s", "--rate", "10", "--ramp-up", "0s", "--json"];
    let first = succeed(place.path(), &[&["bench"], &short[..]].concat()).json();
    honest(&first);
    let record = new_record(place.path(), &[]);
    let bank = succeed(place.path(), &[&["bench", "debitcredit", "-b", "2"], &short[..]].concat());
    assert!(bank.err.contains("load: rows"), "{bank:?}");
    let bank = bank.json();
    honest_bank(&bank, "gray");
    assert_eq!((&bank["metric"], &bank["scale"]), (&Value::from("tps"), &Value::from(2)));
    let bank_record = new_record(place.path(), std::slice::from_ref(&record));
    complete(&bank_record, &bank);
    // Each is found again, and a plan says which workload it is for.
    honest(&succeed(place.path(), &[&["run"], &short[..]].concat()).json());
    honest_bank(&succeed(place.path(), &[&["run", "debitcredit"], &short[..]].concat()).json(), "gray");
    let plan = bank_record.join(file::PLAN);
    let again = succeed(place.path(), &["run", "--plan", plan.to_str().unwrap(), "--out", "again", "--json"]).json();
    honest_bank(&again, "gray");
    for same in ["seed", "scale", "clients", "via", "pace", "profile", "ramp_up_s", "population"] {
        assert_eq!(again[same], bank[same], "{same}");
    }
}

#[test]
fn a_plan_of_old_keeps_its_meaning() {
    let place = TempDir::new().unwrap();
    let plan = "db = \"simulated:service=1ms\"\nwarehouses = 3\nclients = 2\nramp_up = \"0s\"\nduration = \"4s\"\n";
    std::fs::write(place.path().join("old.toml"), plan).unwrap();
    let summary = succeed(place.path(), &["run", "--plan", "old.toml", "--json"]).json();
    assert_eq!((&summary["workload"], &summary["scale"]), (&Value::from("tpcc"), &Value::from(3)));
    assert_eq!((&summary["clients"], &summary["metric"]), (&Value::from(2), &Value::from("NOPM")));
}

#[test]
fn another_mix_is_run_and_reported() {
    let place = TempDir::new().unwrap();
    let mixed = |more: &[&str]| {
        let fixed = ["run", "--db", "simulated:service=1ms", "--duration", "4s", "--ramp-up", "0s", "--json"];
        run(place.path(), &[&fixed, more].concat())
    };
    let summary = mixed(&["--mix", "new_order=3,stock_level=1"]).json();
    let done = |name: &str| summary["transactions"][name]["completed"].as_f64().unwrap();
    assert!((done("new_order") / done("stock_level") - 3.0).abs() < 0.2, "{summary}");
    assert_eq!((done("payment"), done("order_status"), done("delivery")), (0.0, 0.0, 0.0));
    let clauses = summary["verdict"]["clauses"].as_array().unwrap();
    let shares: Vec<&Value> = clauses.iter().filter(|clause| clause["id"] == "5.2.3").map(|c| &c["state"]).collect();
    assert!(shares.contains(&&Value::from("broken")) && shares.contains(&&Value::from("held")), "{shares:?}");
    let plan =
        std::fs::read_to_string(place.path().join(summary["record"].as_str().unwrap()).join("plan.toml")).unwrap();
    assert!(plan.contains("mix = \"new_order=3,stock_level=1\""), "{plan}");
    mixed(&["--mix", "new_order=3,stock=1"]).refused(2, &["unknown transaction type `stock`", "stock_level"]);
    let bank = ["run", "debitcredit", "--db", "simulated:", "--mix", "new_order=1"];
    run(place.path(), &bank).refused(2, &["one transaction type"]);
}

#[test]
fn a_bank_of_each_profile_in_a_private_postgres() {
    let Some(()) = require_postgres() else { return };
    // With the standard's think times, ten tellers do a transaction a second on average: with this seed, some in the
    // interval. A random seed can give none.
    for (profile, via, metric, pace, duration) in [
        ("gray", "statements", "tps", "none", "5s"),
        ("tpc-b", "procedures", "tpsB-gm", "none", "5s"),
        ("tpc-a", "procedures", "tpsA-gm", "standard", "10s"),
    ] {
        let place = open_directory();
        let db = format!("postgres:local?data={}/data", place.path().display());
        let common = ["--set", "fsync=off", "--set", "shared_buffers=64MB"];
        let bench = [
            "bench",
            "debitcredit",
            "--db",
            &db,
            "--profile",
            profile,
            "--via",
            via,
            "--ramp-up",
            "1s",
            "--duration",
            duration,
            "--seed",
            "7",
            "--json",
        ];
        let summary = succeed(place.path(), &[&bench, &common[..]].concat()).json();
        honest_bank(&summary, profile);
        assert_eq!(
            (&summary["metric"], &summary["pace"], &summary["via"]),
            (&metric.into(), &pace.into(), &via.into())
        );
        complete(&new_record(place.path(), &[]), &summary);
        let plan = Path::new(summary["record"].as_str().unwrap()).join(file::PLAN);
        let run = ["run", "--plan", plan.to_str().unwrap(), "--out", "again", "--json"];
        let again = succeed(place.path(), &[&run, &common[..]].concat()).json();
        honest_bank(&again, profile);
        assert_eq!((&again["metric"], &again["pace"], &again["via"]), (&metric.into(), &pace.into(), &via.into()));
    }
}

/// The plan of a record runs again as it was.
fn runs_again(place: &Path, summary: &Value, common: &[&str]) {
    let plan = Path::new(summary["record"].as_str().unwrap()).join(file::PLAN);
    let run = [&["run", "--plan", plan.to_str().unwrap(), "--out", "again", "--json"], common].concat();
    let again = succeed(place, &run).json();
    honest(&again);
    for same in ["seed", "scale", "clients", "via", "pace", "ramp_up_s", "population"] {
        assert_eq!(again[same], summary[same], "{same}");
    }
}

/// All that the contract promises is there, and what was counted and checked agrees.
fn honest(summary: &Value) {
    let keys = [
        "/workload",
        "/engine/name",
        "/engine/version",
        "/engine/url",
        "/via",
        "/pace",
        "/scale",
        "/clients",
        "/seed",
        "/interval_s",
        "/new_orders_per_minute",
        "/metric",
        "/database/new_orders",
        "/database/agrees",
        "/consistency/held",
        "/consistency/failed",
        "/verdict/valid",
        "/client/cpu_s",
        "/client/cpu_us_per_transaction",
        "/client/peak_rss_bytes",
        "/client/terminals",
        "/server",
        "/record",
    ];
    for key in keys {
        assert!(summary.pointer(key).is_some_and(|value| !value.is_null()), "{key} is not in {summary}");
    }
    for transaction in TRANSACTIONS {
        let reported = &summary["transactions"][transaction];
        for key in ["completed", "rolled_back", "errors", "retries"] {
            assert!(reported[key].is_u64(), "{transaction}.{key}: {reported}");
        }
        for time in ["response_ms", "service_ms"] {
            for key in ["mean", "p50", "p90", "p95", "p99", "p999", "max"] {
                assert!(reported[time][key].is_f64(), "{transaction}.{time}.{key}: {reported}");
            }
        }
    }
    let clauses = summary["verdict"]["clauses"].as_array().unwrap();
    assert!(!clauses.is_empty());
    for clause in clauses {
        for key in ["id", "rule", "value", "limit", "state", "note"] {
            assert!(clause[key].is_string(), "{key}: {clause}");
        }
        assert!(["held", "broken", "not tested"].contains(&clause["state"].as_str().unwrap()), "{clause}");
    }
    assert_eq!(summary["metric"], "NOPM");
    assert!(summary["new_orders_per_minute"].as_f64().unwrap() > 0.0, "{summary}");

    assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
    for (name, effect) in summary["database"]["effects"].as_object().unwrap() {
        assert_eq!(effect["client"], effect["database"], "{name}");
    }
    let orders = &summary["transactions"]["new_order"];
    let in_interval = orders["completed"].as_i64().unwrap() - orders["rolled_back"].as_i64().unwrap();
    assert!((1..=summary["database"]["new_orders"].as_i64().unwrap()).contains(&in_interval), "{summary}");

    assert_eq!(summary["consistency"]["failed"], Value::Array(Vec::new()));
    let findings = summary["consistency"]["after"].as_array().unwrap();
    for number in 1..=12 {
        let id = format!("3.3.2.{number}");
        let finding = findings.iter().find(|finding| finding["id"] == id.as_str()).unwrap_or_else(|| panic!("{id}"));
        assert_eq!(finding["offending"], 0, "{finding}");
    }
    assert_eq!(summary["consistency"]["held"].as_u64().unwrap() as usize, findings.len());
}

/// Everything is in the record, and its page needs nothing from elsewhere.
fn complete(record: &Path, summary: &Value) {
    // What not every run has.
    const OTHERS: [&str; 10] = [
        file::LOAD,
        file::PRICE,
        file::DELIVERIES,
        file::ACID,
        file::TRANSCRIPT,
        file::HISTORY,
        file::SCAN,
        file::TUNE,
        file::TUNED,
        file::DUET,
    ];
    for name in file::ALL.iter().filter(|name| !OTHERS.contains(name)) {
        assert!(record.join(name).metadata().is_ok_and(|file| file.len() > 0), "{name} in {}", record.display());
    }
    assert_eq!(json_file(record, file::HEADER)["status"], "complete");
    assert_eq!(json_file(record, file::SUMMARY), *summary);
    assert_eq!(json_file(record, file::ENVIRONMENT)["engine"], summary["engine"]);
    let page = std::fs::read_to_string(record.join(file::REPORT_HTML)).unwrap();
    for outside in [
        "src=\"http",
        "href=\"http",
        "src='http",
        "href='http",
        "src=\"//",
        "href=\"//",
        "<script src",
        "@import",
        "url(http",
    ] {
        assert!(!page.contains(outside), "{outside} in the page");
    }
    assert!(page.contains("<svg"), "no figure in the page");
}

#[test]
fn a_reader_that_goes_away_is_no_mistake() {
    let place = TempDir::new().unwrap();
    for arguments in [
        &["check", "--json"][..],
        &["bench", "--duration", "8s", "--rate", "10", "--ramp-up", "0s", "--out", "record"],
        &["report", "record"],
    ] {
        if arguments[0] == "check" {
            succeed(place.path(), &["load"]);
        }
        let mut command = support::command::graymark(place.path(), arguments);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        command.stdout(writer.try_clone().unwrap()).stderr(writer);
        assert_eq!(command.status().unwrap().code(), Some(0), "{arguments:?}");
    }
    assert!(place.path().join("record").join(file::REPORT_HTML).is_file());
    assert_eq!(run(place.path(), &["report", "record"]).code, Some(0));
}

#[test]
fn stored_procedures_that_are_not_graymarks_are_refused() {
    let Some(()) = support::require_postgres() else { return };
    let server = loaded_server();
    let place = TempDir::new().unwrap();
    let url = server.url();
    let with =
        |url: &str, arguments: &[&str]| support::command::run(place.path(), &[arguments, &["--db", url]].concat());
    let sql = |text: &str| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            support::client(&url).await.batch_execute(text).await.unwrap_or_else(|error| panic!("{text}: {error}"))
        });
    };
    let run = ["run", "--clients", "1", "--ramp-up", "0s", "--duration", "4s", "--json", "--check", "none"];
    let run = [&run[..], &["--rate", "20", "--mix", "new_order=1,payment=1"]].concat();
    let summary = |url: &str, more: &[&str]| {
        let done = with(url, &[&run[..], more].concat());
        assert_eq!(done.code, Some(0), "{done:?}");
        done.json()
    };
    let state = |summary: &serde_json::Value| {
        let clauses = summary["verdict"]["clauses"].as_array().unwrap();
        clauses
            .iter()
            .find(|clause| clause["id"] == "procedures")
            .map(|clause| clause["state"].as_str().unwrap().to_owned())
    };
    let own = summary(&url, &[]);
    assert_eq!((&own["procedures"], state(&own).as_deref()), (&serde_json::json!("own"), Some("held")));

    let stock_level = "FUNCTION tpcc.stock_level(in_w_id integer, in_d_id integer, in_threshold integer) RETURNS TABLE \
        (low_stock integer)";
    for (fault, name) in [
        (format!("CREATE OR REPLACE {stock_level} LANGUAGE sql STABLE AS 'SELECT 0'"), "stock_level"),
        // A body that the server does not keep as a text.
        (format!("CREATE OR REPLACE {stock_level} LANGUAGE sql STABLE BEGIN ATOMIC SELECT 0; END"), "stock_level"),
        ("DROP FUNCTION tpcc.delivery".to_owned(), "delivery"),
        ("ALTER PROCEDURE tpcc.new_order RENAME TO older".to_owned(), "new_order"),
    ] {
        sql(&fault);
        for command in ["run", "bench"] {
            with(&url, &[command]).refused(3, &[name, "graymark load tpcc --procedures-only"]);
        }
        // The client's own statements have nothing to do with them.
        if name == "delivery" {
            let statements = summary(&url, &["--via", "statements"]);
            assert_eq!((&statements["procedures"], state(&statements)), (&serde_json::json!("unused"), None));
        }
        assert_eq!(with(&url, &["load", "--procedures-only"]).code, Some(0), "{fault}");
        assert_eq!(summary(&url, &[])["procedures"], "own", "{fault}");
    }
    // One of the same name might be called in its place. It is somebody else's, and stays until its owner removes it,
    // also where ours is gone.
    sql("CREATE FUNCTION tpcc.payment(due integer) RETURNS integer LANGUAGE sql AS 'SELECT due'");
    for fault in ["SELECT", "DROP FUNCTION tpcc.payment(integer, integer, integer, integer, integer, text, numeric)"] {
        sql(fault);
        with(&url, &["run"]).refused(3, &["payment", "--procedures-only"]);
        with(&url, &["load", "--procedures-only"]).refused(3, &["beside them (payment)", "\\df tpcc.*"]);
        sql("SELECT tpcc.payment(7)");
    }
    sql("DROP FUNCTION tpcc.payment(integer)");

    // Who may not read the source is not told that it is right.
    sql("CREATE ROLE bob; GRANT USAGE ON SCHEMA tpcc TO bob; GRANT ALL ON ALL TABLES IN SCHEMA tpcc TO bob;
         REVOKE SELECT ON pg_catalog.pg_proc FROM PUBLIC");
    let bob = format!("{url}{}options=-c%20role%3Dbob", if url.contains('?') { '&' } else { '?' });
    let unread = summary(&bob, &[]);
    assert_eq!(unread["procedures"]["unread"].as_array().map(Vec::len), Some(6), "{}", unread["procedures"]);
    assert_eq!(
        (state(&unread).as_deref(), &unread["verdict"]["valid"]),
        (Some("not tested"), &serde_json::json!(false))
    );
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let place = TempDir::new().unwrap();
    succeed(place.path(), &["load", "--db", "sqlite:small.db"]);
    let bench = ["bench", "--db", "simulated:", "--duration", "1s", "--ramp-up", "0s", "--out", "record"];
    let cases: &[&[&str]] = &[
        &bench,
        &["bench", "--db", "simulated:", "--duration", "1s", "--ramp-up", "0s", "--out", "record-2", "--json"],
        &["check", "--db", "sqlite:small.db"],
        &["check", "--db", "sqlite:small.db", "--json"],
        &["report", "record"],
        &["report", "record", "--json"],
        &["report", "--table", "record"],
        &["rows", "tpcc", "item"],
        &["screens"],
        &["--help"],
    ];
    for arguments in cases {
        let mut command = support::command::graymark(place.path(), arguments);
        // A device that is always full.
        command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
        let done: support::command::Done = command.output().unwrap().into();
        assert_eq!(done.code, Some(4), "{arguments:?}: {done:?}");
        let last = done.err.lines().last().unwrap_or_default();
        assert!(last.starts_with("graymark: cannot write the result to standard output: No space left"), "{done:?}");
    }
    // The record is whole all the same.
    assert_eq!(json_file(&place.path().join("record"), file::HEADER)["status"], "complete");
}

#[test]
fn a_record_that_cannot_be_written_is_an_error_after_its_result() {
    let place = TempDir::new().unwrap();
    let bench = |more: &str| {
        // No file may become larger than 4 KiB, which is enough until there is a summary.
        let binary = env!("CARGO_BIN_EXE_graymark");
        let script =
            format!("trap '' XFSZ; ulimit -f 8; exec {binary} bench --db simulated: --duration 4s --ramp-up 0s {more}");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script]).current_dir(place.path()).env_remove("GRAYMARK_DB");
        support::command::end(command)
    };
    let json = bench("--json --out record");
    assert_eq!(json.code, Some(4), "{json:?}");
    assert!(json.json()["new_orders_per_minute"].as_f64().unwrap() > 0.0, "{json:?}");
    let reported = json.err.lines().last().unwrap_or_default();
    assert!(reported.starts_with("graymark: cannot write record/") && reported.contains("ulimit -f"), "{json:?}");
    assert_eq!(json_file(&place.path().join("record"), file::HEADER)["status"], "partial");
    let text = bench("--out record-2");
    assert_eq!(text.code, Some(4), "{text:?}");
    assert!(text.out.contains("New-Order"), "{text:?}");
    assert!(
        text.err.lines().last().is_some_and(|line| line.starts_with("graymark: cannot write record-2/")),
        "{text:?}"
    );
    // A place that can take no record is found before anything is loaded or run.
    let nowhere = run(place.path(), &["bench", "--db", "simulated:", "--out", "/proc/graymark"]);
    nowhere.refused(4, &["cannot make the record /proc/graymark", "--out"]);
}

#[test]
fn a_terminal_gets_nothing_to_obey_from_a_database() {
    let place = TempDir::new().unwrap();
    succeed(place.path(), &["load", "--db", "sqlite:evil.db", "--seed", "1"]);
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\r\u{9b}31m\u{202e}<script>alert(1)</script>";
    let database = rusqlite::Connection::open(place.path().join("evil.db")).unwrap();
    let trigger = format!("CREATE TRIGGER evil BEFORE INSERT ON history BEGIN SELECT RAISE(ABORT, '{evil}'); END");
    database.execute_batch(&trigger).unwrap();
    drop(database);
    let short = ["--db", "sqlite:evil.db", "--mix", "payment=1", "--duration", "4s", "--ramp-up", "0s"];
    let mut said = Vec::new();
    for more in [&["--json", "--out", "record"][..], &["--out", "record-2"]] {
        let done = run(place.path(), &[&["run"], &short[..], more].concat());
        assert!(done.err.contains("alert(1)"), "the trigger is reported: {done:?}");
        said.extend([done.out, done.err]);
    }
    said.push(run(place.path(), &["report", "record"]).out);
    said.push(run(place.path(), &["report", "record", "--full"]).out);
    for record in ["record", "record-2"] {
        for path in support::command::files(&place.path().join(record)) {
            said.push(String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned());
        }
        let page = std::fs::read_to_string(place.path().join(record).join(file::REPORT_HTML)).unwrap();
        assert!(!page.contains("<script>"), "{page}");
    }
    for text in said {
        let obeyed = text.chars().find(|letter| (letter.is_control() && *letter != '\n') || *letter == '\u{202e}');
        assert_eq!(obeyed, None, "{text:?}");
    }
}

#[test]
fn each_step_is_shown_if_asked_for_and_nothing_else_changes() {
    let place = loaded();
    let check = |verbose: &[&str]| succeed(place.path(), &[&["check", "--db", "sqlite:loaded.db"], verbose].concat());
    let (quiet, reported) = (check(&[]), check(&["-v"]));
    assert!(
        reported.err.contains("INFO opening the database") && reported.err.contains("sqlite:loaded.db"),
        "{reported:?}"
    );
    assert!(!quiet.err.contains("opening the database"), "{quiet:?}");
    assert_eq!(quiet.out, reported.out);
}
