//! A private Galera cluster: its nodes share the load, one of them is killed by plan and joins again, and all hold the
//! same afterwards.

use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use graymark::engine::Engine;
use graymark::engine::server::PrivateServer;
use graymark::result::{Finding, Manifest, Via};
use graymark::workload::Workload;
use graymark::workload::debitcredit::DebitCredit;
use graymark::workload::value::Timestamp;
use mysql_async::prelude::Queryable;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::command::{Done, run};
use crate::support::{block_on, found, mysql_client, open_mysql, require_mariadb};

fn galera() -> Result<(), String> {
    let library = ["/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so"];
    let there = library.iter().any(|path| Path::new(path).is_file());
    there.then_some(()).ok_or_else(|| "Galera is not installed: apt-get install galera-4".to_owned())
}

/// Whether a load failed because a node had lost the others: they evict one that does not run for seconds, which happens
/// on a machine that is busy with other tests.
fn lost_the_others(why: &str) -> bool {
    ["wsrep_cluster_status", "Primary Component", "WSREP"].iter().any(|words| why.contains(words))
}

/// Loads and runs on a private cluster, whose load is tried three times.
fn bench(place: &Path, arguments: &[&str]) -> Done {
    for attempt in 1.. {
        let done = run(place, arguments);
        let loaded = done.err.contains("run: measurement");
        if loaded || attempt == 3 || !lost_the_others(&done.err) {
            assert_eq!(done.code, Some(0), "attempt {attempt}: {done:?}");
            return done;
        }
        let _ = std::fs::remove_dir_all(place.join("record"));
    }
    unreachable!("the last attempt returns")
}

#[test]
fn a_node_that_is_killed_joins_again_and_all_nodes_hold_the_same() {
    let (Some(()), Some(())) = (require_mariadb(), found(galera())) else { return };
    let place = TempDir::new().unwrap();
    let load = ["bench", "debitcredit", "--db", "mysql:local?nodes=3&buffers=64MB", "-b", "1", "--seed", "5"];
    let times = ["--clients", "3", "--ramp-up", "0s", "--duration", "150s", "--reconnect-for", "5m"];
    let times = [&times[..], &["--rate", "100", "--arrivals", "constant"]].concat();
    let faults = ["--fault", "2s: kill node 2", "--fault", "60s: partition node 3 for 8s"];
    let fault = ["--check", "after", "--allow-errors", "1%", "--out", "record", "--json"];
    let done = bench(place.path(), &[&load[..], &times, &faults, &fault].concat());
    let summary = done.json();
    let [kill, parted] = summary["faults"].as_array().unwrap().as_slice() else { panic!("{}", summary["faults"]) };
    assert_eq!(kill["what"], "kill node 2");
    // The others stand still until they are sure, and go on without it; it comes back and takes up what it has missed.
    assert!(parted["done"].as_str().unwrap().starts_with("node 3 was partitioned from the others; it was"), "{parted}");
    assert!(parted["resilience"]["during"]["max_ms"].as_f64() >= Some(1_000.0), "{parted}");
    let hosts = summary["hosts"].as_array().unwrap();
    let number = |host: &Value, key: &str| host[key].as_u64().unwrap();
    assert!(hosts.len() == 3 && hosts.iter().all(|host| number(host, "sessions_begin") == 1), "{hosts:?}");
    assert!(number(&hosts[1], "lost") >= 1, "{hosts:?}");
    // All three change the same branch, so that each conflicts with the others when it commits.
    assert!(summary["retries"]["deadlock"].as_u64().unwrap() > 0, "{}", summary["retries"]);
    assert_eq!(summary["database"]["agrees"], json!(true), "{}", summary["database"]);
    assert_eq!(summary["consistency"]["failed"], json!([]));
    assert_eq!(summary["connections"]["lookup"]["acknowledged"]["lost"], json!(0), "{}", summary["connections"]);
    run(
        place.path(),
        &["bench", "debitcredit", "--db", "mysql:local?nodes=3&data=here", "-b", "1", "--duration", "1s"],
    )
    .refused(2, &["leave data= out"]);
}

/// The planted fault: the others cannot answer when a short partition ends, which the node has not noticed. It still
/// says that it is synchronized.
#[test]
fn a_node_is_synchronized_only_when_the_others_have_heard_of_it() {
    let (Some(()), Some(())) = (require_mariadb(), found(galera())) else { return };
    block_on(async {
        let engine = open_mysql("mysql:local?nodes=3&buffers=64MB", Via::Statements).await.unwrap();
        let others = || engine.servers().iter().take(2);
        let cut_off = |off| Engine::<DebitCredit>::partition_node(&engine, 3, off);
        cut_off(true).await.unwrap();
        others().for_each(|node| node.pause().unwrap());
        let mut joined = pin!(cut_off(false));
        let early = tokio::time::timeout(Duration::from_secs(2), &mut joined).await;
        others().for_each(PrivateServer::resume);
        assert!(early.is_err(), "{early:?}, while no other node ran");
        let reported = joined.await.unwrap();
        assert!(reported.starts_with("node 3 was partitioned from the others; it was synchronized"), "{reported}");
    });
}

/// The planted fault: a node has a row that the others have not.
#[test]
fn a_node_that_holds_something_else_is_found() {
    let (Some(()), Some(())) = (require_mariadb(), found(galera())) else { return };
    block_on(async {
        let engine = open_mysql("mysql:local?nodes=2&buffers=64MB", Via::Statements).await.unwrap();
        let population = DebitCredit::population(1, 7, Timestamp(0), 0);
        let parameters = DebitCredit::parameters(&population);
        let manifest = Manifest { format: 1, scale: 1, seed: 7, date: 0, foreign_keys: false, parameters };
        for attempt in 1..=3 {
            let loaded = Engine::<DebitCredit>::load(&engine, &manifest, &population, 2, &|_| {}).await;
            match loaded {
                Err(why) if attempt < 3 && lost_the_others(&why.to_string()) => {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                }
                loaded => {
                    loaded.unwrap();
                    break;
                }
            }
        }
        let effects = async || Engine::<DebitCredit>::effects(&engine).await.map_err(|error| error.to_string());
        let broken = async || -> Vec<Finding> {
            let findings = Engine::<DebitCredit>::check(&engine, &mut |_| {}).await.unwrap();
            findings.into_iter().filter(|finding| !finding.held()).collect()
        };
        assert_eq!((broken().await, effects().await), (Vec::new(), Ok(vec![0])));
        let mut second = mysql_client(&engine.servers()[1].tcp_url(), Some("debitcredit")).await;
        second.query_drop("SET SESSION wsrep_on = OFF").await.unwrap();
        let row = "INSERT INTO history (branch_id, teller_id, account_id, amount) VALUES (0, 0, 7, 300)";
        second.query_drop(row).await.unwrap();
        let found = broken().await;
        assert!(found.iter().any(|finding| finding.id == "totals"), "{found:?}");
        let examples = found.iter().flat_map(|finding| &finding.examples);
        assert!(examples.clone().count() > 0 && examples.clone().all(|row| row.starts_with("node 2: ")), "{found:?}");
        let differs = effects().await.unwrap_err();
        assert!(differs.contains("do not hold the same") && differs.contains("node 2 [1]"), "{differs}");
    });
}
