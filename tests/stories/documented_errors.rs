//! The errors that the documentation of distributed databases names, from a real server: a trigger raises them at a
//! commit or in a statement, and the server rolls back. Each is retried, looked up or told as a failure, and counted as
//! what it is; nothing is lost or done twice.

use mysql_async::prelude::Queryable;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::{run, succeed};
use crate::support::forgetful::Forgetful;
use crate::support::{block_on, client, mysql_client, require_mariadb, require_postgres, small_mariadb, small_server};

/// What Graymark is to make of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Retried(&'static str),
    Failed,
    UnknownFate,
}
use Told::{Failed, Retried, UnknownFate};

/// A planted error: PostgreSQL's SQLSTATE, or MySQL's number and SQLSTATE; the text; what is to be made of it.
type Planted = (&'static str, &'static str, Told);

/// What each dialect's vendor documents.
const OVER_POSTGRES: [(&str, &[Planted]); 3] = [
    (
        "cockroachdb",
        &[
            (
                "40001",
                "restart transaction: TransactionRetryWithProtoRefreshError: WriteTooOldError",
                Retried("serialization"),
            ),
            ("40003", "result is ambiguous: error=rpc error: code = Unavailable", UnknownFate),
        ],
    ),
    (
        "yugabytedb",
        &[
            ("40001", "could not serialize access due to concurrent update", Retried("serialization")),
            ("40001", "schema version mismatch for table 0000: expected 2, got 1", Retried("serialization")),
            ("40P01", "deadlock detected", Retried("deadlock")),
            // What versions before 2025 make of it.
            ("XX000", "schema version mismatch for table 0000", Failed),
        ],
    ),
    // The usual SQLSTATE, and a code of its own in the text.
    (
        "aurora-dsql",
        &[
            ("40001", "change conflicts with another transaction, please retry: (OC000)", Retried("serialization")),
            (
                "40001",
                "schema has been updated by another transaction, please retry: (OC001)",
                Retried("serialization"),
            ),
            ("54000", "transaction row limit exceeded", Failed),
        ],
    ),
];

const OVER_MYSQL: [(&str, &[Planted]); 2] = [
    (
        "tidb",
        &[
            (
                "8028/HY000",
                "Information schema is changed during the execution of the statement",
                Retried("serialization"),
            ),
            (
                "9007/HY000",
                "Write conflict, txnStartTS=1, reason=Optimistic [try again later]",
                Retried("serialization"),
            ),
            ("8022/HY000", "Error: KV error safe to retry", Retried("serialization")),
            ("1213/40001", "Deadlock found when trying to get lock; try restarting transaction", Retried("deadlock")),
            ("8004/HY000", "Transaction is too large", Failed),
        ],
    ),
    (
        "oceanbase",
        &[
            ("1644/25000", "Transaction set changed during the execution", Retried("serialization")),
            ("6002/25000", "transaction needs rollback", Retried("serialization")),
            ("6005/HY000", "Try lock row conflict", Retried("lock_timeout")),
            ("4012/25000", "Transaction result is unknown", UnknownFate),
        ],
    ),
];

/// How often each error has to be met.
const OFTEN: i64 = 3;

/// What stands in the body of a function that is called by each transaction: every third raises one of the errors.
fn turns(planted: &[Planted], raise: impl Fn(usize, &Planted) -> String) -> (usize, String) {
    let cases = planted.iter().enumerate().map(|(number, error)| {
        let turn = 3 * number;
        format!("IF turn = {turn} THEN {} END IF;", raise(number, error))
    });
    (3 * planted.len(), cases.collect::<Vec<_>>().join("\n"))
}

/// A run in which each error was met often enough: what came of it, and how often each was raised in it. `raised`
/// counts each error.
fn until_all_are_met(url: &str, via: &str, raised: impl Fn() -> Vec<i64>) -> (Value, Vec<i64>) {
    let place = TempDir::new().unwrap();
    let command = ["run", "debitcredit", "--db", url, "--via", via, "--clients", "1", "--ramp-up", "0s", "--json"];
    for duration in ["3s", "15s", "75s"] {
        let before = raised();
        let done = run(place.path(), &[&command[..], &["--duration", duration, "--out", duration]].concat());
        assert!([Some(0), Some(1)].contains(&done.code), "{done:?}");
        let met: Vec<i64> = raised().iter().zip(&before).map(|(now, before)| now - before).collect();
        if met.iter().all(|times| *times >= OFTEN) {
            return (done.json(), met);
        }
    }
    panic!("{:?}", raised());
}

/// Each error is counted as what it is, but for the one that may not have been answered when the run ended. `forgotten`
/// are commits of unknown fate that were carried out.
fn are_counted(summary: &Value, planted: &[Planted], raised: &[i64], forgotten: i64) {
    let nearly = |counted: i64, raised: i64| (raised - 1..=raised).contains(&counted);
    let sum = |wanted: Told| -> i64 {
        let of_kind = planted.iter().zip(raised).filter(|((_, _, reported), _)| *reported == wanted);
        of_kind.map(|(_, times)| *times).sum()
    };
    for reason in ["serialization", "deadlock", "lock_timeout"] {
        let counted = summary["retries"].get(reason).map_or(0, |count| count.as_i64().unwrap());
        assert!(nearly(counted, sum(Retried(reason))), "{reason}: {} {raised:?}", summary["retries"]);
    }
    for ((code, text, reported), times) in planted.iter().zip(raised) {
        let words = summary["errors"].as_object().unwrap().iter();
        let counted: i64 =
            words.filter(|(words, _)| words.contains(text)).map(|(_, count)| count.as_i64().unwrap()).sum();
        let expected = if *reported == Failed { *times } else { 0 };
        assert!(nearly(counted, expected) || counted == expected, "{code}: {} {raised:?}", summary["errors"]);
    }
    let connections = &summary["connections"];
    let unknown = connections["ambiguous"].as_i64().unwrap();
    assert!((unknown - sum(UnknownFate) - forgotten).abs() <= 1, "{connections} {raised:?} {forgotten}");
    if unknown > 1 {
        let fate = |key: &str| connections["lookup"]["unknown_fate"][key].as_i64().unwrap();
        assert!((fate("committed") - forgotten).abs() <= 1, "{connections} {forgotten}");
        assert!((fate("not_committed") - sum(UnknownFate)).abs() <= 1, "{connections} {raised:?}");
        assert_eq!(fate("not_known") + fate("read_only"), 0, "{connections}");
        assert_eq!(connections["lookup"]["acknowledged"]["lost"], 0, "{connections}");
    }
    assert_eq!(summary["database"]["agrees"], true, "{}", summary["database"]);
}

/// How often each error was raised on a PostgreSQL.
fn raised_by_postgres(url: &str, planted: &[Planted]) -> Vec<i64> {
    let counts = (0..planted.len()).map(|number| format!("(SELECT last_value FROM raised_{number})"));
    let question = format!("SELECT ARRAY[{}]", counts.collect::<Vec<_>>().join(", "));
    block_on(async { client(url).await.query_one(&question, &[]).await.unwrap().get(0) })
}

#[test]
fn what_distributed_databases_answer_over_postgresqls_wire_is_distinguished() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (small_server(), TempDir::new().unwrap());
    let (own, port) = (server.tcp_url(), server.port());
    let url = |port: u16, dialect: &str| {
        own.replace(&format!(":{}/", server.port()), &format!(":{port}/")) + "?sslmode=disable&dialect=" + dialect
    };
    succeed(place.path(), &["load", "debitcredit", "--db", &url(port, "cockroachdb"), "-b", "1", "--seed", "5"]);
    let sql = |sql: &str| block_on(async { client(&own).await.batch_execute(sql).await.unwrap() });
    sql("CREATE SEQUENCE turn; CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON debitcredit.history DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION refuse()");
    for (dialect, planted) in OVER_POSTGRES {
        let (every, cases) = turns(planted, |number, (code, text, _)| {
            format!("PERFORM nextval('raised_{number}'); RAISE EXCEPTION '%', '{text}' USING ERRCODE = '{code}';")
        });
        for number in 0..planted.len() {
            sql(&format!(
                "CREATE SEQUENCE IF NOT EXISTS raised_{number} MINVALUE 0; SELECT setval('raised_{number}', 0)"
            ));
        }
        sql(&format!(
            "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
             DECLARE turn bigint := nextval('turn') % {every}; BEGIN {cases} RETURN NULL; END $$"
        ));
        // Of commits of unknown fate, some have been carried out.
        let wire = Forgetful::to(port, "40003", "result is ambiguous: context done during commit");
        let forgets = planted.iter().any(|(_, _, reported)| *reported == UnknownFate);
        let through = url(if forgets { wire.port } else { port }, dialect);
        let (summary, raised) = until_all_are_met(&through, "statements", || {
            let forgotten = forgets.then(|| wire.forgotten() as i64);
            raised_by_postgres(&own, planted).into_iter().chain(forgotten).collect()
        });
        let (raised, forgotten) = raised.split_at(planted.len());
        are_counted(&summary, planted, raised, forgotten.first().copied().unwrap_or_default());
    }
    sql("DROP TRIGGER refuse ON debitcredit.history");
    succeed(place.path(), &["check", "debitcredit", "--db", &url(port, "cockroachdb")]);
}

/// How often each error was raised on a MariaDB.
fn raised_by_mariadb(url: &str, planted: &[Planted]) -> Vec<i64> {
    block_on(async {
        let mut user = mysql_client(url, None).await;
        let mut counts = Vec::new();
        for number in 0..planted.len() {
            let question = format!("SELECT next_not_cached_value - 1 FROM planted.raised_{number}");
            counts.push(user.query_first::<i64, _>(question).await.unwrap().unwrap());
        }
        counts
    })
}

#[test]
fn what_distributed_databases_answer_over_mysqls_wire_is_distinguished() {
    let Some(()) = require_mariadb() else { return };
    let (server, place) = (small_mariadb(&[]), TempDir::new().unwrap());
    let own = server.tcp_url();
    let url = |dialect: &str| format!("{own}?dialect={dialect}");
    succeed(place.path(), &["load", "debitcredit", "--db", &url("oceanbase"), "-b", "1", "--seed", "5"]);
    let sql = |sql: &str| block_on(async { mysql_client(&own, None).await.query_drop(sql).await.unwrap() });
    sql("CREATE DATABASE planted");
    sql("CREATE SEQUENCE planted.turn NOCACHE");
    for ((dialect, planted), via) in OVER_MYSQL.into_iter().zip(["statements", "procedures"]) {
        let (every, cases) = turns(planted, |number, (code, text, _)| {
            let (errno, state) = code.split_once('/').unwrap();
            let signal = format!("SIGNAL SQLSTATE '{state}' SET MYSQL_ERRNO = {errno}, MESSAGE_TEXT = '{text}';");
            format!("SET counted = NEXT VALUE FOR planted.raised_{number}; {signal}")
        });
        for number in 0..planted.len() {
            sql(&format!("CREATE OR REPLACE SEQUENCE planted.raised_{number} NOCACHE"));
        }
        sql(&format!(
            "CREATE OR REPLACE TRIGGER debitcredit.refuse BEFORE INSERT ON debitcredit.history FOR EACH ROW
             BEGIN DECLARE counted BIGINT; DECLARE turn BIGINT DEFAULT (NEXT VALUE FOR planted.turn) % {every};
             {cases} END"
        ));
        let (summary, raised) = until_all_are_met(&url(dialect), via, || raised_by_mariadb(&own, planted));
        are_counted(&summary, planted, &raised, 0);
    }
    sql("DROP TRIGGER debitcredit.refuse");
    succeed(place.path(), &["check", "debitcredit", "--db", &url("oceanbase")]);
}
