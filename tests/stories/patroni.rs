//! A user runs against a cluster for high availability: Patroni with etcd, behind HAProxy. Its leader is killed in the
//! middle of the run, with its Patroni; the run goes on with the next leader.

use serde_json::json;
use tempfile::TempDir;

use crate::support::command::{json_file, run, succeed};
use crate::support::found;
use crate::support::patroni::{Patroni, Programs};

#[test]
fn a_leader_that_is_killed_is_followed_by_the_next_and_no_commit_is_lost() {
    let Some(programs) = found(Programs::find()) else { return };
    let (stack, place) = (Patroni::start(&programs), TempDir::new().unwrap());
    let (url, leader) = (stack.url(), stack.leader(None).unwrap());
    succeed(place.path(), &["load", "debitcredit", "--db", &url, "-b", "1", "--seed", "5"]);
    let fault = format!("8s: script {}", stack.killer(leader).display());
    let load = ["run", "debitcredit", "--db", &url, "--clients", "4", "--ramp-up", "0s", "--duration", "100s"];
    // The next leader may still refuse writes for a moment when HAProxy already sends sessions to it.
    let waits = ["--rate", "100", "--reconnect-for", "5m", "--allow-errors", "50%", "--check", "after"];
    let more = ["--fault", &fault, "--out", "record", "--json"];
    let done = run(place.path(), &[&load[..], &waits, &more].concat());
    assert_eq!(done.code, Some(0), "{done:?} {}", stack.logs());
    let next = stack.leader(Some(leader));
    assert!(next.is_some_and(|next| next != leader), "node {leader} leads still: {}", stack.logs());

    let summary = done.json();
    let errors = summary["errors"].as_object().unwrap();
    assert!(errors.keys().all(|error| error.contains("in a read-only transaction")), "{errors:?}");
    let connections = &summary["connections"];
    let outages = connections["outages"].as_array().unwrap();
    assert!(!outages.is_empty() && connections["outage_s"].as_f64() > Some(0.0), "{connections}");
    assert!(connections["lost"].as_u64() >= Some(4), "{connections}");
    assert_eq!(connections["lost"], connections["restored"], "{connections}");
    // It committed before the leader was killed, and by the next leader.
    let series = std::fs::read_to_string(place.path().join("record/series.csv")).unwrap();
    let committed = |line: &str| -> Option<f64> {
        let cells: Vec<&str> = line.split(',').collect();
        (cells.get(3)?.parse::<u64>().ok()? > 0).then(|| cells[0].parse().ok())?
    };
    let seconds = || series.lines().filter_map(committed);
    let (begin, length) = (outages[0][0].as_f64().unwrap(), outages[0][1].as_f64().unwrap());
    let end = begin + length;
    assert!(seconds().any(|second| second < begin) && seconds().any(|second| second > end), "{outages:?} {series}");

    // The fate of each commit without an answer was looked up, and all that was acknowledged is there.
    assert_eq!(summary["database"]["agrees"], json!(true), "{}", summary["database"]);
    let lookup = &connections["lookup"];
    let fates = &lookup["unknown_fate"];
    let number = |key: &str| fates[key].as_u64().unwrap();
    let known = number("committed") + number("not_committed") + number("read_only");
    assert_eq!((connections["ambiguous"].as_u64(), number("not_known")), (Some(known), 0), "{connections}");
    assert_eq!(lookup["acknowledged"]["lost"], json!(0), "{lookup}");
    assert_eq!(summary["consistency"]["failed"], json!([]), "{}", summary["consistency"]);
    let fault = &summary["faults"][0];
    assert!(fault["error"].is_null() && fault["resilience"]["lost_commits"] == json!(0), "{fault}");
    assert_eq!(json_file(&place.path().join("record"), "record.json")["status"], "complete");
}
