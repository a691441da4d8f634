//! A database must do with any transfer what the paper, TPC-A and TPC-B say: engines against a bank in memory.

use crate::support;
use crate::support::bank;
use crate::support::citus::Citus;
#[cfg(feature = "odbc")]
use crate::support::odbc;
use std::borrow::Cow;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bank::{BRANCHES, Bank, Held, Kind};
use graymark::engine::sql::debitcredit::{self, Statements};
use graymark::engine::sql::script;
use graymark::engine::wire::sqlite::{Connection, Sqlite, SqliteOptions, Synchronous, Writer};
use graymark::engine::{DatabaseState, Engine, Failure, Session, Sessions};
use graymark::result::{Manifest, Via};
use graymark::workload::debitcredit::DebitCredit;
use graymark::workload::debitcredit::message::{Input, Output};
use graymark::workload::value::Timestamp;
use graymark::workload::{Terminal as _, Workload};
use tempfile::TempDir;

const STATEMENTS: &str = include_str!("../../src/engine/dialect/sqlite/debitcredit/statements.sql");
const PROCEDURES: &str = include_str!("../../src/engine/dialect/postgres/debitcredit/procedures.sql");

pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn number(kind: Kind) -> usize {
    DebitCredit::PROFILES.iter().position(|name| *name == kind.name()).unwrap()
}

pub async fn load<E: Sessions<DebitCredit>>(engine: &E, kind: Kind) {
    load_with(engine, kind, true).await;
}

/// Without foreign keys, which not every database has.
#[cfg(feature = "ydb")]
pub async fn load_without_keys<E: Sessions<DebitCredit>>(engine: &E, kind: Kind) {
    load_with(engine, kind, false).await;
}

async fn load_with<E: Sessions<DebitCredit>>(engine: &E, kind: Kind, foreign_keys: bool) {
    let population = DebitCredit::population(BRANCHES as u32, 7, Timestamp(0), number(kind));
    let parameters = DebitCredit::parameters(&population);
    let manifest = Manifest { format: 1, scale: BRANCHES as u32, seed: 7, date: 0, foreign_keys, parameters };
    engine.load(&manifest, &population, 2, &|_| {}).await.unwrap();
}

pub async fn open_session<E: Sessions<DebitCredit>>(engine: &E) -> E::Session {
    engine.open_session().await.unwrap()
}

/// What the terminals of the program ask for, as anyone can read it.
fn of_terminals(kind: Kind, seed: u64, count: usize) -> Vec<Input> {
    let population = DebitCredit::population(BRANCHES as u32, 7, Timestamp(0), number(kind));
    let terminals = DebitCredit::terminals(BRANCHES as u32, &DebitCredit::parameters(&population), seed).unwrap();
    let mut terminals: Vec<_> =
        (0..10 * BRANCHES as u64).map(|number| DebitCredit::terminal(&terminals, number)).collect();
    let all = terminals.len();
    (0..count).map(|turn| terminals[turn % all].next_input()).collect()
}

/// Executes the inputs one after the other, and holds each reply against the bank's.
pub async fn replies_agree(
    session: &mut impl Session<DebitCredit>,
    bank: &mut Bank,
    inputs: &[Input],
) -> Result<(), String> {
    for input in inputs {
        let asked = bank::read(input);
        let balance = bank.transfer(asked);
        let found = session.execute(input).await;
        let agree = match &found {
            Ok(Output::Balance(money)) => !bank.kind.has_messages() && money.0 == balance,
            Ok(Output::Message(reply)) => bank.kind.has_messages() && bank::reply_agrees(reply, asked, balance),
            Err(_) => false,
        };
        if !agree {
            return Err(format!("reply: {asked:?}\n  the bank says {balance}\n  the database  {found:?}"));
        }
    }
    Ok(())
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64
}

/// The times of history lie between `began` and now; a clock of milliseconds may cut off one.
fn times_agree((first, last): (i64, i64), began: i64) -> Result<(), String> {
    if began - 2_000 <= first && last <= now() {
        Ok(())
    } else {
        Err(format!("times: {first} to {last}, begun {began}"))
    }
}

pub async fn holds<E: Sessions<DebitCredit>>(engine: &E) {
    let findings = engine.check(&mut |_| {}).await.unwrap();
    assert_eq!(findings.len(), 8);
    let broken: Vec<_> = findings.iter().filter(|finding| !finding.held()).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

pub fn inputs(kind: Kind, seed: u64, count: usize) -> Vec<Input> {
    let mut inputs = bank::edges(kind);
    inputs.extend(bank::drawn(kind, seed, count));
    inputs.extend(of_terminals(kind, seed, count));
    inputs
}

pub fn sqlite(file: &Path) -> (Sqlite, SqliteOptions) {
    let options = SqliteOptions { synchronous: Synchronous::Off, ..SqliteOptions::new(file) };
    (Sqlite::open(options.clone()).unwrap(), options)
}

fn sqlite_conforms(kind: Kind) {
    let place = TempDir::new().unwrap();
    let file = place.path().join("bank.db");
    let (engine, _) = sqlite(&file);
    block_on(async {
        load(&engine, kind).await;
        let mut bank = Bank::new(kind);
        bank.agrees(&bank::of_sqlite(&file)).unwrap();
        bank::sqlite_sizes(&file, kind);
        let began = now();
        let mut session = open_session(&engine).await;
        replies_agree(&mut session, &mut bank, &inputs(kind, 11, 1_500)).await.unwrap_or_else(|why| panic!("{why}"));
        times_agree(bank::sqlite_times(&file), began).unwrap();
        bank::sqlite_sizes(&file, kind);
        assert_eq!(Engine::<DebitCredit>::effects(&engine).await.unwrap(), [bank.history.len() as i64]);
        drop(session);
        side_by_side(&engine, &mut bank).await;
        bank.agrees(&bank::of_sqlite(&file)).unwrap_or_else(|why| panic!("{why}"));
        holds(&engine).await;
    });
}

#[test]
fn sqlite_conforms_to_gray() {
    sqlite_conforms(Kind::Gray);
}

#[test]
fn sqlite_conforms_to_tpc_b() {
    sqlite_conforms(Kind::TpcB);
}

#[test]
fn sqlite_conforms_to_tpc_a() {
    sqlite_conforms(Kind::TpcA);
}

/// By both ways of speaking, on one bank.
fn postgres_conforms(kind: Kind) {
    let Some(()) = support::require_postgres() else { return };
    let server = support::small_server();
    let url = server.url();
    block_on(async {
        let client = support::client(&url).await;
        let mut bank = Bank::new(kind);
        let began = now();
        for (turn, via) in [Via::Statements, Via::Procedures].into_iter().enumerate() {
            let engine = support::open(&url, via).await.unwrap();
            if turn == 0 {
                load(&engine, kind).await;
                bank.agrees(&bank::of_postgres(&client).await).unwrap();
            }
            let mut session = open_session(&engine).await;
            let inputs = inputs(kind, 21 + turn as u64, 1_000);
            replies_agree(&mut session, &mut bank, &inputs).await.unwrap_or_else(|why| panic!("{via:?}: {why}"));
            times_agree(bank::postgres_times(&client).await, began).unwrap();
            bank::postgres_sizes(&client, kind).await;
            assert_eq!(Engine::<DebitCredit>::effects(&engine).await.unwrap(), [bank.history.len() as i64]);
            side_by_side(&engine, &mut bank).await;
            bank.agrees(&bank::of_postgres(&client).await).unwrap_or_else(|why| panic!("{via:?}: {why}"));
            holds(&engine).await;
        }
    });
}

#[test]
fn postgres_conforms_to_gray() {
    postgres_conforms(Kind::Gray);
}

#[test]
fn postgres_conforms_to_tpc_b() {
    postgres_conforms(Kind::TpcB);
}

#[test]
fn postgres_conforms_to_tpc_a() {
    postgres_conforms(Kind::TpcA);
}

/// Over ODBC, at a place that is there.
#[cfg(feature = "odbc")]
fn odbc_conforms(place: Option<odbc::Place>, kind: Kind) {
    if let Some(place) = place {
        conforms_at(&place.url(), Via::Statements, kind);
    }
}

/// Whether a MariaDB has procedures, which only a load makes that is to call them.
#[cfg(feature = "odbc")]
fn has_procedures(url: &str) -> bool {
    let connection = graymark::engine::wire::odbc::driver::Connection::open(&odbc::target(url)).unwrap();
    let routines = "SELECT count(*) FROM information_schema.routines WHERE routine_schema = 'bench' \
                    AND routine_name LIKE 'debit_credit%'";
    connection.query(routines).unwrap().rows[0].long(0).unwrap() > 0
}

/// Over ODBC; the rows are read by the same driver.
#[cfg(feature = "odbc")]
fn conforms_at(url: &str, via: Via, kind: Kind) {
    block_on(async {
        let engine = graymark::engine::wire::odbc::Odbc::open(support::options(url, via)).unwrap();
        load(&engine, kind).await;
        if url.contains("MariaDB") {
            assert_eq!(has_procedures(url), via == Via::Procedures, "{url}");
        }
        let held = || {
            let connection = graymark::engine::wire::odbc::driver::Connection::open(&odbc::target(url)).unwrap();
            let (branch, [teller, account], history) = odbc::books(&connection, url);
            let [teller, account] = [teller, account].map(|rows| rows.into_iter().collect());
            bank::Held { branch: branch.into_iter().collect(), teller, account, history }
        };
        let mut bank = Bank::new(kind);
        bank.agrees(&held()).unwrap();
        let mut session = open_session(&engine).await;
        replies_agree(&mut session, &mut bank, &inputs(kind, 31, 300)).await.unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(Engine::<DebitCredit>::effects(&engine).await.unwrap(), [bank.history.len() as i64]);
        drop(session);
        side_by_side(&engine, &mut bank).await;
        bank.agrees(&held()).unwrap_or_else(|why| panic!("{why}"));
        holds(&engine).await;
        Engine::<DebitCredit>::drop_tables(&engine).await.unwrap();
    });
}

#[cfg(feature = "odbc")]
#[test]
fn postgresql_conforms_over_odbc() {
    odbc_conforms(odbc::Place::postgres(), Kind::TpcB);
}

#[cfg(feature = "odbc")]
#[test]
fn mariadb_conforms_over_odbc() {
    let Some(place) = odbc::Place::mariadb() else { return };
    conforms_at(&place.url(), Via::Statements, Kind::Gray);
    conforms_at(&place.url(), Via::Procedures, Kind::Gray);
    conforms_at(&place.url(), Via::Procedures, Kind::TpcB);
}

/// The dialects of databases that are not here, on a MariaDB that understands them.
#[cfg(feature = "odbc")]
#[test]
fn oracle_and_db2_conform_on_stand_ins() {
    for dialect in ["oracle", "db2"] {
        let Some((_server, url)) = odbc::Place::stand_in(dialect) else { return };
        conforms_at(&url, Via::Statements, Kind::Gray);
        conforms_at(&url, Via::Procedures, Kind::Gray);
        conforms_at(&url, Via::Procedures, Kind::TpcA);
    }
}

#[cfg(feature = "odbc")]
#[test]
fn sqlite_conforms_over_odbc() {
    odbc_conforms(odbc::Place::sqlite(), Kind::TpcA);
}

/// By both ways of speaking, on one bank; then with messages and rows of a hundred bytes.
#[test]
fn mariadb_conforms_to_gray_and_to_tpc_a() {
    let Some(()) = support::require_mariadb() else { return };
    let server = support::small_mariadb(&[]);
    let url = server.url();
    block_on(async {
        for kind in [Kind::Gray, Kind::TpcA] {
            let (mut bank, began) = (Bank::new(kind), now());
            for (turn, via) in [Via::Statements, Via::Procedures].into_iter().enumerate() {
                let engine = support::open_mysql(&url, via).await.unwrap();
                if turn == 0 {
                    load(&engine, kind).await;
                }
                let mut client = support::mysql_client(&url, Some("debitcredit")).await;
                if turn == 0 {
                    bank.agrees(&bank::of_mysql(&mut client).await).unwrap();
                }
                let mut session = open_session(&engine).await;
                let inputs = inputs(kind, 31 + turn as u64, 500);
                replies_agree(&mut session, &mut bank, &inputs).await.unwrap_or_else(|why| panic!("{via:?}: {why}"));
                times_agree(bank::mysql_times(&mut client).await, began).unwrap();
                bank::mysql_sizes(&mut client, kind).await;
                assert_eq!(Engine::<DebitCredit>::effects(&engine).await.unwrap(), [bank.history.len() as i64]);
                side_by_side(&engine, &mut bank).await;
                bank.agrees(&bank::of_mysql(&mut client).await).unwrap_or_else(|why| panic!("{via:?}: {why}"));
                holds(&engine).await;
            }
            Engine::<DebitCredit>::drop_tables(&support::open_mysql(&url, Via::Procedures).await.unwrap())
                .await
                .unwrap();
        }
    });
}

/// A dialect without procedures, at its own isolation level: loaded, run, side by side, restored, run again, dropped.
async fn plain_conforms<E: Sessions<DebitCredit>>(
    engine: &E,
    kind: Kind,
    mut there: impl AsyncFnMut() -> Held,
    mut holds_them: impl AsyncFnMut(Kind),
) {
    load(engine, kind).await;
    for turn in 0..2 {
        let mut bank = Bank::new(kind);
        bank.agrees(&there().await).unwrap();
        let mut session = open_session(engine).await;
        let inputs = inputs(kind, 51 + turn, 500);
        replies_agree(&mut session, &mut bank, &inputs).await.unwrap();
        side_by_side(engine, &mut bank).await;
        bank.agrees(&there().await).unwrap();
        assert_eq!(engine.effects().await.unwrap(), [bank.history.len() as i64]);
        holds(engine).await;
        holds_them(kind).await;
        drop(session);
        if turn == 0 {
            let DatabaseState::Complete(manifest) = engine.database_state().await.unwrap() else {
                panic!("not loaded")
            };
            let population =
                DebitCredit::population(manifest.scale, manifest.seed, Timestamp(manifest.date), number(kind));
            let restored = engine.restore(&manifest, &population, &|_| {}).await.unwrap();
            assert!(restored.held() && restored.rows() > 0, "{restored:?}");
        }
    }
    engine.drop_tables().await.unwrap();
    assert_eq!(engine.database_state().await, Ok(DatabaseState::Nothing));
}

#[test]
fn postgres_plain_conforms() {
    let Some(()) = support::require_postgres() else { return };
    let server = support::small_server();
    block_on(async {
        let url = format!("{}&dialect=postgres-plain", server.url());
        let engine = support::open(&url, Via::Statements).await.unwrap();
        let client = support::client(&server.url()).await;
        for kind in [Kind::Gray, Kind::TpcB] {
            let sizes = async |kind| bank::postgres_sizes(&client, kind).await;
            plain_conforms(&engine, kind, async || bank::of_postgres(&client).await, sizes).await;
        }
    });
}

/// Through the coordinator, by both ways of speaking, with foreign keys.
#[test]
fn citus_conforms() {
    let Some(citus) = Citus::start() else { return };
    block_on(async {
        let client = support::client(&citus.url()).await;
        for (kind, via) in [(Kind::Gray, Via::Statements), (Kind::Gray, Via::Procedures)] {
            let engine = support::open(&format!("{}&dialect=citus", citus.url()), via).await.unwrap();
            let sizes = async |kind| bank::postgres_sizes(&client, kind).await;
            plain_conforms(&engine, kind, async || bank::of_postgres(&client).await, sizes).await;
        }
    });
}

#[test]
fn mysql_plain_conforms() {
    let Some(()) = support::require_mariadb() else { return };
    let server = support::small_mariadb(&[]);
    block_on(async {
        let url = format!("{}&dialect=mysql-plain", server.url());
        let engine = support::open_mysql(&url, Via::Statements).await.unwrap();
        for kind in [Kind::Gray, Kind::TpcB] {
            let client = async || support::mysql_client(&server.url(), Some("debitcredit")).await;
            let sizes = async |kind| bank::mysql_sizes(&mut client().await, kind).await;
            plain_conforms(&engine, kind, async || bank::of_mysql(&mut client().await).await, sizes).await;
        }
    });
}

/// Several sessions at once, each transaction tried until it is done. The order does not matter to what is left.
async fn side_by_side<E: Sessions<DebitCredit>>(engine: &E, bank: &mut Bank) {
    let kind = bank.kind;
    let work = |number: u64| {
        move || {
            let inputs = bank::drawn(kind, 100 + number, 500);
            block_on(async {
                let mut session = open_session(engine).await;
                for input in &inputs {
                    loop {
                        match session.execute(input).await {
                            Ok(_) => break,
                            Err(Failure::Retry { .. }) => {}
                            Err(failure) => panic!("{input:?}: {failure}"),
                        }
                    }
                }
            });
            inputs
        }
    };
    let done: Vec<Vec<Input>> = std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..4).map(|number| scope.spawn(work(number))).collect();
        sessions.into_iter().map(|session| session.join().unwrap()).collect()
    });
    for input in done.iter().flatten() {
        bank.transfer(bank::read(input));
    }
}

/// The suite is worth something only if it sees what is wrong: a dialect with one thing changed must not pass.
#[test]
fn a_wrong_statement_does_not_pass() {
    let wrong: &[(&str, &str, &str)] = &[
        ("teller_balance + ?1", "teller_balance - ?1", "teller"),
        ("teller_balance + ?1", "teller_balance", "teller"),
        ("branch_balance + ?1", "branch_balance", "branch"),
        ("account_balance + ?1", "account_balance + ?1 + 1", "reply"),
        ("RETURNING account_balance", "RETURNING account_balance - ?1", "reply"),
        ("WHERE teller_id = ?2", "WHERE teller_id = ?2 / 10 * 10", "teller"),
        ("WHERE branch_id = ?2", "WHERE branch_id >= ?2", "reply"),
        ("VALUES (?1, ?2, ?3, ?4)", "VALUES (?1, ?2, ?3, -?4)", "history"),
        ("VALUES (?1, ?2, ?3, ?4)", "VALUES (?1, ?3, ?2, ?4)", "history"),
        ("amount) VALUES (?1, ?2, ?3, ?4)", "amount, time_stamp) VALUES (?1, ?2, ?3, ?4, 0)", "times"),
    ];
    let place = TempDir::new().unwrap();
    let loaded = place.path().join("loaded.db");
    block_on(load(&sqlite(&loaded).0, Kind::Gray));
    for (right, broken, reported) in wrong {
        assert_eq!(STATEMENTS.matches(right).count(), 1, "the statements have no one `{right}` to break");
        let statements = STATEMENTS.replace(right, broken);
        let file = place.path().join("broken.db");
        std::fs::copy(&loaded, &file).unwrap();
        let statements = script::select(&statements, &debitcredit::NAMES)
            .unwrap()
            .into_iter()
            .map(|sql| Cow::Owned(sql.to_owned()))
            .collect();
        let connection = Connection::open(&sqlite(&file).1, false, Writer::default(), statements).unwrap();
        let (mut session, mut bank, began) = (Statements::new(connection), Bank::new(Kind::Gray), now());
        let inputs = bank::drawn(Kind::Gray, 5, 100);
        let why = block_on(replies_agree(&mut session, &mut bank, &inputs))
            .and_then(|()| bank.agrees(&bank::of_sqlite(&file)))
            .and_then(|()| times_agree(bank::sqlite_times(&file), began))
            .expect_err(&format!("`{broken}` passed"));
        assert!(why.starts_with(reported), "`{broken}` is reported otherwise: {why}");
    }
}

#[test]
fn a_wrong_procedure_does_not_pass() {
    let Some(()) = support::require_postgres() else { return };
    let both: &[(&str, &str, &str)] = &[
        ("teller_balance + p_amount", "teller_balance - p_amount", "teller"),
        ("account_balance + p_amount", "account_balance + p_amount + 1", "reply"),
        ("RETURNING account_balance INTO", "RETURNING account_balance - p_amount INTO", "reply"),
        ("branch_balance + p_amount", "branch_balance", "branch"),
        ("p_account_id, p_amount);", "p_account_id, -p_amount);", "history"),
    ];
    let gray: &[(&str, &str, &str)] = &[
        // The branch is the teller's, not the account's.
        ("p_teller_id / branch_radix", "p_account_id / branch_radix", "branch"),
        ("VALUES (v_branch_id,", "VALUES (p_account_id / branch_radix,", "history"),
    ];
    let tpc: &[(&str, &str, &str)] = &[
        ("VALUES (p_branch_id,", "VALUES (p_account_id / 100000,", "history"),
        ("WHERE branch_id = p_branch_id", "WHERE branch_id = p_account_id / 100000", "branch"),
    ];
    let server = support::small_server();
    let url = server.url();
    block_on(async {
        let client = support::client(&url).await;
        for (kind, own) in [(Kind::Gray, gray), (Kind::TpcA, tpc)] {
            let engine = support::open(&url, Via::Procedures).await.unwrap();
            load(&engine, kind).await;
            for (right, broken, reported) in both.iter().chain(own) {
                assert!(PROCEDURES.contains(right), "the procedures have no `{right}` to break");
                client.batch_execute(&PROCEDURES.replace(right, broken)).await.unwrap();
                let (mut bank, mut session) = (Bank::new(kind), open_session(&engine).await);
                let replies = replies_agree(&mut session, &mut bank, &bank::drawn(kind, 5, 100)).await;
                let there = bank::of_postgres(&client).await;
                let why = replies.and_then(|()| bank.agrees(&there)).expect_err(&format!("`{broken}` passed"));
                assert!(why.starts_with(reported), "`{broken}` is reported otherwise: {why}");
                client
                    .batch_execute(
                        "UPDATE debitcredit.branch SET branch_balance = 0; UPDATE debitcredit.teller SET \
                         teller_balance = 0;
                         UPDATE debitcredit.account SET account_balance = 0 WHERE account_balance <> 0;
                         DELETE FROM debitcredit.history",
                    )
                    .await
                    .unwrap();
            }
            Engine::<DebitCredit>::drop_tables(&engine).await.unwrap();
        }
    });
}

#[test]
fn a_message_that_cannot_be_read_is_refused_and_leaves_nothing() {
    let place = TempDir::new().unwrap();
    let file = place.path().join("bank.db");
    let (engine, _) = sqlite(&file);
    block_on(async {
        load(&engine, Kind::TpcA).await;
        let mut session = open_session(&engine).await;
        for message in [[b' '; 100], [b'x'; 100], [0xff; 100], [b'9'; 100], [b'-'; 100]] {
            let refused = session.execute(&Input::Message(message)).await;
            assert!(matches!(refused, Err(Failure::Invalid(_))), "{refused:?}");
        }
        let mut bank = Bank::new(Kind::TpcA);
        bank.agrees(&bank::of_sqlite(&file)).unwrap();
        replies_agree(&mut session, &mut bank, &bank::drawn(Kind::TpcA, 1, 3)).await.unwrap();
    });
}

/// What `graymark rows` writes is what a load brings.
#[test]
fn rows_for_loading_by_other_means_are_those_of_a_load() {
    let place = TempDir::new().unwrap();
    for kind in [Kind::Gray, Kind::TpcB] {
        let db = format!("sqlite:{}.db", kind.name());
        let population = ["-b", "2", "--seed", "7", "--profile", kind.name()];
        support::command::succeed(place.path(), &[&["load", "debitcredit", "--db", &db], &population[..]].concat());
        let connection = rusqlite::Connection::open(place.path().join(format!("{}.db", kind.name()))).unwrap();
        for table in ["branch", "teller", "account", "history"] {
            let csv =
                support::command::succeed(place.path(), &[&["rows", "debitcredit", table], &population[..]].concat())
                    .out;
            let ids = match table {
                "branch" => "branch_id".to_owned(),
                _ => format!("branch_id || ',' || {table}_id"),
            };
            let filler = if kind == Kind::Gray { "" } else { "|| ',' || filler" };
            let there = match table {
                "history" => Vec::new(),
                _ => {
                    let sql = format!(
                        "SELECT {ids} || ',' || printf('%.2f', {table}_balance / 100.0) {filler} FROM {table} ORDER BY \
                         {table}_id"
                    );
                    let mut select = connection.prepare(&sql).unwrap();
                    select.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap).collect()
                }
            };
            assert!(csv.lines().eq(there.iter()), "{} {table}", kind.name());
        }
    }
}
