//! Commits that a lost connection makes doubtful are looked up one by one: those of unknown fate are known afterwards,
//! and none that was acknowledged can be lost behind another that the counts take for it.

use std::path::Path;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::{graymark, start, succeed};
use crate::support::loaded::{loaded_mariadb, loaded_server};
use crate::support::wire::{Swallowed, Wire};
use crate::support::{client, require_mariadb, require_postgres, small_server};

/// A run over a wire that swallows replies twice, and requests twice, before it is cut.
fn over_a_bad_wire(url: &str, workload: &str) -> Value {
    let (user, place) = url.rsplit_once('@').unwrap();
    let (address, path) = place.split_once('/').unwrap_or((place, ""));
    let wire = Wire::to(address.rsplit_once(':').unwrap().1.parse().unwrap());
    let slash = if path.is_empty() { "" } else { "/" };
    let worn = format!("{user}@127.0.0.1:{}{slash}{path}", wire.port);
    let place = TempDir::new().unwrap();
    // A little load leaves the machine free for other tests, and time for the sessions to come back.
    let load: &[&str] = match workload {
        "tpcc" => &["--pace", "standard*0.015", "--duration", "160s"],
        _ => &["--rate", "150", "--duration", "60s"],
    };
    let run = ["run", workload, "--db", &worn, "--clients", "8", "--ramp-up", "0s", "--out", "record", "--json"];
    let run = [&run[..], load].concat();
    let mut working = start(graymark(place.path(), &run));
    working.wait_for("run: measurement");
    use Swallowed::{Replies, Requests};
    for (what, replies) in [(Replies, 50), (Requests, 200), (Replies, 200), (Requests, 200)] {
        // After a cut there are first the replies by which sessions are set up again; transactions follow.
        wire.wait_for_replies(replies);
        wire.swallow(what);
        // Half of the sessions wait for a reply that does not come. The last second before the cut has commits that
        // were acknowledged.
        wire.wait_for_swallowed(4);
        wire.cut();
    }
    let (_, done) = working.end();
    assert_eq!(done.code, Some(0), "{done:?}");
    let text = succeed(place.path(), &["report", "record", "--full"]).out;
    let summary = done.json();
    let fate = &summary["connections"]["lookup"]["unknown_fate"];
    assert!(
        text.contains(&format!("Of unknown outcome: {} committed, {} not", fate["committed"], fate["not_committed"])),
        "{text}"
    );
    summary
}

/// What was found of each commit adds up to what the database has more than the client was told of.
fn fates_are_known(summary: &Value, effects: &[&str]) {
    let lookup = &summary["connections"]["lookup"];
    let fate = |key: &str| lookup["unknown_fate"][key].as_i64().unwrap();
    let all = summary["connections"]["ambiguous"].as_i64().unwrap();
    let known = fate("committed") + fate("not_committed") + fate("read_only");
    assert!(all > 0 && known + fate("not_known") == all, "{}", summary["connections"]);
    assert!(fate("committed") > 0 && fate("not_committed") > 0, "{lookup}");
    let more = |effect: &Value| effect["database"].as_i64().unwrap() - effect["client"].as_i64().unwrap();
    let more = effects.iter().map(|name| more(&summary["database"]["effects"][*name])).sum::<i64>();
    // A Payment by last name is looked up by its amount: another one may have the same.
    assert!((fate("committed") - more).abs() <= 1, "{lookup} {}", summary["database"]);
    let reported = &lookup["acknowledged"];
    assert!(reported["looked_up"].as_u64().unwrap() > 0 && reported["found"] == reported["looked_up"], "{reported}");
    assert_eq!((&reported["lost"], &reported["beyond"]), (&Value::from(0), &Value::from(false)), "{reported}");
}

fn rule<'a>(summary: &'a Value, id: &str) -> &'a Value {
    let clauses = summary["verdict"]["clauses"].as_array().unwrap();
    clauses.iter().find(|clause| clause["id"] == id).unwrap_or_else(|| panic!("{id}: {clauses:?}"))
}

#[test]
fn fates_become_known_on_postgres() {
    let Some(()) = require_postgres() else { return };
    let summary = over_a_bad_wire(&loaded_server().tcp_url(), "tpcc");
    fates_are_known(&summary, &["new_orders", "payments"]);
    assert_eq!(rule(&summary, "3.5.3")["state"], "held");
}

#[test]
fn fates_become_known_on_mariadb() {
    let Some(()) = require_mariadb() else { return };
    let summary = over_a_bad_wire(&loaded_mariadb(&[]).tcp_url(), "tpcc");
    fates_are_known(&summary, &["new_orders", "payments"]);
}

#[test]
fn fates_of_debitcredit_become_known() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    succeed(Path::new("/"), &["load", "debitcredit", "--db", &server.tcp_url(), "--seed", "5"]);
    let summary = over_a_bad_wire(&server.tcp_url(), "debitcredit");
    fates_are_known(&summary, &["history_rows"]);
    assert_eq!(summary["connections"]["lookup"]["unknown_fate"]["not_known"], 0, "{}", summary["connections"]);
    assert_eq!(rule(&summary, "acknowledged")["state"], "held");
}

/// The planted case: a database that loses acknowledged orders in a crash, and has others in their places that nobody
/// was told of, as commits of unknown fate are. All counts agree, and all conditions hold.
#[test]
fn commits_cannot_be_lost_behind_others() {
    let Some(()) = require_postgres() else { return };
    let server = loaded_server();
    let (url, place) = (server.tcp_url(), TempDir::new().unwrap());
    let run =
        ["run", "--db", &url, "--clients", "4", "--ramp-up", "0s", "--duration", "60s", "--out", "record", "--json"];
    let light = ["--pace", "standard*0.01"];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut working = start(graymark(place.path(), &[&run[..], &light].concat()));
    working.wait_for("run: measurement");
    // The orders of the load obey other conditions than those that a run places: each district needs one of the run.
    runtime.block_on(async {
        let client = client(&url).await;
        let least = "SELECT min(d_next_o_id) FROM tpcc.district";
        while client.query_one(least, &[]).await.unwrap().get::<_, i32>(0) <= 3_001 {
            assert!(working.at_work(), "a district without a new order");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    working.wait_for_seconds(&place.path().join("record"), 1);
    server.kill().unwrap();
    working.wait_for("run: session");
    // Until the rows are exchanged, the run makes no newer ones.
    working.signal(Signal::SIGSTOP);
    server.restart().unwrap();
    // The last order of each district goes, and gives its number to that of the district before it.
    let exchange = "BEGIN; LOCK TABLE tpcc.district;
        CREATE TEMP TABLE gone AS
            SELECT d_w_id AS w, d_id AS d, d_next_o_id - 1 AS o, d_id % 10 + 1 AS to_d,
                   (SELECT d_next_o_id - 1 FROM tpcc.district t
                      WHERE t.d_w_id = f.d_w_id AND t.d_id = f.d_id % 10 + 1) AS to_o
              FROM tpcc.district f;
        UPDATE tpcc.orders SET o_d_id = to_d + 100, o_id = to_o FROM gone WHERE o_w_id = w AND o_d_id = d AND o_id = o;
        UPDATE tpcc.order_line SET ol_d_id = to_d + 100, ol_o_id = to_o FROM gone
          WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
        UPDATE tpcc.orders SET o_d_id = o_d_id - 100 WHERE o_d_id > 100;
        UPDATE tpcc.order_line SET ol_d_id = ol_d_id - 100,
               ol_dist_info = (SELECT to_jsonb(s) ->> format('s_dist_%s', lpad((ol_d_id - 100)::text, 2, '0'))
                                 FROM tpcc.stock s WHERE s_w_id = ol_supply_w_id AND s_i_id = ol_i_id)
         WHERE ol_d_id > 100;
        COMMIT";
    runtime.block_on(async { client(&url).await.batch_execute(exchange).await.unwrap() });
    working.signal(Signal::SIGCONT);
    let (_, done) = working.end();
    assert_eq!(done.code, Some(1), "{done:?}");
    let summary = done.json();
    assert!(summary["connections"]["ambiguous"].as_u64().unwrap() > 0, "{}", summary["connections"]);
    assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
    assert_eq!(summary["consistency"]["failed"], Value::from(vec!["acknowledged"]), "{}", summary["consistency"]);
    let reported = &summary["connections"]["lookup"]["acknowledged"];
    let lost = reported["lost"].as_u64().unwrap();
    assert!(
        (1..=10).contains(&lost)
            && reported["found"].as_u64().unwrap() + lost == reported["looked_up"].as_u64().unwrap(),
        "{reported}"
    );
    let broken = rule(&summary, "3.5.3");
    assert!(
        broken["state"] == "broken" && broken["value"] == format!("{lost} of {} lost", reported["looked_up"]),
        "{broken}"
    );
    assert!(done.err.contains(&format!("{lost} commit")), "{}", done.err);
    let text = succeed(place.path(), &["report", "record", "--full"]).out;
    let first = text.lines().take(3).collect::<Vec<_>>().join(" ");
    assert!(first.contains(" LOST") && first.contains("that the database had acknowledged"), "{text}");
    let page =
        std::fs::read_to_string(place.path().join("record").join(graymark::result::format::file::REPORT_HTML)).unwrap();
    let header = page.split("</header>").next().unwrap();
    assert!(header.contains("that the database had acknowledged"), "{header}");
}

#[cfg(feature = "odbc")]
#[test]
fn fates_become_known_on_virtuoso() {
    let Some(()) = crate::support::virtuoso::require() else { return };
    let engine = crate::support::virtuoso::small();
    let server = engine.server().unwrap();
    let password = std::fs::read_to_string(server.data().join("graymark.password")).unwrap();
    let url = format!("virtuoso://dba:{}@{}", password.trim(), server.address());
    succeed(Path::new("/"), &["load", "--db", &url, "--seed", "5"]);
    let summary = over_a_bad_wire(&url, "tpcc");
    fates_are_known(&summary, &["new_orders", "payments"]);
}
