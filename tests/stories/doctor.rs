//! A user whose server nobody has tried asks the doctor: it tries everything, names the dialect that does, and leaves
//! nothing behind.

use std::path::Path;
use std::time::Duration;

use mysql_async::prelude::Queryable;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::{graymark, run, start, the_one_of};
use crate::support::stand_in;
use crate::support::{
    block_on, client, mysql_client, require_mariadb, require_postgres, small_mariadb, small_server, with_database,
};

/// What was found of a question.
fn state<'a>(diagnosis: &'a Value, id: &str) -> &'a str {
    let probes = diagnosis["probes"].as_array().unwrap();
    let probe = probes.iter().find(|probe| probe["id"] == id).unwrap_or_else(|| panic!("no {id} in {diagnosis}"));
    probe["state"].as_str().unwrap()
}

/// Schemas that a doctor made and that are still there.
async fn left(url: &str) -> i64 {
    let count = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'graymark%'";
    client(url).await.query_one(count, &[]).await.unwrap().get(0)
}

#[test]
fn a_postgresql_without_procedures_is_told_which_dialect_does_and_is_left_as_it_was() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (small_server(), TempDir::new().unwrap());
    let (place, url) = (place.path(), server.tcp_url());
    block_on(async {
        let user = client(&url).await;
        user.batch_execute("CREATE DATABASE plain").await.unwrap();
        user.batch_execute("CREATE ROLE ann LOGIN PASSWORD 'open:secret'").await.unwrap();
        let plain = client(&with_database(&url, "plain")).await;
        // The planted fault. Another one's schema has a name like the doctor's own.
        plain.batch_execute("DROP EXTENSION plpgsql; CREATE SCHEMA graymarks_own").await.unwrap();
    });
    let there = with_database(&url, "plain");
    let found = run(place, &["doctor", "--db", &there, "--json"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    let diagnosis = found.json();
    assert_eq!(state(&diagnosis, "procedures"), "missing");
    for id in ["place", "types", "bulk load", "read committed", "serializable", "same row", "deadlock"] {
        assert_eq!(state(&diagnosis, id), "works", "{diagnosis}");
    }
    assert_eq!((&diagnosis["works_with"], &diagnosis["left"]), (&"postgres-plain".into(), &Value::Array(Vec::new())));
    assert_eq!(block_on(left(&there)), 1, "only the other one's is left");
    assert!(found.err.contains("doctor: procedures: missing"), "{}", found.err);

    // One who may make nothing is told so, and no password is shown.
    let (host, database) = url.split_once('@').unwrap().1.rsplit_once('/').unwrap();
    let ann = format!("postgres://ann:open%3Asecret@{host}/{database}");
    let refused = run(place, &["doctor", "--db", &ann]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.out.contains("permission denied") && refused.out.contains("missing: place"), "{refused:?}");
    assert!(!format!("{refused:?}").contains("secret"), "{refused:?}");
    run(place, &["doctor", "--db", "sqlite:x.db"]).refused(2, &["not sqlite:x.db", "graymark bench"]);
    run(place, &["doctor"]).refused(2, &["--db"]);
}

#[test]
fn a_doctor_who_is_stopped_removes_what_it_made() {
    let Some(()) = require_postgres() else { return };
    let (server, place) = (small_server(), TempDir::new().unwrap());
    let mut doctor = start(graymark(place.path(), &["doctor", "--db", &server.url()]));
    // Most of its questions are still to come.
    doctor.wait_for("doctor: place: works");
    doctor.signal(Signal::SIGINT);
    let (status, done) = doctor.end();
    assert_eq!(status.code(), Some(130), "{done:?}");
    assert!(done.out.contains("stopped early") && done.out.contains("place"), "{done:?}");
    assert_eq!(block_on(left(&server.url())), 0);
}

/// The planted fault: the server is killed during the test. What was not tried is not called missing.
#[test]
fn a_server_that_ends_is_not_blamed_for_what_was_not_tried() {
    let postgres = require_postgres().map(|()| ("postgres:local", "postgres"));
    let mariadb = require_mariadb().map(|()| ("mysql:local", "mariadbd"));
    for (url, program) in postgres.into_iter().chain(mariadb) {
        let place = TempDir::new().unwrap();
        let mut doctor = start(graymark(place.path(), &["doctor", "--json", "--db", url]));
        doctor.wait_for("doctor: place: works");
        let is_server = |pid: &u32| {
            let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split('\0').next().is_some_and(|first| first.ends_with(&format!("/{program}")))
        };
        let server = the_one_of(doctor.id(), is_server);
        kill(Pid::from_raw(i32::try_from(server).unwrap()), Signal::SIGKILL).unwrap();
        let (_, done) = doctor.end();
        assert_eq!((done.code, done.out.as_str()), (Some(3), ""), "{done:?}");
        let last = done.err.lines().last().unwrap();
        assert!(last.contains("the test ended early, at `"), "{done:?}");
        assert!(!done.err.contains(": missing"), "{done:?}");
    }
}

/// The planted faults: a doctor that was killed, one that stands still, and one of another machine.
#[test]
fn what_a_killed_doctor_left_is_removed_and_nothing_of_others() {
    let (postgres, mariadb) =
        (require_postgres().map(|()| small_server()), require_mariadb().map(|()| small_mariadb(&[])));
    let urls = [postgres.as_ref().map(|server| server.url()), mariadb.as_ref().map(|server| server.url())];
    for url in urls.into_iter().flatten() {
        let place = TempDir::new().unwrap();
        let schemas = || -> Vec<String> {
            let all =
                "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'graymark%' ORDER BY 1";
            block_on(async {
                match url.starts_with("mysql") {
                    true => mysql_client(&url, None).await.query(all).await.unwrap(),
                    false => client(&url).await.query(all, &[]).await.unwrap().iter().map(|row| row.get(0)).collect(),
                }
            })
        };
        let begin = || {
            let mut doctor = start(graymark(place.path(), &["doctor", "--db", &url]));
            doctor.wait_for("doctor: place: works");
            doctor
        };
        let killed = begin();
        killed.signal(Signal::SIGKILL);
        let _ = killed.end();
        let of_killed = schemas();
        let at_work = begin();
        at_work.signal(Signal::SIGSTOP);
        // What the server was asked for before that, it may still do.
        let mut of_others = schemas();
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = schemas();
            if now == of_others {
                break;
            }
            of_others = now;
        }
        assert!(!of_killed.is_empty() && of_others.iter().all(|other| !of_killed.contains(other)), "{of_others:?}");
        let elsewhere = "graymark_doctor_0123456789abcdef_1_2_0";
        block_on(async {
            match url.starts_with("mysql") {
                true => {
                    mysql_client(&url, None).await.query_drop(format!("CREATE DATABASE {elsewhere}")).await.unwrap()
                }
                false => client(&url).await.batch_execute(&format!("CREATE SCHEMA {elsewhere}")).await.unwrap(),
            }
        });
        let reported = run(place.path(), &["doctor", "--db", &url]);
        for other in of_others.iter().map(String::as_str).chain([elsewhere]) {
            assert!(
                reported.out.contains(&format!("{other}: made by another doctor, which may still run")),
                "{reported:?}"
            );
        }
        assert_eq!(schemas().len(), of_others.len() + 1, "{:?}", schemas());
        at_work.signal(Signal::SIGCONT);
        // One of its questions may have taken too long while it was stopped.
        assert!(matches!(at_work.end().1.code, Some(0 | 1)));
        assert_eq!(schemas(), [elsewhere]);
    }
}

#[test]
fn a_mariadb_that_takes_no_files_is_found_out() {
    let Some(()) = require_mariadb() else { return };
    let (server, place) = (small_mariadb(&[]), TempDir::new().unwrap());
    let url = server.url();
    let whole = examine(place.path(), &url, 0);
    assert_eq!((&whole["works_with"], &whole["dialect"]), (&"mariadb".into(), &"mariadb".into()));
    assert_eq!(state(&whole, "deadlock"), "works");
    block_on(async {
        let mut user = mysql_client(&url, None).await;
        let count = "SELECT count(*) FROM information_schema.schemata WHERE schema_name LIKE 'graymark%'";
        assert_eq!(user.query_first::<i64, _>(count).await.unwrap(), Some(0));
        user.query_drop("SET GLOBAL local_infile = OFF").await.unwrap();
    });
    let without = examine(place.path(), &url, 1);
    assert_eq!((state(&without, "bulk load"), without.get("works_with")), ("missing", None), "{without}");
}

/// By documentation only: what can be seen of such a dialect is that a stand-in takes all of it.
#[test]
fn a_stand_in_takes_each_dialect_that_no_server_is_to_be_had_for() {
    let place = TempDir::new().unwrap();
    if let Some(()) = require_postgres() {
        let server = small_server();
        for dialect in ["cockroachdb", "yugabytedb"] {
            let found = examine(place.path(), &format!("{}&dialect={dialect}", server.url()), 0);
            assert_eq!(found["works_with"], dialect, "{found}");
        }
        let port = stand_in::with_words(server.port(), &[("INDEX ASYNC", "INDEX      ")]);
        let url = server.tcp_url().replace(&format!(":{}/", server.port()), &format!(":{port}/"));
        let found = examine(place.path(), &format!("{url}?sslmode=disable&dialect=aurora-dsql"), 0);
        assert_eq!(found["works_with"], "aurora-dsql", "{found}");
    }
    if let Some(()) = require_mariadb() {
        let server = small_mariadb(&[]);
        for dialect in ["tidb", "oceanbase"] {
            let url = server.url();
            let sign = if url.contains('?') { '&' } else { '?' };
            let found = examine(place.path(), &format!("{url}{sign}dialect={dialect}"), 0);
            assert_eq!(found["works_with"], dialect, "{found}");
        }
    }
}

fn examine(place: &Path, url: &str, code: i32) -> Value {
    let found = run(place, &["doctor", "--db", url, "--json"]);
    assert_eq!(found.code, Some(code), "{found:?}");
    found.json()
}
