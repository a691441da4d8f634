//! Rows that are missing in a bank: nobody takes a transfer that has committed for one that was rolled back.

use super::bank::{block_on, holds, load, open_session, sqlite};
use crate::support;
#[cfg(feature = "odbc")]
use crate::support::odbc;
use crate::support::{bank, stand_in};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bank::{Asked, Kind};
use graymark::engine::wire::postgres::Postgres;
use graymark::engine::{Engine, Failure, Session, Sessions};
use graymark::result::Via;
use graymark::workload::debitcredit::DebitCredit;
use graymark::workload::debitcredit::message::Input;
use tempfile::TempDir;

/// What is taken away, and which condition finds what a transaction leaves behind that went on without it.
const GAPS: [(&str, &str); 3] = [
    ("DELETE FROM teller WHERE teller_id = {t}", "history-tellers"),
    ("DELETE FROM account WHERE account_id = {a}", "history-accounts"),
    ("DELETE FROM branch WHERE branch_id = {b}", "branch-tellers"),
];

/// A transfer that needs a row which is not there, one that does not, and the statement that removes the row.
fn gap(kind: Kind, turn: usize) -> (Input, Input, String) {
    let asked = Asked { branch: 1, teller: kind.teller(1, 4), account: kind.account(0, 77), amount: 500 };
    let whole = Asked { branch: 0, teller: kind.teller(0, 4), account: kind.account(0, 78), amount: 500 };
    let sql = GAPS[turn].0.replace("{t}", &asked.teller.to_string()).replace("{a}", &asked.account.to_string());
    (bank::write(kind, asked), bank::write(kind, whole), sql.replace("{b}", &asked.branch.to_string()))
}

async fn failed<E: Sessions<DebitCredit>>(engine: &E) -> BTreeSet<String> {
    let findings = engine.check(&mut |_| {}).await.unwrap();
    findings.into_iter().filter(|finding| !finding.held()).map(|finding| finding.id).collect()
}

/// Statements have committed when they know: that is reported, and a new session goes on.
async fn a_gap_is_reported<E: Sessions<DebitCredit>>(engine: &E, turn: usize, input: &Input, whole: &Input) {
    let mut session = open_session(engine).await;
    match session.execute(input).await {
        Err(Failure::Unreadable(detail)) => {
            assert!(detail.contains("graymark check"), "{detail}")
        }
        other => panic!("{other:?}"),
    }
    drop(session);
    open_session(engine).await.execute(whole).await.unwrap();
    let failed = failed(engine).await;
    assert!(failed.contains(GAPS[turn].1), "{failed:?}");
}

/// A server may still carry out the rest of what it was sent when its client has gone.
async fn one_more_commits<E: Engine<DebitCredit>>(engine: &E, before: i64) {
    let begin = Instant::now();
    loop {
        let now = engine.effects().await.unwrap()[0];
        if now == before + 1 {
            return;
        }
        assert!(now == before && begin.elapsed() < Duration::from_secs(60), "{now} after {before}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A transaction whose reply cannot be read, and which has committed, as the history shows.
async fn is_of_unknown_fate<E: Sessions<DebitCredit>>(engine: &E, input: &Input) {
    let before = engine.effects().await.unwrap();
    let done = open_session(engine).await.execute(input).await;
    assert!(matches!(&done, Err(Failure::Unreadable(_))), "{done:?}");
    one_more_commits(engine, before[0]).await;
}

/// A commit that PostgreSQL carries out, and answers as if it were a COPY.
async fn commit_has_another_answer(server: &graymark::engine::server::postgres::Server, input: &Input) {
    let port = stand_in::with_answers(server.port(), b"C\0\0\0\x0bCOMMIT\0", b"H\0\0\0\x0bCOMMIT\0");
    let url = server.tcp_url().replace(&format!(":{}/", server.port()), &format!(":{port}/"));
    let through = support::open(&format!("{url}?sslmode=disable"), Via::Statements).await.unwrap();
    let engine = support::open(&server.url(), Via::Statements).await.unwrap();
    let before = Engine::<DebitCredit>::effects(&engine).await.unwrap();
    let done = open_session(&through).await.execute(input).await;
    assert!(matches!(&done, Err(Failure::Unreadable(_))), "{done:?}");
    one_more_commits(&engine, before[0]).await;
}

/// The planted fault: statements that are sent as one text, after the first change of which MariaDB seems to have no
/// more answers. It has carried out all of them.
async fn statements_have_fewer_answers(server: &graymark::engine::server::mariadb::Server, input: &Input) {
    // One row changed, within a transaction, and more results follow; or not.
    let (more, no_more) = (b"\0\x01\0\x0b\0", b"\0\x01\0\x03\0");
    let port = stand_in::with_answers(server.port(), more, no_more);
    let url = server.tcp_url().replace(&format!(":{}/", server.port()), &format!(":{port}/"));
    let through = support::open_mysql(&format!("{url}?dialect=mysql-plain&ssl-mode=disabled"), Via::Statements).await;
    let engine = support::open_mysql(&server.url(), Via::Statements).await.unwrap();
    let before = Engine::<DebitCredit>::effects(&engine).await.unwrap();
    let done = open_session(&through.unwrap()).await.execute(input).await;
    assert!(matches!(&done, Err(Failure::Unreadable(why)) if why.contains("fewer statements")), "{done:?}");
    one_more_commits(&engine, before[0]).await;
}

/// The planted fault: a statement more than was sent, and an answer more. All of them are carried out.
async fn statements_have_more_answers(server: &graymark::engine::server::mariadb::Server, input: &Input) {
    let port = stand_in::with_words(server.port(), &[("START TRANSACTION", "BEGIN; DO 1      ")]);
    let url = server.tcp_url().replace(&format!(":{}/", server.port()), &format!(":{port}/"));
    let through = support::open_mysql(&format!("{url}?dialect=mysql-plain&ssl-mode=disabled"), Via::Statements).await;
    let engine = support::open_mysql(&server.url(), Via::Statements).await.unwrap();
    let before = Engine::<DebitCredit>::effects(&engine).await.unwrap();
    let done = open_session(&through.unwrap()).await.execute(input).await;
    assert!(matches!(&done, Err(Failure::Unreadable(why)) if why.contains("more statements")), "{done:?}");
    one_more_commits(&engine, before[0]).await;
}

/// Nobody may take it for rolled back: on all engines, by statements that miss a row, and by procedures that answer
/// something else. For Virtuoso this is in `tests/stories/virtuoso.rs`.
#[test]
fn what_has_committed_and_cannot_be_read_is_of_unknown_fate() {
    let (input, whole, gap) = gap(Kind::Gray, 0);
    let place = TempDir::new().unwrap();
    let (engine, options) = sqlite(&place.path().join("bank.db"));
    block_on(load(&engine, Kind::Gray));
    rusqlite::Connection::open(&options.file).unwrap().execute_batch(&gap).unwrap();
    block_on(is_of_unknown_fate(&engine, &input));
    #[cfg(feature = "odbc")]
    if odbc::Place::sqlite().is_some() {
        let url = odbc::sqlite_url(&options.file);
        let engine = graymark::engine::wire::odbc::Odbc::open(support::options(&url, Via::Statements)).unwrap();
        block_on(is_of_unknown_fate(&engine, &input));
    }
    if support::require_postgres().is_some() {
        let server = support::small_server();
        block_on(async {
            let by = async |via| support::open(&server.url(), via).await.unwrap();
            load(&by(Via::Statements).await, Kind::Gray).await;
            commit_has_another_answer(&server, &whole).await;
            let client = support::client(&server.url()).await;
            client.batch_execute(&format!("SET search_path TO debitcredit; {gap}")).await.unwrap();
            is_of_unknown_fate(&by(Via::Statements).await, &input).await;
            let silent = "CREATE OR REPLACE FUNCTION debit_credit(p_teller_id integer, p_account_id integer, p_amount \
                numeric) \
                          RETURNS numeric LANGUAGE sql AS $$ INSERT INTO debitcredit.history (branch_id, teller_id, \
                          account_id, amount) \
                          VALUES (1, p_teller_id, p_account_id, p_amount); SELECT NULL::numeric $$";
            client.batch_execute(silent).await.unwrap();
            is_of_unknown_fate(&by(Via::Procedures).await, &input).await;
        });
    }
    if support::require_mariadb().is_some() {
        use mysql_async::prelude::Queryable;
        let server = support::small_mariadb(&[]);
        block_on(async {
            let by = async |via| support::open_mysql(&server.url(), via).await.unwrap();
            load(&by(Via::Statements).await, Kind::Gray).await;
            statements_have_fewer_answers(&server, &whole).await;
            statements_have_more_answers(&server, &whole).await;
            let mut client = support::mysql_client(&server.url(), Some("debitcredit")).await;
            client.query_drop(&gap).await.unwrap();
            is_of_unknown_fate(&by(Via::Statements).await, &input).await;
            client.query_drop("DROP PROCEDURE debit_credit").await.unwrap();
            let other = "CREATE PROCEDURE debit_credit(IN t int, IN a int, IN m decimal(14, 2)) MODIFIES SQL DATA \
                BEGIN \
                         INSERT INTO history (branch_id, teller_id, account_id, amount) VALUES (1, t, a, m); \
                         SELECT 'no balance' AS balance; END";
            client.query_drop(other).await.unwrap();
            is_of_unknown_fate(&by(Via::Procedures).await, &input).await;
        });
    }
}

#[test]
fn sqlite_tells_a_missing_row() {
    for kind in [Kind::Gray, Kind::TpcA] {
        let place = TempDir::new().unwrap();
        let loaded = place.path().join("loaded.db");
        block_on(load(&sqlite(&loaded).0, kind));
        for turn in 0..GAPS.len() {
            let file = place.path().join("gap.db");
            std::fs::copy(&loaded, &file).unwrap();
            let (input, whole, sql) = gap(kind, turn);
            rusqlite::Connection::open(&file)
                .unwrap()
                .execute_batch(&format!("PRAGMA foreign_keys = off; {sql}"))
                .unwrap();
            block_on(a_gap_is_reported(&sqlite(&file).0, turn, &input, &whole));
        }
    }
}

#[test]
fn postgres_tells_a_missing_row_and_by_procedures_leaves_nothing() {
    let Some(()) = support::require_postgres() else { return };
    let server = support::small_server();
    let url = server.url();
    block_on(async {
        let mut client = support::client(&url).await;
        client.batch_execute("SET search_path TO debitcredit").await.unwrap();
        for kind in [Kind::Gray, Kind::TpcA] {
            let procedures = support::open(&url, Via::Procedures).await.unwrap();
            load(&procedures, kind).await;
            client
                .batch_execute(
                    "ALTER TABLE teller DROP CONSTRAINT teller_branch; ALTER TABLE account DROP CONSTRAINT \
                     account_branch",
                )
                .await
                .unwrap();
            for turn in 0..GAPS.len() {
                let (input, whole, sql) = gap(kind, turn);
                let table = sql.split(' ').nth(2).unwrap().to_owned();
                client
                    .batch_execute(&format!("CREATE TABLE kept AS {}", sql.replace("DELETE", "SELECT *")))
                    .await
                    .unwrap();
                client.batch_execute(&sql).await.unwrap();
                let before = bank::of_postgres(&client).await;
                let mut session = open_session(&procedures).await;
                match session.execute(&input).await {
                    Err(Failure::Invalid(why)) => assert!(why.contains(&format!("there is no {table}")), "{why}"),
                    other => panic!("{other:?}"),
                }
                before.agrees(&bank::of_postgres(&client).await).unwrap();
                // The session is as good as before.
                session.execute(&whole).await.unwrap();
                let statements: Postgres = support::open(&url, Via::Statements).await.unwrap();
                a_gap_is_reported(&statements, turn, &input, &whole).await;

                let back = format!("INSERT INTO {table} SELECT * FROM kept; DROP TABLE kept; DELETE FROM history");
                let zero = "UPDATE branch SET branch_balance = 0; UPDATE teller SET teller_balance = 0; \
                            UPDATE account SET account_balance = 0 WHERE account_balance <> 0";
                let transaction = client.transaction().await.unwrap();
                transaction.batch_execute(&format!("{back}; {zero}")).await.unwrap();
                transaction.commit().await.unwrap();
                holds(&statements).await;
            }
            Engine::<DebitCredit>::drop_tables(&procedures).await.unwrap();
        }
    });
}
