//! Other users of the machine: the links that they plant, the directories that they own, the environment that they
//! could read. Only root has something to lose to them.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::Path;

use nix::sys::signal::Signal;
use nix::unistd::Uid;
use tempfile::TempDir;

use crate::support::command::{end, family, graymark, open_directory, run, start, succeed};
#[cfg(feature = "odbc")]
use crate::support::virtuoso;
use crate::support::{require_mariadb, require_postgres};

/// A user that owns nothing.
const ANOTHER: u32 = 65_534;
/// The user id of somebody's.
const SOMEBODY: u32 = 1_000;

fn is_root() -> bool {
    let is_root = Uid::effective().is_root();
    if !is_root {
        println!("not run: only root can be another user");
    }
    is_root
}

/// Two records of the same command, long enough to be compared.
fn two(place: &Path) {
    std::thread::scope(|scope| {
        for name in ["a", "b"] {
            let simulated = ["run", "--db", "simulated:service=20ms", "-w", "1", "--clients", "1", "--ramp-up", "0s"];
            scope.spawn(move || succeed(place, &[&simulated[..], &["--duration", "12s", "--out", name]].concat()));
        }
    });
}

/// The planted fault: root makes the report of somebody's record.
#[test]
fn a_report_by_root_belongs_to_the_owner_of_the_record() {
    if !is_root() {
        return;
    }
    let place = TempDir::new().unwrap();
    let place = place.path();
    let simulated = ["run", "--db", "simulated:service=20ms", "-w", "1", "--clients", "1", "--ramp-up", "0s"];
    succeed(place, &[&simulated[..], &["--duration", "2s", "--out", "a"]].concat());
    let reported = |name: &str| {
        succeed(place, &["report", "a"]);
        let there = fs::metadata(place.join("a").join(name)).unwrap();
        (there.uid(), there.gid(), there.mode() & 0o777)
    };
    assert_eq!(reported("report.html"), (0, 0, 0o600));
    chown(place.join("a"), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    // What is root's stays root's in a directory of somebody else.
    assert_eq!(reported("report.html"), (0, 0, 0o600));
    for entry in fs::read_dir(place.join("a")).unwrap() {
        chown(entry.unwrap().path(), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    }
    assert_eq!(reported("report.html"), (SOMEBODY, SOMEBODY, 0o600));
    fs::set_permissions(place.join("a/report.html"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(reported("report.html"), (SOMEBODY, SOMEBODY, 0o640));
    for (name, mode) in [("report.html", 0o600), ("report.txt", 0o644)] {
        fs::remove_file(place.join("a").join(name)).unwrap();
        let (user, group, found) = reported(name);
        assert_eq!((user, group, found & mode, found & 0o022), (SOMEBODY, SOMEBODY, mode & found, 0), "{name}");
    }
}

#[test]
fn nothing_is_written_through_links_of_another_user() {
    if !is_root() {
        return;
    }
    let place = TempDir::new().unwrap();
    let place = place.path();
    two(place);
    let points = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/sizing/points.csv");
    let points = points.to_str().unwrap();
    fs::create_dir(place.join("pages")).unwrap();
    fs::create_dir(place.join("elsewhere")).unwrap();
    let gate = ["compare", "a", "b", "--max-slowdown", "99%", "--anyway"];
    let cases: &[(&str, &[&str])] = &[
        ("pages/graymark-run.1", &["man", "pages"]),
        ("both.html", &["report", "a", "b", "--html=both.html"]),
        ("trend.html", &["trend", ".", "--html=trend.html"]),
        ("model.toml", &["predict", "fit", points, "--out", "model.toml"]),
        ("gate.xml", &[&gate[..], &["--junit", "gate.xml"]].concat()),
        ("gate.md", &[&gate[..], &["--markdown", "gate.md"]].concat()),
    ];
    // It passes for a page of Graymark, which a report may replace.
    let secret = "of root alone <meta name=\"generator\" content=\"Graymark\">";
    for (link, arguments) in cases {
        fs::write(place.join("secret"), secret).unwrap();
        symlink(place.join("secret"), place.join(link)).unwrap();
        lchown(place.join(link), Some(ANOTHER), None).unwrap();
        let done = run(place, arguments);
        assert_eq!(fs::read_to_string(place.join("secret")).unwrap(), secret, "{arguments:?}");
        assert_eq!(done.code, Some(4), "{done:?}");
        assert!(done.err.contains("is a symbolic link of another user (65534)"), "{done:?}");
        // The user's own links lead on.
        lchown(place.join(link), Some(0), None).unwrap();
        let done = run(place, arguments);
        assert!(matches!(done.code, Some(0 | 5)), "{done:?}");
        assert_ne!(fs::read_to_string(place.join("secret")).unwrap(), secret, "{arguments:?}");
    }
    // A directory behind a link.
    symlink(place.join("elsewhere"), place.join("manual")).unwrap();
    lchown(place.join("manual"), Some(ANOTHER), None).unwrap();
    run(place, &["man", "manual"]).refused(4, &["manual is a symbolic link of another user"]);
    let short = ["run", "tpcc", "--db", "simulated:service=5ms", "-w", "1", "--ramp-up", "0s", "--duration", "1s"];
    run(place, &[&short[..], &["--out", "manual/record"]].concat())
        .refused(4, &["manual is a symbolic link of another user"]);
    fs::rename(place.join("manual"), place.join("graymark-runs")).unwrap();
    run(place, &short).refused(4, &["graymark-runs is a symbolic link of another user"]);
    // A record behind a link: its page is not written, and no file behind a link is read to see whose it is.
    fs::rename(place.join("graymark-runs"), place.join("manual")).unwrap();
    let page = place.join("a/report.html");
    fs::write(&page, "of root alone").unwrap();
    symlink(place, place.join("back")).unwrap();
    lchown(place.join("back"), Some(ANOTHER), None).unwrap();
    run(place, &["report", "back/a"]).refused(4, &["back is a symbolic link of another user"]);
    assert_eq!(fs::read_to_string(&page).unwrap(), "of root alone");
    run(place, &["report", "a", "b", "--html=back/a/report.html"]).refused(4, &["back is a symbolic link of another"]);
    assert_eq!(fs::read_dir(place.join("elsewhere")).unwrap().count(), 0);
}

#[test]
fn a_page_can_go_to_standard_output() {
    let place = TempDir::new().unwrap();
    two(place.path());
    let page = succeed(place.path(), &["report", "a", "b", "--html=/dev/stdout"]).out;
    assert!(page.contains("</html>") && page.trim_end().ends_with("/dev/stdout"), "{page}");
}

#[test]
fn root_starts_no_server_on_somebody_elses_directory() {
    if !is_root() {
        return;
    }
    let makes = [
        ("postgres", require_postgres()),
        ("mysql", require_mariadb()),
        #[cfg(feature = "odbc")]
        ("virtuoso", virtuoso::require()),
    ];
    for (make, _) in makes.iter().filter(|(_, there)| there.is_some()) {
        let place = open_directory();
        let data = place.path().join("data");
        fs::create_dir(&data).unwrap();
        chown(&data, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
        let url = format!("{make}:local?data={}", data.display());
        run(place.path(), &["check", "--db", &url]).refused(2, &["belongs to the user", "(1000)", "another data=DIR"]);
        assert_eq!(fs::read_dir(&data).unwrap().count(), 0, "{make}");
    }
}

/// The planted fault: a directory of root's with a file that data directories have, too.
#[test]
fn root_gives_no_files_away_but_those_of_a_data_directory() {
    if !is_root() {
        return;
    }
    let makes = [
        ("postgres", &["PG_VERSION"][..], require_postgres()),
        ("mysql", &["ibdata1", "mysql/letter"], require_mariadb()),
        #[cfg(feature = "odbc")]
        ("virtuoso", &["graymark.db", "stripe1.db"], virtuoso::require()),
    ];
    for (make, files, _) in makes.iter().filter(|(_, _, there)| there.is_some()) {
        let place = open_directory();
        let data = place.path().join("data");
        fs::create_dir_all(data.join("mysql")).unwrap();
        for file in files.iter().chain(&["secret"]) {
            fs::write(data.join(file), "15\n").unwrap();
        }
        let seen = || {
            let there = [data.clone(), data.join("secret")].map(|path| fs::metadata(path).unwrap());
            there.map(|there| (there.uid(), there.gid(), there.mode()))
        };
        let before = seen();
        let url = format!("{make}:local?data={}", data.display());
        run(place.path(), &["load", "-w", "1", "--db", &url]).refused(2, &["neither empty nor a", "another one"]);
        assert_eq!((seen(), fs::read_dir(&data).unwrap().count() < 5), (before, true), "{make}");
    }
}

#[test]
fn servers_do_not_inherit_passwords() {
    const SECRET: &str = "secret-planted";
    let makes = [
        ("postgres:local?shared_buffers=64MB", "postgres", require_postgres()),
        ("postgres:local?shared_buffers=64MB&standbys=1", "postgres", require_postgres()),
        ("mysql:local?buffers=64MB", "mariadbd", require_mariadb()),
        #[cfg(feature = "odbc")]
        ("virtuoso:local?buffers=20000", "virtuoso-t", virtuoso::require()),
    ];
    for (url, program, _) in makes.iter().filter(|(_, _, there)| there.is_some()) {
        let place = open_directory();
        let arguments = ["bench", "--db", url, "-w", "1", "--duration", "1h"];
        let mut command = graymark(place.path(), &arguments);
        for name in ["PGPASSWORD", "PGOPTIONS", "PGSERVICE", "MYSQL_PWD", "GRAYMARK_VIRTUOSO_PASSWORD", "AWS_SECRET"] {
            command.env(name, SECRET);
        }
        // What the kernel shows of an environment is what a process began with.
        command.env("LC_PLANTED", "passed on");
        let mut working = start(command);
        working.wait_for("load: rows");
        let (mut servers, own) = (0, working.id());
        for pid in family(own).into_iter().filter(|pid| *pid != own) {
            // A process of the server's may have ended meanwhile.
            let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { continue };
            let environment = String::from_utf8_lossy(&environment).into_owned();
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            assert!(!environment.contains(SECRET), "{name}: {environment}");
            servers += usize::from(name.starts_with(program) && environment.contains("LC_PLANTED=passed on"));
        }
        assert!(servers > 0, "{url}: no server was found");
        working.signal(Signal::SIGINT);
        let (_, done) = working.end();
        assert_eq!(done.code, Some(130), "{done:?}");
    }
    // With nothing of the kind in it, a server starts as well.
    if require_postgres().is_some() {
        let place = open_directory();
        let mut command = graymark(place.path(), &["check", "--db", "postgres:local"]);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        assert_eq!(end(command).code, Some(3), "it is empty");
    }
}
