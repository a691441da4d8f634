//! A bank that has been damaged is distinguished from one that has not: each consistency condition of DebitCredit finds
//! the fault that is its own, on both engines, and a run whose database keeps other books than it says fails.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::command::{run, succeed};
use crate::support::{client, require_postgres, small_server};
use graymark::engine::sql::script::{Named, statements};
use serde_json::Value;
use tempfile::TempDir;

const CONDITIONS: &str = include_str!("../../src/engine/dialect/common/debitcredit/consistency.sql");

/// Branch, teller, account and amount of what the bank did before it was damaged. No account comes twice, and the
/// second teller's sum is zero.
const WORK: [(i32, i32, i32, i32); 6] = [
    (0, 0, 7, 300),
    (0, 1, 8, -45),
    (0, 1, 1_000_009, 45),
    (1, 1_000_000, 1_000_007, -120),
    (1, 1_000_005, 3, 77),
    (1, 1_000_005, 1_000_004, 1),
];

/// The work as statements that both engines understand.
fn work() -> String {
    let transfer = |(b, t, a, amount)| {
        format!(
            "UPDATE account SET account_balance = account_balance + {amount} WHERE account_id = {a};
             UPDATE teller SET teller_balance = teller_balance + {amount} WHERE teller_id = {t};
             UPDATE branch SET branch_balance = branch_balance + {amount} WHERE branch_id = {b};
             INSERT INTO history (branch_id, teller_id, account_id, amount) VALUES ({b}, {t}, {a}, {amount});"
        )
    };
    WORK.into_iter().map(transfer).collect()
}

struct Fault {
    what: &'static str,
    sql: &'static str,
    /// The conditions that must find it, each with the beginning of the row it must return; no other row of any
    /// condition is returned.
    found: &'static [(&'static str, &'static str)],
}

/// A fault of each condition's own, which no other condition sees, but for `totals`: where the sums of two tables
/// differ, so do the balance and the history of some teller or account, or the balances of a branch and of its tellers.
/// So `totals` fails with others only.
const FAULTS: &[Fault] = &[
    Fault {
        what: "a history row too few",
        sql: "DELETE FROM history WHERE account_id = 7",
        found: &[("totals", ""), ("teller-history", "teller_id=0 "), ("account-history", "account_id=7 ")],
    },
    Fault {
        what: "a history row too many",
        sql: "INSERT INTO history (branch_id, teller_id, account_id, amount) VALUES (1, 1000002, 55, 9)",
        found: &[("totals", ""), ("teller-history", "teller_id=1000002 "), ("account-history", "account_id=55 ")],
    },
    Fault {
        what: "a history row doubled",
        sql: "INSERT INTO history (branch_id, teller_id, account_id, amount)
                  SELECT branch_id, teller_id, account_id, amount FROM history WHERE account_id = 3",
        found: &[("totals", ""), ("teller-history", "teller_id=1000005 "), ("account-history", "account_id=3 ")],
    },
    Fault {
        what: "an account changed alone",
        sql: "UPDATE account SET account_balance = account_balance + 1 WHERE account_id = 1000001",
        found: &[("totals", ""), ("account-history", "account_id=1000001 ")],
    },
    Fault {
        what: "an account that worked lost its balance",
        sql: "UPDATE account SET account_balance = 0 WHERE account_id = 3",
        found: &[("totals", ""), ("account-history", "account_id=3 ")],
    },
    Fault {
        what: "an amount went to the wrong account",
        sql: "UPDATE account SET account_balance = account_balance + 5 WHERE account_id = 7;
              UPDATE account SET account_balance = account_balance - 5 WHERE account_id = 1000007",
        found: &[("account-history", "account_id=7 "), ("account-history", "account_id=1000007 ")],
    },
    Fault {
        what: "a teller changed alone",
        sql: "UPDATE teller SET teller_balance = teller_balance + 1 WHERE teller_id = 3",
        found: &[("branch-tellers", "branch_id=0 "), ("totals", ""), ("teller-history", "teller_id=3 ")],
    },
    Fault {
        what: "a branch changed alone",
        sql: "UPDATE branch SET branch_balance = branch_balance - 1 WHERE branch_id = 1",
        found: &[("branch-tellers", "branch_id=1 "), ("totals", "")],
    },
    Fault {
        what: "teller and branch changed together",
        sql: "UPDATE teller SET teller_balance = teller_balance + 4 WHERE teller_id = 1;
              UPDATE branch SET branch_balance = branch_balance + 4 WHERE branch_id = 0",
        found: &[("totals", ""), ("teller-history", "teller_id=1 ")],
    },
    Fault {
        what: "teller, branch and account changed together",
        sql: "UPDATE teller SET teller_balance = teller_balance + 4 WHERE teller_id = 1;
              UPDATE branch SET branch_balance = branch_balance + 4 WHERE branch_id = 0;
              UPDATE account SET account_balance = account_balance + 4 WHERE account_id = 8",
        found: &[("totals", ""), ("teller-history", "teller_id=1 "), ("account-history", "account_id=8 ")],
    },
    Fault {
        what: "an amount went to the wrong teller of the branch",
        sql: "UPDATE teller SET teller_balance = teller_balance + 5 WHERE teller_id = 0;
              UPDATE teller SET teller_balance = teller_balance - 5 WHERE teller_id = 9",
        found: &[("teller-history", "teller_id=0 "), ("teller-history", "teller_id=9 ")],
    },
    Fault {
        what: "an amount went to the account's branch instead of the teller's",
        sql: "UPDATE branch SET branch_balance = branch_balance - 45 WHERE branch_id = 0;
              UPDATE branch SET branch_balance = branch_balance + 45 WHERE branch_id = 1",
        found: &[("branch-tellers", "branch_id=0 "), ("branch-tellers", "branch_id=1 ")],
    },
    Fault {
        what: "history names another branch than the teller's",
        sql: "UPDATE history SET branch_id = 1 WHERE account_id = 1000009",
        found: &[("history-tellers", "teller_id=1 branch_id=1 history_rows=1")],
    },
    Fault {
        what: "history names a teller of another branch",
        sql: "UPDATE history SET teller_id = 1000002 WHERE account_id = 7",
        found: &[
            ("history-tellers", "teller_id=1000002 branch_id=0 history_rows=1"),
            ("teller-history", "teller_id=0 "),
            ("teller-history", "teller_id=1000002 "),
        ],
    },
    Fault {
        what: "history names an unknown teller",
        sql: "UPDATE history SET teller_id = 10 WHERE account_id = 7",
        found: &[
            ("history-tellers", "teller_id=10 branch_id=0 history_rows=1"),
            ("teller-history", "teller_id=0 "),
            ("teller-history", "teller_id=10 "),
        ],
    },
    Fault {
        what: "history names an unknown account, twice, and nothing is left of it",
        sql: "INSERT INTO history (branch_id, teller_id, account_id, amount) VALUES (0, 4, 10000, 5), (0, 4, 10000, \
            -5)",
        found: &[("history-accounts", "account_id=10000 history_rows=2")],
    },
    Fault {
        what: "an account that worked was lost",
        sql: "DELETE FROM account WHERE account_id = 8",
        found: &[
            ("totals", ""),
            ("account-history", "account_id=8 "),
            ("history-accounts", "account_id=8 history_rows=1"),
            ("accounts", "branch_id=0 branches=1 accounts=9999"),
            ("accounts", "branch_id=1 branches=1 accounts=10000"),
        ],
    },
    Fault {
        what: "an account that never worked was lost",
        sql: "DELETE FROM account WHERE account_id = 9999",
        found: &[
            ("accounts", "branch_id=0 branches=1 accounts=9999"),
            ("accounts", "branch_id=1 branches=1 accounts=10000"),
        ],
    },
    Fault {
        what: "an account has no branch",
        sql: "UPDATE account SET branch_id = 2 WHERE account_id = 9999",
        found: &[
            ("accounts", "branch_id=0 branches=1 accounts=9999"),
            ("accounts", "branch_id=2 branches=0 accounts=1"),
        ],
    },
    Fault {
        what: "a teller that never worked was lost",
        sql: "DELETE FROM teller WHERE teller_id = 9",
        found: &[("tellers", "branch_id=0 branches=1 tellers=9")],
    },
    Fault {
        what: "a teller too many",
        sql: "INSERT INTO teller (branch_id, teller_id, teller_balance) VALUES (1, 1000010, 0)",
        found: &[("tellers", "branch_id=1 branches=1 tellers=11")],
    },
    Fault {
        what: "a branch was lost",
        sql: "DELETE FROM branch WHERE branch_id = 1",
        found: &[
            ("branch-tellers", "branch_id=1 "),
            ("totals", ""),
            ("tellers", "branch_id=1 branches=0 tellers=10"),
            ("accounts", "branch_id=0 branches=1 accounts=10000"),
            ("accounts", "branch_id=1 branches=0 accounts=10000"),
        ],
    },
];

type Found = Vec<(String, String)>;

/// What was found is what the fault breaks, each row once.
fn explained(fault: &Fault, mut found: Found) {
    // Longest beginnings first, so that a short one is left with the row that is its own.
    let mut expected = fault.found.to_vec();
    expected.sort_by_key(|(_, row)| std::cmp::Reverse(row.len()));
    for (name, row) in expected {
        let place = found.iter().position(|found| found.0 == name && found.1.starts_with(row));
        let place = place.unwrap_or_else(|| panic!("{}: {name} does not return {row}, left is {found:#?}", fault.what));
        found.remove(place);
    }
    assert_eq!(found, [], "{}", fault.what);
}

/// A bank of two branches that Graymark has loaded.
fn load(place: &Path, db: &str) {
    succeed(place, &["load", "debitcredit", "--db", db, "-b", "2", "--seed", "7"]);
}

#[test]
fn sqlite_finds_each_fault_by_the_conditions_it_breaks_and_by_no_other() {
    let place = TempDir::new().unwrap();
    load(place.path(), "sqlite:bank.db?synchronous=off");
    let connection = rusqlite::Connection::open(place.path().join("bank.db")).unwrap();
    connection.execute_batch(&format!("PRAGMA foreign_keys = off; {}", work())).unwrap();
    let findings = || -> Found {
        let rows = |named: &Named| -> Found {
            let mut statement = connection.prepare(named.sql).unwrap();
            let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let row = |row: &rusqlite::Row| {
                let cell = |(at, name): (usize, &String)| {
                    format!("{name}={}", row.get::<_, Option<i64>>(at).unwrap().unwrap_or(-1))
                };
                Ok((named.name.to_owned(), columns.iter().enumerate().map(cell).collect::<Vec<_>>().join(" ")))
            };
            statement.query_map([], row).unwrap().map(Result::unwrap).collect()
        };
        statements(CONDITIONS).iter().flat_map(rows).collect()
    };
    assert_eq!(findings(), []);
    for fault in FAULTS {
        connection.execute_batch(&format!("SAVEPOINT fault; {}", fault.sql)).unwrap();
        let found = findings();
        connection.execute_batch("ROLLBACK TO fault; RELEASE fault").unwrap();
        explained(fault, found);
    }
    assert_eq!(findings(), []);
}

#[test]
fn postgres_finds_each_fault_by_the_conditions_it_breaks_and_by_no_other() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let place = TempDir::new().unwrap();
    load(place.path(), &server.url());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = client(&server.url()).await;
        client.batch_execute(&format!("SET search_path TO debitcredit; {}", work())).await.unwrap();
        let findings = async || -> Found {
            let mut found = Vec::new();
            for named in statements(CONDITIONS) {
                for message in client.simple_query(named.sql).await.unwrap() {
                    let tokio_postgres::SimpleQueryMessage::Row(row) = message else { continue };
                    let cell = |at: usize| format!("{}={}", row.columns()[at].name(), row.get(at).unwrap_or("null"));
                    found.push((named.name.to_owned(), (0..row.len()).map(cell).collect::<Vec<_>>().join(" ")));
                }
            }
            found
        };
        assert_eq!(findings().await, []);
        for fault in FAULTS {
            client.batch_execute(&format!("BEGIN; {}", fault.sql)).await.unwrap();
            let found = findings().await;
            client.batch_execute("ROLLBACK").await.unwrap();
            explained(fault, found);
        }
        assert_eq!(findings().await, []);
    });
}

#[test]
fn every_condition_has_a_fault_of_its_own() {
    let conditions = statements(CONDITIONS);
    assert_eq!(conditions.len(), 8);
    for named in conditions {
        assert!(named.notes.contains_key("title"), "{} has no title", named.name);
        let own = FAULTS.iter().any(|fault| fault.found.iter().all(|(found, _)| *found == named.name));
        let met = FAULTS.iter().any(|fault| fault.found.iter().any(|(found, _)| *found == named.name));
        assert!(met && own == (named.name != "totals"), "{}", named.name);
    }
}

/// Clients of a run on a database that has been tampered with.
const CLIENTS: u32 = 2;

/// Some work on a database that has been tampered with; the exit code and the summary.
fn worked(place: &Path, tampering: &str, check: &str) -> (Option<i32>, Value) {
    let db = "sqlite:bank.db?synchronous=off";
    load(place, db);
    rusqlite::Connection::open(place.join("bank.db")).unwrap().execute_batch(tampering).unwrap();
    let clients = CLIENTS.to_string();
    let plan = ["--clients", &clients, "--ramp-up", "0s", "--duration", "8s", "--json", "--check", check];
    // Enough for each teller, whatever the machine does meanwhile: one in ten transactions is of the one that counts.
    let plan = [&plan[..], &["--rate", "100", "--arrivals", "constant"]].concat();
    let done = run(place, &[&["run", "debitcredit", "--db", db], &plan[..]].concat());
    (done.code, done.json())
}

fn state(summary: &Value, id: &str) -> String {
    let clauses = summary["verdict"]["clauses"].as_array().unwrap();
    clauses.iter().find(|clause| clause["id"] == id).unwrap_or_else(|| panic!("{id}"))["state"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn failed(summary: &Value) -> BTreeSet<&str> {
    summary["consistency"]["failed"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect()
}

#[test]
fn a_sound_run_is_counted_and_checked() {
    let place = TempDir::new().unwrap();
    let (code, summary) = worked(place.path(), "", "both");
    assert_eq!(code, Some(0), "{summary}");
    assert_eq!((state(&summary, "history rows").as_str(), state(&summary, "consistency").as_str()), ("held", "held"));
}

/// The sums are right in spite of rows that nobody ordered: only the count can tell.
#[test]
fn history_rows_too_many_are_found_by_the_count_alone() {
    let place = TempDir::new().unwrap();
    let (code, summary) = worked(
        place.path(),
        "CREATE TRIGGER shadow AFTER INSERT ON history BEGIN
             INSERT INTO history (branch_id, teller_id, account_id, amount)
             VALUES (new.branch_id, new.teller_id, new.account_id, 0);
         END",
        "both",
    );
    assert_eq!(code, Some(1), "{summary}");
    assert_eq!((state(&summary, "history rows").as_str(), state(&summary, "consistency").as_str()), ("broken", "held"));
    let rows = &summary["database"]["effects"]["history_rows"];
    assert_eq!(rows["database"].as_u64().unwrap(), 2 * rows["client"].as_u64().unwrap());
}

#[test]
fn doubled_and_lost_history_rows_are_found_by_count_and_conditions() {
    let double = "CREATE TRIGGER fault AFTER INSERT ON history WHEN new.teller_id % 10 = 4 BEGIN
        INSERT INTO history (branch_id, teller_id, account_id, amount)
        VALUES (new.branch_id, new.teller_id, new.account_id, new.amount);
    END";
    let lose = "CREATE TRIGGER fault AFTER INSERT ON history WHEN new.teller_id % 10 = 4 BEGIN
        DELETE FROM history WHERE rowid = new.rowid;
    END";
    for (tampering, reported, words) in [(double, "unasked", "more history rows"), (lose, "missing", "they are lost")] {
        let place = TempDir::new().unwrap();
        let (code, summary) = worked(place.path(), tampering, "after");
        assert_eq!(code, Some(1), "{summary}");
        assert!(summary["database"][reported]["history_rows"].as_u64() > Some(0), "{}", summary["database"]);
        assert!(summary["verdict"].to_string().contains(words), "{}", summary["verdict"]);
        assert_eq!(
            (state(&summary, "history rows").as_str(), state(&summary, "consistency").as_str()),
            ("broken", "broken")
        );
        assert!(failed(&summary).is_superset(&BTreeSet::from(["account-history", "teller-history"])), "{summary}");
        // Without a check the count alone suffices.
        let place = TempDir::new().unwrap();
        let (code, summary) = worked(place.path(), tampering, "none");
        assert_eq!((code, state(&summary, "consistency").as_str()), (Some(1), "not tested"), "{summary}");
    }
}

/// By statements the database commits what a missing teller leaves of a transaction: that is an error of the run, and
/// the check finds it.
#[test]
fn a_lost_teller_is_reported_by_the_run() {
    let place = TempDir::new().unwrap();
    let (code, summary) = worked(place.path(), "DELETE FROM teller WHERE teller_id = 3", "after");
    assert_eq!(code, Some(1), "{summary}");
    assert!(failed(&summary).is_superset(&BTreeSet::from(["tellers", "history-tellers"])), "{summary}");
    let count = |name: &str| summary["connections"][name].as_u64().unwrap();
    assert!(count("ambiguous") > 0, "{summary}");
    // Each lost session is sought again at once, but for one that a client loses with its last transaction: by then the
    // interval may be over.
    let not_sought = count("lost").checked_sub(count("restored")).expect("no more are restored than were lost");
    assert!(not_sought <= u64::from(CLIENTS), "{summary}");
}
