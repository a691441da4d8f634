//! Databases that are loaded once for all tests; each test gets a copy.

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use graymark::engine::server::mariadb::{self, MariadbServerOptions};
use graymark::engine::server::postgres::{self, PostgresServerOptions};
use nix::unistd::Uid;
use tempfile::TempDir;

use super::command::{open_directory, succeed};

/// How the names of directories begin that live as long as the tests; the process's id follows.
const PREFIX: &str = "graymark-stories-";

/// A new directory of this process, which others may enter. The tests do not end where it could be removed, so it
/// removes those of its user's processes that have ended.
fn for_all_tests(what: &str) -> PathBuf {
    let temporary = std::env::temp_dir();
    for entry in fs::read_dir(&temporary).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        let ours = entry.metadata().is_ok_and(|of| of.is_dir() && of.uid() == Uid::effective().as_raw());
        if ours && pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    let directory = temporary.join(format!("{PREFIX}{}-{what}", std::process::id()));
    // Of an earlier process with the same id.
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).expect("a temporary directory");
    directory
}

/// A new directory with a `loaded.db` of one warehouse.
pub fn loaded() -> TempDir {
    static LOADED: OnceLock<PathBuf> = OnceLock::new();
    let original = LOADED.get_or_init(|| {
        let place = for_all_tests("sqlite");
        succeed(&place, &["load", "--db", "sqlite:loaded.db", "-w", "1", "--seed", "7"]);
        place.join("loaded.db")
    });
    let place = open_directory();
    fs::copy(original, place.path().join("loaded.db")).expect("a copy");
    place
}

/// A private server on a copy of a data directory that holds TPC-C of one warehouse and seed 5.
pub struct Loaded<S> {
    server: S,
    /// Outlives the server.
    _place: TempDir,
}

impl<S> Deref for Loaded<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.server
    }
}

/// Like [`super::small_server`], loaded.
pub fn loaded_server() -> Loaded<postgres::Server> {
    loaded_postgres(super::small_postgres())
}

/// A private PostgreSQL with options of the test's own but for its data directory, loaded.
pub fn loaded_postgres(options: PostgresServerOptions) -> Loaded<postgres::Server> {
    let place = open_directory();
    let data = Some(loaded_postgres_data(place.path()));
    let server =
        postgres::Server::start(&PostgresServerOptions { data, ..options }).expect("a private PostgreSQL starts");
    Loaded { server, _place: place }
}

/// A data directory of a private PostgreSQL, loaded, in a place that others may enter.
pub fn loaded_postgres_data(place: &Path) -> PathBuf {
    static LOADED: OnceLock<PathBuf> = OnceLock::new();
    let original = LOADED.get_or_init(|| {
        let place = for_all_tests("postgres");
        let data = place.join("data");
        let options = PostgresServerOptions { data: Some(data.clone()), ..super::small_postgres() };
        let server = postgres::Server::start(&options).expect("a private PostgreSQL starts");
        succeed(&place, &["load", "--db", &server.url(), "-w", "1", "--seed", "5"]);
        data
    });
    copied(original, place)
}

/// Like [`super::small_mariadb`], loaded.
pub fn loaded_mariadb(more: &[(&str, &str)]) -> Loaded<mariadb::Server> {
    static LOADED: OnceLock<PathBuf> = OnceLock::new();
    // A log that is soon copied.
    let start = |data: PathBuf, more: &[(&str, &str)]| {
        let more = [&[("innodb_log_file_size", "64M")], more].concat();
        let options = MariadbServerOptions { data: Some(data), ..super::small_mariadb_options(&more) };
        mariadb::Server::start(&options).expect("a private MariaDB starts")
    };
    let original = LOADED.get_or_init(|| {
        let place = for_all_tests("mariadb");
        let server = start(place.join("data"), &[]);
        succeed(&place, &["load", "--db", &server.url(), "-w", "1", "--seed", "5"]);
        place.join("data")
    });
    let place = open_directory();
    Loaded { server: start(copied(original, place.path()), more), _place: place }
}

/// A copy of a data directory, for the user of its server.
fn copied(original: &Path, place: &Path) -> PathBuf {
    let done = Command::new("cp").args(["-a", "--sparse=always"]).arg(original).arg(place).status().expect("cp runs");
    assert!(done.success(), "the data directory is copied");
    place.join("data")
}
