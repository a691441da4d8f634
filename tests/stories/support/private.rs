//! Private servers that do not outlive their test, on data in memory where there is room for it.

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use graymark::engine::server::mariadb::{MariaDb, MariadbServerOptions};
use graymark::engine::server::postgres::{Postgres, PostgresServerOptions};
use graymark::engine::server::{Kind, Server};
use nix::sys::signal::{Signal, kill};
use nix::sys::statvfs::statvfs;
use nix::unistd::{Pid, Uid};
use tempfile::TempDir;

/// A private server on a data directory that is removed after it.
pub struct Private<K: Kind> {
    server: Server<K>,
    /// Ends the server without writing what is removed.
    discard: Signal,
    /// Outlives the server.
    _place: TempDir,
}

impl<K: Kind> Deref for Private<K> {
    type Target = Server<K>;

    fn deref(&self) -> &Server<K> {
        &self.server
    }
}

impl<K: Kind> Drop for Private<K> {
    fn drop(&mut self) {
        if let Some(pid) = self.server.pid().and_then(|pid| i32::try_from(pid).ok()) {
            let _ = kill(Pid::from_raw(pid), self.discard);
        }
    }
}

/// A PostgreSQL with options of the test's own but for its data directory, which `data` makes in a place.
pub fn postgres(options: PostgresServerOptions, data: impl FnOnce(&Path) -> PathBuf) -> Private<Postgres> {
    postgres_in(directory(), options, data)
}

/// As [`postgres`], in a place of the test's own.
pub fn postgres_in(
    place: TempDir,
    options: PostgresServerOptions,
    data: impl FnOnce(&Path) -> PathBuf,
) -> Private<Postgres> {
    let options = PostgresServerOptions { data: Some(data(place.path())), ..options };
    let server = Server::<Postgres>::start(&options).expect("a private PostgreSQL starts");
    Private { server, discard: Signal::SIGQUIT, _place: place }
}

/// As [`postgres`], a MariaDB or MySQL.
pub fn mariadb(options: MariadbServerOptions, data: impl FnOnce(&Path) -> PathBuf) -> Private<MariaDb> {
    mariadb_in(directory(), options, data)
}

/// As [`mariadb`], in a place of the test's own.
pub fn mariadb_in(
    place: TempDir,
    options: MariadbServerOptions,
    data: impl FnOnce(&Path) -> PathBuf,
) -> Private<MariaDb> {
    let options = MariadbServerOptions { data: Some(data(place.path())), ..options };
    let server = Server::<MariaDb>::start(&options).expect("a private MariaDB starts");
    Private { server, discard: Signal::SIGKILL, _place: place }
}

/// A PostgreSQL whose data directory stays.
pub fn kept_postgres(place: &Path) -> Server<Postgres> {
    let options = PostgresServerOptions { data: Some(place.join("data")), ..super::small_postgres() };
    Server::<Postgres>::start(&options).expect("a private PostgreSQL starts")
}

/// A MariaDB whose data directory stays.
pub fn kept_mariadb(place: &Path, options: MariadbServerOptions) -> Server<MariaDb> {
    let options = MariadbServerOptions { data: Some(place.join("data")), ..options };
    Server::<MariaDb>::start(&options).expect("a private MariaDB starts")
}

/// What `initdb` makes, as a copy of what it has made once.
pub fn empty_postgres_data(place: &Path) -> PathBuf {
    static EMPTY: OnceLock<PathBuf> = OnceLock::new();
    let original = EMPTY.get_or_init(|| kept_postgres(&for_all_tests("postgres-empty")).data().to_owned());
    copy(original, place)
}

/// As [`empty_postgres_data`], of MariaDB, with a log that is soon copied.
pub fn empty_mariadb_data(place: &Path) -> PathBuf {
    static EMPTY: OnceLock<PathBuf> = OnceLock::new();
    let options = || super::small_mariadb_options(&[("innodb_log_file_size", "8M")]);
    let original = EMPTY.get_or_init(|| kept_mariadb(&for_all_tests("mariadb-empty"), options()).data().to_owned());
    copy(original, place)
}

/// A copy of a data directory in a place, for the user of its server.
pub fn copy(original: &Path, place: &Path) -> PathBuf {
    let mut copy = Command::new("cp");
    let done = copy.args(["-a", "--sparse=always"]).arg(original).arg(place).status().expect("cp runs");
    assert!(done.success(), "the data directory is copied");
    place.join("data")
}

/// A new directory that is there for as long as the tests.
pub fn for_all_tests(what: &str) -> PathBuf {
    let directory = above().join(what);
    fs::create_dir(&directory).expect("a temporary directory");
    open_for_all(directory)
}

/// A directory that is removed after a test, and that a server's user can enter.
pub fn directory() -> TempDir {
    open_for_all(TempDir::new_in(above()).expect("a temporary directory"))
}

/// Lets others enter a directory, as a server's user has to.
pub fn open_for_all<P: AsRef<Path>>(directory: P) -> P {
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).expect("it is ours");
    directory
}

/// How the names of directories begin that live as long as the tests; the process's id follows.
const PREFIX: &str = "graymark-stories-";
const MEMORY: &str = "/dev/shm";

/// This process's directory for what does not outlive it: in memory, if there is enough for the servers of many tests
/// at a time. There, a file is made in a tenth of the CPU time that a disk takes. It is removed when the process ends,
/// and those of its user's processes that were killed are removed now.
pub fn above() -> &'static Path {
    static ABOVE: OnceLock<PathBuf> = OnceLock::new();
    extern "C" fn remove() {
        let _ = ABOVE.get().map(fs::remove_dir_all);
    }
    ABOVE.get_or_init(|| {
        for place in [Path::new(MEMORY), &std::env::temp_dir()] {
            remove_those_of_the_dead(place);
        }
        let above = if memory_suffices() == Some(true) { MEMORY.into() } else { std::env::temp_dir() };
        let directory = above.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&directory).expect("a temporary directory");
        // SAFETY: the function does not unwind, and nothing else runs any more that uses what it removes.
        unsafe { nix::libc::atexit(remove) };
        open_for_all(directory)
    })
}

#[allow(clippy::useless_conversion, reason = "other systems count in fewer bits")]
fn memory_suffices() -> Option<bool> {
    const ENOUGH: u64 = 12 << 30;
    let there = statvfs(MEMORY).ok()?;
    let free = u64::from(there.blocks_available()) * u64::from(there.fragment_size());
    let of_system = fs::read_to_string("/proc/meminfo").ok()?;
    let available = of_system.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available: u64 = available.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(free.min(available << 10) >= ENOUGH)
}

fn remove_those_of_the_dead(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        let ours = entry.metadata().is_ok_and(|of| of.is_dir() && of.uid() == Uid::effective().as_raw());
        // One with our id is of an earlier process.
        let dead = |pid: u32| pid == std::process::id() || !Path::new("/proc").join(pid.to_string()).exists();
        if ours && pid.is_some_and(dead) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
