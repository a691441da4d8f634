//! A user asks a run whether its transactions were kept apart: it keeps what they read and wrote, and looks.

use std::path::Path;

use mysql_async::Row;
use mysql_async::prelude::Queryable;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::{Done, json_file, open_directory, run, succeed};
use crate::support::loaded::{loaded, loaded_mariadb, loaded_server};
use crate::support::{client, mysql_client, require_mariadb, require_postgres};

/// Order numbers are made from what a statement saw before it waited for its row; nothing refuses a number twice.
const PLANTED_POSTGRES: &str = "
CREATE FUNCTION tpcc.stale() RETURNS trigger LANGUAGE plpgsql STABLE AS $$
BEGIN
    NEW.d_next_o_id := (SELECT d_next_o_id FROM tpcc.district WHERE d_w_id = NEW.d_w_id AND d_id = NEW.d_id) + 1;
    RETURN NEW;
END $$;
CREATE TRIGGER stale BEFORE UPDATE ON tpcc.district FOR EACH ROW EXECUTE FUNCTION tpcc.stale();
ALTER TABLE tpcc.orders DROP CONSTRAINT orders_pkey CASCADE;
ALTER TABLE tpcc.new_order DROP CONSTRAINT new_order_pkey CASCADE;
ALTER TABLE tpcc.order_line DROP CONSTRAINT order_line_pkey CASCADE;
";

/// A run of New-Orders, of all keys.
fn new_orders(place: &Path, url: &str, record: &str, level: &str) -> Done {
    let usual = ["run", "--db", url, "--history", "100%", "--mix", "new_order=1", "--clients", "8", "--ramp-up", "0s"];
    let more = ["--duration", "6s", "--check", "none", "--allow-errors", "100%", "--json", "--out", record];
    run(place, &[&usual[..], &more, &["--isolation", level]].concat())
}

fn anomalies(done: &Done) -> Value {
    let history = &done.json()["history"];
    assert!(history["unchecked"] == "" && history["transactions"].as_u64().unwrap() > 0, "{history}");
    history["anomalies"].clone()
}

#[test]
fn a_run_with_a_history_shows_no_anomaly_and_one_without_has_none() {
    let place = loaded();
    let place = place.path();
    let db = "sqlite:loaded.db?synchronous=off";
    let usual = ["run", "--db", db, "--ramp-up", "0s", "--duration", "8s", "--check", "none", "--json"];
    let done = succeed(place, &[&usual[..], &["--out", "kept", "--history", "100%"]].concat());
    assert_eq!(anomalies(&done), serde_json::json!({}));
    let all = json_file(&place.join("kept"), "summary.json")["history"].clone();
    assert!(all["dependencies"].as_u64().unwrap() > 0, "{all}");
    assert!(place.join("kept/history.gz").exists());
    let text = succeed(place, &["report", "kept", "--full"]).out;
    assert!(text.contains("No anomaly in"), "{text}");
    let done = succeed(place, &[&usual[..], &["--out", "none"]].concat());
    assert!(done.json().get("history").is_none() && !place.join("none/history.gz").exists());
}

#[test]
fn order_numbers_of_a_postgres_that_looks_before_it_waits_are_found() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (loaded_server(), TempDir::new().unwrap());
    let (url, place) = (server.tcp_url(), place.path());
    let sound = new_orders(place, &url, "sound", "read-committed");
    assert_eq!((sound.code, anomalies(&sound)), (Some(0), serde_json::json!({})), "{sound:?}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { client(&url).await.batch_execute(PLANTED_POSTGRES).await.unwrap() });
    let planted = new_orders(place, &url, "planted", "read-committed");
    assert_eq!(planted.code, Some(1), "{planted:?}");
    assert!(anomalies(&planted)["lost update"].as_u64().unwrap() > 0, "{planted:?}");
    let example = &planted.json()["history"]["examples"][0];
    assert!(example["key"].as_str().unwrap().starts_with("order numbers of district"), "{example}");
    assert!(example["transactions"].as_array().unwrap().len() > 1, "{example}");
    let text = succeed(place, &["report", "planted", "--full"]).out;
    assert!(text.contains("Isolation anomalies"), "{text}");
}

/// Transactions that change nothing go to a standby that shows everything so late that it shows nothing of the run.
#[test]
fn reads_from_a_standby_that_lags_behind_are_found_stale() {
    let Some(()) = require_postgres() else { return };
    let place = open_directory();
    let settings = "standbys=1&sync=off&fsync=off&shared_buffers=64MB&recovery_min_apply_delay=25s";
    let url = format!("postgres:local?data={}&{settings}", place.path().join("data").display());
    let load = ["bench", "tpcc", "--db", &url, "-w", "1", "--read-only-on", "standby"];
    let times = ["--clients", "4", "--ramp-up", "0s", "--duration", "20s", "--check", "none"];
    let kept = ["--mix", "new_order=1,order_status=1", "--history", "100%", "--json"];
    // Somebody has to ask for a customer who has just ordered: on a busy machine a run may be too short for that.
    let runs = (0..10).map(|_| run(place.path(), &[&load[..], &times, &kept].concat()));
    let stale = |done: &Done| !anomalies(done).as_object().unwrap().is_empty();
    let done = runs.into_iter().find(stale).expect("no stale read in ten runs");
    assert_eq!(done.code, Some(1), "{done:?}");
    let found = anomalies(&done);
    let stale = found["stale read"].as_u64();
    // Nothing else is wrong: reads alone are late.
    let others = found.as_object().unwrap().keys().filter(|kind| !kind.ends_with(" read")).count();
    assert!(stale > Some(0) && others == 0, "{found}");
    let key = done.json()["history"]["examples"][0]["key"].clone();
    assert!(key.as_str().unwrap().starts_with("newest order of customer"), "{key}");
}

/// MariaDB's lost update at REPEATABLE READ: New-Order takes the order's number from its snapshot, and writes the next
/// one over whatever is there now. Its user may not see what the procedure does. The procedure as it was.
async fn number_orders_from_the_snapshot(url: &str) -> String {
    let mut client = mysql_client(url, Some("tpcc")).await;
    let shown: Option<Row> = client.query_first("SHOW CREATE PROCEDURE new_order").await.unwrap();
    let text: String = shown.unwrap().get(2).unwrap();
    let planted = text
        .replace(
            "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE",
            "SELECT d_next_o_id + 1 INTO v_o_id FROM district WHERE d_w_id = in_w_id AND d_id = in_d_id;
             UPDATE district SET d_next_o_id = v_o_id WHERE",
        )
        .replace("SELECT d_next_o_id - 1, d_tax INTO", "SELECT v_o_id - 1, d_tax INTO");
    assert_eq!(planted.matches("v_o_id - 1").count(), 1, "{planted}");
    client.query_drop("DROP PROCEDURE new_order").await.unwrap();
    client.query_drop(planted).await.unwrap();
    // Nothing refuses a number twice.
    for table in ["orders", "new_order", "order_line"] {
        client.query_drop(format!("ALTER TABLE {table} DROP PRIMARY KEY")).await.unwrap();
    }
    client.query_drop("CREATE USER caller IDENTIFIED BY 'calls'").await.unwrap();
    client.query_drop("GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON tpcc.* TO caller").await.unwrap();
    text
}

/// Numbers from a transaction's snapshot; and a table without transactions, which does not take back what is rolled
/// back, so that the numbers of such orders are seen.
#[test]
fn order_numbers_of_a_mariadb_from_snapshots_and_without_transactions_are_found() {
    let Some(()) = require_mariadb() else { return };
    let (server, place) = (loaded_mariadb(&[]), TempDir::new().unwrap());
    let (url, place) = (server.tcp_url(), place.path());
    let sound = new_orders(place, &url, "sound", "repeatable-read");
    assert_eq!((sound.code, anomalies(&sound)), (Some(0), serde_json::json!({})), "{sound:?}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let text = runtime.block_on(number_orders_from_the_snapshot(&url));
    let (_, host) = url.split_once('@').unwrap();
    let caller = format!("mysql://caller:calls@{host}tpcc");
    let planted = new_orders(place, &caller, "snapshots", "repeatable-read");
    assert_eq!(planted.code, Some(1), "{planted:?}");
    assert!(anomalies(&planted)["lost update"].as_u64().unwrap() > 0, "{planted:?}");
    runtime.block_on(async {
        let mut client = mysql_client(&url, Some("tpcc")).await;
        client.query_drop("DROP PROCEDURE new_order").await.unwrap();
        client.query_drop(text).await.unwrap();
        mysql_client(&url, Some("tpcc")).await.query_drop("ALTER TABLE district ENGINE = MyISAM").await.unwrap();
    });
    // One New-Order of a hundred is rolled back, and it is seen if another one follows it in its district.
    let dirty = (0..10).any(|number| {
        let planted = new_orders(place, &url, &format!("planted-{number}"), "read-committed");
        anomalies(&planted).get("G1a").is_some() && planted.code == Some(1)
    });
    assert!(dirty);
}
