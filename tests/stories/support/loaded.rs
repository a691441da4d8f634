//! Databases that are loaded once for all tests; each test gets a copy.

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use graymark::engine::server::postgres::{PostgresServerOptions, Server};
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

/// A small private PostgreSQL that holds TPC-C of one warehouse and seed 5.
pub struct LoadedServer {
    server: Server,
    /// Outlives the server.
    _data: TempDir,
}

impl Deref for LoadedServer {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

/// Like [`super::small_server`], loaded.
pub fn loaded_server() -> LoadedServer {
    static LOADED: OnceLock<PathBuf> = OnceLock::new();
    let original = LOADED.get_or_init(|| {
        let place = for_all_tests("postgres");
        let server = start(&place);
        succeed(&place, &["load", "--db", &server.url(), "-w", "1", "--seed", "5"]);
        place.join("data")
    });
    let place = open_directory();
    let copied = Command::new("cp").arg("-a").arg(original).arg(place.path()).status().expect("cp runs");
    assert!(copied.success(), "the data directory is copied");
    LoadedServer { server: start(place.path()), _data: place }
}

fn start(place: &Path) -> Server {
    let data = Some(place.join("data"));
    let options = PostgresServerOptions { data, ..super::small_postgres() };
    Server::start(&options).expect("a private PostgreSQL starts")
}
