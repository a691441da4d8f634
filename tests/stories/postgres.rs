//! A user measures PostgreSQL: a private one, one of their own, with TLS, with a password, behind a pooler.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;

use crate::support::loaded::loaded_server;
use crate::support::{
    checksums, client, copy_of_loaded, load, load_beside, open, options, require_postgres, small_server, with_database,
};
use graymark::engine::sql::script;
use graymark::engine::sql::{SqlWorkload, WorkloadSql};
use graymark::engine::wire::postgres::connect::Target;
use graymark::engine::wire::postgres::{Connection, Postgres};
use graymark::engine::{DatabaseState, Engine, Error, Failure, RetryReason, Session, Sessions};
use graymark::result::Isolation;
use graymark::result::{LoadStep, Manifest, Via};
use graymark::workload::tpcc::input::{
    Customer, Delivery, Input, LastName, Line, NewOrder, OrderStatus, Payment, StockLevel,
};
use graymark::workload::tpcc::output::Output;
use graymark::workload::tpcc::{Tpcc, UNUSED_ITEM};
use graymark::workload::value::{Money, Timestamp};
use graymark::workload::{Population, Workload};

/// 2026-01-01 12:00 UTC
const DATE: Timestamp = Timestamp(1_767_268_800_000_000);

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn manifest(scale: u32) -> (Manifest, <Tpcc as Workload>::Population) {
    let population = Tpcc::population(scale, 42, DATE, 0);
    let parameters = Tpcc::parameters(&population);
    (Manifest { format: 1, scale, seed: 42, date: DATE.0, foreign_keys: false, parameters }, population)
}

#[test]
fn an_interrupted_load_goes_on_to_the_same_rows() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let (one_go, population) = manifest(1);
    runtime().block_on(async {
        let engine = open(&server.url(), Via::Procedures).await.unwrap();
        assert_eq!(Engine::<Tpcc>::database_state(&engine).await.unwrap(), DatabaseState::Nothing);
        let reported = Mutex::new(Vec::new());
        let on_step = |step| reported.lock().unwrap().push(step);
        let report = Engine::<Tpcc>::load(&engine, &one_go, &population, 2, &on_step).await.unwrap();
        let rows: u64 = population.parts().iter().map(|part| part.rows).sum();
        assert_eq!((report.rows, report.resumed_rows), (rows, 0));
        let phases: Vec<&str> = report.phases.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(phases, ["schema", "rows", "keys", "procedures", "statistics", "verify"]);
        let heard = |step: &LoadStep| if let LoadStep::Rows { rows, .. } = step { *rows } else { 0 };
        let heard: u64 = reported.lock().unwrap().iter().map(heard).sum();
        assert_eq!(heard, rows);
        assert_eq!(Engine::<Tpcc>::database_state(&engine).await.unwrap(), DatabaseState::Complete(one_go.clone()));
        assert!(matches!(load(&engine, &one_go).await, Err(Error::Usage(_))));
        let findings = Engine::<Tpcc>::check(&engine, &mut |_| ()).await.unwrap();
        assert!(findings.len() >= 12);
        let broken: Vec<_> = findings.iter().filter(|finding| !finding.held()).collect();
        assert!(broken.is_empty(), "{broken:?}");
        let expected = checksums(&server.url()).await;
        Engine::<Tpcc>::drop_tables(&engine).await.unwrap();
        assert_eq!(Engine::<Tpcc>::database_state(&engine).await.unwrap(), DatabaseState::Nothing);

        // Given up after the first committed part, then with other parameters, then to the end.
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let stop = Mutex::new(Some(stop));
        let on_step = |step| {
            if matches!(step, LoadStep::Rows { .. })
                && let Some(stop) = stop.lock().unwrap().take()
            {
                stop.send(()).unwrap();
            }
        };
        tokio::select! {
            biased;
            _ = stopped => {}
            done = Engine::<Tpcc>::load(&engine, &one_go, &population, 1, &on_step) => {
                panic!("it was not given up: {done:?}")
            }
        }
        assert_eq!(Engine::<Tpcc>::database_state(&engine).await.unwrap(), DatabaseState::Unfinished(one_go.clone()));
        let other = load(&engine, &Manifest { seed: 43, ..one_go.clone() }).await.unwrap_err();
        assert!(
            matches!(&other, Error::Usage(text) if text.contains("seed 42") && text.contains("graymark drop")),
            "{other}"
        );
        let report = load(&engine, &one_go).await.unwrap();
        assert!(report.resumed_rows > 0);
        assert_eq!(report.rows + report.resumed_rows, rows);
        assert_eq!(checksums(&server.url()).await, expected);
    });
}

#[test]
fn two_loads_at_the_same_time_do_not_meet() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let (manifest, _) = manifest(1);
    runtime().block_on(async {
        let engine = open(&server.url(), Via::Procedures).await.unwrap();
        let second = || {
            runtime().block_on(async { load(&open(&server.url(), Via::Procedures).await.unwrap(), &manifest).await })
        };
        let (_, refused) = load_beside(&engine, &manifest, second).await;
        assert!(refused.to_string().contains("another load"), "{refused}");
        // Someone else's tables are left alone.
        let user = client(&server.url()).await;
        user.batch_execute("DROP TABLE tpcc.graymark_manifest").await.unwrap();
        assert!(matches!(Engine::<Tpcc>::database_state(&engine).await.unwrap(), DatabaseState::Foreign { .. }));
        assert!(matches!(load(&engine, &manifest).await, Err(Error::Usage(_))));
    });
}

fn line(i_id: i32, quantity: i32) -> Line {
    Line { i_id, supply_w_id: 1, quantity }
}

fn new_order(d_id: i32, lines: &[Line]) -> Input {
    Input::NewOrder(NewOrder { w_id: 1, d_id, c_id: 1, lines: lines.iter().copied().collect() })
}

async fn execute(session: &mut impl Session<Tpcc>, input: &Input) -> Output {
    session.execute(input).await.unwrap_or_else(|failure| panic!("{input:?}: {failure}"))
}

/// Executes all five transactions, and returns what they showed but for the moments of time.
async fn all_five(url: &str, via: Via) -> Vec<String> {
    let engine = open(url, via).await.unwrap();
    let mut session = Sessions::<Tpcc>::open_session(&engine).await.unwrap();
    let user = client(url).await;
    let number =
        async |sql: &str| user.query_one(&format!("SELECT ({sql})::bigint"), &[]).await.unwrap().get::<_, i64>(0);
    let before = Engine::<Tpcc>::effects(&engine).await.unwrap();
    let mut shown = Vec::new();

    // An item that stands three times, each seeing what the one before it left, and one of another district's stock.
    user.batch_execute("UPDATE tpcc.stock SET s_quantity = 25 WHERE s_i_id = 7").await.unwrap();
    let order = new_order(3, &[line(7, 10), line(9, 1), line(7, 10), line(8, 2), line(7, 10)]);
    let Output::NewOrder(placed) = execute(&mut session, &order).await else { panic!("another output") };
    let details = placed.placed.as_ref().unwrap();
    let quantities: Vec<i32> = details.lines.iter().map(|line| line.s_quantity).collect();
    assert_eq!([quantities[0], quantities[2], quantities[4]], [15, 96, 86]);
    let sum = details.lines.iter().fold(Money(0), |sum, line| sum + line.ol_amount);
    assert_eq!(
        number(&format!(
            "SELECT 100 * sum(ol_amount) FROM tpcc.order_line WHERE ol_d_id = 3 AND ol_o_id = {}",
            placed.o_id
        ))
        .await,
        sum.0
    );
    assert_eq!(number("SELECT s_order_cnt FROM tpcc.stock WHERE s_i_id = 7").await % 3, 0);
    shown.push(format!("{:?} {:?} {:?}", placed.c_last, details.lines, details.total));

    // An unused item: everything else is done, then rolled back.
    let stock = number("SELECT sum(s_ytd) FROM tpcc.stock").await;
    let unused = new_order(3, &[line(1, 1), line(2, 1), line(1, 1), line(4, 1), line(UNUSED_ITEM, 1)]);
    let Output::NewOrder(refused) = execute(&mut session, &unused).await else { panic!("another output") };
    assert_eq!((refused.o_id, &refused.placed), (placed.o_id + 1, &None));
    assert_eq!((refused.c_last, refused.c_credit), (placed.c_last, placed.c_credit));
    assert_eq!(number("SELECT sum(s_ytd) FROM tpcc.stock").await, stock);
    assert_eq!(number("SELECT d_next_o_id FROM tpcc.district WHERE d_id = 3").await, i64::from(placed.o_id) + 1);

    let last_name: String =
        user.query_one("SELECT c_last FROM tpcc.customer WHERE c_d_id = 5 AND c_id = 11", &[]).await.unwrap().get(0);
    let middle = format!(
        "SELECT (array_agg(c_id ORDER BY c_first, c_id))[(count(*) + 1) / 2] FROM tpcc.customer WHERE c_d_id = 5 AND \
         c_last = '{last_name}'"
    );
    let bad_credit = number("SELECT min(c_id) FROM tpcc.customer WHERE c_d_id = 5 AND c_credit = 'BC'").await as i32;
    for customer in [Customer::LastName(LastName::from(&last_name).unwrap()), Customer::Id(bad_credit)] {
        let h_amount = Money::new(1234, 5);
        let pay = Payment { w_id: 1, d_id: 2, c_w_id: 1, c_d_id: 5, customer, h_amount };
        let Output::Payment(mut paid) = execute(&mut session, &Input::Payment(pay)).await else {
            panic!("another output")
        };
        match customer {
            Customer::Id(c_id) => {
                assert_eq!(paid.c_id, c_id);
                assert!(paid.c_data.starts_with(&format!("{c_id:4}  5    1  2    1 $1234.05 ")), "{}", paid.c_data);
            }
            Customer::LastName(name) => {
                assert_eq!((i64::from(paid.c_id), paid.c_last), (number(&middle).await, name));
            }
        }
        let balance = format!("SELECT 100 * c_balance FROM tpcc.customer WHERE c_d_id = 5 AND c_id = {}", paid.c_id);
        assert_eq!(number(&balance).await, paid.c_balance.0);
        paid.h_date = DATE;
        shown.push(format!("{paid:?}"));
        let status = Input::OrderStatus(OrderStatus { w_id: 1, d_id: 5, customer });
        let Output::OrderStatus(status) = execute(&mut session, &status).await else { panic!("another output") };
        assert_eq!((status.c_id, status.c_balance), (paid.c_id, paid.c_balance));
        assert!((5..=15).contains(&status.lines.len()));
        shown.push(format!("{status:?}"));
    }

    // Two deliveries; the second finds one district empty.
    for carrier in [4, 5] {
        let Output::Delivery(delivery) =
            execute(&mut session, &Input::Delivery(Delivery { w_id: 1, o_carrier_id: carrier })).await
        else {
            panic!("another output")
        };
        assert_eq!(delivery.delivered(), if carrier == 4 { 10 } else { 9 });
        shown.push(format!("{delivery:?}"));
        user.batch_execute("DELETE FROM tpcc.new_order WHERE no_d_id = 9").await.unwrap();
    }
    let level = Input::StockLevel(StockLevel { w_id: 1, d_id: 3, threshold: 20 });
    shown.push(format!("{:?}", execute(&mut session, &level).await));

    let after = Engine::<Tpcc>::effects(&engine).await.unwrap();
    assert_eq!((after[0] - before[0], after[1] - before[1]), (1, 2));
    // A customer that is not there is an error, and leaves the session in order.
    let nobody = Input::OrderStatus(OrderStatus { w_id: 1, d_id: 5, customer: Customer::Id(9_999) });
    assert!(matches!(session.execute(&nobody).await, Err(Failure::Invalid(_))));
    let nobody =
        Payment { w_id: 1, d_id: 2, c_w_id: 1, c_d_id: 5, customer: Customer::Id(9_999), h_amount: Money(100) };
    assert!(matches!(session.execute(&Input::Payment(nobody)).await, Err(Failure::Invalid(_))));
    execute(&mut session, &level).await;
    shown
}

#[test]
fn both_ways_of_speaking_do_and_show_the_same() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let (manifest, _) = manifest(1);
    let manifest = Manifest { foreign_keys: true, ..manifest };
    let database = |name: &str| with_database(&server.tcp_url(), name);
    runtime().block_on(async {
        let administrator = client(&database("template1")).await;
        administrator.batch_execute("CREATE DATABASE loaded TEMPLATE template0").await.unwrap();
        let engine = open(&database("loaded"), Via::Procedures).await.unwrap();
        let report = load(&engine, &manifest).await.unwrap();
        assert!(report.phases.iter().any(|(name, _)| name == "foreign keys"));
        drop(engine);
        let mut shown = Vec::new();
        for (number, (via, more)) in
            [Via::Procedures, Via::Statements].iter().flat_map(|via| [(*via, ""), (*via, "?pooler=on")]).enumerate()
        {
            let copy = format!("copy{number}");
            copy_of_loaded(&administrator, &copy).await;
            shown.push(all_five(&(database(&copy) + more), via).await);
        }
        for other in &shown[1..] {
            assert_eq!(other, &shown[0]);
        }
    });
}

/// Relays one connection to the server and returns the names under which the client had statements prepared.
fn relay(to: u16) -> (u16, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let relay = std::thread::spawn(move || {
        let mut from_client = listener.accept().unwrap().0;
        let mut to_server = TcpStream::connect(("127.0.0.1", to)).unwrap();
        let (mut from_server, mut to_client) = (to_server.try_clone().unwrap(), from_client.try_clone().unwrap());
        let back = std::thread::spawn(move || std::io::copy(&mut from_server, &mut to_client).map(|_| ()));
        let mut names = Vec::new();
        let mut started = false;
        loop {
            // A message is a letter, but for the first one, a length and a body.
            let mut head = vec![0; if started { 5 } else { 4 }];
            if from_client.read_exact(&mut head).is_err() {
                break;
            }
            let length = u32::from_be_bytes(head[head.len() - 4..].try_into().unwrap()) as usize;
            let mut body = vec![0; length - 4];
            from_client.read_exact(&mut body).unwrap();
            if started && head[0] == b'P' {
                let name = body.split(|byte| *byte == 0).next().unwrap();
                names.push(String::from_utf8(name.to_vec()).unwrap());
            }
            started = true;
            to_server.write_all(&head).unwrap();
            to_server.write_all(&body).unwrap();
        }
        to_server.shutdown(std::net::Shutdown::Write).unwrap();
        back.join().unwrap().unwrap();
        names
    });
    (port, relay)
}

#[test]
fn behind_a_pooler_nothing_is_bound_to_a_server_session() {
    let Some(()) = require_postgres() else { return };
    let server = loaded_server();
    let names = |via, pooler: &str| {
        runtime().block_on(async {
            let (port, relay) = relay(server.port());
            let url = server.tcp_url().replace(&server.port().to_string(), &port.to_string())
                + "?sslmode=disable&pooler="
                + pooler;
            let target = Target::parse(&url, &|_| None).unwrap();
            let (schema, dialect) = (target.schema("tpcc"), target.dialect);
            let commands = WorkloadSql::of::<Tpcc>(dialect).commands(via).unwrap();
            let connection = Connection::open(&target, &schema, dialect, &commands, "read committed").await.unwrap();
            let mut session = <Tpcc as SqlWorkload>::session(connection, via);
            execute(&mut session, &new_order(1, &[line(1, 1), line(2, 1), line(3, 1), line(4, 1), line(5, 1)])).await;
            execute(&mut session, &Input::Delivery(Delivery { w_id: 1, o_carrier_id: 1 })).await;
            execute(&mut session, &Input::StockLevel(StockLevel { w_id: 1, d_id: 1, threshold: 15 })).await;
            drop(session);
            // The connection's task says goodbye to the server.
            tokio::task::spawn_blocking(|| relay.join().unwrap()).await.unwrap()
        })
    };
    for via in [Via::Procedures, Via::Statements] {
        assert!(names(via, "off").iter().all(|name| !name.is_empty()));
        let unnamed = names(via, "on");
        assert!(!unnamed.is_empty() && unnamed.iter().all(String::is_empty), "{unnamed:?}");
    }
    let through = format!("{}&pooler=on", server.url());
    let stricter =
        graymark::engine::ConnectOptions { isolation: Isolation::Serializable, ..options(&through, Via::Procedures) };
    let error = runtime().block_on(Postgres::open(stricter)).unwrap_err();
    assert!(matches!(&error, Error::Usage(text) if text.contains("default_transaction_isolation")), "{error}");
}

/// Waits until so many sessions of the server wait for a lock.
async fn waiting(user: &tokio_postgres::Client, sessions: i64) {
    let sql = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    while user.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) < sessions {
        tokio::task::yield_now().await;
    }
}

#[test]
fn what_a_database_refuses_is_distinguished() {
    let Some(()) = require_postgres() else { return };
    let server = loaded_server();
    let payment = Input::Payment(Payment {
        w_id: 1,
        d_id: 2,
        c_w_id: 1,
        c_d_id: 5,
        customer: Customer::Id(3),
        h_amount: Money(100),
    });
    runtime().block_on(async {
        let url = server.url();
        let (user, other, watcher) = (client(&url).await, client(&url).await, client(&url).await);
        let hold = "BEGIN; UPDATE tpcc.district SET d_ytd = d_ytd WHERE d_id = 2";
        for via in [Via::Procedures, Via::Statements] {
            let reason = |failure| match failure {
                Err(Failure::Retry { reason, .. }) => reason,
                other => panic!("{other:?}"),
            };
            // Payment holds the customer and waits for the district; another holds the warehouse and waits for the
            // customer. Set free, Payment closes the circle, and as the one who looks first it is the one who gives
            // way.
            user.batch_execute("ALTER DATABASE postgres SET deadlock_timeout = '20ms'").await.unwrap();
            let engine = open(&url, via).await.unwrap();
            let mut session = Sessions::<Tpcc>::open_session(&engine).await.unwrap();
            user.batch_execute(&format!("ALTER DATABASE postgres RESET deadlock_timeout; {hold}")).await.unwrap();
            let holds = "SET deadlock_timeout = '10min'; BEGIN; UPDATE tpcc.warehouse SET w_ytd = w_ytd";
            other.batch_execute(holds).await.unwrap();
            let meet = async {
                waiting(&watcher, 1).await;
                let asks = other
                    .batch_execute("UPDATE tpcc.customer SET c_ytd_payment = c_ytd_payment WHERE c_d_id = 5; COMMIT");
                let frees = async {
                    waiting(&watcher, 2).await;
                    user.batch_execute("COMMIT").await
                };
                tokio::try_join!(asks, frees).unwrap();
            };
            let (failure, ()) = tokio::join!(session.execute(&payment), meet);
            assert_eq!(reason(failure), RetryReason::Deadlock);
            execute(&mut session, &payment).await;

            user.batch_execute("ALTER DATABASE postgres SET lock_timeout = '20ms'").await.unwrap();
            let mut impatient = Sessions::<Tpcc>::open_session(&engine).await.unwrap();
            user.batch_execute(&format!("ALTER DATABASE postgres RESET lock_timeout; {hold}")).await.unwrap();
            assert_eq!(reason(impatient.execute(&payment).await), RetryReason::LockTimeout);

            let serializable =
                graymark::engine::ConnectOptions { isolation: Isolation::Serializable, ..options(&url, via) };
            let serializable = Postgres::open(serializable).await.unwrap();
            let mut strict = Sessions::<Tpcc>::open_session(&serializable).await.unwrap();
            let change = async {
                waiting(&watcher, 1).await;
                user.batch_execute("COMMIT").await.unwrap();
            };
            let (failure, ()) = tokio::join!(strict.execute(&payment), change);
            assert_eq!(reason(failure), RetryReason::Serialization);
            execute(&mut strict, &payment).await;

            // The session is ended from outside while it waits.
            user.batch_execute(hold).await.unwrap();
            let end = async {
                waiting(&watcher, 1).await;
                let sql = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted";
                watcher.batch_execute(sql).await.unwrap();
            };
            let (failure, ()) = tokio::join!(session.execute(&payment), end);
            // The client's own commit had not been sent; that of a procedure may have come about.
            let expected = via == Via::Procedures;
            assert!(
                matches!(&failure, Err(Failure::Disconnected { ambiguous, .. }) if *ambiguous == expected),
                "{failure:?}"
            );
            let lost = session.execute(&payment).await;
            assert!(matches!(&lost, Err(Failure::Disconnected { ambiguous: false, .. })), "{lost:?}");
            user.batch_execute("ROLLBACK").await.unwrap();
        }
        // A payment counts once or not at all: no failure above left a trace.
        let paid = "SELECT (SELECT sum(w_ytd) FROM tpcc.warehouse) - (SELECT sum(h_amount) FROM tpcc.history)";
        let difference: Money = user.query_one(paid, &[]).await.unwrap().get(0);
        assert_eq!(difference, Money(0));

        // Another version of Graymark may have made other procedures.
        user.batch_execute("ALTER PROCEDURE tpcc.new_order RENAME TO older").await.unwrap();
        let engine = open(&url, Via::Procedures).await.unwrap();
        let older = Sessions::<Tpcc>::open_session(&engine).await.err().expect("no session").to_string();
        assert!(
            older.contains("load --procedures-only, or run with --via statements") && !older.contains('\n'),
            "{older}"
        );
    });
}

#[test]
fn a_database_that_may_not_be_written_says_so() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let (manifest, _) = manifest(1);
    runtime().block_on(async {
        let user = client(&server.url()).await;
        user.batch_execute("CREATE ROLE bob LOGIN PASSWORD 'open'").await.unwrap();
        let bob =
            open(&server.url().replace(&format!("postgres:{}@", server.password()), "bob:open@"), Via::Procedures)
                .await
                .unwrap();
        let denied = load(&bob, &manifest).await.unwrap_err().to_string();
        assert!(denied.contains("permission denied") && denied.contains("GRANT CREATE"), "{denied}");
        user.batch_execute("ALTER DATABASE postgres SET default_transaction_read_only = on").await.unwrap();
        let engine = open(&server.url(), Via::Procedures).await.unwrap();
        let standby = load(&engine, &manifest).await.unwrap_err().to_string();
        assert!(standby.contains("connect to the primary") && !standby.contains('\n'), "{standby}");
        assert_eq!(Engine::<Tpcc>::database_state(&engine).await.unwrap(), DatabaseState::Nothing);
        // A server that is there tells its CPU time if it is on this machine.
        assert_eq!(Engine::<Tpcc>::server_cpu_seconds(&engine).is_some(), cfg!(target_os = "linux"));
        let settings = graymark::engine::ConnectOptions {
            settings: [("fsync".to_owned(), "off".to_owned())].into(),
            ..options(&server.url(), Via::Procedures)
        };
        assert!(matches!(Postgres::open(settings).await, Err(Error::Usage(_))));
    });
}

#[test]
fn amounts_are_the_same_to_the_server() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let mut amounts: Vec<Money> =
        [0, 1, 99, 100, 9_999, 10_000, 999_999, 1_000_000, 100_000_000, i64::MAX].map(Money).into();
    amounts.extend((0..2_000).map(|power| Money(7_i64.wrapping_pow(power))));
    amounts.extend(amounts.clone().into_iter().map(|amount| Money(amount.0.saturating_neg())));
    runtime().block_on(async {
        let user = client(&server.url()).await;
        let sql =
            "SELECT amount, amount::text, amount + 0.01 FROM unnest($1::numeric[]) WITH ORDINALITY AS x (amount, n) \
             ORDER BY n";
        let rows = user.query(sql, &[&amounts]).await.unwrap();
        assert_eq!(rows.len(), amounts.len());
        for (row, amount) in rows.iter().zip(amounts) {
            assert_eq!((row.get::<_, Money>(0), row.get::<_, &str>(1)), (amount, amount.to_string().as_str()));
            assert_eq!(row.try_get::<_, Money>(2).ok(), amount.0.checked_add(1).map(Money));
        }
    });
}

#[test]
fn the_plan_of_stock_level_does_not_change_when_orders_grow() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    runtime().block_on(async {
        let engine = open(&server.tcp_url(), Via::Procedures).await.unwrap();
        load(&engine, &manifest(1).0).await.unwrap();
        let client = client(&server.url()).await;
        let statements = script::statements(include_str!("../../src/engine/dialect/postgres/tpcc/statements.sql"));
        let shipped = statements.iter().find(|statement| statement.name == "stock_level").unwrap().sql;
        // The form that a book would write; it reads the warehouse's whole stock once its order lines are many.
        let join = "SELECT count(DISTINCT s_i_id) FROM tpcc.district \
                    JOIN tpcc.order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND \
                    ol_o_id < d_next_o_id \
                    JOIN tpcc.stock ON s_w_id = $1 AND s_i_id = ol_i_id AND s_quantity < $3 WHERE d_w_id = $1 AND d_id \
                    = $2";
        let procedure = "SELECT * FROM tpcc.stock_level($1, $2, $3)";
        let forms = [("shipped", shipped), ("procedure", procedure), ("joined", join)];
        client.batch_execute("SET plan_cache_mode = force_generic_plan").await.unwrap();
        for (name, sql) in forms {
            let sql = sql.trim_end().trim_end_matches(';');
            client.batch_execute(&format!("PREPARE {name} (integer, integer, integer) AS {sql}")).await.unwrap();
        }
        let reads_all = async |name: &str| {
            let plan = client.simple_query(&format!("EXPLAIN EXECUTE {name} (1, 1, 15)")).await.unwrap();
            plan.iter().any(|line| {
                let tokio_postgres::SimpleQueryMessage::Row(row) = line else { return false };
                row.get(0).unwrap().contains("Seq Scan on stock")
            })
        };
        for (name, _) in forms {
            assert!(!reads_all(name).await, "{name}");
        }
        // What the planner knows after a long run: twenty times the lines.
        let grown = "UPDATE pg_class SET reltuples = reltuples * 20 WHERE oid = 'tpcc.order_line'::regclass";
        client.batch_execute(grown).await.unwrap();
        assert!(reads_all("joined").await, "the fault that this test is to find is none any more");
        assert!(!reads_all("shipped").await);
        assert!(!reads_all("procedure").await);
    });
}
