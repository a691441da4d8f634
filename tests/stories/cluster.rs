//! A user has Graymark start a primary and standbys, and kills the primary in mid-run: a standby takes its place, and
//! what was told committed is there, unless the standbys were not waited for.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::command::{
    STEADY, graymark, json_file, open_directory, run, start, succeed, the_one_of, write_program,
};
use crate::support::require_postgres;
use graymark::result::format::file;

/// Settings by which a server is small, and does not wait for a disk that nobody cuts.
const SMALL: &str = "fsync=off&shared_buffers=32MB&max_connections=40";

fn node<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let nodes = summary["nodes"].as_array().unwrap();
    nodes.iter().find(|node| node["node"] == name).unwrap_or_else(|| panic!("{name}: {nodes:?}"))
}

#[test]
fn a_standby_takes_the_place_of_a_killed_primary_and_nothing_is_lost() {
    let Some(()) = require_postgres() else { return };
    let place = open_directory();
    let data = place.path().join("data");
    let url = format!("postgres:local?standbys=2&data={}&{SMALL}", data.display());
    let load = ["bench", "debitcredit", "--db", &url, "-b", "1", "--clients", "2", "--seed", "5", "--check", "both"];
    let times = ["--ramp-up", "0s", "--duration", "60s", "--reconnect-for", "5m", "--out", "record", "--json"];
    let times = [&times[..], &STEADY].concat();
    let parted = ["--fault", "5s: partition node 1 for 1500ms"];
    let faults = ["--fault", "15s: kill standby for 100ms", "--fault", "15500ms: kill primary"];
    let summary = succeed(place.path(), &[&load[..], &times, &parted, &faults].concat()).json();

    let [parted, standby, primary] = summary["faults"].as_array().unwrap().as_slice() else {
        panic!("{}", summary["faults"])
    };
    // No standby hears of a commit meanwhile, and one of them has to before it is answered.
    assert_eq!(parted["done"], "node 1, which takes writes, was partitioned from the others", "{parted}");
    assert!(parted["resilience"]["during"]["max_ms"].as_f64() >= Some(1_000.0), "{parted}");
    assert_eq!(parted["resilience"]["connections_lost"], json!(0), "{parted}");
    assert_eq!(standby["done"], "node 3 was killed, and started again", "{standby}");
    let done = primary["done"].as_str().unwrap_or_else(|| panic!("{primary}"));
    assert!(done.starts_with("node 1 was killed; node ") && done.contains(" was promoted"), "{done}");
    assert_eq!(primary["resilience"]["lost_commits"], json!(0), "{primary}");
    assert_eq!(summary["database"]["agrees"], json!(true), "{}", summary["database"]);
    assert_eq!(summary["consistency"]["failed"], json!([]), "{}", summary["consistency"]);
    let old = node(&summary, "node 1");
    assert_eq!((&old["role_begin"], &old["role_end"]), (&json!("primary"), &json!("down")));
    let mut roles: Vec<&str> =
        ["node 2", "node 3"].map(|name| node(&summary, name)["role_end"].as_str().unwrap()).into();
    roles.sort_unstable();
    assert_eq!(roles, ["primary", "standby"], "{}", summary["nodes"]);
    let last =
        ["node 2", "node 3"].map(|name| node(&summary, name)).into_iter().find(|node| node["role_end"] == "standby");
    let check = &last.unwrap()["check"];
    assert_eq!(
        (&check["counts_agree"], &check["behind_bytes"], &check["failed"]),
        (&json!(true), &json!(0), &json!([]))
    );
    assert!(check["held"].as_u64() > Some(0), "{check}");
    assert!(summary["nodes"].to_string().contains("bytes_max"), "{}", summary["nodes"]);
    let text = succeed(place.path(), &["report", "record", "--full"]).out;
    assert!(text.contains("node 1: primary at the start, down at the end") && text.contains("was promoted"), "{text}");

    // The data are kept, and who took the last writes is known; the node that was killed is made again.
    let new = fs::read_to_string(data.join("graymark.writer")).unwrap();
    assert!(["2", "3"].contains(&new.trim()), "{new}");
    succeed(place.path(), &["check", "debitcredit", "--db", &url]);
    assert!(data.join("node1/standby.signal").exists());
    let alone = format!("postgres:local?data={}", data.display());
    run(place.path(), &["check", "debitcredit", "--db", &alone]).refused(2, &["neither empty nor"]);
    // The planted fault: a primary that Graymark did not create.
    for name in ["standby.signal", "graymark.node"] {
        fs::remove_file(data.join("node1").join(name)).unwrap();
    }
    run(place.path(), &["check", "debitcredit", "--db", &url]).refused(2, &["node1", "Graymark did not create"]);
    assert!(data.join("node1/PG_VERSION").exists());
}

/// The planted breach: the primary sends nothing of its log any more, and no commit waits for it.
#[test]
fn commits_that_no_standby_had_are_found_lost() {
    let Some(()) = require_postgres() else { return };
    let place = open_directory();
    let (script, go) = (place.path().join("wait.sh"), place.path().join("go"));
    let wait = format!("#!/bin/sh\nwhile [ ! -e {} ]; do sleep 0.05; done\n", go.display());
    write_program(&script, &wait);
    let url = format!("postgres:local?standbys=1&sync=off&{SMALL}");
    let load = ["bench", "debitcredit", "--db", &url, "-b", "1", "--clients", "2", "--seed", "5"];
    let times = ["--ramp-up", "0s", "--duration", "40s", "--reconnect-for", "5m", "--out", "record", "--json"];
    let times = [&times[..], &STEADY].concat();
    let first = format!("200ms: script {}", script.display());
    let faults = ["--fault", &first, "--fault", "1s: kill primary"];
    let mut working = start(graymark(place.path(), &[&load[..], &times, &faults].concat()));
    working.wait_for("run: fault 1");
    let sends =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|title| title.contains("walsender"));
    let sender = the_one_of(working.id(), sends);
    kill(Pid::from_raw(i32::try_from(sender).unwrap()), Signal::SIGSTOP).unwrap();
    // From the moment at which nothing is sent any more, transactions have a while to commit: the second such second
    // begins after it.
    working.wait_for_seconds(&place.path().join("record"), 2);
    fs::write(&go, "").unwrap();
    let (_, done) = working.end();
    assert_eq!(done.code, Some(1), "{done:?}");
    let summary = done.json();
    let reported = &summary["connections"]["lookup"]["acknowledged"];
    assert!(reported["lost"].as_u64() > Some(0), "{reported}");
    assert!(summary["consistency"]["failed"].to_string().contains("acknowledged"), "{}", summary["consistency"]);
    assert_eq!(node(&summary, "node 2")["role_end"], "primary");
    assert_eq!(json_file(&place.path().join("record"), file::HEADER)["status"], "complete");
}

/// The planted fault: a standby that shows everything late has no tables yet when the load ends.
#[test]
fn a_run_waits_until_the_standbys_that_it_reads_have_the_load() {
    let Some(()) = require_postgres() else { return };
    let place = open_directory();
    let bench = |delay: &str| {
        let url = format!("postgres:local?standbys=1&sync=off&recovery_min_apply_delay={delay}&{SMALL}");
        let load = ["bench", "tpcc", "--db", &url, "-w", "1", "--clients", "2", "--seed", "5", "--check", "none"];
        let reads = ["--read-only-on", "standby", "--mix", "new_order=1,order_status=1"];
        let times = ["--ramp-up", "0s", "--duration", "10s", "--json"];
        run(place.path(), &[&load[..], &reads, &times, &STEADY].concat())
    };
    let done = bench("15s");
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.err.contains("run: waiting until node 2 has replayed "), "{}", done.err);
    // Sessions that find no table on the standby read on the primary.
    let summary = done.json();
    let hosts = summary["hosts"].as_array().unwrap();
    let standby = hosts.iter().find(|host| host["host"] == "node 2").unwrap_or_else(|| panic!("{hosts:?}"));
    assert!(standby["transactions"]["order_status"].as_u64() > Some(0), "{hosts:?}");
    // One that does not get on is not waited for without end.
    let done = bench("1h");
    assert!(done.err.contains("node 2 lacks ") && done.err.contains("remove --read-only-on"), "{}", done.err);
    assert_eq!(done.code, Some(3), "{done:?}");
}
