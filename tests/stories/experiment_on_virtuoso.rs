//! The experiment of "Virtuoso and Database Scalability" on Virtuoso itself: its counts agree, and what is not
//! Graymark's is left alone.

#![cfg(feature = "odbc")]

use crate::support::command::{json_file, new_record, open_directory, run, succeed};
use crate::support::options;
use crate::support::virtuoso;
use graymark::engine::wire::virtuoso::Virtuoso;
use graymark::engine::{Failure, Session as _, Sessions};
use graymark::result::Via;
use graymark::workload::Workload as _;
use graymark::workload::tpcc::input::{Delivery, Input, Line, NewOrder};
use graymark::workload::tpcc::output::Output;
use graymark::workload::tpcc::{Tpcc, UNUSED_ITEM};
use serde_json::Value;

/// An ITEM row too many, and missing ones: the client knows which order it wanted rolled back.
fn does_not_pass_for_the_rollback_of_the_standard(engine: &Virtuoso) {
    let contradicted = |sql: &[&str], i_id: i32| {
        with(engine, sql);
        let line = |i_id| Line { i_id, supply_w_id: 1, quantity: 1 };
        let lines = [10, 20, 30, 40, i_id].map(line).into_iter().collect();
        let order = Input::NewOrder(NewOrder { w_id: 1, d_id: 1, c_id: 1, lines });
        let output = executed(engine, &order).unwrap();
        Tpcc::contradiction(&order, &output).unwrap_or("nothing")
    };
    let districts = (1..=10).map(|district| format!("s_dist_{district:02}")).collect::<Vec<_>>().join(", ");
    let stock = format!("s_w_id, s_quantity, {districts}, s_ytd, s_order_cnt, s_remote_cnt, s_data");
    let item = "INSERT INTO tpcc.DBA.item (i_id, i_im_id, i_name, i_price, i_data) \
                SELECT 200000, i_im_id, i_name, i_price, i_data FROM tpcc.DBA.item WHERE i_id = 1";
    let stock = format!(
        "INSERT INTO tpcc.DBA.stock (s_i_id, {stock}) SELECT 200000, {stock} FROM tpcc.DBA.stock WHERE s_i_id = 1"
    );
    assert_eq!((contradicted(&[], 50), contradicted(&[], UNUSED_ITEM)), ("nothing", "nothing"));
    let reported = contradicted(&[item, &stock], UNUSED_ITEM);
    assert!(reported.starts_with("New-Order: committed, although an unused item was named"), "{reported}");
    let reported = contradicted(&["DELETE FROM tpcc.DBA.item WHERE i_id = 200000 OR i_id = 50"], 50);
    assert!(reported.starts_with("New-Order: rolled back, although no unused item was named"), "{reported}");
}

/// What a session of Graymark's gets for an input.
fn executed(engine: &Virtuoso, input: &Input) -> Result<Output, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut session = Sessions::<Tpcc>::open_session(engine).await.unwrap();
        session.execute(input).await
    })
}

/// Executes statements as the administrator.
fn with(engine: &Virtuoso, sql: &[&str]) {
    let connection = engine.target().connect("tpcc").unwrap();
    sql.iter().for_each(|sql| assert!(connection.execute(sql).is_ok(), "{sql}: {:?}", connection.execute(sql)));
}

/// Virtuoso 7.2 sometimes does not find a row that is there, while others change the table (docs/virtuoso.md): one
/// Delivery of few is a large share.
const MISSES: [&str; 2] = ["--allow-errors", "50%"];

#[test]
fn it_runs_and_its_counts_agree() {
    let Some(()) = virtuoso::require() else { return };
    let place = open_directory();
    let data = place.path().join("data");
    let url = format!("virtuoso:local?buffers=24000&checkpoint=0&stripes=2&data={}", data.display());
    let bench =
        ["bench", "--db", &url, "-w", "1", "--profile", "virtuoso", "--duration", "20s", "--seed", "7", "--json"];
    let summary = succeed(place.path(), &[&bench[..], &MISSES].concat()).json();
    assert_eq!((&summary["clients"], &summary["via"]), (&Value::from(2), &Value::from("procedures")));
    assert_eq!(
        (&summary["database"]["agrees"], &summary["consistency"]["failed"]),
        (&Value::Bool(true), &Value::Array(vec![]))
    );
    assert_eq!(summary["durability"]["class"], "may lose commits");
    assert!(summary["database"]["new_orders"].as_i64() > Some(0), "{}", summary["database"]);
    let pages = &summary["counters"]["pages"];
    assert_eq!(pages["buffer_bytes"], 24_000 * 8_192);
    assert!(pages["data"]["logical"].as_u64() > pages["data"]["physical"].as_u64(), "{pages}");
    assert!(pages["tables"]["customer"]["index"]["logical"].as_u64() > Some(0), "{pages}");
    assert_eq!(summary["maintenance"][0]["kind"], "checkpoint");
    assert!(summary["server"]["cpu_s"].as_f64() > Some(0.0), "{}", summary["server"]);
    let grown = &summary["counters"]["grown"];
    assert!(grown["block_reads"]["total"].is_number() && grown["block_writes"]["total"].is_number(), "{grown}");
    let record = new_record(place.path(), &[]);
    let settings = &json_file(&record, "environment.json")["settings"];
    assert_eq!((&settings["NumberOfBuffers"], &settings["stripes"]), (&Value::from("24000"), &Value::from("2")));
    assert_eq!(
        (&settings["MaxDirtyBuffers"], &settings["CheckpointInterval"]),
        (&Value::from("18000"), &Value::from("0"))
    );
    assert!(data.join("stripe2.db").is_file());

    // The data is kept: it is read from end to end, cold and warm, and checked again.
    let scan = succeed(place.path(), &["scan", "--db", &url, "--json"]).json();
    assert_eq!((&scan["caches"]["cold"], &scan["passes"][1]["name"]), (&Value::Bool(true), &Value::from("warm")));
    let stock = |pass: usize| &scan["passes"][pass]["tables"][8];
    assert_eq!((&stock(0)[0], &stock(0)[1]["rows"]), (&Value::from("stock"), &Value::from(100_000)));
    assert!(stock(0)[1]["bytes"].as_u64() > Some(20_000_000), "{}", stock(0));
    assert_eq!(succeed(place.path(), &["check", "--db", &url]).code, Some(0));
    run(place.path(), &["restore", "--db", &url]).refused(2, &["graymark drop"]);
    run(place.path(), &["load", "--db", &url, "-w", "2"]).refused(2, &["holds 1 warehouse"]);
    run(place.path(), &["bench", "debitcredit", "--db", &url]).refused(2, &["debitcredit does not run on Virtuoso"]);

    // From here on the server stays, as one of the user's own.
    let engine = Virtuoso::open(options(&url, Via::Procedures)).unwrap();
    let server = engine.server().unwrap();
    let password = std::fs::read_to_string(server.data().join("graymark.password")).unwrap();
    let url = format!("virtuoso://dba:{}@{}", password.trim(), server.address());
    let with = |sql: &[&str]| with(&engine, sql);
    // Procedures that are not Graymark's are refused, and made anew.
    with(&["CREATE PROCEDURE tpcc.DBA.stock_level (IN in_w_id INTEGER, IN in_d_id INTEGER, IN in_threshold INTEGER)
            { DECLARE out_low_stock INTEGER; result_names (out_low_stock); result (0); }"]);
    let again =
        ["run", "--db", &url, "--duration", "15s", "--ramp-up", "0s", "--check", "none", "--seed", "7", "--json"];
    run(place.path(), &again).refused(3, &["stock_level", "graymark load tpcc --procedures-only"]);
    succeed(place.path(), &["load", "--procedures-only", "--db", &url]);
    assert_eq!(succeed(place.path(), &[&again[..], &MISSES].concat()).json()["procedures"], "own");

    // A Delivery whose reply cannot be read has committed: nobody may take it for rolled back.
    with(&["CREATE PROCEDURE tpcc.DBA.delivery (IN in_w_id INTEGER, IN in_o_carrier_id INTEGER)
            { DECLARE d_id, o_id INTEGER; result_names (d_id, o_id); result (11, 1); }"]);
    let done = executed(&engine, &Input::Delivery(Delivery { w_id: 1, o_carrier_id: 1 }));
    assert!(matches!(done, Err(Failure::Unreadable(_))), "{done:?}");
    succeed(place.path(), &["load", "--procedures-only", "--db", &url]);

    // What hangs on the tables is reported, and nothing is dropped; a manifest that cannot be read proves nothing.
    with(&[
        "CREATE VIEW DB.DBA.low AS SELECT s_i_id FROM tpcc.DBA.stock",
        "CREATE TABLE DB.DBA.site (w INTEGER PRIMARY KEY, FOREIGN KEY (w) REFERENCES tpcc.DBA.warehouse (w_id))",
    ]);
    let hanging =
        ["nothing was dropped", "DB.DBA.low names tpcc.DBA.stock", "DB.DBA.site refers to tpcc.DBA.warehouse"];
    run(place.path(), &["drop", "--db", &url]).refused(3, &hanging);
    with(&["DROP VIEW DB.DBA.low", "DROP TABLE DB.DBA.site", "ALTER TABLE tpcc.DBA.item ADD c_last INTEGER"]);
    run(place.path(), &["drop", "--db", &url]).refused(3, &["nothing was dropped", "item.c_last"]);
    with(&["ALTER TABLE tpcc.DBA.item DROP c_last", "CREATE TABLE tpcc.DBA.mine (x INTEGER)"]);
    with(&[
        "CREATE TABLE DB.DBA.kept (m VARCHAR)",
        "INSERT INTO DB.DBA.kept SELECT manifest FROM tpcc.DBA.graymark_manifest",
    ]);
    with(&["UPDATE tpcc.DBA.graymark_manifest SET manifest = 'x'"]);
    run(place.path(), &["drop", "--db", &url]).refused(3, &["cannot be read", "leaves alone"]);
    with(&["UPDATE tpcc.DBA.graymark_manifest SET manifest = (SELECT m FROM DB.DBA.kept)"]);

    does_not_pass_for_the_rollback_of_the_standard(&engine);
    let reported = succeed(place.path(), &["drop", "--db", &url]);
    with(&["INSERT INTO tpcc.DBA.mine VALUES (1)"]);
    assert!(reported.err.contains("removed the tpcc tables"), "{reported:?}");
    run(place.path(), &["check", "--db", &url]).refused(3, &["holds no tpcc tables"]);

    // Tables and procedures of somebody else.
    with(&[
        "CREATE TABLE tpcc.DBA.customer (id INTEGER)",
        "CREATE PROCEDURE tpcc.DBA.payment (IN due INTEGER) { RETURN due; }",
    ]);
    for command in ["check", "run", "load", "bench", "drop"] {
        let done = run(place.path(), &[command, "--db", &url]);
        done.refused(3, &["customer, payment", "SYS_KEYS", "virtuoso:local"]);
        assert!(!done.err.contains("graymark drop"), "{done:?}");
    }
    with(&["INSERT INTO tpcc.DBA.customer VALUES (tpcc.DBA.payment (7))"]);
}
