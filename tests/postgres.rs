//! A user measures PostgreSQL: a private one, one of their own, with TLS, with a password, behind a pooler.

mod support;

use std::sync::Mutex;

use graymark::engine::server::postgres::{Options, Server};
use graymark::engine::{Engine, Error, Failure, Holding, LoadStep, Manifest, Session, Via};
use graymark::workload::tpcc::input::{Customer, Delivery, Input, LastName, Line, NewOrder, OrderStatus, Payment, StockLevel};
use graymark::workload::tpcc::output::Output;
use graymark::workload::tpcc::{Tpcc, UNUSED_ITEM};
use graymark::workload::value::{Money, Timestamp};
use graymark::workload::{Population, Workload};
use support::{open, require_postgres, small_server};

/// 2026-01-01 12:00 UTC
const DATE: Timestamp = Timestamp(1_767_268_800_000_000);

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn manifest(scale: u32) -> (Manifest, <Tpcc as Workload>::Population) {
    let population = Tpcc::population(scale, 42, DATE);
    let parameters = Tpcc::parameters(&population);
    (Manifest { format: 1, scale, seed: 42, date: DATE.0, foreign_keys: false, parameters }, population)
}

async fn load(engine: &impl Engine<Tpcc>, manifest: &Manifest) -> Result<graymark::engine::LoadReport, Error> {
    let population = Tpcc::population(manifest.scale, manifest.seed, Timestamp(manifest.date));
    engine.load(manifest, &population, 2, &|_| ()).await
}

/// Another client, as a user has it.
async fn client(url: &str) -> tokio_postgres::Client {
    graymark::engine::postgres::connect::Target::parse(url, &|_| None).unwrap().connect(&[]).await.unwrap()
}

/// A checksum of all rows of each table, whatever their order.
async fn checksums(url: &str) -> Vec<(String, String)> {
    let client = client(url).await;
    let mut sums = Vec::new();
    for table in Tpcc::TABLES {
        let sql =
            format!("SELECT count(*)::text || ' ' || sum(hashtextextended(t::text, 0)::numeric)::text FROM tpcc.{} t", table.name);
        sums.push((table.name.to_owned(), client.query_one(&sql, &[]).await.unwrap().get(0)));
    }
    sums
}

#[test]
fn a_private_server_leaves_nothing_behind() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let (pid, data) = (server.pid().unwrap(), server.data().to_owned());
    assert!(server.cpu_seconds().is_none_or(|seconds| seconds > 0.0));
    assert!(data.join("PG_VERSION").is_file());
    runtime().block_on(async {
        client(&server.url()).await.batch_execute("CREATE TABLE kept (x integer); INSERT INTO kept VALUES (7)").await.unwrap();
        // A crash of the postmaster loses nothing that was committed.
        server.kill().unwrap();
        assert_eq!(server.pid(), None);
        server.restart().unwrap();
        let row = client(&server.tcp_url()).await.query_one("SELECT x FROM kept", &[]).await.unwrap();
        assert_eq!(row.get::<_, i32>(0), 7);
    });
    let again = server.pid().unwrap();
    assert_ne!(again, pid);
    drop(server);
    assert!(!data.parent().unwrap().exists());
    for pid in [pid, again] {
        assert!(nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid as i32), None).is_err(), "process {pid} is still there");
    }
}

#[test]
fn a_data_directory_is_kept_and_used_again() {
    let Some(()) = require_postgres() else { return };
    let place = tempfile::tempdir().unwrap();
    // The server's user has to get through.
    std::fs::set_permissions(place.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let data = place.path().join("data");
    let url = format!("postgres:local?data={}&shared_buffers=32MB&fsync=off", data.display());
    runtime().block_on(async {
        let first = open(&url, Via::Procedures).await.unwrap();
        client(&first.server().unwrap().url()).await.batch_execute("CREATE TABLE kept ()").await.unwrap();
        let settings = Engine::<Tpcc>::settings(&first).await.unwrap();
        assert_eq!(settings["shared_buffers"], "32MB");
        assert_eq!(settings["default_transaction_isolation"], "read committed");
        assert_eq!(Engine::<Tpcc>::identity(&first).url, format!("postgres:local?data={}", data.display()));
        drop(first);
        let second = open(&url, Via::Procedures).await.unwrap();
        client(&second.server().unwrap().url()).await.batch_execute("SELECT FROM kept").await.unwrap();
        let version = std::fs::read_to_string(data.join("PG_VERSION")).unwrap();
        drop(second);
        let wrong = open(&format!("{url}&version=9"), Via::Procedures).await.unwrap_err();
        assert!(wrong.to_string().contains(&format!("version={}", version.trim())), "{wrong}");
    });
    std::fs::write(place.path().join("something"), "else").unwrap();
    let occupied = Options { data: Some(place.path().to_owned()), ..Default::default() };
    assert!(matches!(Server::start(&occupied), Err(Error::Usage(_))));
    let broken = Options { settings: vec![("shared_buffers".to_owned(), "little".to_owned())], ..Default::default() };
    let error = Server::start(&broken).unwrap_err().to_string();
    assert!(error.contains("shared_buffers") && !error.contains('\n'), "{error}");
}

#[test]
fn an_interrupted_load_goes_on_to_the_same_rows() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let (one_go, population) = manifest(1);
    runtime().block_on(async {
        let engine = open(&server.url(), Via::Procedures).await.unwrap();
        assert_eq!(Engine::<Tpcc>::holding(&engine).await.unwrap(), Holding::Nothing);
        let told = Mutex::new(Vec::new());
        let report = Engine::<Tpcc>::load(&engine, &one_go, &population, 2, &|step| told.lock().unwrap().push(step)).await.unwrap();
        let rows: u64 = population.parts().iter().map(|part| part.rows).sum();
        assert_eq!((report.rows, report.resumed_rows), (rows, 0));
        let phases: Vec<&str> = report.phases.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(phases, ["schema", "rows", "keys", "procedures", "statistics", "verify"]);
        let heard: u64 =
            told.lock().unwrap().iter().map(|step| if let LoadStep::Rows { rows, .. } = step { *rows } else { 0 }).sum();
        assert_eq!(heard, rows);
        assert_eq!(Engine::<Tpcc>::holding(&engine).await.unwrap(), Holding::Complete(one_go.clone()));
        assert!(matches!(load(&engine, &one_go).await, Err(Error::Usage(_))));
        let findings = Engine::<Tpcc>::check(&engine, &mut |_| ()).await.unwrap();
        assert!(findings.len() >= 12);
        let broken: Vec<_> = findings.iter().filter(|finding| !finding.held()).collect();
        assert!(broken.is_empty(), "{broken:?}");
        let expected = checksums(&server.url()).await;
        Engine::<Tpcc>::drop_tables(&engine).await.unwrap();
        assert_eq!(Engine::<Tpcc>::holding(&engine).await.unwrap(), Holding::Nothing);

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
            done = Engine::<Tpcc>::load(&engine, &one_go, &population, 1, &on_step) => panic!("it was not given up: {done:?}"),
        }
        assert_eq!(Engine::<Tpcc>::holding(&engine).await.unwrap(), Holding::Unfinished(one_go.clone()));
        let other = load(&engine, &Manifest { seed: 43, ..one_go.clone() }).await.unwrap_err();
        assert!(matches!(&other, Error::Usage(text) if text.contains("seed 42") && text.contains("graymark drop")), "{other}");
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
        let (first, second) = tokio::join!(load(&engine, &manifest), load(&engine, &manifest));
        let refused = [&first, &second].into_iter().filter_map(|load| load.as_ref().err()).collect::<Vec<_>>();
        assert_eq!(refused.len(), 1, "{first:?} {second:?}");
        assert!(refused[0].to_string().contains("another load"), "{}", refused[0]);
        // Someone else's tables are left alone.
        let user = client(&server.url()).await;
        user.batch_execute("DROP TABLE tpcc.graymark_manifest").await.unwrap();
        assert!(matches!(Engine::<Tpcc>::holding(&engine).await.unwrap(), Holding::Foreign { .. }));
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
    let mut session = Engine::<Tpcc>::open_session(&engine).await.unwrap();
    let user = client(url).await;
    let number = async |sql: &str| user.query_one(&format!("SELECT ({sql})::bigint"), &[]).await.unwrap().get::<_, i64>(0);
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
        number(&format!("SELECT 100 * sum(ol_amount) FROM tpcc.order_line WHERE ol_d_id = 3 AND ol_o_id = {}", placed.o_id)).await,
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
        "SELECT (array_agg(c_id ORDER BY c_first, c_id))[(count(*) + 1) / 2] FROM tpcc.customer WHERE c_d_id = 5 AND c_last = '{last_name}'"
    );
    let bad_credit = number("SELECT min(c_id) FROM tpcc.customer WHERE c_d_id = 5 AND c_credit = 'BC'").await as i32;
    for customer in [Customer::LastName(LastName::from(&last_name).unwrap()), Customer::Id(bad_credit)] {
        let h_amount = Money::new(1234, 5);
        let pay = Payment { w_id: 1, d_id: 2, c_w_id: 1, c_d_id: 5, customer, h_amount };
        let Output::Payment(mut paid) = execute(&mut session, &Input::Payment(pay)).await else { panic!("another output") };
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
        let Output::Delivery(delivery) = execute(&mut session, &Input::Delivery(Delivery { w_id: 1, o_carrier_id: carrier })).await
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
    let nobody = Payment { w_id: 1, d_id: 2, c_w_id: 1, c_d_id: 5, customer: Customer::Id(9_999), h_amount: Money(100) };
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
    runtime().block_on(async {
        let mut shown = Vec::new();
        for (via, pooler) in [(Via::Procedures, false), (Via::Statements, false), (Via::Procedures, true), (Via::Statements, true)]
        {
            let url = if pooler { format!("{}&pooler=on", server.url()) } else { server.url() };
            let engine = open(&url, via).await.unwrap();
            let report = load(&engine, &manifest).await.unwrap();
            assert!(report.phases.iter().any(|(name, _)| name == "foreign keys"));
            shown.push(all_five(&url, via).await);
            if pooler {
                let mut session = Engine::<Tpcc>::open_session(&engine).await.unwrap();
                execute(&mut session, &new_order(1, &[line(1, 1)])).await;
                let kept = "SELECT count(*) FROM pg_stat_activity WHERE query ILIKE '%prepare%' AND pid <> pg_backend_pid()";
                assert_eq!(client(&url).await.query_one(kept, &[]).await.unwrap().get::<_, i64>(0), 0);
            }
            Engine::<Tpcc>::drop_tables(&engine).await.unwrap();
        }
        for other in &shown[1..] {
            assert_eq!(other, &shown[0]);
        }
    });
}
