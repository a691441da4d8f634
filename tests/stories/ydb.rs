//! YDB over its own protocol, on a stand-in for its gRPC services: what is sent, what comes back, and what is made of
//! each of YDB's statuses. The stand-in has SQLite carry out the statements, so that these tests say nothing of whether
//! YDB accepts the YQL.

use std::path::PathBuf;

use graymark::engine::dialect::{Dialect, Wire as OfDialect};
use graymark::engine::sql::script;
use graymark::engine::wire::ydb::Ydb;
use graymark::engine::{DatabaseState, Engine, Failure, Session, Sessions};
use graymark::result::{Manifest, Via};
use graymark::workload::debitcredit::DebitCredit;
use graymark::workload::tpcc::Tpcc;
use graymark::workload::tpcc::input::{Customer, Delivery, Input, Line, NewOrder, Payment};
use graymark::workload::value::{Money, RowSink, Timestamp};
use graymark::workload::{Table, Workload};
use serde_json::Value;
use tempfile::TempDir;
use tonic::Code;
use ydb_grpc::ydb_proto::status_ids::StatusCode;

use crate::bank;
use crate::conformance;
use crate::support::bank::{Bank, Kind, of_sqlite};
use crate::support::command::{files, graymark, run, start, succeed};
use crate::support::consistency_faults::{faults, work};
use crate::support::wire::{Swallowed, Wire};
use crate::support::ydb::{Fault, TOKEN, What, When, YdbServer};
use crate::support::{self, dump, faults as of_seed, suite, yql};

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

async fn open(server: &YdbServer) -> Ydb {
    Ydb::open(support::options(&server.url(), Via::Statements)).await.unwrap()
}

/// A copy of the rows of a directory.
fn copy(server: &YdbServer, directory: &str, place: &TempDir) -> PathBuf {
    let file = place.path().join(format!("{directory}.db"));
    let _ = std::fs::remove_file(&file);
    server.with_rows(directory, |rows| rows.execute("VACUUM INTO ?1", [file.to_str().unwrap()]).unwrap());
    file
}

/// All replies and all rows of TPC-C are those of the model, from the rows that the bulk upserts brought to the last
/// Delivery; sessions side by side do everything once; every fault in a row is reported.
#[test]
fn tpcc_conforms() {
    let (server, place) = (YdbServer::start(), TempDir::new().unwrap());
    block_on(async {
        let engine = open(&server).await;
        assert_eq!(Engine::<Tpcc>::database_state(&engine).await, Ok(DatabaseState::Nothing));
        let manifest = conformance::manifest();
        suite::load(&engine, &manifest).await;
        assert_eq!(Engine::<Tpcc>::database_state(&engine).await, Ok(DatabaseState::Complete(manifest.clone())));
        let rows = async |table: &Table, sink: &mut dyn RowSink| {
            dump::sqlite(&copy(&server, "tpcc", &place), table, sink);
        };
        suite::conforms(&engine, conformance::MODEL.clone(), suite::SCRIPT, rows)
            .await
            .unwrap_or_else(|why| panic!("{why}"));
        conformance::work_side_by_side(&engine).await;
        let plant = async |sql: &str| server.with_rows("tpcc", |rows| rows.execute_batch(sql).unwrap());
        of_seed::are_found(&engine, &manifest, plant).await;
    });
}

fn debitcredit_conforms(kind: Kind) {
    let (server, place) = (YdbServer::start(), TempDir::new().unwrap());
    block_on(async {
        let engine = open(&server).await;
        bank::load_without_keys(&engine, kind).await;
        let mut bank = Bank::new(kind);
        bank.agrees(&of_sqlite(&copy(&server, "debitcredit", &place))).unwrap();
        let mut session = bank::open_session(&engine).await;
        let inputs = bank::inputs(kind, 11, 300);
        bank::replies_agree(&mut session, &mut bank, &inputs).await.unwrap_or_else(|why| panic!("{why}"));
        bank.agrees(&of_sqlite(&copy(&server, "debitcredit", &place))).unwrap_or_else(|why| panic!("{why}"));
        bank::holds(&engine).await;
        assert_eq!(Engine::<DebitCredit>::effects(&engine).await.unwrap(), [bank.history.len() as i64]);
    });
}

#[test]
fn debitcredit_conforms_to_gray() {
    debitcredit_conforms(Kind::Gray);
}

#[test]
fn debitcredit_conforms_to_tpc_b() {
    debitcredit_conforms(Kind::TpcB);
}

/// A loaded bank of two branches.
fn small_bank() -> YdbServer {
    let server = YdbServer::start();
    block_on(async { bank::load_without_keys(&open(&server).await, Kind::Gray).await });
    server.take_log();
    server
}

/// A loaded warehouse; its engine opens sessions.
async fn warehouse(server: &YdbServer) -> Ydb {
    let engine = open(server).await;
    let population = Tpcc::population(1, 7, Timestamp(1_767_225_600_000_000), 0);
    let parameters = Tpcc::parameters(&population);
    let manifest =
        Manifest { format: 1, scale: 1, seed: 7, date: 1_767_225_600_000_000, foreign_keys: false, parameters };
    Engine::<Tpcc>::load(&engine, &manifest, &population, 2, &|_| {}).await.unwrap();
    engine
}

/// Each condition finds the faults that it has to find, and none in a database that was worked on by the rules.
#[test]
fn each_condition_finds_its_fault() {
    let server = YdbServer::start();
    block_on(warehouse(&server));
    let conditions = Dialect::choose(OfDialect::Ydb, None).unwrap().whole("tpcc", "consistency.sql").unwrap();
    let conditions = script::statements(conditions);
    server.with_rows("tpcc", |rows| {
        // Faults are rows that the schema would not take.
        for table in Tpcc::TABLES {
            let (name, columns) = (table.name, table.columns.iter().map(|column| column.name).collect::<Vec<_>>());
            let key = if table.primary_key.is_empty() { &columns[..1] } else { table.primary_key };
            let (columns, key) = (columns.join(", "), key.join(", "));
            rows.execute_batch(&format!(
                "ALTER TABLE {name} RENAME TO loaded_{name}; CREATE TABLE {name} AS SELECT {columns} FROM \
                 loaded_{name}; DROP TABLE loaded_{name}; CREATE INDEX {name}_key ON {name} ({key})"
            ))
            .unwrap();
        }
        rows.execute_batch(&work()).unwrap();
        for condition in &conditions {
            let found = yql::texts(rows, condition.sql);
            assert!(found.is_empty(), "{}: {found:?}", condition.name);
        }
        for fault in faults() {
            rows.execute_batch(&format!("BEGIN; {}", fault.sql)).unwrap_or_else(|why| {
                panic!("{}: {why}", fault.what);
            });
            for (name, _) in fault.found {
                let condition = conditions.iter().find(|condition| condition.name == *name).unwrap();
                assert!(!yql::texts(rows, condition.sql).is_empty(), "{} is not found by {name}", fault.what);
            }
            rows.execute_batch("ROLLBACK").unwrap();
        }
    });
}

fn line(supply_w_id: i32, i_id: i32, quantity: i32) -> Line {
    Line { i_id, supply_w_id, quantity }
}

fn new_order(lines: &[Line]) -> Input {
    Input::NewOrder(NewOrder { w_id: 1, d_id: 2, c_id: 3, lines: lines.iter().copied().collect() })
}

/// A transaction is as few queries as can be: one for each exchange, the first with the begin and the last with the
/// commit; what is asked for twice is a query of its own.
#[test]
fn transactions_are_few_queries() {
    let server = YdbServer::start();
    block_on(async {
        let engine = warehouse(&server).await;
        let mut session = Sessions::<Tpcc>::open_session(&engine).await.unwrap();
        server.take_log();
        session.execute(&new_order(&[line(1, 5, 1), line(1, 9, 2)])).await.unwrap();
        let reads = "new_order_customer new_order_district new_order_item new_order_stock";
        let writes = "in new_order_order new_order_open new_order_line";
        assert_eq!(server.take_log(), [format!("begin {reads}"), format!("{writes} commit")]);
        assert_eq!(session.round_trips(), Some(2));
        // One stock row twice: the second line has to see what the first one left.
        session.execute(&new_order(&[line(1, 5, 1), line(1, 5, 2)])).await.unwrap();
        let twice = [format!("begin {reads}"), "in new_order_stock".to_owned(), format!("{writes} commit")];
        assert_eq!(server.take_log(), twice);
        // An item that does not exist: rolled back after the inserts of the other lines.
        session.execute(&new_order(&[line(1, 5, 1), line(1, 100_001, 1)])).await.unwrap();
        assert_eq!(server.take_log(), [format!("begin {reads}"), writes.to_owned(), "rollback".to_owned()]);
        let payment =
            Payment { w_id: 1, d_id: 1, c_w_id: 1, c_d_id: 1, customer: Customer::Id(7), h_amount: Money(500) };
        session.execute(&Input::Payment(payment)).await.unwrap();
        let paid = ["begin payment_customer_by_id payment_district payment_warehouse", "in payment_history commit"];
        assert_eq!(server.take_log(), paid);
    });
    let server = small_bank();
    block_on(async {
        let mut session = bank::open_session(&open(&server).await).await;
        session.execute(&bank::inputs(Kind::Gray, 1, 1)[0]).await.unwrap();
        assert_eq!(server.take_log(), ["begin teller account history branch commit"]);
    });
}

/// What is made of a failure.
fn reported(done: Result<(), Failure>) -> &'static str {
    match done {
        Ok(()) => "done",
        Err(Failure::Retry { reason, .. }) => reason.name(),
        Err(Failure::Disconnected { ambiguous: true, .. }) => "unknown fate",
        Err(Failure::Disconnected { ambiguous: false, .. }) => "reconnect",
        Err(Failure::Invalid(_)) => "failed",
        Err(Failure::Unreadable(_)) => "unreadable",
    }
}

/// Each class of statuses, within a transaction and at its commit. A session that is still there works again, and
/// nothing is left of what failed.
#[test]
fn each_status_is_retried_failed_or_of_unknown_fate() {
    let server = small_bank();
    let input = &bank::inputs(Kind::Gray, 3, 1)[0];
    let history = || server.with_rows("debitcredit", |rows| yql::texts(rows, "SELECT COUNT(*) AS n FROM history"));
    block_on(async {
        let engine = open(&server).await;
        let mut session = bank::open_session(&engine).await;
        for (what, due) in [
            (What::Status(StatusCode::Aborted), "serialization"),
            (What::Status(StatusCode::Unavailable), "unavailable"),
            (What::Status(StatusCode::Overloaded), "overloaded"),
            (What::Status(StatusCode::BadSession), "reconnect"),
            (What::Status(StatusCode::SessionBusy), "reconnect"),
            (What::Status(StatusCode::Undetermined), "unknown fate"),
            (What::Status(StatusCode::Timeout), "unknown fate"),
            (What::Status(StatusCode::PreconditionFailed), "failed"),
            (What::Grpc(Code::Unavailable), "unknown fate"),
            (What::Grpc(Code::ResourceExhausted), "overloaded"),
            (What::Grpc(Code::Unauthenticated), "reconnect"),
        ] {
            let before = history();
            server.plant([Fault { when: When::Commit, what, done: false }]);
            assert_eq!(reported(session.execute(input).await.map(|_| ())), due, "{what:?}");
            assert_eq!((server.planted(), history()), (0, before), "{what:?}");
            if ["reconnect", "unknown fate"].contains(&due) {
                session = bank::open_session(&engine).await;
            }
            assert_eq!(reported(session.execute(input).await.map(|_| ())), "done", "after {what:?}");
        }
    });
    let server = YdbServer::start();
    block_on(async {
        let engine = warehouse(&server).await;
        let mut session = Sessions::<Tpcc>::open_session(&engine).await.unwrap();
        let order = new_order(&[line(1, 5, 1), line(1, 5, 2)]);
        for (what, due) in [
            (What::Status(StatusCode::Aborted), "serialization"),
            (What::Status(StatusCode::Undetermined), "failed"),
            (What::Status(StatusCode::SchemeError), "failed"),
            (What::Grpc(Code::Unavailable), "reconnect"),
        ] {
            // The second query of three: the transaction is open.
            let pass = Fault { when: When::Statement, what: What::Nothing, done: true };
            server.plant([pass, Fault { when: When::Statement, what, done: false }]);
            assert_eq!(reported(session.execute(&order).await.map(|_| ())), due, "{what:?}");
            if due == "reconnect" {
                session = Sessions::<Tpcc>::open_session(&engine).await.unwrap();
            }
            session.execute(&order).await.unwrap();
        }
        conformance_holds(&engine).await;
    });
}

/// The planted fault: a commit is refused, and its transaction is still open. It is rolled back, so that the session
/// can begin the next one.
#[test]
fn a_refused_commit_leaves_no_transaction_open() {
    let server = YdbServer::start();
    block_on(async {
        let engine = warehouse(&server).await;
        let mut session = Sessions::<Tpcc>::open_session(&engine).await.unwrap();
        // The last query of a New-Order commits; a Delivery has a commit on its own.
        for input in [new_order(&[line(1, 5, 1)]), Input::Delivery(Delivery { w_id: 1, o_carrier_id: 3 })] {
            for (status, due) in [(StatusCode::Overloaded, "overloaded"), (StatusCode::PreconditionFailed, "failed")] {
                server.plant([Fault { when: When::Commit, what: What::LeftOpen(status), done: false }]);
                assert_eq!(reported(session.execute(&input).await.map(|_| ())), due);
                assert_eq!((server.planted(), server.open_transactions()), (0, 0), "{input:?}: {status:?}");
                assert_eq!(server.take_log().last().map(String::as_str), Some("rollback"), "{input:?}: {status:?}");
                session.execute(&input).await.unwrap();
            }
        }
    });
}

/// The planted fault: a success without a set of rows. A condition is not taken for one that holds, nor a transaction
/// for one that was read.
#[test]
fn an_answer_without_rows_is_not_taken_for_an_empty_one() {
    let server = small_bank();
    let history = || server.with_rows("debitcredit", |rows| yql::texts(rows, "SELECT COUNT(*) AS n FROM history"));
    let plant = |when| server.plant([Fault { when, what: What::NoSets, done: true }]);
    block_on(async {
        let engine = open(&server).await;
        plant(When::Query);
        let checked = Engine::<DebitCredit>::check(&engine, &mut |_| {}).await;
        let why = checked.expect_err("no condition was tested").to_string();
        assert!(why.contains("cannot check condition") && why.contains("without a set of rows"), "{why}");
        let mut session = bank::open_session(&engine).await;
        let before = history();
        plant(When::Commit);
        assert_eq!(reported(session.execute(&bank::inputs(Kind::Gray, 3, 1)[0]).await.map(|_| ())), "unreadable");
        assert_eq!(server.planted(), 0);
        assert_ne!(history(), before);
    });
}

async fn conformance_holds(engine: &Ydb) {
    let findings = Engine::<Tpcc>::check(engine, &mut |_| {}).await.unwrap();
    let broken: Vec<_> = findings.iter().filter(|finding| !finding.held()).collect();
    assert!(findings.len() >= 25 && broken.is_empty(), "{broken:#?}");
}

/// The program counts retries by reason, looks up commits of unknown fate, some of which are done and some not, and
/// its counts are those of the database.
#[test]
fn a_run_counts_what_ydb_refuses() {
    let (server, place) = (small_bank(), TempDir::new().unwrap());
    let at_commit = |what, done| Fault { when: When::Commit, what, done };
    let status = |status, done| at_commit(What::Status(status), done);
    server.plant([
        status(StatusCode::Aborted, false),
        status(StatusCode::Unavailable, false),
        status(StatusCode::Overloaded, false),
        status(StatusCode::Undetermined, true),
        status(StatusCode::Undetermined, false),
        at_commit(What::Grpc(Code::Unavailable), true),
        at_commit(What::Grpc(Code::Unavailable), false),
        status(StatusCode::BadSession, false),
        status(StatusCode::SchemeError, false),
    ]);
    let url = server.url();
    let arguments = ["run", "debitcredit", "--db", &url, "--clients", "2", "--ramp-up", "0s", "--duration", "10s"];
    let done = run(place.path(), &[&arguments[..], &["--check", "both", "--json", "--out", "record"]].concat());
    assert_eq!(server.planted(), 0, "{done:?}");
    let summary: Value = done.json();
    for reason in ["serialization", "unavailable", "overloaded"] {
        assert_eq!(summary["retries"][reason], 1, "{reason}: {summary:#}");
    }
    let fate = &summary["connections"]["lookup"]["unknown_fate"];
    assert_eq!((&fate["committed"], &fate["not_committed"]), (&Value::from(2), &Value::from(2)), "{summary:#}");
    let report = succeed(place.path(), &["report", "record", "--full"]).out;
    assert!(report.contains("Of unknown outcome: 2 committed, 2 not"), "{report}");
    assert!(report.contains("YDB") && report.contains("serializable"), "{report}");
}

/// A connection that is cut while commits are under way leaves their fate open, and the look-up finds it.
#[test]
fn a_cut_connection_at_a_commit_is_looked_up() {
    let (server, place) = (small_bank(), TempDir::new().unwrap());
    let wire = Wire::to(server.port);
    let url = format!("ydb://127.0.0.1:{}/local?discovery=off", wire.port);
    let arguments = ["run", "debitcredit", "--db", &url, "--clients", "4", "--ramp-up", "0s", "--duration", "40s"];
    let rest = ["--rate", "100", "--json", "--out", "record"];
    let mut working = start(graymark(place.path(), &[&arguments[..], &rest].concat()));
    working.wait_for("run: measurement");
    for what in [Swallowed::Replies, Swallowed::Requests] {
        wire.wait_for_replies(20);
        wire.swallow(what);
        wire.wait_for_swallowed(2);
        wire.cut();
    }
    let (_, done) = working.end();
    assert_eq!(done.code, Some(0), "{done:?}");
    let summary: Value = done.json();
    let connections = &summary["connections"];
    let fate = |key: &str| connections["lookup"]["unknown_fate"][key].as_i64().unwrap();
    assert!(connections["ambiguous"].as_i64().unwrap() > 0, "{connections:#}");
    assert_eq!(connections["ambiguous"], fate("committed") + fate("not_committed") + fate("read_only"));
    assert!(fate("committed") > 0, "{connections:#}");
}

/// Bulk upserts are sent again after errors that pass, whether they were carried out or not; other errors end the load,
/// which goes on later, and what is not Graymark's is neither used nor removed.
#[test]
fn a_load_goes_on_after_errors() {
    let (server, place) = (YdbServer::start(), TempDir::new().unwrap());
    let at_bulk = |what, done| Fault { when: When::Bulk, what, done };
    server.plant([
        at_bulk(What::Status(StatusCode::Overloaded), false),
        at_bulk(What::Status(StatusCode::Undetermined), true),
        at_bulk(What::Grpc(Code::Unavailable), true),
        at_bulk(What::Status(StatusCode::SchemeError), false),
    ]);
    let url = server.url();
    let load = ["load", "debitcredit", "--db", &url, "-b", "2", "--jobs", "1"];
    let stopped = run(place.path(), &load);
    assert!(stopped.code != Some(0) && stopped.err.contains("[SCHEME_ERROR]"), "{stopped:?}");
    assert_eq!(server.planted(), 0);
    run(place.path(), &["run", "debitcredit", "--db", &url, "--duration", "1s"]).refused(3, &["load"]);
    let sent = server.take_log().len();
    let loaded = succeed(place.path(), &load);
    assert!(loaded.out.contains("20,022"), "{loaded:?}");
    assert!(sent > 0);
    succeed(place.path(), &["check", "debitcredit", "--db", &url]);
    // A condition that fails is reported.
    server.with_rows("debitcredit", |rows| rows.execute("UPDATE branch SET branch_balance = 1", []).unwrap());
    let broken = run(place.path(), &["check", "debitcredit", "--db", &url]);
    assert!(broken.code != Some(0) && broken.out.contains("branch_balance=1"), "{broken:?}");
    // A column of somebody else in a table of ours.
    let drop = ["drop", "debitcredit", "--db", &url];
    server.with_rows("debitcredit", |rows| rows.execute("ALTER TABLE account ADD COLUMN amount TEXT", []).unwrap());
    run(place.path(), &drop).refused(3, &["nothing was dropped", "account.amount"]);
    server.with_rows("debitcredit", |rows| rows.execute("ALTER TABLE account DROP COLUMN amount", []).unwrap());
    succeed(place.path(), &drop);
    server.with_rows("debitcredit", |rows| {
        assert!(yql::tables(rows).is_empty());
        rows.execute_batch("CREATE TABLE branch (branch_id INTEGER, branch_balance INTEGER)").unwrap();
    });
    for command in [&load[..], &["drop", "debitcredit", "--db", &url]] {
        let refused = run(place.path(), command);
        assert!(refused.code != Some(0) && refused.err.contains("no manifest of Graymark's"), "{refused:?}");
    }
    assert_eq!(server.with_rows("debitcredit", yql::tables), ["branch"]);
}

/// Who has the password gets in by a token; neither of the two is shown or kept.
#[test]
fn passwords_and_tokens_are_not_shown() {
    const PASSWORD: &str = "w0nderl4nd";
    let (server, place) = (YdbServer::with_login(Some(("ann", PASSWORD))), TempDir::new().unwrap());
    let of = |login: &str| format!("ydb://{login}127.0.0.1:{}/local", server.port);
    let url = of(&format!("ann:{PASSWORD}@"));
    let bench = ["bench", "debitcredit", "-b", "1", "--ramp-up", "0s", "--duration", "4s", "--out", "record", "--db"];
    let done = succeed(place.path(), &[&bench[..], &[&url]].concat());
    let mut shown = format!("{}{}", done.out, done.err);
    for (url, variable) in [(of(""), None), (of("ann:wr0ng@"), None), (of("ann@"), Some(("YDB_PASSWORD", "wr0ng")))] {
        let mut command = graymark(place.path(), &["check", "debitcredit", "--db", &url]);
        command.envs(variable);
        let refused = crate::support::command::end(command);
        assert!(refused.code != Some(0) && refused.err.contains("YDB_PASSWORD"), "{refused:?}");
        shown.push_str(&refused.err);
    }
    for variable in [("YDB_PASSWORD", PASSWORD), ("YDB_TOKEN", TOKEN)] {
        let url = of(if variable.0 == "YDB_TOKEN" { "" } else { "ann@" });
        let mut command = graymark(place.path(), &["check", "debitcredit", "--db", &url]);
        command.envs([variable]);
        let done = crate::support::command::end(command);
        assert_eq!(done.code, Some(0), "{done:?}");
        shown.push_str(&done.out);
    }
    for file in files(&place.path().join("record")) {
        shown.push_str(&String::from_utf8_lossy(&std::fs::read(file).unwrap()));
    }
    assert!(shown.contains("ydb://ann@127.0.0.1"), "{shown}");
    for secret in [PASSWORD, TOKEN, "wr0ng"] {
        assert!(!shown.contains(secret), "{secret} is shown");
    }
}

/// A token that the server has forgotten is given up with the session that was refused; the next one logs in.
#[test]
fn a_token_that_is_refused_is_not_used_again() {
    let server = YdbServer::with_login(Some(("ann", "secret")));
    let url = format!("ydb://ann:secret@127.0.0.1:{}/local", server.port);
    block_on(async {
        let engine = Ydb::open(support::options(&url, Via::Statements)).await.unwrap();
        let open = async || Sessions::<DebitCredit>::open_session(&engine).await.map(|_| ());
        open().await.unwrap();
        server.renew_token();
        let refused = open().await.unwrap_err().to_string();
        assert!(refused.contains("no valid token") && refused.contains("YDB_PASSWORD"), "{refused}");
        open().await.unwrap();
    });
}

/// What accepts connections and never answers is given up, whatever is asked first: a login, the nodes, a session.
#[test]
fn a_server_that_never_answers_is_given_up() {
    let (listener, place) = (std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap(), TempDir::new().unwrap());
    let port = listener.local_addr().unwrap().port();
    for (login, more, what) in
        [("ann:secret@", "", "log in"), ("", "", "for its nodes"), ("", "&discovery=off", "open a session")]
    {
        let url = format!("ydb://{login}127.0.0.1:{port}/local?connect_timeout=5{more}");
        let refused = run(place.path(), &["check", "debitcredit", "--db", &url]);
        refused.refused(3, &[what, "no answer within 5 s (connect_timeout=SECONDS"]);
    }
}

/// A server that hangs is not taken for one that answers because it accepts connections: what waits for it is given up.
#[test]
fn a_server_that_hangs_does_not_answer() {
    let server = YdbServer::with_login(Some(("ann", "secret")));
    let wire = Wire::to(server.port);
    let url = format!("ydb://ann:secret@127.0.0.1:{}/local?discovery=off&connect_timeout=", wire.port);
    block_on(async {
        let within = async |seconds: &str| {
            Ydb::open(support::options(&format!("{url}{seconds}"), Via::Statements)).await.unwrap()
        };
        let (patient, other) = (within("60").await, within("5").await);
        // Refused without a token, which is an answer.
        assert!(Engine::<Tpcc>::answers(&patient).await);
        wire.swallow(Swallowed::Replies);
        assert!(!Engine::<Tpcc>::answers(&other).await);
    });
}
