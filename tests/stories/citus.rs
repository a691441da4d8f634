//! A user of Citus loads, runs, restores and drops through the coordinator; faults on a worker are found.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::citus::Citus;
use crate::support::command::{STEADY, run, succeed};
use crate::support::{block_on, client};

/// Tables and routines in a node's schema of the workload.
async fn left(url: &str, workload: &str) -> i64 {
    let sql = "SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace($1))
                    + (SELECT count(*) FROM pg_proc WHERE pronamespace = to_regnamespace($1))";
    client(url).await.query_one(sql, &[&workload]).await.unwrap().get(0)
}

/// Transactions by the nodes of their rows: known, and on several.
fn by_nodes(summary: &Value, transaction: &str) -> (u64, u64) {
    let of = &summary["by_nodes"][transaction];
    (of["known"].as_u64().unwrap_or_default(), of["several"].as_u64().unwrap_or_default())
}

/// The conditions that a check found broken.
fn broken(place: &Path, workload: &str, db: &str) -> Vec<String> {
    let found = run(place, &["check", workload, "--db", db, "--json"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    let findings: Vec<Value> = serde_json::from_str(&found.out).unwrap_or_else(|why| panic!("{why}: {found:?}"));
    let broken = findings.iter().filter(|finding| finding["offending"] != 0);
    broken.map(|finding| finding["id"].as_str().unwrap().to_owned()).collect()
}

fn is_well(summary: &Value) {
    assert_eq!(summary["database"]["agrees"], json!(true), "{}", summary["database"]);
    assert_eq!(summary["consistency"]["failed"], json!([]), "{}", summary["consistency"]);
    assert_eq!(summary["errors"], json!({}), "{}", summary["errors"]);
}

#[test]
fn tpcc_is_loaded_run_both_ways_checked_restored_and_dropped() {
    let Some(citus) = Citus::start() else { return };
    let place = TempDir::new().unwrap();
    let (place, own) = (place.path(), citus.url());
    let db = format!("{own}&dialect=citus");
    let tpcc = |command: &str, more: &[&str]| {
        let fixed = [command, "tpcc", "--db", &db];
        run(place, &[&fixed[..], more].concat())
    };
    let well = |command: &str, more: &[&str]| {
        let done = tpcc(command, more);
        assert_eq!(done.code, Some(0), "{command} {more:?}: {done:?}");
        done
    };
    let refused = tpcc("load", &["-w", "2", "--foreign-keys"]);
    assert!(
        refused.code == Some(2) && refused.err.contains("foreign keys of tpcc cannot be declared on Citus"),
        "{refused:?}"
    );
    well("load", &["-w", "2", "--seed", "5"]);
    // Whoever does not name the dialect hears of it.
    let unnamed = run(place, &["check", "tpcc", "--db", &own]);
    assert!(unnamed.err.contains("this server is Citus: add dialect=citus"), "{unnamed:?}");
    block_on(async {
        let administrator = client(&own).await;
        let count = |rows: &str| format!("SELECT count(*) FROM {rows}");
        let number = async |sql: String| administrator.query_one(&sql, &[]).await.unwrap().get::<_, i64>(0);
        let tables = "citus_tables WHERE table_name::text LIKE 'tpcc.%' AND citus_table_type = ";
        assert_eq!(number(count(&format!("{tables}'distributed'"))).await, 8);
        assert_eq!(number(count(&format!("{tables}'reference'"))).await, 1);
        let colocated = "(SELECT DISTINCT colocation_id FROM citus_tables WHERE citus_table_type = 'distributed') one";
        assert_eq!(number(count(colocated)).await, 1);
        let delegated = "pg_dist_object WHERE distribution_argument_index IS NOT NULL";
        assert_eq!(number(count(delegated)).await, 6);
        // Rows of the warehouses are on both workers, and none on the coordinator.
        let nodes =
            "SELECT count(DISTINCT nodename || nodeport) FROM citus_shards WHERE table_name = 'tpcc.stock'::regclass";
        assert_eq!(number(nodes.to_owned()).await, 2);
    });
    // The check at the end is of both.
    for (via, check) in [("procedures", "none"), ("statements", "after")] {
        let times = ["--via", via, "--clients", "4", "--ramp-up", "0s", "--duration", "12s", "--check", check];
        let done = well("run", &[&times[..], &STEADY, &["--allow-errors", "0%", "--out", via, "--json"]].concat());
        let summary = done.json();
        is_well(&summary);
        assert_eq!(summary["via"], json!(via));
        let completed = summary["transactions"]["new_order"]["completed"].as_u64().unwrap();
        assert!(completed > 0 && by_nodes(&summary, "new_order").0 >= completed, "{}", summary["by_nodes"]);
        for local in ["order_status", "delivery", "stock_level"] {
            assert_eq!(by_nodes(&summary, local).1, 0, "{}", summary["by_nodes"]);
        }
        let report = succeed(place, &["report", via, "--full"]).out;
        assert!(report.contains("Several nodes"), "{report}");
    }
    well("restore", &[]);
    well("check", &["--deep"]);

    // The planted fault: a balance on a worker, changed through the coordinator.
    let changed = "UPDATE tpcc.customer SET c_balance = c_balance + 1 WHERE c_w_id = 2 AND c_d_id = 3 AND c_id = 7";
    block_on(async { client(&own).await.batch_execute(changed).await.unwrap() });
    assert_eq!(broken(place, "tpcc", &db), ["3.3.2.10", "3.3.2.12"]);
    well("drop", &[]);
    for node in 0..3 {
        assert_eq!(block_on(left(&citus.node(node), "tpcc")), 0, "node {node}");
    }
}

#[test]
fn debitcredit_is_loaded_run_both_ways_checked_restored_and_dropped() {
    let Some(citus) = Citus::start() else { return };
    let place = TempDir::new().unwrap();
    let place = place.path();
    // In a schema of another name, whose tables are named in texts, too.
    let db = format!("{}&dialect=citus&schema=The%20bank%27s", citus.url());
    let well = |command: &str, more: &[&str]| succeed(place, &[&[command, "debitcredit", "--db", &db], more].concat());
    well("load", &["-b", "6", "--seed", "5", "--foreign-keys"]);
    for (via, check) in [("procedures", "none"), ("statements", "after")] {
        let times = ["--via", via, "--clients", "4", "--ramp-up", "0s", "--duration", "12s", "--check", check];
        let summary = well("run", &[&times[..], &STEADY, &["--out", via, "--json"]].concat()).json();
        is_well(&summary);
        // Of the accounts of other branches, 15 of 100, about half are on the other node.
        let (known, several) = by_nodes(&summary, "debit_credit");
        assert!(several > 0 && several * 4 < known, "{}", summary["by_nodes"]);
    }
    well("restore", &[]);
    well("check", &["--deep"]);

    let planted =
        "INSERT INTO \"The bank's\".history (branch_id, teller_id, account_id, amount) VALUES (1, 1000001, 9, 5)";
    let url = citus.url();
    block_on(async { client(&url).await.batch_execute(planted).await.unwrap() });
    assert_eq!(broken(place, "debitcredit", &db), ["totals", "teller-history", "account-history"]);
    // An account that is nowhere.
    let planted = "UPDATE \"The bank's\".history SET account_id = 5999999, amount = 0";
    block_on(async { client(&url).await.batch_execute(planted).await.unwrap() });
    assert_eq!(broken(place, "debitcredit", &db), ["history-accounts"]);
    well("drop", &[]);
}
