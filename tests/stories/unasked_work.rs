//! The client knows what it asked for: what a damaged database answers, and what another client does meanwhile, does
//! not pass for its own work.

use std::path::Path;

use crate::support::command::{graymark, json_file, run, start};
use crate::support::loaded::{loaded, loaded_mariadb, loaded_server};
use crate::support::{client, mysql_client, require_mariadb, require_postgres};
use mysql_async::prelude::Queryable;
use rusqlite::Connection;
use serde_json::Value as Json;
use tempfile::TempDir;

/// A run of some seconds on a damaged database: its summary.
fn worked(place: &Path, db: &str, via: &str) -> Json {
    let plan = ["--clients", "1", "--ramp-up", "0s", "--duration", "3s", "--check", "none", "--via", via, "--json"];
    let orders = ["--rate", "100", "--mix", "new_order=1"];
    run(place, &[&["run", "--db", db], &plan[..], &orders].concat()).json()
}

/// Each way of speaking on a database in which most items are missing, and then one in which the unused item is for
/// sale. `does` executes a statement there.
fn belied(place: &Path, db: &str, ways: &[&str], does: impl Fn(&str)) {
    let errors = |summary: &Json, beginning: &str| {
        let errors = summary["errors"].as_object().unwrap().iter();
        errors.filter(|(why, _)| why.starts_with(beginning)).map(|(_, count)| count.as_u64().unwrap()).sum::<u64>()
    };
    does("CREATE TABLE kept_items AS SELECT * FROM item WHERE i_id % 10 > 0");
    does("DELETE FROM item WHERE i_id % 10 > 0");
    for via in ways {
        // Nearly every order names a missing item; what passes for the standard's rollback is what asked for one.
        let (mut failed, mut rolled_back) = (0, 0);
        for _ in 0..30 {
            let summary = worked(place, db, via);
            failed += errors(&summary, "New-Order: rolled back, although no unused item was named");
            rolled_back += summary["transactions"]["new_order"]["rolled_back"].as_u64().unwrap();
            assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
            if failed + rolled_back >= 20 {
                break;
            }
        }
        assert!(failed > 3 * rolled_back, "{via}: {failed} failed, {rolled_back} rolled back");
    }
    does("INSERT INTO item SELECT * FROM kept_items");
    does(
        "INSERT INTO item (i_id, i_im_id, i_name, i_price, i_data)
         SELECT 200000, i_im_id, i_name, i_price, i_data FROM item WHERE i_id = 1",
    );
    let districts = (1..=10).map(|district| format!("s_dist_{district:02}")).collect::<Vec<_>>().join(", ");
    let stock = format!("s_w_id, s_quantity, {districts}, s_ytd, s_order_cnt, s_remote_cnt, s_data");
    does(&format!("INSERT INTO stock (s_i_id, {stock}) SELECT 200000, {stock} FROM stock WHERE s_i_id = 1"));
    for via in ways {
        // One order in a hundred names the unused item; on a busy machine a run may be too short for one.
        let committed = (0..30).any(|_| {
            let summary = worked(place, db, via);
            assert_eq!(summary["transactions"]["new_order"]["rolled_back"], 0, "{via}");
            // What was committed is counted by both.
            assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
            errors(&summary, "New-Order: committed, although an unused item was named") > 0
        });
        assert!(committed, "{via}");
    }
}

/// The client knows whether it asked for the rollback of one order in a hundred: one that it did not ask for is a
/// failure, and so is an order that should not have been.
#[test]
fn a_missing_item_does_not_pass_for_the_rollback_of_the_standard() {
    let place = loaded();
    let file = place.path().join("loaded.db");
    belied(place.path(), "sqlite:loaded.db", &["statements"], |sql| {
        Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    });
}

#[test]
fn a_missing_item_of_postgresql_does_not_pass_for_the_rollback_of_the_standard() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (loaded_server(), TempDir::new().unwrap());
    let url = server.url();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    belied(place.path(), &url, &["statements", "procedures"], |sql| {
        let sql = format!("SET search_path TO tpcc; {sql}");
        runtime.block_on(async { client(&url).await.batch_execute(&sql).await.unwrap() });
    });
}

#[test]
fn a_missing_item_of_mariadb_does_not_pass_for_the_rollback_of_the_standard() {
    let Some(()) = require_mariadb() else { return };
    let (server, place) = (loaded_mariadb(&[]), TempDir::new().unwrap());
    let url = server.url();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    belied(place.path(), &url, &["statements", "procedures"], |sql| {
        runtime.block_on(async { mysql_client(&url, Some("tpcc")).await.query_drop(sql).await.unwrap() });
    });
}

/// Two clients that know nothing of each other: each is told of the other, and the database is not called a liar.
#[test]
fn another_client_at_work_is_reported_as_such() {
    let place = loaded();
    // Whoever waits for the disk in a commit lets nobody else in: on a slow one, one of the two would never get its
    // turn.
    let db = "sqlite:loaded.db?synchronous=off";
    let plan = ["run", "--db", db, "--clients", "1", "--rate", "10", "--ramp-up", "0s", "--check", "none", "--full"];
    // Long enough for the other one to come and go, on a busy machine, too.
    let one = [&plan[..], &["--duration", "40s", "--out", "one"]].concat();
    let mut working = start(graymark(place.path(), &one));
    working.wait_for("run: measurement");
    let other = run(place.path(), &[&plan[..], &["--duration", "10s", "--out", "other"]].concat());
    let (_, done) = working.end();
    for (done, record) in [(done, "one"), (other, "other")] {
        assert_eq!(done.code, Some(1), "{done:?}");
        let summary = json_file(&place.path().join(record), "summary.json");
        let database = &summary["database"];
        let unasked = database["unasked"]["new_orders"].as_u64().unwrap();
        let count = |of: &str| database["effects"]["new_orders"][of].as_u64().unwrap();
        assert!(unasked > 0 && unasked == count("database") - count("client"), "{database}");
        assert!(database["missing"].is_null(), "{database}");
        let reported = format!("{unasked} more New-Orders");
        let words = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&reported) && words.contains("than this run requested: another client"), "{}", done.out);
        assert!(!words.contains("they are lost"), "{}", done.out);
        let page = std::fs::read_to_string(place.path().join(record).join("report.html")).unwrap();
        assert!(page.contains(&reported) && page.contains("another client"), "{record}");
        let clauses = summary["verdict"]["clauses"].as_array().unwrap();
        let rule = clauses.iter().find(|clause| clause["id"] == "5.1.2").unwrap();
        assert!(rule["state"] == "broken" && rule["note"].as_str().unwrap().contains("another client"), "{rule}");
    }
}
