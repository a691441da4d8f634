//! What is particular to Virtuoso: its private server, its isolation levels, loads, counters and checkpoints.

#![cfg(feature = "odbc")]

use crate::support;
use crate::support::stranger;
use crate::support::virtuoso;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::support::command::{open_directory, run, succeed};
use crate::support::options;
use graymark::engine::server::virtuoso::{Server, VirtuosoServerOptions};
use graymark::engine::wire::odbc::driver::Connection;
use graymark::engine::wire::virtuoso::{Target, Virtuoso};
use graymark::engine::{Engine, MaintenanceOutcome};
use graymark::result::maintenance::MaintenanceKind;
use graymark::result::{Isolation, Via};
use graymark::workload::tpcc::Tpcc;
use tokio::runtime::Runtime;

/// How long a session is watched that ought to wait for another one.
const WATCHED: Duration = Duration::from_millis(300);
/// How long one that ought to go on may take to do so, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

/// Whether a session that changes a row goes on within `limit` while another one, at `isolation`, has read it and is
/// not done.
fn writes_beside_a_reader(target: &Target, isolation: Isolation, limit: Duration) -> bool {
    let reader = target.connect("tpcc").unwrap();
    reader.set_isolation(isolation).unwrap();
    reader.set_autocommit(false).unwrap();
    let read = |connection: &Connection| {
        connection.query("SELECT b FROM tpcc.DBA.level WHERE a = 1").unwrap().rows[0].int(0).unwrap()
    };
    let before = read(&reader);
    std::thread::scope(|scope| {
        let (reported, heard) = mpsc::channel();
        scope.spawn(move || {
            let writer = target.connect("tpcc").unwrap();
            writer.execute("UPDATE tpcc.DBA.level SET b = b + 1 WHERE a = 1").unwrap();
            // Nobody hears it any more if it had to wait.
            let _ = reported.send(());
        });
        let done = heard.recv_timeout(limit).is_ok();
        // What was read once is read again, unless the level lets others change it.
        assert_eq!(read(&reader), if done { before + 1 } else { before });
        reader.commit().unwrap();
        done
    })
}

#[test]
fn the_isolation_level_of_a_session_is_in_force() {
    let Some(()) = virtuoso::require() else { return };
    let engine = virtuoso::small();
    let target = engine.target();
    let connection = target.connect("tpcc").unwrap();
    connection.execute("CREATE TABLE tpcc.DBA.level (a INTEGER PRIMARY KEY, b INTEGER)").unwrap();
    connection.execute("INSERT INTO tpcc.DBA.level VALUES (1, 1)").unwrap();
    assert!(writes_beside_a_reader(target, Isolation::ReadCommitted, PATIENCE));
    assert!(!writes_beside_a_reader(target, Isolation::RepeatableRead, WATCHED));
    assert!(!writes_beside_a_reader(target, Isolation::Serializable, WATCHED));

    // Nobody sees what is not committed.
    let writer = target.connect("tpcc").unwrap();
    writer.set_autocommit(false).unwrap();
    writer.execute("UPDATE tpcc.DBA.level SET b = 100 WHERE a = 1").unwrap();
    let seen = connection.query("SELECT b FROM tpcc.DBA.level WHERE a = 1");
    assert_eq!(seen.unwrap().rows[0].int(0).unwrap(), 4);
    writer.rollback().unwrap();
}

/// Neither with the first password nor with another one does anyone get in, and nobody else sees the files.
fn is_closed(engine: &Virtuoso) {
    let server = engine.server().unwrap();
    for password in ["dba", "wrong"] {
        let Some(command) = stranger::try_it("isql-vt", &[&server.address(), "dba", password, "exec=SELECT 1;"]) else {
            break;
        };
        stranger::fails(command, &["CL034"]);
    }
    let data = server.data();
    stranger::sees_nothing(
        &[data],
        &[&data.join("graymark.password"), &data.join("graymark.ini"), &data.join("graymark.db")],
    );
    assert_eq!(engine.target().connect("tpcc").unwrap().query("SELECT 1").unwrap().rows.len(), 1);
    for password in ["dba", "wrong"] {
        let url = format!("virtuoso://dba:{password}@{}", server.address());
        let refused = Virtuoso::open(support::options(&url, Via::Procedures)).unwrap_err().to_string();
        assert!(refused.contains("user and password"), "{refused}");
    }
}

#[test]
fn no_one_else_gets_into_a_private_server() {
    let Some(()) = virtuoso::require() else { return };
    let place = stranger::Plant::new();
    let start = |data: &std::path::Path| {
        let url = format!("virtuoso:local?buffers=20000&data={}", data.display());
        Virtuoso::open(support::options(&url, Via::Procedures))
    };
    let first = start(&place.data()).unwrap();
    is_closed(&first);
    let (pid, password) = (first.server().unwrap().pid().unwrap(), first.server().unwrap().password().to_owned());
    let uid = |path: &str| std::fs::metadata(path).unwrap().uid();
    let ours = uid("/proc/self");
    assert_eq!(uid(&format!("/proc/{pid}")) == ours, ours != 0, "Virtuoso does not run as root");
    assert_eq!(std::fs::metadata(place.data()).unwrap().mode() & 0o777, 0o700);
    // What its SQL writes, a user writes who owns nothing else: a directory of root's stays as it is.
    let closed = place.data().parent().unwrap().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(if ours == 0 { 0o700 } else { 0o500 })).unwrap();
    let file = closed.join("file");
    let connection = first.target().connect("tpcc").unwrap();
    let write = format!("string_to_file ('{}', 'written', -2)", file.display());
    let refused = connection.execute(&write).unwrap_err().to_string();
    assert!(!file.exists(), "{refused}");
    // As an earlier version left it: the first password, and a directory that was root's.
    connection.execute(&format!("SET PASSWORD \"{password}\" \"dba\"")).unwrap();
    // A new password is not in the log.
    connection.execute("CHECKPOINT").unwrap();
    drop((connection, first));
    for entry in std::fs::read_dir(place.data()).unwrap().flatten() {
        std::os::unix::fs::chown(entry.path(), Some(ours), None).unwrap();
    }
    std::os::unix::fs::chown(place.data(), Some(ours), None).unwrap();
    std::fs::remove_file(place.data().join("graymark.password")).unwrap();
    let second = start(&place.data()).unwrap();
    is_closed(&second);
    let server = second.server().unwrap();
    assert_ne!(server.password(), password);
    server.restart().unwrap();
    is_closed(&second);
    let commands = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap().stdout;
    let commands = String::from_utf8_lossy(&commands).into_owned();
    assert!(commands.contains(place.data().to_str().unwrap()) && !commands.contains(server.password()), "{commands}");
    for name in ["graymark.ini", "graymark.log"] {
        assert!(!std::fs::read_to_string(place.data().join(name)).unwrap().contains(server.password()), "{name}");
    }
    drop(second);
    place.is_never_followed(&["graymark.log", "graymark.ini", "graymark.password"], start);
}

/// What version 7.2.5 does not survive: a checkpoint, and at the same time the statistics that a run reads at both ends
/// of its interval.
#[test]
fn a_checkpoint_and_the_statistics_of_a_run_do_not_stop_the_server() {
    let Some(()) = virtuoso::require() else { return };
    let engine: Arc<dyn Engine<Tpcc>> = Arc::new(virtuoso::small());
    let (reported, heard) = mpsc::channel();
    let beside = |what: fn(&Runtime, &dyn Engine<Tpcc>)| {
        let (engine, reported) = (Arc::clone(&engine), reported.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            what(&runtime, engine.as_ref());
            reported.send(()).unwrap();
        });
    };
    beside(|runtime, engine| {
        for _ in 0..40 {
            let done = runtime.block_on(engine.maintain(MaintenanceKind::Checkpoint)).unwrap();
            assert!(matches!(done, MaintenanceOutcome::Done(_)), "{done:?}");
        }
    });
    beside(|runtime, engine| {
        let mut observer = engine.observer();
        for _ in 0..150 {
            assert!(runtime.block_on(observer.pages()).unwrap().is_some());
        }
    });
    for _ in 0..2 {
        let done = heard.recv_timeout(PATIENCE);
        if done.is_err() {
            engine.abandon();
        }
        done.expect("the server answers both");
    }
}

#[test]
fn mistakes_are_reported_in_one_line() {
    let place = open_directory();
    let refused =
        |url: &str, code: i32, words: &[&str]| run(place.path(), &["check", "--db", url]).refused(code, words);
    refused("virtuoso:local?buffers=few", 2, &["buffers=few", "whole number"]);
    refused("virtuoso:local?buffers=64MB", 2, &["at least 20000 buffers", "157 MB"]);
    refused("virtuoso:local?colour=red", 2, &["`colour`", "stripes="]);
    refused("virtuoso:nowhere", 2, &["virtuoso://USER@HOST:PORT"]);
    let Some(()) = virtuoso::require() else { return };
    refused("virtuoso://dba@127.0.0.1:1", 3, &["cannot connect"]);
    std::fs::write(place.path().join("letter"), "dear").unwrap();
    refused(&format!("virtuoso:local?data={}", place.path().display()), 2, &["neither empty"]);
    let statements = support::options("virtuoso:local", graymark::result::Via::Statements);
    assert!(Virtuoso::open(statements).unwrap_err().to_string().contains("only --via procedures"));
}

fn url(server: &Server) -> String {
    format!("virtuoso://dba:{}@{}", server.password(), server.address())
}

/// Version 7.2.5 crashes if a table is dropped during a load.
#[test]
fn nothing_is_dropped_during_a_load() {
    let Some(()) = virtuoso::require() else { return };
    let engine = virtuoso::small();
    let url = url(engine.server().unwrap());
    let place = open_directory();
    succeed(place.path(), &["load", "--db", &url, "-w", "1"]);
    // As it is during a load, whose session holds the lock.
    let loader = engine.target().connect("tpcc").unwrap();
    let hold = || {
        loader.set_autocommit(false).unwrap();
        loader.execute("UPDATE tpcc.DBA.graymark_manifest SET complete = complete").unwrap();
    };
    hold();
    let renewed = run(place.path(), &["load", "--procedures-only", "--db", &url]);
    renewed.refused(3, &["another load or drop is running"]);
    loader.rollback().unwrap();
    loader.set_autocommit(true).unwrap();
    succeed(place.path(), &["load", "--procedures-only", "--db", &url]);
    loader.execute("UPDATE tpcc.DBA.graymark_manifest SET complete = 0").unwrap();
    hold();
    for arguments in [&["load", "-w", "1"][..], &["drop"]] {
        run(place.path(), &[arguments, &["--db", &url]].concat()).refused(3, &["another load or drop is running"]);
    }
    loader.rollback().unwrap();
    let rows = loader.query("SELECT COUNT (*) FROM tpcc.DBA.item").unwrap();
    assert_eq!(rows.rows[0].int(0).unwrap(), 100_000);
    drop(loader);
    succeed(place.path(), &["drop", "--db", &url]);
}

/// The planted faults: somebody's names in another case, which the server takes for the same ones.
#[test]
fn what_somebody_named_in_another_case_is_seen_and_left_alone() {
    let Some(()) = virtuoso::require() else { return };
    let engine = virtuoso::small();
    let (url, place) = (url(engine.server().unwrap()), open_directory());
    let command = |arguments: &[&str]| run(place.path(), &[arguments, &["--db", &url]].concat());
    let user = engine.target().connect("TPCC").unwrap();
    let names = || -> Vec<String> {
        let all = "SELECT DISTINCT KEY_TABLE AS n FROM DB.DBA.SYS_KEYS WHERE lower (KEY_TABLE) LIKE 'tpcc.%' UNION ALL \
                   SELECT P_NAME FROM DB.DBA.SYS_PROCEDURES WHERE lower (P_NAME) LIKE 'tpcc.%' ORDER BY n";
        user.query(all).unwrap().rows.iter().map(|row| row.text(0).unwrap().to_owned()).collect()
    };
    user.execute("CREATE TABLE TPCC.DBA.foo (a INTEGER PRIMARY KEY)").unwrap();
    for (kind, name, is) in [
        ("PROCEDURE", "payment", "() { RETURN 'theirs'; }"),
        ("TABLE", "STOCK", "(a INTEGER PRIMARY KEY)"),
        ("VIEW", "Item", "AS SELECT a FROM TPCC.DBA.foo"),
    ] {
        user.execute(&format!("CREATE {kind} TPCC.DBA.{name} {is}")).unwrap();
        let there = names();
        assert_eq!(there.len(), 2, "{there:?}");
        for arguments in [&["load", "-w", "1"][..], &["drop"]] {
            command(arguments).refused(3, &[&format!("it has {} but no manifest", name.to_lowercase())]);
            assert_eq!(names(), there);
        }
        user.execute(&format!("DROP {kind} TPCC.DBA.{name}")).unwrap();
    }
    // Beside a table with another name, everything of Graymark's is in that catalog, and goes.
    for arguments in [&["load", "-w", "1"][..], &["check"], &["scan"], &["drop"]] {
        let done = command(arguments);
        assert_eq!(done.code, Some(0), "{arguments:?}: {done:?}");
    }
    assert_eq!(names(), ["TPCC.DBA.foo"]);
}

#[test]
fn a_server_that_keeps_names_in_upper_case_is_refused() {
    let Some(()) = virtuoso::require() else { return };
    let settings = vec![("CaseMode".to_owned(), "1".to_owned())];
    let options = VirtuosoServerOptions { buffers: Some(20_000), settings, ..VirtuosoServerOptions::default() };
    let server = Server::start(&options).unwrap();
    let place = open_directory();
    for arguments in [&["load", "-w", "1"][..], &["check"], &["drop"]] {
        run(place.path(), &[arguments, &["--db", &url(&server)]].concat()).refused(3, &["set CaseMode = 2"]);
    }
}

#[test]
fn a_server_that_still_ends_is_waited_for() {
    let Some(()) = virtuoso::require() else { return };
    let place = open_directory();
    let url = format!("virtuoso:local?buffers=20000&data={}", place.path().join("data").display());
    let open = || Virtuoso::open(options(&url, Via::Procedures));
    let first = open().unwrap();
    let (looked, end) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        // As one that Graymark has left behind, and that recovers first. Without a wait the other one is refused long
        // before.
        scope.spawn(move || {
            let _ = end.recv_timeout(Duration::from_secs(3));
            drop(first);
        });
        let second = open();
        drop(looked);
        assert!(second.is_ok(), "{:?}", second.err());
    });
}
