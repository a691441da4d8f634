//! The database refuses work, is slow, or is away in the middle of a run: the run goes on, what was committed is
//! accounted for, and nobody can read a figure without being warned.

use crate::support;
use std::path::Path;
use std::time::Duration;

use crate::support::command::{Done, STEADY, graymark, json_file, run, start, succeed};
use crate::support::loaded::{loaded, loaded_mariadb, loaded_postgres, loaded_server};
use crate::support::{client, require_mariadb, require_postgres, small_postgres, with_few_commits};
use graymark::engine::server;
use graymark::result::format::file;
use nix::sys::signal::Signal;
use rusqlite::Connection;
use serde_json::{Map, Value};
use tempfile::TempDir;

const CLIENTS: u64 = 4;

/// A private server that can be killed and started again.
trait Server {
    fn url(&self) -> String;
    fn kill(&self);
    fn restart(&self);
}

impl Server for server::postgres::Server {
    fn url(&self) -> String {
        self.tcp_url()
    }
    fn kill(&self) {
        self.kill().unwrap();
    }
    fn restart(&self) {
        self.restart().unwrap();
    }
}

impl Server for server::mariadb::Server {
    fn url(&self) -> String {
        self.tcp_url()
    }
    fn kill(&self) {
        self.kill().unwrap();
    }
    fn restart(&self) {
        self.restart().unwrap();
    }
}

/// A few dozen transactions a second.
const LIGHT: [&str; 2] = ["--pace", "standard*0.01"];

/// Of a server that holds one warehouse; under the load that `more` asks for, else at full load.
fn a_crash(server: &impl Server, via: &str, seconds: u32, more: &[&str]) {
    let (url, duration) = (server.url(), format!("{seconds}s"));
    let place = TempDir::new().unwrap();
    let clients = CLIENTS.to_string();
    let arguments = [
        "run",
        "--db",
        &url,
        "--via",
        via,
        "--clients",
        &clients,
        "--ramp-up",
        "1s",
        "--duration",
        &duration,
        "--out",
        "record",
        "--json",
    ];
    let mut run = start(graymark(place.path(), &[&arguments, more].concat()));
    run.wait_for("run: measurement");
    run.wait_for_seconds(&place.path().join("record"), 2);
    server.kill();
    run.wait_for("run: session");
    std::thread::sleep(Duration::from_secs(1));
    server.restart();
    let (_, done) = run.end();
    assert_eq!(done.code, Some(0), "{done:?}");
    let summary = done.json();

    assert_eq!(summary["errors"], Value::Object(Map::new()), "{}", summary["errors"]);
    let connections = &summary["connections"];
    let (lost, ambiguous) = (connections["lost"].as_u64().unwrap(), connections["ambiguous"].as_u64().unwrap());
    assert!(lost >= CLIENTS, "{connections}");
    assert_eq!(connections["restored"].as_u64(), Some(lost), "{connections}");
    let outage = connections["outage_s"].as_f64().unwrap();
    assert!(outage > 0.0 && outage < f64::from(seconds) + 1.0, "{connections}");
    assert!(!connections["outages"].as_array().unwrap().is_empty(), "{connections}");

    // Each commit of unknown fate is at most one of each effect, but for the ten deliveries of a Delivery.
    assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
    for (name, effect) in summary["database"]["effects"].as_object().unwrap() {
        let number = |key: &str| effect[key].as_i64().unwrap();
        assert!(number("client") > 0, "{name}: {effect}");
        assert!((0..=number("ambiguous")).contains(&(number("database") - number("client"))), "{name}: {effect}");
        assert!(number("ambiguous").unsigned_abs() <= 10 * ambiguous, "{name}: {effect}");
    }
    assert_eq!(summary["consistency"]["failed"], Value::Array(Vec::new()));
    assert!(summary["consistency"]["held"].as_u64().unwrap() >= 12);
    // What had been acknowledged shortly before was looked up, and found.
    let after = summary["consistency"]["after"].as_array().unwrap();
    assert!(after.iter().any(|finding| finding["id"] == "acknowledged" && finding["offending"] == 0), "{after:?}");

    // It is in the record, second by second and by event.
    let record = place.path().join("record");
    assert_eq!(json_file(&record, file::HEADER)["status"], "complete");
    let events = std::fs::read_to_string(record.join(file::EVENTS)).unwrap();
    let count = |name: &str| events.lines().filter(|line| line.contains(&format!("\"{name}\""))).count() as u64;
    assert_eq!((count("session_lost"), count("session_restored")), (lost, lost), "{events}");
    let reported = succeed(place.path(), &["report", "record", "--full"]);
    assert!(reported.out.to_lowercase().contains("outage"), "{}", reported.out);

    // Each of its users waited for the database to come back, and it is told where one looks. Whoever was in the middle
    // of a transaction asked a little after the last commit of all: on a slow machine a good part of a second.
    let longest =
        summary["transactions"].as_object().unwrap().values().map(|of| of["response_ms"]["max"].as_f64().unwrap());
    assert!(longest.fold(0.0, f64::max) >= 500.0 * outage, "{outage} s: {}", summary["transactions"]);
    assert!(connections["longest_away_s"].as_f64().unwrap() >= outage, "{connections}");
    outputs_tell(place.path(), "record", "DATABASE UNAVAILABLE", "The database was unavailable for");
}

/// Text, page, table and comparison tell in their first lines what is wrong with a run: `mark` beside the figure, and a
/// sentence with `words`.
fn outputs_tell(place: &Path, record: &str, mark: &str, words: &str) {
    let first = |text: &str| text.lines().take_while(|line| !line.is_empty()).take(9).collect::<Vec<_>>().join(" ");
    let text = succeed(place, &["report", record, "--full"]).out;
    assert!(first(&text).contains(mark) && first(&text).contains(words), "{text}");
    assert!(text.lines().nth(1).unwrap().starts_with("! "), "{text}");
    let page = std::fs::read_to_string(place.join(record).join(file::REPORT_HTML)).unwrap();
    let header = page.split("</header>").next().unwrap();
    assert!(header.contains(&format!("<p class=\"mark\">{mark}")), "{header}");
    assert!(header.contains(&format!("<p class=\"banner bad\">{words}")), "{header}");
    let table = succeed(place, &["report", "--table", record]).out;
    assert!(first(&table).contains(mark), "{table}");
    let compared = succeed(place, &["compare", record, record]).out;
    assert!(
        first(&compared).contains(&format!("! A: {words}")) && first(&compared).contains(&format!("! B: {words}")),
        "{compared}"
    );
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A loaded SQLite database that refuses a kind of work.
fn refusing(trigger: &str) -> TempDir {
    let place = loaded();
    let database = Connection::open(place.path().join("loaded.db")).unwrap();
    database
        .execute_batch(&format!("CREATE TRIGGER refuse BEFORE {trigger} BEGIN SELECT RAISE(ABORT, 'not today'); END"))
        .unwrap();
    place
}

/// A run on a database of SQLite, with its summary and exit code.
fn ran(place: &Path, seconds: &str, more: &[&str]) -> (Done, Value) {
    let arguments = ["run", "--db", "sqlite:loaded.db", "--clients", "2", "--ramp-up", "0s", "--duration", seconds];
    let done = run(place, &[&arguments[..], &STEADY, &["--json"], more].concat());
    let summary = done.json();
    (done, summary)
}

fn clause<'a>(summary: &'a Value, id: &str) -> &'a Value {
    summary["verdict"]["clauses"].as_array().unwrap().iter().find(|clause| clause["id"] == id).unwrap()
}

#[test]
fn a_type_that_always_fails_is_reported_before_any_figure() {
    let place = refusing("DELETE ON new_order");
    let (done, summary) = ran(place.path(), "11s", &["--out", "record"]);
    assert_eq!(done.code, Some(1), "{}", done.err);
    assert!(done.err.contains("No Delivery completed"), "{}", done.err);
    assert_eq!(summary["failed"]["delivery"], 1.0, "{}", summary["failed"]);
    assert_eq!(summary["failed"]["new_order"], 0.0, "{}", summary["failed"]);
    let delivery = &summary["transactions"]["delivery"];
    assert_eq!(delivery["completed"], 0, "{delivery}");
    assert!(
        delivery["errors"].as_u64().unwrap() > 0 && delivery["response_ms"]["p90"].as_f64().unwrap() > 0.0,
        "{delivery}"
    );
    assert!(summary["new_orders_per_minute"].as_f64().unwrap() > 0.0);
    let rule = clause(&summary, "2.3.6");
    assert!(rule["state"] == "broken" && rule["note"].as_str().unwrap().contains("no delivery completed"), "{rule}");
    outputs_tell(place.path(), "record", "NO Delivery COMPLETED", &reported_failures(&summary));

    // A type that was asked for and completed nothing is never allowed.
    let half = ["--mix", "new_order=1,delivery=1"];
    let (done, summary) =
        ran(place.path(), "8s", &[&half[..], &["--allow-errors", "100%", "--out", "allowed"]].concat());
    assert_eq!((done.code, &summary["allowed_errors"]), (Some(1), &Value::from(1.0)), "{}", done.err);
    assert!(
        std::fs::read_to_string(place.path().join("allowed").join(file::PLAN))
            .unwrap()
            .contains("allow_errors = \"1\"")
    );

    // Nor does a sweep rest on it.
    let sweep =
        ["sweep", "max", "--of", "clients", "--to", "2", "--until", "p90(new_order)<60s", "--db", "sqlite:loaded.db"];
    let swept =
        run(place.path(), &[&sweep[..], &half, &["--ramp-up", "0s", "--duration", "8s", "--out", "sweep"]].concat());
    assert_eq!(swept.code, Some(1), "{swept:?}");
    assert!(swept.out.starts_with("! More transactions failed than allowed at 1 of 1 points."), "{}", swept.out);
    let page = std::fs::read_to_string(place.path().join("sweep/sweep.html")).unwrap();
    assert!(page.contains("<p class=\"banner bad\">More transactions failed than allowed"), "{page}");
    let first = swept.out.lines().take(5).collect::<Vec<_>>().join(" ");
    assert!(
        first.contains("FAILED; NO delivery COMPLETED") && swept.out.contains("Not even the smallest"),
        "{}",
        swept.out
    );
    assert!(!swept.out.contains("The highest throughput"), "{}", swept.out);
}

/// How the sentence on a run's failures begins.
fn reported_failures(summary: &Value) -> String {
    let failed =
        summary["outcomes"].as_object().unwrap().values().map(|of| of["failed"].as_u64().unwrap()).sum::<u64>();
    format!("{} transactions of ", graymark::report::format::count(failed))
}

#[test]
fn a_few_failures_fail_the_run_unless_they_are_allowed() {
    // The Payments of every fourth customer: customers are not chosen evenly.
    let place = refusing("INSERT ON history WHEN NEW.h_c_id % 4 = 0");
    let paid =
        |out: &str, more: &[&str]| ran(place.path(), "8s", &[&["--mix", "payment=1", "--out", out], more].concat());
    let (done, summary) = paid("none", &[]);
    let share = summary["failed"]["payment"].as_f64().unwrap();
    assert!(share > 0.0 && share < 0.9, "{}", summary["failed"]);
    assert_eq!(done.code, Some(1), "{}", done.err);
    assert!(done.err.contains("failed: Payment"), "{}", done.err);
    let payment = &summary["transactions"]["payment"];
    // Users waited for those that failed, too; but only those that completed are throughput.
    let outcomes = &summary["outcomes"]["payment"];
    assert_eq!(
        summary["database"]["effects"]["payments"]["database"], outcomes["completed"],
        "{}",
        summary["database"]
    );
    assert!(payment["completed"].as_u64() <= outcomes["completed"].as_u64(), "{payment} {outcomes}");
    assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);

    let (done, summary) = paid("allowed", &["--allow-errors", "90%"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(clause(&summary, "2.3.6")["state"], "broken");
    assert!(done.err.contains("within the allowed 90.0 %"), "{}", done.err);
    let (done, _) = paid("too-few", &["--allow-errors", "0.01%"]);
    assert!(done.code == Some(1) && done.err.contains("MORE than the allowed 0.010 %"), "{}", done.err);
}

#[test]
fn a_database_that_only_reads_is_not_fast() {
    let Some(()) = require_postgres() else { return };
    let server = loaded_server();
    let (url, place) = (server.url(), TempDir::new().unwrap());
    runtime().block_on(async {
        let user = client(&url).await;
        let name: String = user.query_one("SELECT current_database()", &[]).await.unwrap().get(0);
        user.batch_execute(&format!("ALTER DATABASE \"{name}\" SET default_transaction_read_only = on")).await.unwrap();
    });
    let run = ["run", "--db", &url, "--ramp-up", "0s", "--duration", "10s", "--out", "record", "--json"];
    // Each type is asked for.
    let mix = ["--mix", "new_order=1,payment=1,order_status=1,delivery=1,stock_level=1", "--check", "none"];
    let done = support::command::run(place.path(), &[&run[..], &STEADY, &mix].concat());
    assert_eq!(done.code, Some(1), "{done:?}");
    let summary = done.json();
    assert_eq!(summary["failed"]["new_order"], 1.0, "{}", summary["failed"]);
    assert_eq!(summary["new_orders_per_minute"], 0.0, "{summary}");
    assert!(done.err.contains("No Delivery and no New-Order and no Payment completed"), "{}", done.err);
}

/// A database whose New-Orders are slow for half of the users; a limit on the time of statements makes them fail
/// instead.
#[test]
fn a_database_gets_no_faster_by_giving_up() {
    let Some(()) = require_postgres() else { return };
    const LIMIT_MS: f64 = 8_000.0;
    let server = loaded_server();
    let (url, place) = (server.url(), TempDir::new().unwrap());
    runtime().block_on(async {
        let user = client(&url).await;
        let name: String = user.query_one("SELECT current_database()", &[]).await.unwrap().get(0);
        let slow = "CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS \
                    'BEGIN IF random() < 0.5 THEN PERFORM pg_sleep(30); END IF; RETURN NEW; END'; \
                    CREATE TRIGGER slow BEFORE INSERT ON tpcc.new_order FOR EACH ROW EXECUTE FUNCTION public.slow()";
        user.batch_execute(slow).await.unwrap();
        user.batch_execute(&format!("ALTER DATABASE \"{name}\" SET statement_timeout = {LIMIT_MS}")).await.unwrap();
    });
    let run =
        ["run", "--db", &url, "--clients", "8", "--ramp-up", "0s", "--duration", "40s", "--check", "none", "--json"];
    let done = support::command::run(place.path(), &run);
    assert_eq!(done.code, Some(1), "{done:?}");
    let summary = done.json();
    let new_order = &summary["transactions"]["new_order"];
    let errors = new_order["errors"].as_u64().unwrap();
    assert!(errors > 10 && new_order["completed"].as_u64().unwrap() > 0, "{new_order}");
    // Half of the users waited for as long as the limit, to be told that it was in vain.
    for clock in ["response_ms", "service_ms"] {
        assert!(new_order[clock]["p90"].as_f64().unwrap() >= LIMIT_MS, "{clock}: {new_order}");
    }
    // What failed is no throughput.
    let seconds = summary["interval_s"].as_f64().unwrap();
    let rate = 60.0 * new_order["completed"].as_f64().unwrap() / seconds;
    assert!((summary["new_orders_per_minute"].as_f64().unwrap() - rate).abs() < 1e-6, "{summary}");
    assert_eq!(
        summary["database"]["effects"]["new_orders"]["client"],
        summary["database"]["effects"]["new_orders"]["database"]
    );
}

/// One session of several is away: there is no outage, but its user waits.
#[test]
fn a_session_that_is_away_alone_is_reported() {
    let Some(()) = require_postgres() else { return };
    let server = loaded_postgres(with_few_commits(small_postgres()));
    let (url, place) = (server.url(), TempDir::new().unwrap());
    let run =
        ["run", "--db", &url, "--clients", "2", "--ramp-up", "0s", "--duration", "30s", "--out", "record", "--json"];
    let mut working = start(graymark(place.path(), &run));
    working.wait_for("run: measurement");
    working.wait_for_seconds(&place.path().join("record"), 1);
    runtime().block_on(async {
        let admin = client(&url.replacen("@/postgres?", "@/template1?", 1)).await;
        let ours = client(&url).await;
        let name: String = ours.query_one("SELECT current_database()", &[]).await.unwrap().get(0);
        drop(ours);
        assert_ne!(name, "template1");
        // Nobody can connect, not even a superuser; who is connected works on.
        admin.batch_execute(&format!("ALTER DATABASE \"{name}\" ALLOW_CONNECTIONS false")).await.unwrap();
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 \
                   AND query ~ 'tpcc[.](new_order|payment)[(][$]1' ORDER BY query_start DESC LIMIT 1";
        // Now and then all sessions are at other transactions.
        while admin.query(end, &[&name]).await.unwrap().is_empty() {
            assert!(working.at_work(), "no session at work was found");
        }
        // It is away from the moment at which the run sees that it is lost.
        working.wait_for("run: session");
        tokio::time::sleep(Duration::from_secs(4)).await;
        admin.batch_execute(&format!("ALTER DATABASE \"{name}\" ALLOW_CONNECTIONS true")).await.unwrap();
    });
    let (_, done) = working.end();
    assert_eq!(done.code, Some(0), "{done:?}");
    let summary = done.json();
    let connections = &summary["connections"];
    assert_eq!((&connections["lost"], &connections["restored"]), (&1.into(), &1.into()), "{connections}");
    assert_eq!(connections["outage_s"], 0.0, "{connections}");
    let away = connections["longest_away_s"].as_f64().unwrap();
    assert!(away >= 3.9, "{connections}");
    let longest =
        summary["transactions"].as_object().unwrap().values().map(|of| of["response_ms"]["max"].as_f64().unwrap());
    assert!(longest.fold(0.0, f64::max) >= 1e3 * away, "{}", summary["transactions"]);
    let rule = clause(&summary, "6.6.2");
    assert_eq!(rule["value"], format!("1 lost, 1 restored, the longest was away for {away:.1} s"), "{rule}");
    let text = succeed(place.path(), &["report", "record", "--full"]).out;
    assert!(
        text.lines()
            .nth(1)
            .unwrap()
            .starts_with("! The database was unavailable for some sessions: 1 connection was lost"),
        "{text}"
    );
}

/// A run whose server is killed in the interval, up to the moment at which it waits for it in order to count.
fn without_its_server(server: &server::postgres::Server, place: &Path, patience: &str) -> support::command::Working {
    let url = server.url();
    let run =
        ["run", "--db", &url, "--ramp-up", "0s", "--duration", "15s", "--out", "record", "--reconnect-for", patience];
    let mix = ["--mix", "new_order=1", "--json"];
    let mut working = start(graymark(place, &[&run[..], &mix].concat()));
    working.wait_for("run: measurement");
    working.wait_for_seconds(&place.join("record"), 2);
    server.kill().unwrap();
    working.wait_for("run: the database cannot be asked for its count");
    working
}

/// The run has a result all the same, and it says what is missing.
fn an_uncounted_result(place: &Path, done: &Done, why: &str) {
    assert_eq!(done.code, Some(1), "{done:?}");
    let summary = done.json();
    let database = &summary["database"];
    assert!(database["agrees"].is_null() && database["uncounted"].as_str().unwrap().starts_with(why), "{database}");
    assert!(summary["transactions"]["new_order"]["completed"].as_u64().unwrap() > 0, "{summary}");
    assert_eq!(clause(&summary, "5.1.2")["state"], "not tested");
    // Users waited for a database that did not come back, and their time counts.
    let away = summary["connections"]["outage_s"].as_f64().unwrap();
    let waited =
        summary["transactions"].as_object().unwrap().values().map(|of| of["response_ms"]["max"].as_f64().unwrap());
    let waited = waited.fold(0.0, f64::max);
    assert!(away > 1.0 && waited >= 1e3, "{away} s, {waited} ms: {summary}");
    assert_eq!(json_file(&place.join("record"), file::HEADER)["status"], "complete");
    let text = succeed(place, &["report", "record", "--full"]).out;
    let first = text.lines().take(6).collect::<Vec<_>>().join(" ");
    let why = format!("Not counted, not checked: {why}");
    assert!(first.contains("DATABASE UNAVAILABLE") && first.contains(&why), "{text}");
}

#[test]
fn a_server_that_never_comes_back_leaves_a_result_without_its_count() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (loaded_server(), TempDir::new().unwrap());
    let (_, done) = without_its_server(&server, place.path(), "2s").end();
    an_uncounted_result(place.path(), &done, "the database remained unreachable");
}

#[test]
fn nobody_has_to_wait_for_a_server() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (loaded_server(), TempDir::new().unwrap());
    let working = without_its_server(&server, place.path(), "1h");
    working.signal(Signal::SIGINT);
    let (_, done) = working.end();
    an_uncounted_result(place.path(), &done, "waiting for the database was stopped");
}

#[test]
fn a_server_that_comes_back_after_the_run_is_counted() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (loaded_server(), TempDir::new().unwrap());
    let working = without_its_server(&server, place.path(), "10m");
    server.restart().unwrap();
    let (_, done) = working.end();
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.err.contains("run: the database is available again"), "{}", done.err);
    let summary = done.json();
    assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
    assert_eq!(summary["consistency"]["failed"], Value::Array(Vec::new()));
    assert!(done.err.contains("The database was unavailable for"), "{}", done.err);
}

#[test]
fn a_run_by_statements_outlives_a_crash() {
    let Some(()) = require_postgres() else { return };
    a_crash(&*loaded_server(), "statements", 45, &LIGHT);
}

#[test]
fn a_run_by_procedures_outlives_a_crash() {
    let Some(()) = require_postgres() else { return };
    a_crash(&*loaded_server(), "procedures", 40, &STEADY);
}

#[test]
fn a_run_on_mariadb_outlives_a_crash() {
    let Some(()) = require_mariadb() else { return };
    // What is committed has to be there after a crash of the server alone, which is what happens here.
    let server = loaded_mariadb(&[("innodb_flush_log_at_trx_commit", "1")]);
    a_crash(&*server, "procedures", 70, &LIGHT);
}

/// A database that says that work is committed and has lost it after a crash: in each district the last order goes, as
/// if it had never been. The number of the next one goes back, so that no condition sees it, and another order may get
/// the number.
#[test]
fn commits_that_a_crash_has_lost_are_found_one_by_one() {
    let Some(()) = require_postgres() else { return };
    let server = loaded_server();
    let (url, place) = (server.url(), TempDir::new().unwrap());
    let run =
        ["run", "--db", &url, "--clients", "4", "--ramp-up", "0s", "--duration", "40s", "--out", "record", "--json"];
    let orders = ["--rate", "20", "--arrivals", "constant", "--mix", "new_order=1"];
    let mut working = start(graymark(place.path(), &[&run[..], &orders].concat()));
    working.wait_for("run: measurement");
    working.wait_for_seconds(&place.path().join("record"), 2);
    Server::kill(&*server);
    working.wait_for("run: session");
    std::thread::sleep(Duration::from_secs(1));
    Server::restart(&*server);
    runtime().block_on(async {
        let lose = "BEGIN; LOCK TABLE tpcc.district;
            CREATE TEMP TABLE gone AS SELECT d_w_id, d_id, d_next_o_id - back AS o_id
              FROM tpcc.district, generate_series(1, 40) AS back;
            DELETE FROM tpcc.new_order USING gone WHERE no_w_id = d_w_id AND no_d_id = d_id AND no_o_id = o_id;
            DELETE FROM tpcc.order_line USING gone WHERE ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id = o_id;
            DELETE FROM tpcc.orders o USING gone WHERE o_w_id = d_w_id AND o_d_id = d_id AND o.o_id = gone.o_id;
            UPDATE tpcc.district SET d_next_o_id = d_next_o_id - 40; COMMIT";
        client(&url).await.batch_execute(lose).await.unwrap();
    });
    let (_, done) = working.end();
    assert_eq!(done.code, Some(1), "{done:?}");
    let summary = done.json();
    let findings = summary["consistency"]["after"].as_array().unwrap();
    let finding =
        findings.iter().find(|finding| finding["id"] == "acknowledged").unwrap_or_else(|| panic!("{findings:?}"));
    let lost = finding["offending"].as_u64().unwrap();
    // Sessions that are back already may have made new orders: enough are removed to reach those of before the crash.
    assert!((1..=400).contains(&lost), "{finding}");
    assert!(finding["examples"][0].as_str().unwrap().starts_with("o_w_id=1 o_d_id="), "{finding}");
    assert!(
        summary["consistency"]["failed"].as_array().unwrap().contains(&"acknowledged".into()),
        "{}",
        summary["consistency"]
    );
    assert!(done.err.contains("acknowledged"), "{done:?}");
}

#[test]
fn how_long_a_killed_server_takes_to_recover_is_measured() {
    let place = TempDir::new().unwrap();
    let arguments = ["bench", "debitcredit", "-b", "1", "--clients", "2", "--ramp-up", "0s", "--duration", "4s"];
    let more = ["--check", "after", "--measure-recovery", "--out", "record", "--json", "--db"];
    // Nobody's server but its own is killed.
    let sqlite = [&arguments[..], &more, &["sqlite:bank.db"]].concat();
    run(place.path(), &sqlite).refused(2, &["--measure-recovery", "postgres:local"]);
    assert!(!place.path().join("record").exists());
    let Some(()) = require_postgres() else { return };
    let summary = succeed(place.path(), &[&arguments[..], &more, &["postgres:local?fsync=off"]].concat()).json();
    assert!(summary["recovery"]["seconds"].as_f64().unwrap() > 0.0, "{}", summary["recovery"]);
    // What had been committed was there after the kill.
    assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
    assert_eq!(summary["consistency"]["failed"], Value::Array(Vec::new()));
    let reported = succeed(place.path(), &["report", "record", "--full"]).out;
    assert!(reported.contains("from SIGKILL at the run's end"), "{reported}");
}

/// All sessions lose the server at once, and come back one after the other.
#[test]
fn sessions_come_back_at_the_rate_that_is_asked_for() {
    let Some(()) = require_postgres() else { return };
    let place = TempDir::new().unwrap();
    let load = ["bench", "debitcredit", "--db", "postgres:local?fsync=off", "-b", "1", "--seed", "5", "--clients", "4"];
    // Long enough for a restart on a busy machine.
    let times = ["--ramp-up", "0s", "--duration", "45s", "--fault", "1s: restart", "--check", "none"];
    let times = [&times[..], &STEADY].concat();
    run(place.path(), &[&load[..], &times, &["--connect-rate", "1", "--out", "record"]].concat());
    let text = std::fs::read_to_string(place.path().join("record").join(file::EVENTS)).unwrap();
    let times = |name: &str| {
        let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of_name = events.filter(|event| event["event"] == name);
        let mut at: Vec<f64> = of_name.map(|event| event["at"].as_f64().unwrap()).collect();
        at.sort_by(f64::total_cmp);
        at
    };
    let (lost, at) = (times("session_lost"), times("session_restored"));
    assert_eq!(at.len(), 4, "{text}");
    // A second from one attempt to the next; how long it then takes to connect differs.
    assert!(at.iter().zip([0.0, 1.0, 2.0, 3.0]).all(|(at, after)| at - lost[0] >= after - 0.05), "{lost:?} {at:?}");
}

/// What happens before the measurement is in none of its figures.
#[test]
fn failures_in_the_warm_up_by_the_load_are_told_and_fail_the_run() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (loaded_server(), TempDir::new().unwrap());
    let url = server.tcp_url();
    let run = ["run", "--db", &url, "--clients", "2", "--steady", "20s", "--ramp-up", "0s", "--duration", "4s"];
    let mut working =
        start(graymark(place.path(), &[&run[..], &["--check", "none", "--out", "record", "--json"]].concat()));
    working.wait_for("steady: running");
    std::thread::sleep(Duration::from_secs(2));
    let types = "new_order|payment|order_status|delivery|stock_level";
    let sessions = format!("FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query ~ '{types}'");
    support::block_on(async {
        let user = client(&url).await;
        user.batch_execute("ALTER TABLE tpcc.history RENAME TO away").await.unwrap();
        tokio::time::sleep(Duration::from_secs(4)).await;
        user.batch_execute("ALTER TABLE tpcc.away RENAME TO history").await.unwrap();
        // Between two windows of the warm-up there are no sessions, and a run ends if one cannot be opened: only those
        // that are open for a while are ended. At two moments, as a window may just be over at one.
        let end = format!("SELECT pg_terminate_backend(pid) {sessions} AND backend_start < now() - interval '2 s'");
        for pause in [2_500, 0] {
            while user.query(&end, &[]).await.unwrap().is_empty() {
                assert!(working.at_work(), "no session was found");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    });
    let told = working.wait_for("steady: ");
    let (_, done) = working.end();
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(told.contains(" failed (most often: ") && told.contains("history"), "{told}");
    let summary = done.json();
    let payment = &summary["warm_up"]["outcomes"]["payment"];
    assert!(payment["failed"].as_u64() > Some(0) && payment["completed"].as_u64() > Some(0), "{payment}");
    assert!(summary["warm_up"]["lost"].as_u64() > Some(0), "{}", summary["warm_up"]);
    assert!(summary["failed"].as_object().unwrap().values().all(|share| share == 0.0), "{summary}");
    let text = std::fs::read_to_string(place.path().join("record").join(file::REPORT_TEXT)).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("! In the warm-up, ") && text.contains("lost."), "{text}");
}
