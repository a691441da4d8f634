//! A user has files and directories with names that Graymark would give to its own.

use std::fs;
use std::os::unix::fs::{lchown, symlink};
use std::process::Command;

use nix::sys::signal::Signal;
use nix::unistd::Uid;
use tempfile::TempDir;

use crate::support::command::{graymark, run, start, succeed};

/// The planted faults: databases and directories of others with the names of a sweep's, before and after it.
#[test]
fn a_sweep_removes_only_what_it_created() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let short = ["--ramp-up", "0s", "--duration", "8s", "--clients", "1", "--pace", "none", "--db", "sqlite:x.db"];
    let sweep = [&["sweep", "max", "--of", "warehouses", "--to", "1", "--until", "tps>1", "--out=max"], &short[..]];
    let sweep = sweep.concat();
    let theirs = |path: &str| {
        fs::create_dir_all(place.join(path).parent().unwrap()).unwrap();
        fs::write(place.join(path), "theirs").unwrap();
    };
    let kept = |path: &str| assert_eq!(fs::read_to_string(place.join(path)).unwrap(), "theirs", "{path}");
    for file in ["max/points/w1/record.json", "max/sweep.html"] {
        theirs(file);
        run(place, &sweep).refused(2, &["max is not empty and contains no sweep"]);
        kept(file);
        fs::remove_dir_all(place.join("max")).unwrap();
    }
    let mut killed = start(graymark(place, &[&sweep[..], &["--seed", "7"]].concat()));
    killed.wait_for("run: ");
    killed.signal(Signal::SIGKILL);
    killed.end();
    fs::rename(place.join("x-w1.db"), place.join("moved.db")).unwrap();
    theirs("x-w1.db");
    let refused = run(place, &["sweep", "resume", "max"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("sqlite:x-w1.db is not the database that this sweep created"), "{refused:?}");
    kept("x-w1.db");
    fs::rename(place.join("moved.db"), place.join("x-w1.db")).unwrap();
    // A copy of the sweep would go on with the same databases.
    assert!(Command::new("cp").args(["-a", "max", "copied"]).current_dir(place).status().unwrap().success());
    let words = ["copied is a copy of a sweep", "start a new sweep"];
    run(place, &["sweep", "resume", "copied"]).refused(2, &words);
    run(place, &[&sweep[..sweep.len() - short.len() - 1], &["--out=copied", "--seed", "7"], &short[..]].concat())
        .refused(2, &words);
    assert!(place.join("x-w1.db").exists());
    fs::rename(place.join("max"), place.join("renamed")).unwrap();
    succeed(place, &["sweep", "resume", "renamed"]);
    fs::rename(place.join("renamed"), place.join("max")).unwrap();
    assert!(!place.join("x-w1.db").exists());

    let grid = ["sweep", "grid", "debitcredit", "warehouses=1", "clients=1", "--db=sqlite:x.db", "--out=grid"];
    succeed(place, &[&grid[..], &["--ramp-up", "0s", "--duration", "8s"]].concat());
    assert!(!place.join("x-w1.db").exists());
    theirs("x-w1.db");
    theirs("other/x-w1.db");
    for (below, finished) in [(place, "max"), (place, "grid"), (&place.join("other"), "../max")] {
        succeed(below, &["sweep", "resume", finished]);
        kept("x-w1.db");
        kept("other/x-w1.db");
    }
}

/// The planted faults: the log and the journal of a database that its owner has moved aside, and a database whose name
/// is that of a URI.
#[test]
fn sqlite_opens_the_file_that_is_named_and_deletes_no_log_of_another() {
    let place = TempDir::new().unwrap();
    let place = place.path();
    let kept = |path: &str| assert_eq!(fs::read_to_string(place.join(path)).unwrap(), "theirs", "{path}");
    let bank = |command: &[&str], url: &str| run(place, &[command, &["--db", url]].concat());
    let commands: [&[&str]; 4] = [
        &["load", "debitcredit", "-b", "1"],
        &["bench", "debitcredit", "-b", "1", "--duration", "1s"],
        &["check", "debitcredit"],
        &["drop", "debitcredit"],
    ];
    for left in ["app.db-wal", "app.db-shm", "app.db-journal"] {
        fs::write(place.join(left), "theirs").unwrap();
        for command in commands {
            bank(command, "sqlite:app.db").refused(3, &[left, "no database app.db", "name another file"]);
            kept(left);
        }
        assert!(!place.join("app.db").exists(), "{left}");
        // An empty file is no database either.
        fs::write(place.join("app.db"), "").unwrap();
        bank(commands[0], "sqlite:app.db").refused(3, &[left]);
        kept(left);
        fs::remove_file(place.join("app.db")).unwrap();
        fs::remove_file(place.join(left)).unwrap();
    }

    fs::write(place.join("mine.db"), "theirs").unwrap();
    succeed(place, &["load", "debitcredit", "-b", "1", "--db", "sqlite:file:mine.db"]);
    kept("mine.db");
    assert!(fs::metadata(place.join("file:mine.db")).unwrap().len() > 100_000);
    succeed(place, &["drop", "debitcredit", "--db", "sqlite:file:mine.db"]);
}

/// The planted faults: links of another user in the place of a sweep's and a reproduction's state, and on the way to a
/// database.
#[test]
fn no_state_is_read_and_no_database_made_through_a_link_of_another_user() {
    if !Uid::effective().is_root() {
        println!("not run: only root can make another user's links");
        return;
    }
    let place = TempDir::new().unwrap();
    let place = place.path();
    fs::write(place.join("secret"), "the secret key").unwrap();
    for directory in ["sweep", "reproduction", "behind"] {
        fs::create_dir(place.join(directory)).unwrap();
    }
    for (link, to) in [("sweep/sweep.toml", "../secret"), ("reproduction/state.json", "../secret"), ("way", "behind")] {
        symlink(to, place.join(link)).unwrap();
        lchown(place.join(link), Some(65_534), None).unwrap();
    }
    let max = ["sweep", "max", "--of", "clients", "--to", "1", "--until", "tps>1", "-w", "1", "--db"];
    let commands: [(&[&str], &str); 4] = [
        (&["sweep", "resume", "sweep"], "sweep/sweep.toml"),
        (&[&max[..], &["sqlite:x.db", "--out", "sweep"]].concat(), "sweep/sweep.toml"),
        (&["reproduce", "gray", "--out", "reproduction", "--resume"], "reproduction/state.json"),
        (&[&max[..], &["sqlite:way/x.db", "--out", "max"]].concat(), "way"),
    ];
    for (command, link) in commands {
        let refused = run(place, command);
        let words = format!("{link} is a symbolic link of another user (65534)");
        assert!(refused.code == Some(2) && refused.err.contains(&words), "{command:?}: {refused:?}");
        assert!(!refused.err.contains("secret key"), "{refused:?}");
    }
    assert_eq!(fs::read_dir(place.join("behind")).unwrap().count(), 0);
}
