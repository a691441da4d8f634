//! A user spreads the tables of a private PostgreSQL over table spaces: below its data directory, or in directories of
//! other disks.

use std::path::Path;
use std::process::Command;

use crate::support::command::{files, json_file, new_record, open_directory, run, succeed};
use crate::support::require_postgres;

/// What a record says of table spaces, the newest in this directory.
fn reported(place: &Path) -> Vec<(String, String)> {
    let record = new_record(place, &[]);
    let settings = json_file(&record, "environment.json")["settings"].clone();
    let all = settings.as_object().unwrap().iter();
    let ours = all.filter(|(name, _)| *name == "stripes" || name.starts_with("table space"));
    ours.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
}

#[test]
fn tables_lie_over_table_spaces_through_a_kill_and_are_dropped_with_them() {
    let Some(()) = require_postgres() else { return };
    // The server's user has to reach it.
    let place = open_directory();
    let url = |stripes: &str| format!("postgres:local?data=db{stripes}");
    succeed(place.path(), &["load", "debitcredit", "--db", &url("&stripes=3")]);
    // A recovery from the log, which finds the table spaces again; the URL need not name them.
    let run_it =
        ["run", "debitcredit", "--clients", "2", "--ramp-up", "0s", "--duration", "15s", "--allow-errors", "50%"];
    let run_it = [&run_it[..], &["--rate", "60"]].concat();
    succeed(place.path(), &[&run_it[..], &["--db", &url(""), "--fault", "3s: kill"]].concat());
    let reported = reported(place.path());
    assert_eq!(reported[0], ("stripes".to_owned(), "3".to_owned()), "{reported:?}");
    let [_, first, second, third] = &reported[..] else { panic!("{reported:?}") };
    // The largest is alone, and each has something.
    assert_eq!(*first, ("table space graymark_1".to_owned(), "account".to_owned()), "{reported:?}");
    assert!(
        !second.1.is_empty() && third.1.contains("account_pkey") != second.1.contains("account_pkey"),
        "{reported:?}"
    );

    run(place.path(), &[&run_it[..], &["--db", &url("&stripes=2")]].concat())
        .refused(2, &["over 3 table spaces", "another number"]);
    let spaces = || std::fs::read_dir(place.path().join("db/pg_tblspc")).unwrap().count();
    assert_eq!(spaces(), 3);
    succeed(place.path(), &["drop", "debitcredit", "--db", &url("")]);
    assert_eq!(spaces(), 0);
}

#[test]
fn given_directories_hold_the_tables_and_are_refused_where_they_would_be_copied() {
    let Some(()) = require_postgres() else { return };
    let place = open_directory();
    for disk in ["a", "b"] {
        std::fs::create_dir(place.path().join(disk)).unwrap();
    }
    let directories = format!("stripes={0}/a,{0}/b", place.path().display());
    let url = format!("postgres:local?fsync=off&data=db&{directories}");
    let few = ["--clients", "2", "--ramp-up", "0s", "--duration", "8s"];
    succeed(place.path(), &[&["bench", "debitcredit", "--db", &url][..], &few].concat());
    for disk in ["a", "b"] {
        let bytes: u64 = files(&place.path().join(disk)).iter().map(|file| file.metadata().unwrap().len()).sum();
        assert!(bytes > 1 << 16, "{disk}: {bytes}");
    }
    assert_eq!(reported(place.path())[0].1, "2");

    // The planted faults: copies of the data directory, which have the same table spaces.
    for copied in ["copied", "elsewhere/db"] {
        std::fs::create_dir_all(place.path().join("elsewhere")).unwrap();
        let copy = Command::new("cp").args(["-a", "db", copied]).current_dir(place.path()).status();
        assert!(copy.unwrap().success());
        let url = format!("postgres:local?fsync=off&data={copied}&{directories}");
        run(place.path(), &["drop", "debitcredit", "--db", &url]).refused(2, &["may be a copy", "graymark-db"]);
    }
    succeed(place.path(), &["check", "debitcredit", "--db", &url]);
    // One that is renamed is the same.
    std::fs::rename(place.path().join("db"), place.path().join("renamed")).unwrap();
    succeed(place.path(), &["check", "debitcredit", "--db", "postgres:local?fsync=off&data=renamed"]);
    std::fs::rename(place.path().join("renamed"), place.path().join("db")).unwrap();

    // Somebody else's directory is left alone.
    let other = format!("postgres:local?data=other/db&{directories}");
    run(place.path(), &["load", "debitcredit", "--db", &other]).refused(2, &["graymark-db is not empty"]);
    for (arguments, words) in [
        (["bench", "debitcredit", "--db", &format!("postgres:local?{directories}")], "add data=DIR"),
        (["load", "debitcredit", "--db", &format!("postgres:local?stripes=2&data=one&{directories}x,y")], "stripes="),
        (["load", "debitcredit", "--db", "postgres:local?stripes=60&data=two"], "give at most"),
        (["sweep", "grid", "clients=1", &format!("--db={url}")], "copies"),
    ] {
        run(place.path(), &arguments).refused(2, &[words]);
    }
}
