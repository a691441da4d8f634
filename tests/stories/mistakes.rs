//! A user makes a mistake, or meets one: one clear line says what to do, and the exit code says whose it is.

use crate::support;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::command::{end, graymark, open_directory, program, run, start, succeed};
use crate::support::loaded::loaded;
use crate::support::{block_on, client, guarded, require_postgres, small_server};
use graymark::result::format::file;
use nix::sys::signal::Signal;
use nix::unistd::Uid;
use tempfile::TempDir;

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

const USAGE: i32 = 2;
const DATABASE: i32 = 3;
const OUTPUT: i32 = 4;

#[test]
fn arguments_that_make_no_sense() {
    let place = TempDir::new().unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["bench", "-w", "0"], &["--warehouses", "from 1 to"]),
        (&["bench", "-w", "1e9"], &["--warehouses", "whole number"]),
        (&["bench", "-w", "1000000000"], &["--warehouses", "from 1 to 1000000"]),
        (&["bench", "-w", "-3"], &["-3"]),
        (&["bench", "--duration", "5"], &["--duration", "such as 90s"]),
        (&["bench", "--duration", "0s"], &["--duration", "at least 1s"]),
        (&["bench", "--duration", "1500ms"], &["--duration", "whole seconds"]),
        (&["bench", "--duration", "99y"], &["--duration", "at most"]),
        (&["bench", "--ramp-up", "soon"], &["--ramp-up", "such as 90s"]),
        (&["bench", "--clients", "0"], &["--clients", "1..=100000"]),
        (&["bench", "--clients", "many"], &["--clients"]),
        (&["bench", "--pace", "fast"], &["--pace", "standard"]),
        (&["bench", "--via", "pigeon"], &["--via", "procedures"]),
        (&["bench", "--date", "yesterday"], &["--date"]),
        (&["bench", "--set", "fsync"], &["--set", "NAME=VALUE"]),
        (&["run", "--stages", "1,0"], &["--stages", "1..="]),
        (&["run", "--stages", "1,,2"], &["--stages"]),
        (&["run", "--stages", "1,two"], &["--stages", "two"]),
        (&["run", "--stages", "1,2", "--clients", "2"], &["--stages", "remove --clients"]),
        (&["bench", "--stages", "1,2", "--duration", "60s"], &["--stage-duration instead of --duration"]),
        (&["bench", "--stages", "1,2", "--pace", "standard"], &["--stages", "remove --pace"]),
        (&["bench", "--stages", "1,2", "--stage-duration", "0s"], &["--stage-duration", "at least 1s"]),
        (&["bench", "--stages", "1,2", "--stage-duration", "29days"], &["--stages", "30days"]),
        (&["bench", "--stage-duration", "5s"], &["add --stages"]),
        (&["sweep", "load", "--stages", "1,2"], &["unexpected argument", "--stages"]),
        (&["load", "--clients", "2"], &["unexpected argument", "--clients"]),
        (&["run", "--jobs", "2"], &["unexpected argument", "--jobs"]),
        (&["sweep", "warehouses", "--to", "4", "-w", "2"], &["unexpected argument", "-w"]),
        (&["bench", "--steady", "5s", "--pace", "standard"], &["--steady", "--pace none"]),
        (&["bench", "--warm", "hot"], &["--warm", "random"]),
        (&["bench", "--price", "nowhere.toml"], &["nowhere.toml", "examples/price.toml"]),
        (&["report", "nowhere", "--price", "nowhere.toml"], &["no record named nowhere"]),
        (&["bench", "--frobnicate"], &["--frobnicate", "--help"]),
        (&["bench", "--duratoin", "5s"], &["--duratoin", "similar argument", "--duration"]),
        (&["bench", "--via", "procedure"], &["--via", "similar value", "procedures"]),
        (&["bench", "tpcx"], &["tpcx", "tpcc", "debitcredit"]),
        (
            &["run", "debitcredit", "--db", "simulated:", "--profile", "grey"],
            &["no profile `grey`", "gray, tpc-b, tpc-a"],
        ),
        (&["run", "tpcc", "--db", "simulated:", "--profile", "gray"], &["tpcc has no profile `gray`"]),
        (&["bench", "debitcredit", "--profile", "grey"], &["no profile `grey`", "gray, tpc-b, tpc-a"]),
        (&["bench", "tpcc", "--profile", "gray"], &["tpcc has no profile `gray`"]),
        (&["load", "--dry-run", "--profile", "NaN"], &["tpcc has no profile `NaN`"]),
        (&["load", "--db", "mysql://root@127.0.0.1:1/mysql"], &["`mysql` is the server's own", "another one"]),
        (&["check", "--db", "mysql://root@127.0.0.1:1/SYS"], &["`SYS` is the server's own"]),
        (&["load", "debitcredit", "--profile", "TPC-B"], &["no profile `TPC-B`", "gray, tpc-b, tpc-a"]),
        (&["load", "tpcc", "--profile", "gray"], &["tpcc has no profile `gray`"]),
        (&["rows", "debitcredit", "teller", "--profile", "grey"], &["no profile `grey`"]),
        (&["rows", "tpcc", "item", "--profile", "gray"], &["tpcc has no profile `gray`"]),
        (&["rows", "debitcredit", "tellers"], &["tellers", "branch, teller, account, history"]),
        (&["bench", "debitcredit", "--pace", "standard"], &["profile gray has no think times", "--pace", "--profile"]),
        (
            &["run", "debitcredit", "--db", "simulated:", "--pace", "think*2"],
            &["profile gray has no think times", "--pace"],
        ),
        (&["bench", "debitcredit", "--profile", "tpc-b", "--pace", "standard"], &["profile tpc-b has no think times"]),
        (&["bench", "debitcredit", "-b", "2149"], &["2149 branches are too many", "at most 2148"]),
        (&["load", "debitcredit", "-b", "2149"], &["2149 branches are too many", "at most 2148"]),
        (
            &["load", "debitcredit", "-b", "21475", "--profile", "tpc-b"],
            &["21475 branches are too many", "at most 21474"],
        ),
        (
            &["run", "debitcredit", "--db", "simulated:", "-b", "1000000"],
            &["1000000 branches are too many", "at most 2148"],
        ),
        (&["rows", "debitcredit", "account", "-b", "2149"], &["2149 branches are too many", "at most 2148"]),
        (&["load", "debitcredit", "-b", "0"], &["--warehouses", "from 1 to"]),
        (&["frobnicate"], &["frobnicate", "--help"]),
        (&["rnu"], &["rnu", "similar subcommand", "'run'"]),
        (&["run", "--db", "postgress:local"], &["no engine", "did you mean postgres:?"]),
        (&["report", "nosuch"], &["no record named nosuch in graymark-runs", "graymark list"]),
        (&["bench", "--db", "sqlite:x.db", "--set", "foo=1"], &["--set foo", "private servers", "?cache=64"]),
        (&["run", "--db", "simulated:", "--set", "foo=1"], &["--set foo", "private servers", "service=5ms"]),
        (&["ab", "--db", "sqlite:x.db", "--a", "cach=2"], &["cach", "cache"]),
        (
            &["ab", "--db", "sqlite:x.db", "--a", "cache=2", "--repeats", "2", "--duration", "5s"],
            &["--duration 5s", "10 measured seconds"],
        ),
        (
            &["ab", "--db", "sqlite:x.db", "--a", "cache=2", "--duration", "5s"],
            &["too short for two pairs of slices", "a longer --duration"],
        ),
        (&["report"], &["no record", "graymark bench"]),
        (&["rows", "tpcc", "orderz"], &["orderz", "order_line"]),
        (&["bench", "--db", "oracle://scott:tiger@host/x"], &["`oracle:…`", "sqlite:FILE", "postgres://"]),
        (&["bench", "--db", "loaded.db"], &["no scheme", "sqlite:FILE"]),
        (&["bench", "--db", "sqlite:"], &["names no file"]),
        (&["bench", "--db", "sqlite:x?mode=ro"], &["no option `mode`"]),
        (&["bench", "--db", "postgres://u:tiger@h:port/b"], &["port"]),
        (&["bench", "--db", "postgres:local?version=new"], &["version=new"]),
        (&["bench", "--db", "simulated:service=slow"], &["simulated:service=5ms"]),
    ];
    for (arguments, words) in cases {
        let done = run(place.path(), arguments);
        done.refused(USAGE, words);
        assert!(!done.err.contains("tiger"), "{done:?}");
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "a mistake leaves nothing behind");
}

#[test]
fn plans_that_make_no_sense() {
    let place = TempDir::new().unwrap();
    let plans: &[(&[u8], &str)] = &[
        (b"clients = 2\nclientz = 3\n", "clientz"),
        (b"clients = 0\n", "clients"),
        (b"clients = 4294967295\n", "clients"),
        (b"warehouses = 0\n", "scale"),
        (b"duration = \"0s\"\n", "duration"),
        (b"stages = [1, 0]\n", "stages"),
        (b"stages = [1, 4294967295]\n", "stages"),
        (b"stages = \"1,2\"\n", "line 1"),
        (b"stage_duration = \"0s\"\n", "stage_duration"),
        (b"duration = \"soon\"\n", "such as 90s"),
        (b"seed = \"x\"\n", "seed"),
        (b"pace = \"fast\"\n", "fast"),
        (b"{ \"clients\": 2 }", "line 1"),
        (b"\x7fELF\x02\x01\x01\x00\xff\xfe", "UTF-8"),
    ];
    for (text, word) in plans {
        fs::write(place.path().join("plan.toml"), text).unwrap();
        run(place.path(), &["bench", "--plan", "plan.toml"]).refused(USAGE, &["plan.toml", word]);
    }
    run(place.path(), &["run", "--plan", "nowhere.toml"]).refused(USAGE, &["nowhere.toml", "--plan takes"]);
    run(place.path(), &["run", "--plan", "."]).refused(USAGE, &["--plan takes"]);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "a mistake leaves nothing behind");
}

#[test]
fn records_that_are_none() {
    let place = TempDir::new().unwrap();
    run(place.path(), &["report", "nowhere"]).refused(USAGE, &["nowhere"]);
    fs::create_dir(place.path().join("empty")).unwrap();
    run(place.path(), &["report", "empty"]).refused(USAGE, &["empty"]);
    fs::write(place.path().join("empty").join(file::HEADER), "{}").unwrap();
    run(place.path(), &["report", "empty"]).refused(USAGE, &[file::HEADER]);
}

#[test]
fn files_that_cannot_be_the_database() {
    let place = TempDir::new().unwrap();
    fs::write(place.path().join("letter"), "Dear Sir or Madam,\n".repeat(100)).unwrap();
    fs::create_dir(place.path().join("folder")).unwrap();
    for command in ["bench", "load", "check", "run", "drop"] {
        let on = |db: &str| run(place.path(), &[command, "--db", db]);
        on("sqlite:no/such.db").refused(DATABASE, &["no directory no", "create it"]);
        on("sqlite:letter").refused(DATABASE, &["letter is not a SQLite database", "another file"]);
        on("sqlite:folder").refused(DATABASE, &["folder is a directory"]);
    }
    for command in ["check", "run"] {
        run(place.path(), &[command, "--db", "sqlite:none.db"])
            .refused(DATABASE, &["no tpcc tables", "graymark load tpcc"]);
    }
    assert!(!place.path().join("none.db").exists(), "a question makes no file");
    // An empty database is one without the tables.
    rusqlite::Connection::open(place.path().join("other.db")).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    for command in ["check", "run"] {
        run(place.path(), &[command, "--db", "sqlite:other.db"])
            .refused(DATABASE, &["no tpcc tables", "graymark load tpcc"]);
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 3, "a mistake leaves no record behind");
}

#[test]
fn tables_that_are_not_what_they_should_be() {
    let place = loaded();
    let db = ["--db", "sqlite:loaded.db"];
    let with = |arguments: &[&str]| run(place.path(), &[arguments, &db].concat());
    for command in ["load", "bench", "run"] {
        with(&[command, "-w", "2"]).refused(USAGE, &["1 warehouse, not 2", "leave out -w or -b", "graymark drop"]);
    }
    with(&["load", "--seed", "8"]).refused(USAGE, &["seed 7", "graymark drop"]);
    with(&["load", "--date", "2000-01-01T00:00:00Z"]).refused(USAGE, &["date", "graymark drop"]);
    with(&["load", "--foreign-keys"]).refused(USAGE, &["foreign keys", "graymark drop"]);

    rusqlite::Connection::open(place.path().join("loaded.db")).unwrap().execute_batch("DROP TABLE stock").unwrap();
    for command in ["check", "run"] {
        with(&[command]).refused(DATABASE, &["the table stock is missing", "graymark drop tpcc"]);
    }
    for command in ["load", "bench"] {
        let done = with(&[command]);
        assert!(matches!(done.code, Some(USAGE | DATABASE)), "{done:?}");
        assert!(done.err.lines().last().unwrap().contains("the table stock is missing"), "{done:?}");
        assert!(done.err.contains("graymark drop"), "{done:?}");
    }
    // What it says helps.
    assert_eq!(with(&["drop"]).code, Some(0));
    assert_eq!(with(&["load", "-w", "1"]).code, Some(0));
    assert_eq!(with(&["check"]).code, Some(0));
}

#[test]
fn a_bank_that_is_not_what_it_should_be() {
    let place = TempDir::new().unwrap();
    succeed(place.path(), &["load", "debitcredit", "--db", "sqlite:bank.db", "-b", "2", "--profile", "gray"]);
    let with = |arguments: &[&str]| run(place.path(), &[arguments, &["--db", "sqlite:bank.db"]].concat());
    for command in ["load", "bench", "run"] {
        with(&[command, "debitcredit", "-b", "3"])
            .refused(USAGE, &["2 branches, not 3", "leave out -w or -b", "graymark drop"]);
        with(&[command, "debitcredit", "--profile", "tpc-b"])
            .refused(USAGE, &["profile gray, not tpc-b", "graymark drop debitcredit"]);
        with(&[command, "debitcredit", "--profile", "grey"]).refused(USAGE, &["no profile `grey`"]);
    }
    for command in ["bench", "run"] {
        with(&[command, "debitcredit", "--pace", "standard"]).refused(USAGE, &["profile gray has no think times"]);
    }
    // A file has room for one workload; the other one's commands leave it alone.
    let before = fs::read(place.path().join("bank.db")).unwrap();
    for command in ["load", "bench", "check", "run", "restore", "drop"] {
        with(&[command])
            .refused(USAGE, &["holds the workload debitcredit, not tpcc", "name debitcredit in the command"]);
    }
    assert_eq!(fs::read(place.path().join("bank.db")).unwrap(), before);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "a mistake leaves no record behind");
    // A manifest that says what cannot be is no reason to fall over.
    let manifest = rusqlite::Connection::open(place.path().join("bank.db")).unwrap();
    manifest
        .execute_batch(
            "UPDATE graymark_manifest SET manifest = replace(manifest, '\"scale\":2', '\"scale\":1000000000')",
        )
        .unwrap();
    for command in ["load", "run", "restore"] {
        with(&[command, "debitcredit"]).refused(USAGE, &["1000000000 branches are too many"]);
    }
    manifest
        .execute_batch("UPDATE graymark_manifest SET manifest = replace(manifest, '\"profile\":0', '\"profile\":9')")
        .unwrap();
    for command in ["load", "run", "restore"] {
        let done = with(&[command, "debitcredit"]);
        assert!(matches!(done.code, Some(USAGE | DATABASE)) && done.err.contains("graymark: "), "{command}: {done:?}");
    }
}

/// Kills a load when it has all rows and is not at its end; on a busy machine it may end before, and is tried again.
fn kill_a_load(place: &Path, db: &str) {
    for _ in 0..10 {
        let mut load = start(graymark(place, &["load", "--db", db, "-w", "1"]));
        load.wait_for("load: keys");
        load.signal(Signal::SIGKILL);
        let (_, done) = load.end();
        if done.code.is_none() && run(place, &["check", "--db", db]).err.contains("is incomplete") {
            return;
        }
        assert!(matches!(done.code, None | Some(0)), "{done:?}");
        succeed(place, &["drop", "--db", db]);
    }
    panic!("no load was killed in time");
}

#[test]
fn a_load_that_has_not_ended() {
    let place = TempDir::new().unwrap();
    kill_a_load(place.path(), "sqlite:half.db");
    for command in ["check", "run"] {
        run(place.path(), &[command, "--db", "sqlite:half.db"])
            .refused(DATABASE, &["is incomplete", "continue it with graymark load tpcc"]);
    }
    run(place.path(), &["load", "--db", "sqlite:half.db", "-w", "2"]).refused(USAGE, &["1 warehouse, not 2"]);
    succeed(place.path(), &["load", "--db", "sqlite:half.db"]);
    succeed(place.path(), &["check", "--db", "sqlite:half.db"]);
}

#[test]
fn places_that_cannot_take_a_record() {
    let place = loaded();
    fs::create_dir(place.path().join("full")).unwrap();
    fs::write(place.path().join("full/old"), "kept").unwrap();
    fs::write(place.path().join("file"), "kept").unwrap();
    let out = |directory: &str| {
        let plan = ["--duration", "6s", "--ramp-up", "0s", "--check", "none"];
        run(place.path(), &[&["run", "--db", "sqlite:loaded.db", "--out", directory], &plan[..]].concat())
    };
    out("full").refused(USAGE, &["full is not empty", "--out"]);
    out("file").refused(OUTPUT, &["file", "--out"]);
    out("file/record").refused(OUTPUT, &["file/record", "--out"]);
    assert_eq!(fs::read_dir(place.path().join("full")).unwrap().count(), 1);

    // A failed command leaves its place to the corrected one; a directory that was there before stays.
    let refused = || {
        run(place.path(), &["run", "--db", "sqlite:none.db", "--out", "record"]).refused(DATABASE, &["no tpcc tables"]);
    };
    refused();
    assert!(!place.path().join("record").exists());
    fs::create_dir(place.path().join("record")).unwrap();
    refused();
    assert_eq!(fs::read_dir(place.path().join("record")).unwrap().count(), 0);
    let done = out("record");
    assert_eq!(done.code, Some(0), "{done:?}");
}

/// Whether this user is bound by permissions; else the command is given to one who is.
fn as_nobody(mut command: Command) -> Command {
    if Uid::effective().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn protect(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn files_and_directories_that_are_read_only() {
    let place = loaded();
    // The program may lie where only its owner can go.
    let binary = place.path().join("graymark");
    // Another process copies it: a program that any child of this one still has open for writing cannot be started.
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_graymark")).arg(&binary).status().unwrap().success());
    protect(&binary, 0o755);
    let on = |directory: &str, arguments: &[&str]| {
        end(as_nobody(program(&binary, &place.path().join(directory), arguments)))
    };

    protect(&place.path().join("loaded.db"), 0o444);
    let read_only = &["read-only", "permission to write"];
    for command in ["load", "check", "run", "bench"] {
        on(".", &[command, "--db", "sqlite:loaded.db"]).refused(DATABASE, read_only);
    }
    // The file could be written, but not its journal beside it.
    let shut = place.path().join("shut");
    fs::create_dir(&shut).unwrap();
    fs::rename(place.path().join("loaded.db"), shut.join("loaded.db")).unwrap();
    protect(&shut.join("loaded.db"), 0o666);
    protect(&shut, 0o555);
    for arguments in [
        &["run", "--db", "sqlite:loaded.db", "--out", "/dev/shm/graymark-never"][..],
        &["load", "--db", "sqlite:new.db"],
    ] {
        let done = on("shut", arguments);
        assert_eq!(done.code, Some(DATABASE), "{done:?}");
        let last = done.err.lines().last().unwrap();
        assert!(last.starts_with("graymark: ") && last.contains("write"), "{done:?}");
        assert_eq!(done.err.matches("graymark:").count(), 1, "{done:?}");
    }
    assert!(!Path::new("/dev/shm/graymark-never").exists());
    // A record needs a place too.
    let done = on("shut", &["bench", "--db", "simulated:service=1ms", "--duration", "1s", "--ramp-up", "0s"]);
    done.refused(OUTPUT, &["graymark-runs", "Permission denied", "--out"]);
    protect(&shut, 0o755);
}

/// In a mount namespace of its own: a small disk, a load, more space, the same load again, a check.
const FULL_DISK: &str = r#"
mount -t tmpfs -o size=24m none "$2" || exit 77
cd "$2"
"$1" load --db sqlite:small.db -w 1 --seed 7 2> "$3/first"; echo $? > "$3/first.code"
mount -o remount,size=600m "$2" || exit 77
"$1" load --db sqlite:small.db -w 1 --seed 7 2> "$3/second"; echo $? > "$3/second.code"
"$1" check --db sqlite:small.db > "$3/check"
"#;

#[test]
fn a_disk_that_is_full() {
    let place = open_directory();
    let (disk, said) = (place.path().join("disk"), place.path().join("said"));
    fs::create_dir(&disk).unwrap();
    fs::create_dir(&said).unwrap();
    let mut namespace = Command::new("unshare");
    namespace.arg(if Uid::effective().is_root() { "-m" } else { "-rm" });
    namespace.args(["sh", "-c", FULL_DISK, "sh", env!("CARGO_BIN_EXE_graymark")]).arg(&disk).arg(&said);
    let done = match namespace.output() {
        Ok(output) => support::command::Done::from(output),
        Err(error) => return println!("not run: a full disk needs unshare(1): {error}"),
    };
    let code = |name: &str| fs::read_to_string(said.join(name)).unwrap_or_default().trim().to_owned();
    if code("first.code").is_empty() {
        return println!("not run: a full disk needs a file system of its own: {}", done.err.trim());
    }
    let first = fs::read_to_string(said.join("first")).unwrap();
    assert_eq!(code("first.code"), "3", "{first}");
    let line = first.lines().last().unwrap();
    assert!(line.starts_with("graymark: the disk that holds small.db") && line.contains("free some space"), "{first}");
    assert_eq!(first.matches("graymark:").count(), 1, "{first}");
    let second = fs::read_to_string(said.join("second")).unwrap();
    assert_eq!(code("second.code"), "0", "{second}");
    assert!(second.contains("rows exist from an earlier load"), "{second}");
    assert_eq!(done.code, Some(0), "{}", fs::read_to_string(said.join("check")).unwrap());
}

/// URLs with a password in every place where one may stand, well formed or not.
const PASSWORDS: [&str; 27] = [
    "postgres://u:{}@127.0.0.1:1/x",
    "postgres://u:sec?{}@127.0.0.1:1/x",
    "postgres://u:sec/{}@127.0.0.1:1/x",
    "postgres://u:a#{}@127.0.0.1:1/x",
    "postgresql://u:{}",
    "postgres://u:{}/x",
    "postgres://127.0.0.1:1/x?password={}",
    "postgres://u@127.0.0.1:1/x?p%61ssword={}",
    "postgres://u@127.0.0.1:1/x?password=a&{}=b",
    "postgres://u@127.0.0.1:1/x?pasword={}",
    "postgres:u:{}@127.0.0.1/x",
    "postgres:local:{}",
    "postgres:local?ssl_passphrase_command={}",
    "mysql://u:{}@127.0.0.1:1/x",
    "mysql://u:a/{}@127.0.0.1:1/x",
    "mariadb://u@127.0.0.1:1/x?password={}",
    "mysql:local?init_connect_password={}",
    "virtuoso://u:{}@127.0.0.1:1",
    "virtuoso://u@127.0.0.1:1?password={}",
    "odbc:DSN=none;UID=u;PWD={}",
    "odbc:Driver=none;PWD={a;{}};Server=h",
    "odbc:PWD={{}",
    "odbc:DSN=none;PWD=a;b={}",
    "sqlite://u:{}@h/x.db",
    "sqlite:x.db?key={}",
    "simulated:password={}",
    "jdbc:postgresql://h/x?user=u&password={}",
];

#[test]
fn a_password_in_a_url_shows_nowhere() {
    let place = TempDir::new().unwrap();
    let hidden = |done: &support::command::Done, how: &str| {
        assert!(!matches!(done.code, Some(0) | None), "{how}: {done:?}");
        assert!(!done.out.contains("hunter2") && !done.err.contains("hunter2"), "{how}: {done:?}");
        assert_eq!(done.err.lines().filter(|line| line.starts_with("graymark: ")).count(), 1, "{how}: {done:?}");
    };
    for (at, form) in PASSWORDS.iter().enumerate() {
        let url = form.replace("{}", "hunter2");
        let out = format!("sweep-{at}");
        for arguments in [
            &["bench", "--db", &url][..],
            &["check", "--db", &url, "-vvv"],
            &["sweep", "load", "-w", "1", "--duration", "1s", "--out", &out, "--db", &url],
            // In a place where no URL belongs.
            &["load", &url],
            &["run", &format!("--bd={url}")],
            &["run", "--plan", &url],
        ] {
            hidden(&run(place.path(), arguments), &format!("{arguments:?}"));
        }
        let mut by_environment =
            graymark(place.path(), &["sweep", "load", "-w", "1", "--out", &format!("{out}-environment")]);
        hidden(
            &end({
                by_environment.env("GRAYMARK_DB", &url);
                by_environment
            }),
            form,
        );
        let dry = run(place.path(), &["sweep", "load", "-w", "1", "--dry-run", "--db", &url]);
        assert!(!dry.out.contains("hunter2") && !dry.err.contains("hunter2"), "{dry:?}");
        // Of a plan that an editor made, or Graymark of old.
        fs::write(place.path().join("own.toml"), format!("db = {}\n", serde_json::json!(url))).unwrap();
        hidden(&run(place.path(), &["run", "--plan", "own.toml"]), form);
        fs::remove_file(place.path().join("own.toml")).unwrap();
    }
    // A sweep that has begun keeps its settings: of a server that takes connections, and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    for (at, form) in PASSWORDS.iter().enumerate().filter(|(_, form)| form.contains("127.0.0.1:1")) {
        let url = form.replace("127.0.0.1:1", &address).replace("{}", "hunter2");
        for (how, option) in [("option", Some(&url)), ("environment", None)] {
            let out = format!("begun-{at}-{how}");
            let mut sweep = graymark(place.path(), &["sweep", "load", "-w", "1", "--out", &out]);
            match option {
                Some(url) => sweep.args(["--db", url]),
                None => sweep.env("GRAYMARK_DB", &url),
            };
            let mut sweep = sweep.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let written = place.path().join(&out).join("sweep.toml");
            while !written.exists() && sweep.try_wait().unwrap().is_none() {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            sweep.kill().unwrap();
            sweep.wait().unwrap();
        }
    }
    let mut sweeps = 0;
    for file in support::command::files(place.path()) {
        let content = fs::read(&file).unwrap();
        assert!(!content.windows(7).any(|bytes| bytes == b"hunter2"), "{}", file.display());
        if file.ends_with("sweep.toml") {
            sweeps += 1;
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{}", file.display());
        }
    }
    assert!(sweeps > 5, "{sweeps} sweeps were begun");
}

#[test]
fn a_postgres_that_cannot_be_reached() {
    let place = TempDir::new().unwrap();
    let url = |port: u16| format!("postgres://ann:tiger@127.0.0.1:{port}/postgres");
    for command in ["bench", "load", "check", "run", "drop"] {
        // A port that no other test can be given.
        let done = run(place.path(), &[command, "--db", &url(1)]);
        done.refused(DATABASE, &["refuses connections", "check host and port"]);
        assert!(!done.err.contains("tiger"), "{done:?}");
    }
    let web = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = web.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in web.incoming() {
            let Ok(mut socket) = socket else { return };
            let _ = socket.read(&mut [0; 100]);
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let done = run(place.path(), &["run", "--db", &url(port)]);
    done.refused(DATABASE, &["does not speak PostgreSQL's protocol", "check host and port"]);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "a mistake leaves nothing behind");
}

#[test]
fn a_postgres_with_a_password() {
    let Some(()) = require_postgres() else { return };
    let server = block_on(guarded());
    block_on(async {
        let user = client(&server.url()).await;
        user.batch_execute("GRANT CREATE ON DATABASE postgres TO ann").await.unwrap();
    });
    let place = TempDir::new().unwrap();
    let url = |password: &str| format!("postgres://ann{password}@127.0.0.1:{}/postgres", server.port());
    let no_home = |mut command: Command| {
        command.env("HOME", place.path());
        end(command)
    };
    let wrong = no_home(graymark(place.path(), &["run", "--db", &url(":tiger")]));
    wrong.refused(DATABASE, &["`ann`", "PGPASSWORD"]);
    assert!(!wrong.err.contains("tiger"), "{wrong:?}");
    no_home(graymark(place.path(), &["run", "--db", &url("")]))
        .refused(DATABASE, &["asks for the password", "PGPASSWORD"]);
    let nowhere = support::with_database(&server.tcp_url(), "nowhere");
    run(place.path(), &["run", "--db", &nowhere]).refused(DATABASE, &["no database `nowhere`", "createdb nowhere"]);

    // The right one works and is nowhere to be seen: `open:secret`, percent-encoded in the URL.
    let short = ["--duration", "5s", "--ramp-up", "0s", "--check", "none"];
    let right = url(":open%3Asecret");
    let bench = [&["bench", "--db", &right, "--out", "record"], &short[..]].concat();
    let mut working = start(graymark(place.path(), &bench));
    working.wait_for("load: rows");
    let (_, done) = working.end();
    assert_eq!(done.code, Some(0), "{done:?}");
    let with_password = |arguments: &[&str]| {
        let mut command = graymark(place.path(), &[arguments, &short[..]].concat());
        command.env("PGPASSWORD", "open:secret").env("HOME", place.path());
        end(command)
    };
    let as_wanted = url("") + "?sslmode=prefer&sslmode=disable&application_name=probe&options=-c%20jit%3Doff&pooler=on";
    let second = with_password(&["run", "--db", &as_wanted, "--out", "record-2", "--json"]);
    assert_eq!(second.code, Some(0), "{second:?}");
    // The plan of a record connects in the same way, but for the password.
    let plan = fs::read_to_string(place.path().join("record-2/plan.toml")).unwrap();
    let kept = "?sslmode=disable&application_name=probe&options=-c%20jit%3Doff&pooler=on";
    assert!(plan.contains(kept), "{plan}");
    let third = with_password(&["run", "--plan", "record-2/plan.toml", "--out", "record-3", "--json"]);
    assert_eq!(third.code, Some(0), "{third:?}");
    assert_eq!(third.json()["engine"]["url"], second.json()["engine"]["url"]);
    // Whatever holds settings of the server, or tells of other sessions, is for its owner only.
    for (name, mode) in [
        ("plan.toml", 0o600),
        ("environment.json", 0o600),
        ("events.jsonl", 0o600),
        ("report.html", 0o600),
        ("summary.json", 0o644),
    ] {
        let metadata = fs::metadata(place.path().join("record-2").join(name)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777 & !0o022, mode, "{name}");
    }
    for said in [done.out, done.err, second.out, second.err, third.out, third.err] {
        assert!(!said.contains("secret"), "{said}");
    }
    for record in ["record", "record-2", "record-3"] {
        let files: Vec<_> =
            fs::read_dir(place.path().join(record)).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(files.len() >= 9, "{files:?}");
        for path in files {
            let content = fs::read(&path).unwrap();
            assert!(!content.windows(6).any(|bytes| bytes == b"secret"), "{}", path.display());
        }
    }
}

#[test]
fn postgres_tables_that_are_not_what_they_should_be() {
    let Some(()) = require_postgres() else { return };
    let server = small_server();
    let place = TempDir::new().unwrap();
    let url = server.url();
    let with = |arguments: &[&str]| run(place.path(), &[arguments, &["--db", &url]].concat());
    for command in ["check", "run"] {
        with(&[command]).refused(DATABASE, &["no tpcc tables", "graymark load tpcc"]);
    }
    kill_a_load(place.path(), &url);
    for command in ["check", "run"] {
        with(&[command]).refused(DATABASE, &["is incomplete", "continue it with graymark load tpcc"]);
    }
    assert_eq!(with(&["load"]).code, Some(0));
    with(&["run", "-w", "2"]).refused(USAGE, &["1 warehouse, not 2", "graymark drop"]);
    with(&["run", "--clients", "500"])
        .err
        .lines()
        .last()
        .map(|line| assert!(line.contains("fewer clients"), "{line}"))
        .unwrap();

    block_on(async { client(&url).await.batch_execute("DROP TABLE tpcc.stock").await.unwrap() });
    for command in ["check", "run"] {
        with(&[command]).refused(DATABASE, &["no stock", "graymark drop tpcc"]);
    }
    assert_eq!(with(&["drop"]).code, Some(0));
    with(&["check"]).refused(DATABASE, &["no tpcc tables"]);
}
