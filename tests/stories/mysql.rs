//! A user measures MariaDB: a private one, one of their own, with TLS, with a password, with locks in the way.

use super::mysql_connect::refused;
use crate::support;
use crate::support::loaded::loaded_mariadb;
use crate::support::stranger;
use std::fs::Permissions;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;
use std::time::Duration;

use crate::support::{
    load, load_beside, mysql_checksums, mysql_client, open_mysql, options, require_mariadb, small_mariadb,
};
use graymark::engine::server::mariadb::{MariadbServerOptions, Server};
use graymark::engine::wire::mysql::Mysql;
use graymark::engine::{
    ConnectOptions, DatabaseState, Engine, Error, Failure, MaintenanceOutcome, RetryReason, Session, Sessions,
};
use graymark::result::maintenance::MaintenanceKind;
use graymark::result::{Isolation, LoadStep, Manifest, Via};
use graymark::workload::tpcc::Tpcc;
use graymark::workload::tpcc::input::{Customer, Input, LastName, Payment};
use graymark::workload::value::{Money, Timestamp};
use graymark::workload::{Population, Workload};
use mysql_async::prelude::Queryable;

/// 2026-01-01 12:00 UTC
const DATE: Timestamp = Timestamp(1_767_268_800_000_000);

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

pub fn manifest(foreign_keys: bool) -> (Manifest, <Tpcc as Workload>::Population) {
    let population = Tpcc::population(1, 42, DATE, 0);
    let parameters = Tpcc::parameters(&population);
    (Manifest { format: 1, scale: 1, seed: 42, date: DATE.0, foreign_keys, parameters }, population)
}

async fn database_state(engine: &Mysql) -> DatabaseState {
    Engine::<Tpcc>::database_state(engine).await.unwrap()
}

/// The conditions that do not hold.
async fn broken(engine: &Mysql) -> Vec<String> {
    let findings = Engine::<Tpcc>::check(engine, &mut |_| ()).await.unwrap();
    assert!(findings.len() >= 12);
    findings.into_iter().filter(|finding| !finding.held()).map(|finding| finding.id).collect()
}

/// Neither without a password nor with a wrong one does anyone get in, by the socket or by TCP, and nobody else sees
/// the files.
fn is_closed(server: &Server) {
    let url = server.url();
    let socket =
        percent_encoding::percent_decode_str(url.split_once("socket=").unwrap().1).decode_utf8().unwrap().into_owned();
    let socket = std::path::PathBuf::from(socket);
    let port = server.port().to_string();
    let client = |how: &[&str], password: &str, words: &[&str]| {
        let arguments = [&["--no-defaults", "-u", "root", "-e", "SELECT 1"], how].concat();
        let Some(mut command) = stranger::try_it("mariadb", &arguments) else { return };
        command.env("MYSQL_PWD", password);
        stranger::fails(command, words);
    };
    client(&["-S", socket.to_str().unwrap()], server.password(), &["(13)"]);
    let listens = TcpStream::connect(("127.0.0.1", server.port())).is_ok();
    if listens {
        for password in ["", "root"] {
            client(&["-h", "127.0.0.1", "-P", &port], password, &["Access denied"]);
        }
    }
    // The file with the statements of its start has the password, and is gone.
    for entry in std::fs::read_dir(socket.parent().unwrap()).unwrap().map(Result::unwrap) {
        let text = if entry.file_type().unwrap().is_file() { std::fs::read(entry.path()).unwrap() } else { Vec::new() };
        assert!(!String::from_utf8_lossy(&text).contains(server.password()), "{:?}", entry.path());
    }
    stranger::sees_nothing(
        &[server.data(), socket.parent().unwrap()],
        &[&server.data().join("graymark.password"), &server.data().join("ibdata1")],
    );
    runtime().block_on(async {
        mysql_client(&url, None).await.query_drop("SELECT 1").await.unwrap();
        let mut doors = vec![url.replace(server.password(), "wrong"), url.replace(server.password(), "")];
        if listens {
            doors.extend(["wrong", ""].map(|other| server.tcp_url().replace(server.password(), other)));
        }
        doors.push(url.replace(&format!("root:{}", server.password()), "nobody"));
        for door in doors {
            let refused = refused(&door, &[]).await;
            assert!(refused.contains("password"), "{door}: {refused}");
        }
    });
}

#[test]
fn no_one_else_gets_into_a_private_server() {
    let Some(()) = require_mariadb() else { return };
    let place = stranger::Plant::new();
    let settings = vec![
        ("innodb_buffer_pool_size".to_owned(), "64M".to_owned()),
        ("innodb_log_file_size".to_owned(), "16M".to_owned()),
    ];
    let start = |data: &std::path::Path, tcp| {
        Server::start(&MariadbServerOptions {
            data: Some(data.to_owned()),
            tcp,
            settings: settings.clone(),
            ..Default::default()
        })
    };
    let first = start(&place.data(), false).unwrap();
    assert!(TcpStream::connect(("127.0.0.1", first.port())).is_err(), "nobody asked for TCP");
    is_closed(&first);
    let password = first.password().to_owned();
    runtime().block_on(async {
        // As an earlier version left it: no password, and from each of its addresses.
        let open = "CREATE DATABASE kept; UPDATE mysql.global_priv SET Priv = JSON_SET(Priv, \
            '$.authentication_string', ''); \
                    CREATE USER ''@'%'; FLUSH PRIVILEGES";
        mysql_client(&first.url(), None).await.query_drop(open).await.unwrap();
        mysql_client(&first.url().replace(&password, ""), None).await;
    });
    assert_eq!(std::fs::metadata(first.data()).unwrap().permissions().mode() & 0o777, 0o700);
    drop(first);
    let file = |name: &str| place.data().join(name);
    std::fs::remove_file(file("graymark.password")).unwrap();
    std::fs::set_permissions(place.data(), Permissions::from_mode(0o755)).unwrap();
    let second = start(&place.data(), true).unwrap();
    assert_ne!(second.password(), password);
    is_closed(&second);
    runtime().block_on(async {
        let mut user = mysql_client(&second.tcp_url(), Some("kept")).await;
        // Its SQL reaches no file but those of a directory of its own.
        assert_eq!(user.query_first::<Option<String>, _>("SELECT LOAD_FILE('/etc/passwd')").await.unwrap(), Some(None));
        let outside = place.data().parent().unwrap().join("outside");
        let written =
            user.query_drop(format!("SELECT 1 INTO OUTFILE '{}'", outside.display())).await.unwrap_err().to_string();
        assert!(written.contains("secure"), "{written}");
    });
    // The password is in its file, and in no other.
    let password = second.password().to_owned();
    second.restart().unwrap();
    is_closed(&second);
    let log = std::fs::read_to_string(file("graymark.log")).unwrap();
    assert!(!log.contains(&password) && !format!("{second:?}").contains(&password), "{log}");
    let commands = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap().stdout;
    let commands = String::from_utf8_lossy(&commands).into_owned();
    assert!(commands.contains(place.data().to_str().unwrap()) && !commands.contains(&password), "{commands}");
    drop(second);
    assert_eq!(std::fs::read_to_string(file("graymark.password")).unwrap().trim_end(), password);
    place.is_never_followed(&["graymark.log", "graymark.password"], |data| start(data, false));
}

#[test]
fn a_private_server_keeps_what_it_is_told_to_keep_and_leaves_nothing_else() {
    let Some(()) = require_mariadb() else { return };
    let place = tempfile::tempdir().unwrap();
    // The server's user has to get through.
    std::fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    let data = place.path().join("data");
    let url =
        format!("mysql:local?tcp=on&data={}&innodb_buffer_pool_size=64M&innodb_log_file_size=16M", data.display());
    runtime().block_on(async {
        let first = open_mysql(&url, Via::Procedures).await.unwrap();
        let server = first.server().unwrap();
        let (pid, socket_url) = (server.pid().unwrap(), server.url());
        let make = "CREATE DATABASE kept; CREATE TABLE kept.kept (x int); INSERT INTO kept.kept VALUES (7)";
        mysql_client(&socket_url, None).await.query_drop(make).await.unwrap();
        assert!(server.cpu_seconds().is_none_or(|seconds| seconds > 0.0));
        // A crash loses nothing that was committed.
        server.kill().unwrap();
        assert_eq!(server.pid(), None);
        server.restart().unwrap();
        let mut user = mysql_client(&server.tcp_url(), None).await;
        assert_eq!(user.query_first::<i32, _>("SELECT x FROM kept.kept").await.unwrap(), Some(7));
        let settings = Engine::<Tpcc>::settings(&first).await.unwrap();
        assert_eq!(settings["innodb_buffer_pool_size"], (64 << 20).to_string());
        assert_eq!(settings["innodb_flush_log_at_trx_commit"], "1");
        assert_eq!(settings["tx_isolation"], "READ-COMMITTED");
        assert!(!settings.keys().any(|name| name.contains("socket") || name.contains("dir")), "{settings:?}");
        assert!(!settings.values().any(|value| value.contains("graymark-mariadb")), "{settings:?}");
        let identity = Engine::<Tpcc>::identity(&first);
        assert_eq!((identity.name.as_str(), identity.url.as_str()), ("MariaDB", url.as_str()));
        assert!(
            identity.version.starts_with(|c: char| c.is_ascii_digit()) && !identity.version.contains("MariaDB"),
            "{identity:?}"
        );
        let again = server.pid().unwrap();
        assert_ne!(again, pid);
        drop(first);
        for pid in [pid, again] {
            assert!(
                nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid as i32), None).is_err(),
                "process {pid} is still there"
            );
        }
        let second = open_mysql(&url, Via::Procedures).await.unwrap();
        let mut user = mysql_client(&second.server().unwrap().url(), Some("kept")).await;
        assert_eq!(user.query_first::<i32, _>("SELECT x FROM kept").await.unwrap(), Some(7));
        // As a server that is there: its process and its directory are found.
        let neighbour = open_mysql(&second.server().unwrap().tcp_url(), Via::Procedures).await.unwrap();
        assert_eq!(Engine::<Tpcc>::server_cpu_seconds(&neighbour).is_some(), cfg!(target_os = "linux"));
        assert_eq!(Engine::<Tpcc>::data_directory(&neighbour).is_some(), cfg!(target_os = "linux"));
    });
    std::fs::write(place.path().join("something"), "else").unwrap();
    let occupied = MariadbServerOptions { data: Some(place.path().to_owned()), ..Default::default() };
    assert!(matches!(Server::start(&occupied), Err(Error::Usage(_))));
    let wrong = MariadbServerOptions {
        data: Some(data),
        settings: vec![("innodb_page_count".to_owned(), "1".to_owned())],
        ..Default::default()
    };
    let error = Server::start(&wrong).unwrap_err().to_string();
    assert!(error.contains("innodb_page_count") && !error.contains('\n'), "{error}");
}

#[test]
fn an_interrupted_load_goes_on_to_the_same_rows() {
    let Some(()) = require_mariadb() else { return };
    let server = small_mariadb(&[]);
    let url = server.url();
    let (manifest, population) = manifest(false);
    runtime().block_on(async {
        let engine = open_mysql(&url, Via::Procedures).await.unwrap();
        assert_eq!(database_state(&engine).await, DatabaseState::Nothing);
        // A second one in the middle of the first is refused.
        let second =
            || runtime().block_on(async { load(&open_mysql(&url, Via::Procedures).await.unwrap(), &manifest).await });
        let (report, refused) = load_beside(&engine, &manifest, second).await;
        assert!(refused.to_string().contains("another load"), "{refused}");
        let rows: u64 = population.parts().iter().map(|part| part.rows).sum();
        assert_eq!((report.rows, report.resumed_rows), (rows, 0));
        assert!(report.database_bytes.is_some_and(|bytes| bytes > 50 << 20), "{report:?}");
        let phases: Vec<&str> = report.phases.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(phases, ["schema", "rows", "keys", "procedures", "statistics", "verify"]);
        assert_eq!(database_state(&engine).await, DatabaseState::Complete(manifest.clone()));
        assert!(matches!(load(&engine, &manifest).await, Err(Error::Usage(_))));
        assert_eq!(broken(&engine).await, Vec::<String>::new());
        let expected = mysql_checksums::<Tpcc>(&url).await;
        let maintenance = |kind| Engine::<Tpcc>::maintain(&engine, kind);
        assert!(matches!(maintenance(MaintenanceKind::Checkpoint).await, Ok(MaintenanceOutcome::Done(_))));
        assert!(matches!(maintenance(MaintenanceKind::Vacuum).await, Ok(MaintenanceOutcome::Absent(_))));
        let warmed = maintenance(MaintenanceKind::WarmUp).await;
        assert!(matches!(warmed, Ok(MaintenanceOutcome::Read { rows: read, .. }) if read == rows));

        // A planted fault is found, and by the condition that it breaks.
        let mut user = mysql_client(&url, Some("tpcc")).await;
        user.query_drop("UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 4").await.unwrap();
        assert!(broken(&engine).await.contains(&"3.3.2.1".to_owned()));
        Engine::<Tpcc>::drop_tables(&engine).await.unwrap();
        assert_eq!(database_state(&engine).await, DatabaseState::Nothing);
        let databases = "SELECT count(*) FROM information_schema.schemata WHERE schema_name = 'tpcc'";
        let left: Option<u64> = user.query_first(databases).await.unwrap();
        assert_eq!(left, Some(0), "the database that Graymark made is gone");

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
            done = Engine::<Tpcc>::load(&engine, &manifest, &population, 1, &on_step) => {
                panic!("it was not given up: {done:?}")
            }
        }
        assert_eq!(database_state(&engine).await, DatabaseState::Unfinished(manifest.clone()));
        let other = load(&engine, &Manifest { seed: 43, ..manifest.clone() }).await.unwrap_err();
        assert!(
            matches!(&other, Error::Usage(text) if text.contains("seed 42") && text.contains("graymark drop")),
            "{other}"
        );
        let report = load(&engine, &manifest).await.unwrap();
        assert!(report.resumed_rows > 0);
        assert_eq!(report.rows + report.resumed_rows, rows);
        assert_eq!(mysql_checksums::<Tpcc>(&url).await, expected);

        // A NULL that someone else must have put there is an error; the driver would panic.
        let mut user = mysql_client(&url, Some("tpcc")).await;
        user.query_drop("ALTER TABLE graymark_parts MODIFY row_count bigint NULL").await.unwrap();
        user.query_drop("UPDATE graymark_parts SET row_count = NULL LIMIT 1").await.unwrap();
        user.query_drop("UPDATE graymark_manifest SET state = 'loading'").await.unwrap();
        let error = load(&engine, &manifest).await.unwrap_err();
        assert!(
            matches!(&error, Error::Database(text) if text.contains("row_count") && text.contains("NULL")),
            "{error}"
        );

        // Someone else's tables are left alone.
        let mut user = mysql_client(&url, Some("tpcc")).await;
        user.query_drop("DROP TABLE graymark_manifest").await.unwrap();
        assert!(matches!(database_state(&engine).await, DatabaseState::Foreign { .. }));
        assert!(matches!(load(&engine, &manifest).await, Err(Error::Usage(_))));
    });
}

/// Waits until so many transactions of the server wait for a lock; their connections.
async fn waiting(user: &mut mysql_async::Conn, number: usize) -> Vec<u64> {
    loop {
        // The server makes this table anew only when nobody has looked for a tenth of a second: without a pause it
        // shows who waited before.
        tokio::time::sleep(Duration::from_millis(150)).await;
        let sql = "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
        let waiting: Vec<u64> = user.query(sql).await.unwrap();
        if waiting.len() >= number {
            return waiting;
        }
    }
}

#[test]
fn what_a_database_refuses_is_distinguished() {
    let Some(()) = require_mariadb() else { return };
    let server = small_mariadb(&[]);
    let url = server.url();
    runtime().block_on(async {
        load(&open_mysql(&url, Via::Procedures).await.unwrap(), &manifest(true).0).await.unwrap();
        let mut user = mysql_client(&url, Some("tpcc")).await;
        let mut other = mysql_client(&url, Some("tpcc")).await;
        let mut watcher = mysql_client(&url, Some("tpcc")).await;
        user.query_drop("CREATE TABLE scratch (x int)").await.unwrap();
        let name: Option<String> =
            user.query_first("SELECT c_last FROM customer WHERE c_d_id = 5 AND c_id = 3").await.unwrap();
        let name = name.unwrap();
        let pay = |customer| {
            Input::Payment(Payment { w_id: 1, d_id: 2, c_w_id: 1, c_d_id: 5, customer, h_amount: Money(100) })
        };
        let (payment, by_name) = (pay(Customer::Id(3)), pay(Customer::LastName(LastName::from(&name).unwrap())));
        let hold = "START TRANSACTION; UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 2";
        let reason = |failure| match failure {
            Err(Failure::Retry { reason, .. }) => reason,
            other => panic!("{other:?}"),
        };
        for via in [Via::Procedures, Via::Statements] {
            let engine = open_mysql(&url, via).await.unwrap();
            let mut session = Sessions::<Tpcc>::open_session(&engine).await.unwrap();

            // Payment holds the customer and waits for the district; another holds the warehouse and waits for the
            // customer. Set free, Payment closes the circle, and as the one who has changed less it is the one who
            // gives way.
            user.query_drop(hold).await.unwrap();
            let holds =
                "START TRANSACTION; INSERT INTO scratch SELECT i_id FROM item LIMIT 1000; UPDATE warehouse SET w_ytd = \
                 w_ytd + 1";
            other.query_drop(holds).await.unwrap();
            let meet = async {
                waiting(&mut watcher, 1).await;
                let asks = other.query_drop("UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_d_id = 5; \
                    ROLLBACK");
                let frees = async {
                    waiting(&mut watcher, 2).await;
                    user.query_drop("ROLLBACK").await
                };
                tokio::try_join!(asks, frees).unwrap();
            };
            let (failure, ()) = tokio::join!(session.execute(&payment), meet);
            assert_eq!(reason(failure), RetryReason::Deadlock);
            session.execute(&payment).await.unwrap();

            // InnoDB itself would keep what Payment did before it waited in vain. A session takes InnoDB's variables
            // not when it connects but when it first meets InnoDB: they stay until it has worked.
            user.query_drop(format!("SET GLOBAL innodb_lock_wait_timeout = 1; {hold}")).await.unwrap();
            let mut impatient = Sessions::<Tpcc>::open_session(&engine).await.unwrap();
            assert_eq!(reason(impatient.execute(&payment).await), RetryReason::LockTimeout);
            user.query_drop("SET GLOBAL innodb_lock_wait_timeout = 50").await.unwrap();
            other.query_drop("UPDATE customer SET c_data = c_data WHERE c_d_id = 5 AND c_id = 3").await.unwrap();

            // A row was changed since the snapshot of the transaction.
            user.query_drop("SET GLOBAL innodb_snapshot_isolation = ON").await.unwrap();
            let strict = ConnectOptions { isolation: Isolation::RepeatableRead, ..options(&url, via) };
            let strict = Mysql::open(strict).await.unwrap();
            let mut strict = Sessions::<Tpcc>::open_session(&strict).await.unwrap();
            user.query_drop("UPDATE district SET d_ytd = d_ytd - 1 WHERE d_id = 2").await.unwrap();
            let change = async {
                waiting(&mut watcher, 1).await;
                user.query_drop("COMMIT").await.unwrap();
            };
            let (failure, ()) = tokio::join!(strict.execute(&by_name), change);
            assert_eq!(reason(failure), RetryReason::Serialization);
            strict.execute(&by_name).await.unwrap();
            user.query_drop("SET GLOBAL innodb_snapshot_isolation = OFF").await.unwrap();

            // What waits is interrupted, and leaves nothing open; then its session is ended from outside.
            user.query_drop(hold).await.unwrap();
            let interrupt = async {
                let waiting = waiting(&mut watcher, 1).await;
                watcher.query_drop(format!("KILL QUERY {}", waiting[0])).await.unwrap();
            };
            let (failure, ()) = tokio::join!(session.execute(&payment), interrupt);
            assert!(matches!(&failure, Err(Failure::Invalid(text)) if text.contains("interrupted")), "{failure:?}");
            other.query_drop("UPDATE customer SET c_data = c_data WHERE c_d_id = 5 AND c_id = 3").await.unwrap();
            let end = async {
                let waiting = waiting(&mut watcher, 1).await;
                watcher.query_drop(format!("KILL {}", waiting[0])).await.unwrap();
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
            user.query_drop("ROLLBACK").await.unwrap();
        }
        // A payment counts once or not at all: no failure above left a trace.
        let engine = open_mysql(&url, Via::Procedures).await.unwrap();
        assert_eq!(broken(&engine).await, Vec::<String>::new());
        let paid: Option<u64> = user.query_first("SELECT count(*) - 30000 FROM history").await.unwrap();
        assert_eq!(paid, Some(4));

        // Another version of Graymark may have made other procedures.
        user.query_drop("DROP PROCEDURE new_order").await.unwrap();
        let older = Sessions::<Tpcc>::open_session(&engine).await.err().expect("no session").to_string();
        assert!(older.contains("load --procedures-only, or run with --via statements"), "{older}");
        assert!(!older.contains('\n'), "{older}");
    });
}

#[test]
fn stored_procedures_that_are_not_graymarks_are_refused() {
    let Some(()) = require_mariadb() else { return };
    let server = loaded_mariadb(&[]);
    let place = tempfile::tempdir().unwrap();
    let url = server.url();
    let with =
        |url: &str, arguments: &[&str]| support::command::run(place.path(), &[arguments, &["--db", url]].concat());
    let run = ["run", "--clients", "1", "--ramp-up", "0s", "--duration", "6s", "--json", "--check", "none"];
    let run = [&run[..], &["--rate", "20", "--mix", "new_order=1,payment=1"]].concat();
    let procedures = |url: &str| {
        let done = with(url, &run);
        assert_eq!(done.code, Some(0), "{done:?}");
        done.json()["procedures"].clone()
    };
    runtime().block_on(async {
        assert_eq!(procedures(&url), "own");
        let mut user = mysql_client(&url, Some("tpcc")).await;
        let stock_level =
            "CREATE PROCEDURE stock_level(IN in_w_id int, IN in_d_id int, IN in_threshold int)\nREADS SQL \
             DATA\nBEGIN\n";
        for (fault, name) in [
            (vec!["DROP PROCEDURE stock_level".to_owned(), format!("{stock_level}    SELECT 0;\nEND")], "stock_level"),
            (vec!["DROP PROCEDURE stock_level".to_owned(), stock_level.replace("BEGIN", "SELECT 0")], "stock_level"),
            (vec!["DROP PROCEDURE delivery".to_owned()], "delivery"),
        ] {
            for sql in fault {
                user.query_drop(sql).await.unwrap();
            }
            for command in ["run", "bench"] {
                with(&url, &[command]).refused(3, &[name, "graymark load tpcc --procedures-only"]);
            }
            assert_eq!(with(&url, &["load", "--procedures-only"]).code, Some(0));
            assert_eq!(procedures(&url), "own");
        }
        // Who may call them, but not read them, is not told that they are right.
        user.query_drop("CREATE USER ann IDENTIFIED BY 'open'").await.unwrap();
        user.query_drop("GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON tpcc.* TO ann").await.unwrap();
        let ann = format!("mysql://ann:open@{}", url.split_once('@').unwrap().1);
        assert_eq!(procedures(&ann)["unread"].as_array().map(Vec::len), Some(5));
        // A restore deletes no rows of somebody else, even if they refer to deleted ones where its user cannot see it.
        assert_eq!(with(&url, &["run", "--duration", "5s", "--ramp-up", "0s", "--clients", "1"]).code, Some(0));
        for sql in [
            "CREATE DATABASE shop",
            "CREATE TABLE shop.note AS SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_id > 3000",
            "ALTER TABLE shop.note ADD FOREIGN KEY (o_w_id, o_d_id, o_id) REFERENCES tpcc.orders \
             (o_w_id, o_d_id, o_id) ON DELETE CASCADE",
            "GRANT ALL ON tpcc.* TO ann",
        ] {
            user.query_drop(sql).await.unwrap();
        }
        let notes = "SELECT count(*) FROM shop.note";
        let before: Option<u64> = user.query_first(notes).await.unwrap();
        assert_eq!(with(&ann, &["restore"]).code, Some(0));
        assert!(before > Some(0) && user.query_first::<u64, _>(notes).await.unwrap() == before);
        user.query_drop("DROP DATABASE shop").await.unwrap();
        user.query_drop("REVOKE ALL ON tpcc.* FROM ann").await.unwrap();
        user.query_drop("GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON tpcc.* TO ann").await.unwrap();
        // Who may drop procedures, but lock or drop no table, drops none of them.
        user.query_drop("GRANT ALTER ROUTINE ON tpcc.* TO ann").await.unwrap();
        with(&ann, &["drop"]).refused(3, &["nothing was dropped: cannot lock the tables", "GRANT ALL ON"]);
        user.query_drop("GRANT LOCK TABLES ON tpcc.* TO ann").await.unwrap();
        with(&ann, &["drop"]).refused(3, &["nothing was dropped: cannot drop", "GRANT ALL ON"]);
        user.query_drop("REVOKE LOCK TABLES ON tpcc.* FROM ann").await.unwrap();
        assert_eq!(procedures(&url), "own");
        // Who may not see them is told what could be missing.
        user.query_drop("REVOKE EXECUTE, ALTER ROUTINE ON tpcc.* FROM ann").await.unwrap();
        with(&ann, &["run"]).refused(3, &["has no right to them", "grant EXECUTE on them"]);
    });
}
